"""Edits: what sessions changed in files, one diff of what came of them, and the edit from which a line came."""
