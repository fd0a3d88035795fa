"""UI Snapshot v1, a month's use and cost in a JSON document: recognised here.

Made in snapshot_make.py, read in snapshot_read.py, checked in snapshot_check.py; schemas/documents/snapshot.md.
"""

from __future__ import annotations

from pathlib import Path

from schemas.provider import Format, Head, Reading, Saved

_KEYS = frozenset({"schema_version", "totals"})
_OTHERS = frozenset({"generated_at", "month", "mode", "top_providers", "top_models", "suggestions"})
_MANY = 4
_BEGINNING = (b'"schema_version"', b'"generated_at"', b'"month"')


def is_snapshot(document: object) -> bool:
    """Whether a JSON value has keys that only a snapshot has together, of whatever version: one of which a required key
    is missing is one all the same.
    """
    if not isinstance(document, dict):
        return False
    return document.keys() >= _KEYS or len(document.keys() & (_KEYS | _OTHERS)) >= _MANY


class SnapshotProvider(Saved):
    """Snapshots in the place of an agent: one opens as its tables."""

    id = "snapshot"
    name = "UI Snapshot"
    counting = "A snapshot holds sums only; which calls they are made of is in the events it was made from."
    formats = (
        Format(
            "UI Snapshot v1, one JSON document",
            "an object with schema_version and totals, or four other keys of a snapshot",
        ),
    )

    def detect(self, head: Head) -> bool:
        """Whether the file is one JSON object with a snapshot's keys, or the beginning of one: a program that does not
        write it at once may be at it just now.
        """
        if head.document is not None or head.records:
            return is_snapshot(head.document)
        return head.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and sum(key in head.data for key in _BEGINNING) > 1

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Read a snapshot; `start` means nothing, since a document is read whole."""
        from schemas.interchange.snapshot_read import SnapshotReading

        return SnapshotReading(path)


SNAPSHOT = SnapshotProvider()
