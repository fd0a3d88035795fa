"""The usage of sessions and what it cost: sums, their table, and where each figure is from."""
