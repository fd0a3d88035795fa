"""The data: the session model, the agents' native formats, the interchange formats and their validators."""

__version__ = "0.1.0"
