"""What agents print while they work: `claude -p --output-format stream-json`, `codex exec --json` and their like.

The kit reads what is the `STREAM` of an agent's module; the formats named in `detect` have parsers of their own yet.
"""

from __future__ import annotations

from pathlib import Path

from schemas.provider import Format, Head, Reading, Saved
from schemas.providers import printers
from schemas.providers.streams.detect import detect


class Streams(Saved):
    """The provider of saved streams; see `schemas.provider.Provider`."""

    id = "streams"
    name = "Agent streams"
    counting = (
        "A run's final figures take the place of what its messages said on the way; they are never added to it. "
        "Codex prints running totals of the thread, of which the differences count. What a stream does not print "
        "stays unknown."
    )

    @property
    def formats(self) -> tuple[Format, ...]:
        """The kinds of streams."""
        return (
            Format("Codex, `exec --json`", "a thread.started, or types that begin with turn. or item."),
            *(form for stream in printers() for form in stream.formats),
        )

    def detect(self, head: Head) -> bool:
        """Whether it is what one of the agents prints."""
        # Here, since it brings the model of a session, which a list that is up to date does without.
        from schemas.providers.kit.pipe import is_printed

        return not head.compressed and (is_printed(printers(), head.records, head.document) or detect(head))

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a saved stream. Raises OSError."""
        # Here, since recognising is done without the parser, and often.
        from schemas.providers.streams.either import open_stream

        return open_stream(path, start)


PROVIDER = Streams()
