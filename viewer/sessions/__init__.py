"""Which sessions there are."""
