"""Files' changes in foreign Toolpath documents: nothing that is told of them is lost."""

from __future__ import annotations

from typing import Any

from schemas.interchange.toolpath_steps import step_messages
from schemas.message import Message

TURN = {"type": "conversation.append", "role": "assistant", "text": "", "tool_uses": [{"id": "t", "name": "Edit"}]}


def messages_of(write: dict[str, Any], **part: Any) -> list[Message]:
    change = {"x": {"structural": TURN}, "old": {"structural": {"type": "file.write", **write}, **part}}
    return step_messages({"step": {"id": "s", "actor": "agent:m"}, "change": change}, "claude-code")


def test_the_texts_of_a_changed_file_are_kept():
    (message,) = messages_of({"operation": "update", "tool_id": "t", "before": "b\n", "after": "a\n"})
    assert message.metadata["fileTexts"] == {"old": {"before": "b\n", "after": "a\n"}}


def test_a_rename_of_no_known_tool_use_is_shown_and_kept():
    write = {"operation": "update", "rename_to": "new"}
    note = messages_of(write, raw="@@ -1 +1 @@\n-b\n+a\n")[1]
    assert note.label == "update old → new"
    assert note.metadata["change"] == {"type": "file.write", **write}
