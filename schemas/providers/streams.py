"""Saved streams: what an agent printed while it worked, as `claude -p --output-format stream-json` does.

The records are read by the `STREAM` of each agent's module.
"""

from __future__ import annotations

from pathlib import Path

from schemas.provider import Format, Head, Provider, Reading
from schemas.providers import printers


class Streams(Provider):
    """The provider of saved streams."""

    id = "streams"
    name = "Agent streams"
    counting = (
        "A run's final figures take the place of what its messages said on the way; they are never added to it. "
        "Codex prints running totals of the thread, of which the differences count. What a stream does not print "
        "stays unknown."
    )

    @property  # asked of the agents, which need not be imported before
    def formats(self) -> tuple[Format, ...]:  # type: ignore[override]
        """The kinds of streams."""
        return tuple(form for stream in printers() for form in stream.formats)

    def detect(self, head: Head) -> bool:
        """Return whether a file is the output of one of the agents."""
        # Here, since it brings the model of a session, which a list that is up to date does without.
        from schemas.providers.kit.pipe import is_printed

        return not head.compressed and is_printed(printers(), head.records, head.document)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a saved stream. Raises OSError."""
        from schemas.providers.kit.pipe import open_printed

        return open_printed(printers(), path, start)


PROVIDER = Streams()
