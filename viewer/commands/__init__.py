"""The commands, one module each with a click command called `command`; viewer/cli.py imports the one that is called."""
