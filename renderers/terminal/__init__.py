"""A message as lines of Rich segments, for a terminal of a given width. Knows nothing of Textual."""
