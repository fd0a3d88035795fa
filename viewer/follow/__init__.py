"""Following sessions as they grow."""
