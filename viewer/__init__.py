"""The program: command line, discovery, following, the library of sessions, and the Textual app."""
