"""Agent Response v1 as a session: what an agent under test answers, with its transcript if it likes.

A user's message opens an exchange; an assistant's becomes its thinking, its text and its tool uses, each with the
result that a tool's message gives it. Metadata, and what the platform warns of, stand at the end.
A session is written as one a message at a time: a person's words as `user`, the agent's as `assistant`, what the
program put in as `system`, a tool's result behind its call with the role `tool`; what the format has no place for is
counted. schemas/documents/agent-response.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from schemas.clean import as_json, clean, clean_value, one_line
from schemas.interchange.parser import RecordParser
from schemas.interchange.session_data_write import Edit, dump, unseen
from schemas.interchange.verdicts import Finding, Verdict, explain, pointer, schema_findings
from schemas.message import USER_KINDS, Flag, Kind, Message, Part, Tool, ToolStatus
from schemas.provider import Format, SavedFormat
from schemas.providers.kit.blocks import arguments_of, images_in
from schemas.reading import DocumentReading
from schemas.records import Record
from schemas.session import Session
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, number, text_of

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


LONGEST = 50_000
"""Characters of a final response that the platform keeps, about."""
ROLES = ("system", "user", "assistant", "tool")
FIRST_CLASS = ("model", "system_prompt_id", "total_input_tokens", "total_output_tokens", "agent_runtime_ms")
"""Keys of `metadata` that have places of their own."""
_NUMBERS = frozenset(FIRST_CLASS[2:])
_TAKEN = frozenset({"model", "total_input_tokens", "total_output_tokens"})
"""Those of them that every session has places for."""
_OF_A_CALL = frozenset({"id", "type", "name", "arguments", "function"})
_OF_A_MESSAGE = frozenset({"role", "content", "tool_calls", "thinking"})
_OF_A_RESULT = frozenset({"role", "content", "tool_call_id"})
_KINDS = {"user": Kind.PROMPT, "tool": Kind.OUTPUT, "function": Kind.OUTPUT}
"""What a message is that is no assistant's; of any other role it is context."""


def is_agent_response(document: object) -> bool:
    """Return whether a JSON value has the one key that the format requires."""
    return isinstance(document, dict) and "final_response" in document


# -- the pieces of a message -------------------------------------------------------------------------------------------


class Use(NamedTuple):
    """A tool call in its flat form."""

    id: str
    name: str
    input: dict[str, Any]
    more: dict[str, Any]
    """What else the document says of it."""


def tool_uses(message: dict[str, Any]) -> list[Use]:
    """The tool calls of a message, flat or nested; one that names no tool is left out."""
    return [_use(entry, name) for entry in map(dict_of, _calls(message)) if (name := tool_name(entry))]


def _use(entry: dict[str, Any], name: str) -> Use:
    """A call in its flat form: the name and the arguments above go before those of its function."""
    inner = dict_of(entry.get("function"))
    flat = _is_name(entry.get("name"))
    whole = flat and entry.get("arguments") is not None
    taken = {"name": not flat, "arguments": not whole}
    more = {key: value for key, value in entry.items() if key not in _OF_A_CALL}
    if rest := {key: value for key, value in inner.items() if not taken.get(key)}:
        more["function"] = rest
    said = (entry if whole else inner).get("arguments")
    given = arguments_of(said) if said is None or isinstance(said, str | dict) else {"input": said}
    return Use(id_of(entry.get("id")), name, given, more)


def _calls(message: dict[str, Any]) -> list[Any]:
    """Return the items of `tool_calls`; an object there by itself is one."""
    said = message.get("tool_calls")
    return [said] if isinstance(said, dict) else list_of(said)


def tool_name(entry: dict[str, Any]) -> str:
    """The tool that a call names: its own `name` before its function's; empty where there is neither."""
    names = text_of(entry.get("name")), text_of(dict_of(entry.get("function")).get("name"))
    return next((name for name in names if name.strip()), "")


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


