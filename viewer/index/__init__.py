"""The index of all sessions, and search in it."""
