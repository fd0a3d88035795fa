"""What a message of the store is to a reader: one draft for each block of it (formats note 3.2).

The same drafts are made twice: when a session is filled, for their sizes, and when somebody looks, for their text.
Records of a transcript, and what turns become, are read here too: they differ in names only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.clean import as_json, one_line
from schemas.message import Kind, Part
from schemas.providers.cursor.blocks import line_of
from schemas.providers.cursor.prompts import split_prompts, workspace_of
from schemas.providers.cursor.results import image_part, is_image
from schemas.providers.cursor.tools import tool_name

Data = dict[str, Any]
NOTE = "turnlog"
"""The key of records that are ours: a remark about the store, as a sentence."""
BLOBS = "blobs"
"""In such a record, the ids of the blobs that are missing."""
WITHHELD = "The provider keeps the text of this thinking back."
_REDACTED = "[REDACTED]"
_CALLS = frozenset({"tool-call", "tool_use", "tool_call"})
_RESULTS = frozenset({"tool-result", "tool_result", "command_output"})
_THINKING = frozenset({"reasoning", "thinking"})
_SEALED = frozenset({"redacted-reasoning", "redacted", "redacted_thinking"})


class Draft(NamedTuple):
    """One block of a message. `part` is the content part a tool use or a result is made from."""

    kind: Kind
    text: str = ""
    label: str = ""
    images: tuple[Part, ...] = ()
    part: Data = {}
    result: bool = False
    """Whether it is a tool's result, which joins the tool use with its id."""
    use_id: str = ""
    model: str = ""
    withheld: bool = False
    unknown: str = ""
    """The type of what nobody described."""
    time: float | None = None


class Drafts(NamedTuple):
    """A message taken apart."""

    blocks: list[Draft]
    hidden: str = ""
    """What it is, where there is nothing in it to read."""
    workspace: str | None = None


def drafts(value: Data, raw: bytes = b"") -> Drafts:
    """The blocks of a message; `raw` are its bytes, for what is no message at all."""
    if NOTE in value and value.keys() <= {NOTE, BLOBS}:
        return Drafts([Draft(Kind.NOTE, label=str(value[NOTE]))])
    role = value.get("role")
    if role == "system":
        return Drafts([], "system prompt")
    if value.get("type") == "turn_ended" or isinstance(value.get("message"), dict):
        return _told(value)
    if role == "shell":
        return Drafts(_shell(value))
    if role not in ("user", "assistant", "tool"):
        return Drafts([_unknown(value, raw, one_line(str(role or value.get("type") or "no role"), 60))])
    parts = list(_parts(value))
    model = next((name for part in (*parts, value) if (name := _model(part))), "")
    if role == "user":
        found = _user(value, parts)
    else:
        found = Drafts([draft for part in parts if (draft := _agents(part, value, role, len(parts))) is not None])
    blocks = [draft._replace(model=_model(draft.part) or model) for draft in found.blocks]
    return found._replace(blocks=blocks, hidden="" if blocks else "message without content")


def _parts(value: Data) -> Iterator[Data]:
    """The content parts; plain text is a part too, and what is none becomes one of a type nobody knows."""
    message = value.get("message")
    content = value.get("content", message.get("content") if isinstance(message, dict) else message)
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield {"type": "text", "text": part}
        elif isinstance(part, dict):
            yield part
        elif part is not None:
            yield {"type": type(part).__name__, "value": part}


def options(value: Data) -> Data:
    """What Cursor itself noted of a message or a part."""
    found = value.get("providerOptions")
    cursor = found.get("cursor") if isinstance(found, dict) else None
    return cursor if isinstance(cursor, dict) else {}


def _model(value: Data) -> str:
    name = options(value).get("modelName")
    return name if isinstance(name, str) else ""


# -- what a person sent ------------------------------------------------------------------------------------------------


def _user(value: Data, parts: list[Data]) -> Drafts:
    """A prompt (at most one), then what was put into the message around it."""
    if options(value).get("isSummary") is True:
        said = [text for part in parts if isinstance(text := part.get("text"), str)]
        return Drafts([Draft(Kind.COMPACTION, "\n\n".join(said), "Compacted")])
    texts = [text for part in parts if part.get("type") in ("text", None) and isinstance(text := part.get("text"), str)]
    split = split_prompts(texts)
    images = list(split.images)
    around = [Draft(segment.kind, segment.text, segment.label) for segment in split.context]
    is_prompt = split.prompt is not None
    for part in parts:
        if part.get("type") in ("text", None) and isinstance(part.get("text"), str):
            continue
        if is_image(part) or part.get("type") == "file":
            is_prompt = True
            images.append(_file(part))
        elif (draft := _agents(part, value, "user", len(parts))) is not None:
            around.append(draft)
    workspace = next((root for text in texts if (root := workspace_of(text))), None)
    if is_prompt:
        around.insert(0, Draft(Kind.PROMPT, split.prompt or "", images=tuple(images), time=split.time))
    return Drafts(around, "", workspace)


def _file(part: Data) -> Part:
    """An image or another file, as a placeholder."""
    shown = image_part(part)
    name = part.get("filename")
    if isinstance(name, str) and name:
        shown.text = f"{shown.text[:-1]} {one_line(name, 200)}]"
    return shown