def id_of(value: object) -> str:
    """A call's id as text; some write a number."""
    return clean(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def answers_in(messages: list[Any]) -> dict[int, tuple[int, int] | None]:
    """The call that each tool's message answers, by that one's number: the number of its message, and its place there.

    It is the last one with the id that the message names of those that have no answer yet or, where it names none, the
    first of them; None where there is no such call.
    """
    answers: dict[int, tuple[int, int] | None] = {}
    waiting: dict[tuple[int, int], None] = {}
    of_id: dict[str, list[tuple[int, int]]] = {}
    for at, message in enumerate(map(dict_of, messages)):
        if message.get("role") == "assistant":
            for place, use in enumerate(tool_uses(message)):
                waiting[at, place] = None
                of_id.setdefault(use.id, []).append((at, place))
        elif message.get("role") == "tool":
            if name := id_of(message.get("tool_call_id")):
                called = of_id.get(name, [])
                while called and called[-1] not in waiting:
                    called.pop()
                call = called[-1] if called else None
            else:
                call = next(iter(waiting), None)
            answers[at] = call
            if call is not None:
                del waiting[call]
    return answers


def _thinking_blocks(message: dict[str, Any]) -> list[Any]:
    """The blocks of a message's thinking. What stands there by itself is one."""
    said = message.get("thinking")
    return list_of(said) if isinstance(said, list) or not said else [said]


def _thought(block: object) -> str:
    """Return the text shown for a thinking block: its own, or all of the block as JSON."""
    text = block.get("text") if isinstance(block, dict) else block
    return clean(text) if isinstance(text, str) else _as_json(block)


def content_parts(content: object) -> list[Part]:
    """Return the parts of a message's content: a string is one, and those that are no text show as JSON or as an
    image's name.
    """
    if content is None or content == "":
        return []
    return [_part(item) for item in (content if isinstance(content, list) else [content])]


def _part(item: object) -> Part:
    text = item.get("text") if isinstance(item, dict) else item
    if isinstance(text, str):
        return Part("text", clean(text))
    return next(iter(images_in([item])), Part("text", _as_json(item)))


def _says_more(item: object) -> bool:
    """Return whether a thinking block or a part says more than its text, which is what is shown of it. Of an image
    nothing else is kept.
    """
    if not isinstance(item, dict) or _part(item).type == "image":
        return False
    plain = item.keys() <= {"type", "text"} and isinstance(item.get("text"), str)
    return not (plain and item.get("type", "text") in ("text", "thinking"))


def _as_json(value: object) -> str:
    return as_json(value, indent=True)


# -- what the platform warns of ----------------------------------------------------------------------------------------


def soft_warnings(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what does not make a run fail, but is not shown as it was meant: a JSON pointer and a sentence each."""
    final = document.get("final_response")
    if not isinstance(final, str):
        yield "/final_response", "`final_response` is no text"
    elif len(final) > LONGEST:
        yield "/final_response", f"`final_response` has {len(final):,} characters: cut at about {LONGEST:,}"
    elif not final.strip():
        yield "/final_response", "`final_response` is empty: the platform rejects that"
    messages = document.get("messages")
    if messages is not None and not isinstance(messages, list):
        yield "/messages", "`messages` is no list: the platform shows only the final response"
    answers, ids = answers_in(list_of(messages)), set[str]()
    for index, message in enumerate(list_of(messages)):
        place = f"/messages/{index}"
        if isinstance(message, dict):
            yield from _of_message(place, message, answers=answers.get(index) is not None, ids=ids)
        else:
            yield place, "not an object: shown as JSON"
    metadata = document.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        yield "/metadata", "`metadata` is no object: shown as JSON"
    for key in FIRST_CLASS:
        value = dict_of(metadata).get(key)
        fits = isinstance(value, str) != (key in _NUMBERS) and not isinstance(value, bool | list | dict)
        if value is not None and not fits:
            yield f"/metadata/{key}", f"`{key}` is no {'number' if key in _NUMBERS else 'text'}: not shown in its place"


def _of_message(place: str, message: dict[str, Any], *, answers: bool, ids: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the warnings of a message. `answers`: it answers a call; `ids` are those of the calls before it."""
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        yield f"{place}/role", f"`role` is none of {', '.join(ROLES)}"
    if content is not None and not isinstance(content, str | list):
        yield f"{place}/content", "`content` is neither text nor a list"
    for key in ("tool_calls", "thinking"):
        if key in message and not isinstance(message[key], list):
            said = "null: leave the key out" if message[key] is None else "no list: the platform leaves it out"
            yield f"{place}/{key}", f"`{key}` is {said}"
    for index, call in enumerate(list_of(message.get("tool_calls"))):
        yield from _of_call(f"{place}/tool_calls/{index}", dict_of(call))
    if role == "assistant":
        ids |= {use.id for use in tool_uses(message)}
    for index, block in enumerate(list_of(message.get("thinking"))):
        if not isinstance(dict_of(block).get("text"), str):
            yield f"{place}/thinking/{index}", "a thinking block without `text`: shown as JSON"
    if role == "tool":
        if "tool_call_id" not in message:
            first = "taken for the answer to the first open call" if answers else "no call is open: shown by itself"
            yield place, f"a tool's message without `tool_call_id`: {first}"
        elif not answers:
            known = id_of(message["tool_call_id"]) in ids
            said = "the call with this id has its answer already" if known else "no call before it has this id"
            yield f"{place}/tool_call_id", f"{said}: shown by itself"


def _of_call(place: str, call: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if not tool_name(call):
        yield place, "a tool call that names no tool: dropped"
    elif "name" in call and "function" in call:
        yield place, "both `name` and `function`: the former counts" if _is_name(call["name"]) else "an empty `name`"


# -- the document as a session -----------------------------------------------------------------------------------------


def _records(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The document taken apart: what stands beside the messages, each message, a tool's with the call that it answers,
    then the pages at the end: the final response, unless the transcript ends with it, and notes.
    """
    messages = list_of(document.get("messages"))
    rows: dict[int, dict[str, Any]] = {n: {"message": message, "number": n} for n, message in enumerate(messages)}
    for at, call in answers_in(messages).items():
        if call is not None:
            rows[call[0]].setdefault("results", {})[str(call[1])] = rows.pop(at)["message"]
    head = {key: value for key, value in document.items() if key != "messages" or not isinstance(value, list)}
    final = document.get("final_response")  # "null" is what was answered, too
    text = _joined(content_parts(final if isinstance(final, str | list | dict) else _as_json(final)))
    spoken = [data for data in map(dict_of, messages) if data.get("role") == "assistant"]
    last: dict[str, Any] = next((data for data in reversed(spoken) if content_parts(data.get("content"))), {})
    is_last = bool(last) and text in (_joined(content_parts(last.get("content"))), _result(last)[0])
    pages = [*([] if is_last else [("", text)]), *_notes(document)]
    return [
        {"head": head, "final": text},
        *rows.values(),
        *({"text": said, "label": label, "id": f"end:{n}"} for n, (label, said) in enumerate(pages, len(messages) + 1)),
    ]


def _notes(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The label and the text of each note: what will be cut of the final response, what stands in the messages' place,
    metadata, soft warnings.
    """
    final, messages, metadata = (document.get(key) for key in ("final_response", "messages", "metadata"))
    if isinstance(final, str) and len(final) > LONGEST:
        yield f"the platform cuts the final response at about {LONGEST:,} of its {len(final):,} characters", ""
    if messages is not None and not isinstance(messages, list):
        yield "messages", messages if isinstance(messages, str) else _as_json(messages)
    if isinstance(metadata, dict):
        names = [*(key for key in FIRST_CLASS if key in metadata), *(key for key in metadata if key not in FIRST_CLASS)]
        if names:
            yield "metadata", "\n".join(f"{one_line(key, 100)}: {_fact(metadata[key])}" for key in names)
    elif metadata is not None:
        yield "metadata", _as_json(metadata)
    if warnings := [f"{path or 'document'}: {text}" for path, text in soft_warnings(document)]:
        yield f"soft warnings: {len(warnings)}", "\n".join(warnings)


def _fact(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else _as_json(value)


def _messages(value: dict[str, Any]) -> list[Message]:
    """The messages of the session that a message of the document is, tool uses with their results."""
    message, number, results = value["message"], value["number"], dict_of(value.get("results"))
    data = dict_of(message)
    content, role = data.get("content"), data.get("role")
    parts = content_parts(content) if isinstance(message, dict) else [Part("text", _as_json(message))]
    odd = [part for part in (content if isinstance(content, list) else [content]) if _says_more(part)]
    more = {"content": odd} if odd else {}
    made = []
    if role != "assistant":
        kind = _KINDS.get(text_of(role), Kind.CONTEXT)
        label = "tool result without its call" if kind == Kind.OUTPUT else ""
        if kind == Kind.CONTEXT:
            label = one_line(f"{role} message") if isinstance(role, str) else "message"
        made.append(Message(-1, "", kind, 0, parts=parts, label=label, metadata=more))
    else:
        for block in _thinking_blocks(data):
            beside = {"thinking": [block]} if _says_more(block) else {}
            thought = [Part("thinking", _thought(block))]
            made.append(Message(-1, "", Kind.THINKING, 0, parts=thought, metadata=beside))
        if parts:
            made.append(Message(-1, "", Kind.TEXT, 0, parts=parts, metadata=more))
        for place, use in enumerate(tool_uses(data)):
            made.append(_tool_use(use, results.get(str(place))))
        made = made or [Message(-1, "", Kind.NOTE, 0, label="empty message")]
    kept = _beside(data)
    for block, one in enumerate(made):
        one.id = f"message-{number}#{block + 1}" if block else f"message-{number}"
        one.metadata = kept | one.metadata
    return made


def _tool_use(use: Use, result: dict[str, Any] | None) -> Message:
    """A tool use with its result; what else is said of the result is the message's."""
    tool, facts = Tool(use.name, "unknown", use.id, use.input), {"toolCall": use.more} if use.more else {}
    if result is None:
        tool.status = ToolStatus.PENDING
        return Message(-1, "", Kind.TOOL, 0, tool=tool, flags=Flag.PENDING, metadata=facts)
    tool.text, tool.images = _result(result)
    tool.output = {"content": tool.text, "is_error": False}
    if more := {key: value for key, value in result.items() if key not in _OF_A_RESULT}:
        facts["toolMessage"] = more
    return Message(-1, "", Kind.TOOL, 0, tool=tool, metadata=facts)


class AgentResponseParser(RecordParser):
    """Takes the records of a document, all in one `feed`."""

    def __init__(self, path: Path) -> None:
        super().__init__(Session("agent-response", "Agent Response", path, path.stem))
        self._head: Record | None = None
        self._metadata: dict[str, Any] = {}
        self._model = ""
        self._last = -1
        """The last message that is no note."""

    def messages(self, value: dict[str, Any]) -> list[Message]:
        """A message of the document, or a page behind it."""
        if "message" in value:
            return _messages(value)
        label, text = value["label"], value["text"]
        parts = [Part("text", text)] if text else []
        return [Message(-1, value["id"], Kind.NOTE if label else Kind.TEXT, 0, label=label, parts=parts)]

    def take(self, record: Record) -> None:
        """Take what stands beside the messages, a message or a page; the model of what the agent said is the run's."""
        item = record[3]
        if "head" in item:
            self._head = record
            self._take_head(item["head"])
            return
        note = bool(item.get("label"))
        spoken = not note and dict_of(item.get("message", {"role": "assistant"})).get("role") == "assistant"
        added = self.add(record, self._model if spoken else "")
        self._last = self._last if note else added[-1]
        if spoken and self._model:
            self.session.exchanges[-1].model = self.session.model_index(self._model)

    def _take_head(self, head: dict[str, Any]) -> None:
        """Take in the keys beside the messages: what a session has no place for is its metadata."""
        self._metadata = dict_of(head.get("metadata"))
        self._model = text_of(self._metadata.get("model"))
        self.session.model_index(self._model)
        facts = {key: value for key, value in head.items() if key not in ("final_response", "metadata")}
        facts |= {key: value for key, value in self._metadata.items() if key not in _TAKEN}
        self.session.metadata |= clean_value(facts)

    def settle(self) -> Iterable[int]:
        """Count the run's totals as one token group of its last message, and take how long its one exchange took."""
        session = self.session
        if self._head is None:
            return ()
        if not session.live_exchanges:  # nobody asked, as far as the document says
            session.title = one_line(self._head[3]["final"], 80)
            session.exchanges[0].prompt = "Response"
        usage = TokenUsage(*(as_count(self._metadata.get(f"total_{key}_tokens")) for key in ("input", "output")))
        if usage.total is not None and self._last >= 0:
            model = session.model_index(self._model)
            session.join_group(self._last, session.add_group(f"{session.id}:total", usage, self._head, model=model))
        runtime = number(self._metadata.get("agent_runtime_ms"))
        if len(session.live_exchanges) == 1 and runtime is not None and 0 <= runtime < 1e13:
            session.live_exchanges[0].seconds = runtime / 1000
        return ()


def _joined(parts: Iterable[Part]) -> str:
    """Join the texts of parts as `Message.text` does."""
    return "\n\n".join(part.text for part in parts if part.text)


def _result(data: dict[str, Any]) -> tuple[str, list[Part]]:
    """The text of a message, as that of a tool's result, and its images."""
    parts = content_parts(data.get("content"))
    return _joined(part for part in parts if part.type == "text"), [part for part in parts if part.type == "image"]


def _beside(data: dict[str, Any]) -> dict[str, Any]:
    """A message's facts that have no place of their own: keys and a role that the format does not have, calls that name
    no tool, and the call that a result names for which it was not there.
    """
    kept = {key: value for key, value in data.items() if key not in _OF_A_MESSAGE}
    said = data.get("tool_calls")
    listed = [call for call in _calls(data) if not tool_name(dict_of(call))]
    if nameless := listed if isinstance(said, list | dict) else said:
        kept["tool_calls"] = nameless
    if (role := data.get("role")) not in (None, "system", "user", "assistant"):
        kept["role"] = role
    return kept


AGENT_RESPONSE = SavedFormat(
    "agent-response",
    "Agent Response",
    "The document names totals of the whole run at most; they count once, for its last message.",
    (Format("Agent Response v1, one JSON document", "an object with final_response"),),
    lambda head: is_agent_response(head.document),
    lambda path: DocumentReading(path, lambda: AgentResponseParser(path), _records, is_agent_response),
)


def validate_agent_response(document: object) -> Verdict:
    """Errors by the JSON Schema; warnings for what the platform takes, but shows otherwise than it was meant."""
    told: set[str] = set()

    def words(error: ValidationError) -> Iterable[Finding]:
        place = pointer(error.absolute_path)
        told.update((place, pointer(list(error.absolute_path)[:4])))  # also of what is wrong in a tool call
        if error.validator == "required":
            told.update(f"{place}/{key}" for key in cast(list[str], error.validator_value))
        if error.validator == "not":
            return [Finding(place, "a tool call has `name` or `function`, not both")]
        if (
            error.validator == "required"
            and error.validator_value == ["name"]
            and error.absolute_path[-1] != "function"
        ):
            return [Finding(place, "a tool call needs `name`, or `function` with `name`")]
        return explain(error)

    errors = schema_findings("agent-response", document, words)
    if not isinstance(document, dict):
        return Verdict(errors, [])
    warnings = [Finding(*one) for one in soft_warnings(document) if one[0] not in told]
    messages = document.get("messages")
    if isinstance(messages, list) and messages and not any(map(_can_be_graded, messages)):
        said = "no assistant message says anything: a run that is registered as strict fails with it"
        warnings.append(Finding("/messages", said))
    return Verdict(errors, warnings)


def _can_be_graded(message: object) -> bool:
    """Return whether a message is an assistant's and has words; the platform's strict mode asks for one that is so."""
    return (
        isinstance(message, dict)
        and message.get("role") == "assistant"
        and any(part.type == "text" and part.text.strip() for part in content_parts(message.get("content")))
    )


# -- writing -----------------------------------------------------------------------------------------------------------


LOSSES = {
    "image": "named, not included",
    "coloured run": "shown plain",
    "diff": "left out, but for what the tool was called with",
    "note": "left out, being no part of the talk",
    "empty message": "left out",
    "rewound message": "left out",
    "subagent session": "left out: the format holds one run",
    "inherited response": "left out, with its tokens",
    "hidden record": "left out, only counted",
    "unknown record": "left out, only counted",
    "token figure": "kept in the totals only",
    "fact": "left out: times, ids, models, outcomes and the like have no place",
}
"""What the format cannot hold; and what became of it."""
NO_ANSWER = "(the agent gave no final answer)"
"""Stands where the platform wants words and there are none."""


def to_agent_response(
    session: Session, *, edit: Edit | None = None, lost: Counter[str] | None = None
) -> Iterator[bytes]:
    """The document in pieces, a message a line; joined they are one JSON object and a newline.

    `edit` is applied to every part of it. `lost` counts what is not in it.
    """
    lost = Counter() if lost is None else lost
    _count_beside(session, lost)
    yield dump({"final_response": _final(session), "metadata": _metadata(session)}, edit)[:-1] + b',"messages":['
    lead = b"\n"
    for index in _told(session):
        message = session.message(index)
        _count(message, lost)
        for written in _written(message, lost):
            yield lead + dump(written, edit)
            lead = b",\n"
    yield b"\n]}\n"


def _told(session: Session) -> Iterator[int]:
    """The messages that no rewind took back."""
    return (index for index, flags in enumerate(session.messages.flags) if not flags & Flag.REWOUND)


def _count_beside(session: Session, lost: Counter[str]) -> None:
    """Count what of a session stands in none of its messages."""
    lost["hidden record"] += sum(session.hidden.values())
    lost["unknown record"] += unseen(session)
    lost["subagent session"] += len(session.subagents)
    lost["inherited response"] += len(session.inherited)
    lost["rewound message"] += len(session.messages) - sum(1 for _ in _told(session))
    lost["token figure"] += len(session.groups) if len(session.groups) > 1 else 0
    facts = (session.title, session.id, session.version, session.workspace_root, session.branch, session.created)
    lost["fact"] += sum(map(bool, facts)) + max(len(session.models) - 2, 0)


def _count(message: Message, lost: Counter[str]) -> None:
    """Count what of a message has no place in the document."""
    tool = message.tool
    lost["image"] += len(message.images)
    lost["coloured run"] += sum(len(part.runs) for part in message.parts)
    lost["fact"] += (message.timestamp is not None) + len(message.metadata)
    if tool is not None:
        lost["coloured run"] += len(tool.runs)
        lost["diff"] += len(tool.diffs)
        outcome = tool.status not in (ToolStatus.OK, ToolStatus.PENDING), tool.exit_code is not None, bool(tool.seconds)
        lost["fact"] += sum(outcome)


def _final(session: Session) -> str:
    """Return the agent's last text, or `NO_ANSWER`."""
    for index in reversed(list(_told(session))):
        if session.messages.kind[index] == Kind.TEXT and (text := session.message(index).text).strip():
            return text
    return NO_ANSWER


def _metadata(session: Session) -> dict[str, Any]:
    """The keys that the platform shows in places of their own, beside what else the session's source says of it."""
    usage = session.usage()
    took = [exchange.duration for exchange in session.live_exchanges if exchange.duration is not None]
    facts = {
        "model": next((session.models[number] for number in reversed(session.messages.model) if number), None),
        "total_input_tokens": usage.context if usage else None,
        "total_output_tokens": usage.output if usage else None,
        "agent_runtime_ms": round(sum(took) * 1000) if took else None,
    }
    return session.metadata | {key: value for key, value in facts.items() if value is not None}


def _written(message: Message, lost: Counter[str]) -> Iterator[dict[str, Any]]:
    """The document's messages for one of the session."""
    content = _content(message.parts)
    if message.kind in USER_KINDS:
        yield {"role": "user", "content": content or ""}
    elif message.tool is not None:
        yield from _tool(message.tool, message.index)
    elif message.kind == Kind.NOTE:
        lost["note"] += 1
    elif not content and (message.kind in (Kind.TEXT, Kind.THINKING) or not message.label):
        lost["empty message"] += 1
    elif message.kind == Kind.THINKING:
        yield {"role": "assistant", "content": None, "thinking": [_text_part(part) for part in message.parts]}
    elif message.kind == Kind.TEXT:
        yield {"role": "assistant", "content": content}
    else:
        yield _whose(message) | {"content": content or message.label}


def _whose(message: Message) -> dict[str, Any]:
    """The role of a message that is neither a person's nor the agent's: a tool's, with the call that it names, where
    its source has it as one and no call was there for it.
    """
    if message.kind != Kind.OUTPUT or message.metadata.get("role") != "tool":
        return {"role": "system"}
    named = message.metadata.get("tool_call_id")
    return {"role": "tool"} | ({"tool_call_id": named} if isinstance(named, str) else {})


def _content(parts: list[Part]) -> str | list[dict[str, Any]] | None:
    """A message's text: a string, or parts where there are several."""
    said = [part for part in parts if part.text]
    return said[0].text if len(said) == 1 else [_text_part(part) for part in said] or None


def _text_part(part: Part) -> dict[str, Any]:
    """A piece of text. An image's bytes are not kept; what is written is its placeholder."""
    return {"type": "text", "text": part.text}


def _tool(tool: Tool, index: int) -> Iterator[dict[str, Any]]:
    """A call, and its result: of one that no source tells there is no message, as an empty one would say that there was
    nothing in it.
    """
    name = tool.use_id or f"call-{index}"
    call = {"id": name, "name": tool.name or "unknown", "arguments": tool.input}
    yield {"role": "assistant", "content": None, "tool_calls": [call]}
    if tool.text or tool.output is not None or tool.images:
        parts = [Part("text", tool.text), *tool.images]
        yield {"role": "tool", "tool_call_id": name, "content": _content(parts) or ""}
