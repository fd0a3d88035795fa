"""Sessions that run: who waits for you, and why."""
