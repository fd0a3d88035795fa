"""What of a session Toolpath holds, so that a test can compare it before and after."""

from __future__ import annotations

from typing import Any

from schemas.interchange.toolpath_tools import PLACE
from schemas.message import USER_KINDS, Flag, Kind, Message, ToolStatus
from schemas.session import Session
from schemas.usage import TokenUsage

HELD = ("provider", "id", "workspace_root", "branch", "version")


def talk(session: Session) -> list[dict[str, Any]]:
    """What was said and done, cut where somebody speaks: within a turn the format puts thinking before the text, the
    text before the tools, and joins what is of one kind.
    """
    parts: list[dict[str, Any]] = [_part("")]
    messages = [session.message(index) for index in range(len(session.messages))]
    live = [m.index for m in messages if _is_turn(m) and Flag.REWOUND not in m.flags] or [-1]
    for message in messages:
        # What was taken back and has no turn that stays before it, or none behind it, is no branch of the path.
        rewound = Flag.REWOUND in message.flags and live[0] < message.index < live[-1]
        if message.kind in USER_KINDS and _text(message):
            parts.append(_part("" if message.kind == Kind.COMMAND else _text(message)))
        elif message.kind in (Kind.TEXT, Kind.THINKING) and _text(message):
            parts[-1][message.kind.name].append((rewound, message.model, _text(message)))
        elif message.tool is not None:
            parts[-1]["tools"].append((rewound, message.model, *_use(message)))
    return [
        {key: _joined(value) if key in ("TEXT", "THINKING") else value for key, value in part.items()} for part in parts
    ]


def assert_same_talk(before: Session, after: Session) -> None:
    """What was said and done is the same; a turn's text may have more before a prompt, put there by a program."""
    one, other = talk(before), talk(after)
    assert [part | {"asked": ""} for part in other] == [part | {"asked": ""} for part in one]
    for part, again in zip(one, other, strict=True):
        assert again["asked"].endswith(part["asked"])


def facts(session: Session) -> list[Any]:
    """What is true of the session as a whole, but for its tokens."""
    return [getattr(session, name) for name in HELD]


def usage(session: Session) -> TokenUsage | None:
    """The session's total, as far as the format has figures for it: reasoning is a part of an output that is known, and
    input with the cache in it tells nothing of an input that is not known.
    """
    total = session.usage()
    if total is None or total.total is None:
        return None
    return total._replace(input=total.input or 0, reasoning=None, cache_write_1h=None)


def _is_turn(message: Message) -> bool:
    return message.tool is not None or (
        message.kind in (*USER_KINDS, Kind.TEXT, Kind.THINKING) and bool(_text(message))
    )


def _part(asked: str) -> dict[str, Any]:
    return {"asked": asked, "TEXT": [], "THINKING": [], "tools": []}


def _joined(rows: list[tuple[bool, str | None, str]]) -> list[tuple[bool, str | None, list[str]]]:
    found: list[tuple[bool, str | None, list[str]]] = []
    for rewound, model, text in rows:
        lines = [line for line in text.split("\n") if line]
        if found and found[-1][:2] == (rewound, model):
            found[-1][2].extend(lines)
        else:
            found.append((rewound, model, lines))
    return found


def _text(message: Message) -> str:
    texts = [part.text for part in message.parts if part.type != "image" and part.text]
    return "\n\n".join(
        texts or [part.text for part in message.parts if part.text]
    ).strip()  # an image is named by itself


def _use(message: Message) -> tuple[Any, ...]:
    tool = message.tool
    assert tool is not None
    given = {key: value for key, value in tool.input.items() if key != PLACE}
    failed = tool.status in (ToolStatus.ERROR, ToolStatus.DENIED, ToolStatus.INTERRUPTED)
    if tool.output is not None and isinstance(tool.output.get("is_error"), bool):
        failed = tool.output["is_error"]
    told = tool.status not in (ToolStatus.OK, ToolStatus.PENDING)
    answered = tool.output is not None or bool(tool.text) or told
    return tool.name, given, failed, answered
