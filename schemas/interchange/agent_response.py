"""Agent Response v1, what an agent under test answers, with its transcript if it likes: recognised here.

Read in agent_response_read.py, written in agent_response_write.py, checked in agent_response_check.py;
schemas/documents/agent-response.md.
"""

from __future__ import annotations

from pathlib import Path

from schemas.provider import Format, Head, Reading, Saved


def is_agent_response(document: object) -> bool:
    """Whether a JSON value has the one key that the format requires."""
    return isinstance(document, dict) and "final_response" in document


class AgentResponseProvider(Saved):
    """Agent Response documents in the place of an agent: a file of them can be opened like any session."""

    id = "agent-response"
    name = "Agent Response"
    counting = "The document names totals of the whole run at most; they count once, for its last message."
    formats = (Format("Agent Response v1, one JSON document", "an object with final_response"),)

    def detect(self, head: Head) -> bool:
        """Whether the file is one JSON object with `final_response`."""
        return is_agent_response(head.document)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Read a document; `start` means nothing, since a document is read whole."""
        from schemas.interchange.agent_response_read import open_document

        return open_document(path)


AGENT_RESPONSE = AgentResponseProvider()
