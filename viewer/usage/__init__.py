"""What sessions used and what it cost: sums, their table, and where each figure is from."""
