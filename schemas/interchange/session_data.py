"""SessionData 1.0 documents: recognised here, read in session_data_read.py, written in session_data_write.py."""

from __future__ import annotations

from pathlib import Path

from schemas.provider import Format, Head, Reading, Saved

_KEYS = frozenset({"schemaVersion", "provider", "sessionId", "createdAt", "workspaceRoot"})


def is_session_data(document: object) -> bool:
    """Whether a JSON value has `exchanges` and two more keys that only SessionData requires."""
    return isinstance(document, dict) and "exchanges" in document and len(_KEYS & document.keys()) >= 2


class SessionDataProvider(Saved):
    """SessionData documents in the place of an agent: a file of them can be opened like any session."""

    id = "session-data"
    name = "SessionData"
    counting = "The document's own figures, each group once."
    formats = (
        Format("SessionData 1.0, one JSON document", "an object with exchanges and two of SessionData's other keys"),
    )

    def detect(self, head: Head) -> bool:
        """Whether the file is one JSON object with `exchanges` and two more keys that only SessionData requires.

        The version is not looked at here: a newer document is refused when it is read, with its version named.
        """
        return is_session_data(head.document)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Read a document; `start` means nothing, since a document is read whole."""
        from schemas.interchange.session_data_read import open_document

        return open_document(path)


SESSION_DATA = SessionDataProvider()
