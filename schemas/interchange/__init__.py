"""The published formats: read, write, validate."""