# -- what the agent did ------------------------------------------------------------------------------------------------


def _agents(part: Data, value: Data, role: str, count: int) -> Draft | None:
    """A part of an agent's or a tool's message; None for one without a word."""
    kind = part.get("type", "text" if isinstance(part.get("text"), str) else None)
    if kind == "text":
        return _text(part, value, role)
    if kind in _THINKING or kind in _SEALED:
        return _thought(part, sealed=kind in _SEALED)
    if kind in _CALLS:
        return Draft(Kind.TOOL, part=part, use_id=use_id_of(part))
    if kind in _RESULTS:
        beside = options(value).get("highLevelToolCallResult") if count == 1 else None
        answer = {**part, "highLevelToolCallResult": beside} if isinstance(beside, dict) else part
        return Draft(Kind.TOOL, part=answer, result=True, use_id=use_id_of(part))
    if kind == "file" or is_image(part):
        return Draft(Kind.TEXT, images=(_file(part),), part=part)
    return _unknown(part, b"", one_line(str(kind or "part without a type"), 60))


def _text(part: Data, value: Data, role: str) -> Draft | None:
    text = part.get("text")
    if not isinstance(text, str):
        return _unknown(part, b"", "text")
    if role == "tool":  # a result that was written as plain content: the message's id is that of the tool use
        use_id = value.get("toolCallId", value.get("id"))
        answer = {"toolCallId": use_id, "toolName": value.get("toolName"), "result": text}
        return Draft(Kind.TOOL, part=answer, result=True, use_id=use_id_of(answer))
    bare = text.rstrip()
    if bare.endswith(_REDACTED):
        text = bare.removesuffix(_REDACTED).rstrip()
        if not text:
            return Draft(Kind.THINKING, label=WITHHELD, withheld=True, part=part)
    return Draft(Kind.TEXT, text, part=part) if text.strip() else None


def _thought(part: Data, *, sealed: bool) -> Draft | None:
    text = next((text for key in ("text", "thinking", "reasoning") if isinstance(text := part.get(key), str)), "")
    if not sealed and text.strip() and text.strip() != _REDACTED:
        return Draft(Kind.THINKING, text, part=part)
    if not sealed and not text and "signature" not in part and "data" not in part:
        return None
    return Draft(Kind.THINKING, label=WITHHELD, withheld=True, part=part)


def use_id_of(part: Data) -> str:
    """The id by which a tool use and its result find each other."""
    for key in ("toolCallId", "tool_use_id", "tool_call_id", "id"):
        if isinstance(identifier := part.get(key), str) and identifier:
            return identifier
    return ""


def name_of(part: Data) -> str:
    """The name of a tool, from its use or its result."""
    return tool_name(next((name for key in ("toolName", "name") if isinstance(name := part.get(key), str)), None))


def given_of(part: Data) -> object:
    """What a tool was asked: `args`, or `input` as newer versions and transcripts call it."""
    return next((part[key] for key in ("args", "input") if part.get(key) is not None), None)


def answer_of(part: Data) -> object:
    """A result: `result`, or the newer `output`; images lie beside it as content parts."""
    found = next((part[key] for key in ("result", "output", "content") if part.get(key) is not None), None)
    beside = part.get("experimental_content")
    if not isinstance(beside, list):
        return "" if found is None else found
    if found is None or found == "":
        return beside
    images = [item for item in beside if isinstance(item, dict) and is_image(item)]
    return [found, *images] if images and isinstance(found, str) else found


def _shell(value: Data) -> list[Draft]:
    """A command that the person ran in the agent's shell, and what it printed."""
    printed = "\n".join(text.rstrip("\n") for key in ("stdout", "stderr") if (text := str(value.get(key) or "")))
    code = value.get("exitCode")
    label = f"exit {code}" if isinstance(code, int) and code else ""
    command = Draft(Kind.COMMAND, f"!{value.get('command') or ''}")
    return [command, Draft(Kind.OUTPUT, printed, label)] if printed or label else [command]


def _told(value: Data) -> Drafts:
    """A line of a transcript."""
    line = line_of(value)
    blocks = [
        Draft(
            piece.kind,
            piece.text,
            piece.label,
            piece.images,
            piece.data,
            piece.is_result,
            use_id_of(piece.data),
            withheld=piece.kind is Kind.THINKING and not piece.text.strip(),
            unknown=piece.label if piece.kind is Kind.UNKNOWN else "",
            time=line.time if piece.kind is Kind.PROMPT else None,
        )
        for piece in line.pieces
        if not piece.is_end or piece.kind is not Kind.NOTE
    ]
    blocks = [block._replace(kind=Kind.TOOL) if block.result else block for block in blocks]
    blocks = [block._replace(text="", label=WITHHELD) if block.withheld else block for block in blocks]
    return Drafts(blocks, "" if blocks else "end of a turn", line.workspace)


def _unknown(value: Data, raw: bytes, kind: str) -> Draft:
    text = as_text(value) if value else raw.decode("utf-8", "replace")
    if not value and "\0" in text:
        text = f"({len(raw):,} bytes that are no JSON)"
    return Draft(Kind.UNKNOWN, text, kind, unknown=kind)


def as_text(value: object) -> str:
    """A value as text: JSON, unless it is text."""
    if isinstance(value, str):
        return value
    return as_json(value)
