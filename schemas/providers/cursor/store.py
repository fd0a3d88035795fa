"""A chat's `store.db`, a transcript in text, and the contents of the texts in both (formats note 3.2 to 3.4).

A store has blobs by their hashes, and one row that names the root of what is said now. The order of messages comes from
the root alone: each turn writes a new one, and old ones lie about. Times are in the root's turns, which say the
conversation once more: a message has the time of the turn or step that says the same.

Cursor wraps what a person typed in `<user_query>` and puts context in tags before it, in the same text or in messages
of their own. Its own program speaks in `<user_query>` too: to go on after a subagent, or after an interruption.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby
from textwrap import dedent
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.message import Part
from schemas.protobuf import Fields, decode
from schemas.provider import Head
from schemas.providers.kit.blocks import image_part
from schemas.providers.kit.words import Data
from schemas.records import read_document, read_record
from schemas.values import dict_of, text_of

if TYPE_CHECKING:
    import sqlite3

OURS = "turnlog"
"""The key under which a record has what the store says of a message; alone, it is a remark of the store's own."""
_ROOT, _SECRET = "latestRootBlobId", "blobEncryptionKey"
_BLOB = "SELECT CAST(data AS BLOB) FROM blobs WHERE id = ? AND typeof(data) IN ('blob', 'text')"
_ALL = "SELECT id, CAST(data AS BLOB) FROM blobs WHERE typeof(data) IN ('blob', 'text') ORDER BY rowid LIMIT 200000"
_TOOLS = {
    1: "Shell", 3: "Delete", 4: "Glob", 5: "Grep", 8: "Read", 9: "TodoWrite", 12: "Edit", 13: "LS", 14: "ReadLints",
    15: "CallMcpTool", 16: "SemanticSearch", 17: "CreatePlan", 18: "WebSearch", 19: "Task", 23: "AskQuestion",
    24: "WebFetch", 25: "SwitchMode",
}  # fmt: skip
_USE_ID = 57


def is_store(head: Head) -> bool:
    """Return whether a database has a store's tables, and blobs by their hashes or Cursor's row in meta."""
    columns = {"blobs": {"id", "data"}, "meta": {"key", "value"}}
    if not all(names <= head.tables.get(table, frozenset()) for table, names in columns.items()):
        return False
    blob, row = (dict_of(head.rows.get(name)) for name in ("blobs", "meta"))
    hashed = re.fullmatch("[0-9a-fA-F]{64}", text_of(blob.get("id")))
    return bool(hashed) or not {"agentId", _ROOT, _SECRET}.isdisjoint(_decode_row(row.get("value")))


def _decode_row(value: object) -> Data:
    """The object in meta's row: JSON, mostly written in hexadecimal digits."""
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value if isinstance(value, bytes) else b""
    try:
        return read_record(bytes.fromhex(raw.decode("ascii"))) or read_record(raw)
    except ValueError:
        return read_record(raw)


def _blob(database: sqlite3.Connection, value: bytes) -> tuple[str, bytes | None]:
    """The id and the bytes (None where they are missing) of the blob that a field names or holds: 32 bytes are an id,
    unless no blob has it and they are JSON.
    """
    name = value.hex()
    data = _named(database, name) if len(value) == 32 else value
    return name[:64], value if data is None and read_document(value) is not None else data


def _named(database: sqlite3.Connection, name: str) -> bytes | None:
    row = database.execute(_BLOB, (name,)).fetchone()
    return row[0] if row else None


def read_store(database: sqlite3.Connection, beside: Data) -> Iterator[Data]:
    """Read a store as it is now: its own record, then its messages in order; `beside` is the `meta.json` beside it."""
    row = database.execute("SELECT value FROM meta WHERE key = '0'").fetchone()
    meta = _decode_row(row[0] if row else None)
    name = text_of(meta.get(_ROOT))
    root = _named(database, name) or _named(database, name.lower())
    fields = Fields({}) if root is None else decode(root)
    found = [_blob(database, value) for value in fields.blobs(1)]
    turns = [turn for value in fields.blobs(8) if (turn := _turn(database, value))]
    tokens = fields.message(5) or Fields({})
    yield {OURS: {
        "store": {key: value for key, value in meta.items() if key != _SECRET}, "beside": beside,
        "used": tokens.number(1), "window": tokens.number(2),
        "workspaces": [address.decode("utf-8", "replace") for address in fields.blobs(9)],
    }}  # fmt: skip
    if not (fields.whole and found) and not turns and not any(read_record(raw or b"") for _, raw in found):
        found = [(text_of(name), data) for name, data in database.execute(_ALL) if "role" in read_record(data)]
        if found or (name and not fields.whole):  # else nobody has said a word yet
            remark = f"The store's root cannot be read: {len(found):,} messages were found, their order is a guess"
            yield {OURS: {"remark": remark}}
    elif not fields.whole:
        yield {OURS: {"remark": "The store's root is damaged: messages may be missing"}}
    yield from _with_turns(list(_records(found)), turns)


def _records(found: Iterable[tuple[str, bytes | None]]) -> Iterator[Data]:
    """Messages as records; one remark in place of all in a row that are missing."""
    for missing, blobs in groupby(found, lambda blob: blob[1] is None):
        if missing:
            names = [name for name, _ in blobs]
            said = "A message is" if len(names) == 1 else f"{len(names):,} messages are"
            yield {OURS: {"blob": names[0], "remark": f"{said} missing from the store", "missing": names}}
            continue
        for name, raw in blobs:
            if value := read_record(raw or b""):
                yield {**value, OURS: {"blob": name}}
            else:
                yield {OURS: {"blob": name, "text": (raw or b"").decode("utf-8", "replace")}}


def _turn(database: sqlite3.Connection, value: bytes) -> list[Data]:
    """A turn as messages would say it: the prompt, and what the agent did about it; nothing for what is none."""

    def part(value: bytes) -> Fields:
        return decode(_blob(database, value)[1] or b"")

    name = value.hex()[:64]
    if (agent := part(value).message(1)) is None:
        return []
    user = part(agent.blob(1))
    parts, times = list[Data](), dict[str, float | None]()
    for step in map(part, agent.blobs(2)):
        if (said := step.message(1)) is not None:
            times[str(len(parts))] = said.time(2)
            parts.append({"type": "text", "text": said.text(1)})
        elif (thought := step.message(3)) is not None:
            times[str(len(parts))] = thought.time(4) or thought.time(3)
            parts.append({"type": "reasoning", "text": thought.text(1)})
        elif (call := step.message(2)) is not None:
            parts += _call(call)
    facts = {"blob": name, "time": user.time(25) or user.time(26)}
    prompt = {"role": "user", "id": user.text(2) or name, "content": user.text(1), OURS: facts}
    answer = {"role": "assistant", "content": parts, OURS: {"blob": f"{name}:steps", "times": times}}
    return [prompt, answer] if parts else [prompt]


def _call(call: Fields) -> Iterator[Data]:
    """A tool use; what it was asked and gave back has another message for each tool, which nobody described."""
    number = next((n for n in call.values if n != _USE_ID and call.blobs(n)), 0)
    use_id, name = call.text(_USE_ID), _TOOLS.get(number, f"tool {number}")
    yield {"type": "tool-call", "toolCallId": use_id, "toolName": name}
    if (call.message(number) or Fields({})).blobs(2):
        yield {"type": "tool-result", "toolCallId": use_id, "result": ""}


def _with_turns(messages: list[Data], turns: list[list[Data]]) -> Iterator[Data]:
    """The messages, with the times that the turns tell, and behind what leads into the conversation the turns that no
    message tells of: those before the one that the first prompt is of, which a summary took the place of, or all.
    """
    asked, following = [_norm(turn[0]["content"]) for turn in turns], 0
    before: int | None = None
    times: dict[tuple[bool, str], deque[float]] | None = None
    for message in messages:
        if (prompt := _prompt_of(message)) is not None:
            words, times = _norm(prompt), None
            number = next((n for n in range(following, len(turns)) if asked[n] == words), None)
            before = (number or 0) if before is None else before
            if number is not None:
                turn, following = turns[number], number + 1
                message[OURS]["time"], times = turn[0][OURS]["time"], _times_in(turn)
        elif times is not None and message.get("role") == "assistant":
            parts = enumerate(parts_of(message.get("content")))
            said = ((str(at), times.get(_said(part))) for at, part in parts)
            message[OURS]["times"] = {at: left.popleft() for at, left in said if left}
    begin = next((n for n, message in enumerate(messages) if not _leads(message)), len(messages))
    yield from (*messages[:begin], *chain.from_iterable(turns[:before]), *messages[begin:])


def _times_in(turn: list[Data]) -> dict[tuple[bool, str], deque[float]]:
    """Return the times of the agent's texts in a turn, by whether each is thinking, and the text."""
    times: dict[tuple[bool, str], deque[float]] = defaultdict(deque)
    for answer in turn[1:]:
        for at, time in answer[OURS]["times"].items():
            times[_said(answer["content"][int(at)])] += [] if time is None else [time]
    return times


def _norm(text: str) -> str:
    return " ".join(text.split())


def _said(part: object) -> tuple[bool, str]:
    """Return the key by which a text or thinking is known: white space does not count."""
    return dict_of(part).get("type") == "reasoning", _norm(text_of(dict_of(part).get("text")) or text_of(part))


def _leads(message: Data) -> bool:
    """Return whether a message only leads into a conversation."""
    user = message.get("role") == "user" and _prompt_of(message) is None and not is_summary(message)
    return user or message.get("role") == "system"


def is_summary(message: Data) -> bool:
    """Return whether a user's message is the summary of older ones."""
    return options(message).get("isSummary") is True


def options(value: Data) -> Data:
    """Return Cursor's own notes on a message or a part."""
    return dict_of(dict_of(value.get("providerOptions")).get("cursor"))


def parts_of(content: object) -> list[Any]:
    """The content parts of a message; plain text is one."""
    return content if isinstance(content, list) else [] if content is None else [content]


def words_of(part: object) -> str | None:
    """The text of a content part; None where it is something else."""
    if isinstance(part, str):
        return part
    given = dict_of(part)
    return text if given.get("type") in ("text", None) and isinstance(text := given.get("text"), str) else None


def prompt_in(message: Data) -> str | None:
    """Return the typed part of a user's message; None where all of it was put there by the program."""
    return split(filter(None, map(words_of, parts_of(message.get("content"))))).prompt


def _prompt_of(message: Data) -> str | None:
    return None if message.get("role") != "user" or is_summary(message) else prompt_in(message)


class Split(NamedTuple):
    """A user's message taken apart."""

    prompt: str | None
    """What was typed; None where all of the text was put there by the program."""
    context: list[tuple[str, str]]
    """What was put around it, each with a label."""
    time: float | None
    """When it was sent, exact to the minute; None where the text does not say."""
    images: list[Part]
    """Images that were attached, by their paths."""


_CONTEXT = """user_info user_rules always_applied_workspace_rules agent_requestable_workspace_rules cursor_rules rules
    project_layout project_context git_status agent_transcripts available_skills agent_skills manually_attached_skills
    cursor_commands system_reminder system-reminder system_notification task_notification open_files
    open_and_recently_viewed_files recently_viewed_files attached_files additional_data linter_errors
    terminal_files_information mcp_file_system mcp_file_system_servers mcp_instructions mcp_meta_tool_servers
    mcp_meta_tools dynamic_tools available_subagent_models available_subagent_types hooks_context context
    external_links""".split()  # noqa: SIM905
_OPEN = re.compile(rf"<({'|'.join(('user_query', 'timestamp', 'image_files', *_CONTEXT))})(?:\s[^<>]{{0,300}})?>")
_INJECTED = (
    ("Perform any necessary follow-up actions in response to the subagent completion above.", "subagent finished"),
    ("Briefly inform the user about the task result and perform any follow-up actions", "task finished"),
    ("You are the forked subagent; continue executing your task.", "forked subagent"),
    ("Your previous response was interrupted. Continue from where you left off.", "continued after an interruption"),
)
_WORKSPACE = re.compile(r"^Workspace Path:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_STAMP = re.compile(
    r"([A-Z][a-z]{2})[a-z]* (\d{1,2}, \d{4}, \d{1,2}:\d\d [AP]M) \(UTC(?:([+-])(\d{1,2}))?(?::(\d\d))?\)", re.ASCII
)


def split(texts: Iterable[str]) -> Split:
    """The texts of one message, cut into what was typed and what was put around it.

    All bodies of `<user_query>` together are the prompt. Without any, a text that begins with a known context tag is
    context, and any other is the prompt.
    """
    found = [list(_tags(text)) for text in texts]
    asked = any(tag == "user_query" for tags in found for tag, _, _ in tags)
    context, images, typed, time = list[tuple[str, str]](), list[Part](), list[str](), None
    for tags in found:
        beside = ("timestamp", "image_files", "external_links")  # they tell nothing of the rest
        first = next((n for n, (tag, _, _) in enumerate(tags) if tag not in beside), len(tags))
        if not asked and first < len(tags) and not tags[first][0]:  # tags within are what somebody wrote about
            tags[first:] = [("user_query", "", "".join(outer for _, outer, _ in tags[first:]))]
        for tag, outer, inner in tags:
            words = inner.strip()
            if tag == "user_query":
                if label := next((label for begins, label in _INJECTED if words.startswith(begins)), ""):
                    context.append((words, label))
                elif words:
                    typed.append(words)
            elif tag == "image_files" and (paths := re.findall(r"(?m)^[ \t]*(?:\d+\.|[-*])[ \t]+(\S.*)$", inner)):
                images += [image_part("", None, path.strip()) for path in paths]
            elif tag == "timestamp" and time is None and (time := sent_at(inner)) is not None:
                continue
            elif outer.strip():
                context.append((outer.strip(), tag.replace("_", " ") or "context"))
    return Split("\n\n".join(typed) if typed or images else None, context, time, images)


def _tags(text: str) -> Iterator[tuple[str, str, str]]:
    """The tags that stand side by side in a text, and what is between them: the tag's name, all of it, its body."""
    position, unclosed = 0, set[str]()
    while match := _OPEN.search(text, position):
        if match.start() > position:
            yield "", text[position : match.start()], ""
        tag, start = match[1], match.end()
        if tag not in unclosed and (end := text.find(f"</{tag}>", start)) >= 0:
            position = end + len(tag) + 3
        else:
            unclosed.add(tag)  # nor is any that follows: not looked for again. It ends before the next query
            query = text.find("<user_query>", start)
            end = position = query if query >= 0 else len(text)
        yield tag, text[match.start() : position], text[start:end]
    if position < len(text):
        yield "", text[position:], ""


def workspace_of(text: str) -> str:
    """The workspace that a `<user_info>` names; empty for any other text."""
    start = text.find("<user_info>")
    match = _WORKSPACE.search(text, start, start + 20_000) if start >= 0 else None
    return match[1] if match else ""


def sent_at(text: str) -> float | None:
    """`Tuesday, Jun 2, 2026, 11:20 AM (UTC+8)` as seconds since 1970; None for anything else.

    English and exact to the minute. Without its offset from UTC such a time could be any of 26 hours: unknown.
    """
    if (match := _STAMP.search(text[:200])) is None:
        return None
    ahead = timedelta(hours=int(match[4] or 0), minutes=int(match[5] or 0))
    try:
        local = datetime.strptime(f"{match[1]} {match[2]}", "%b %d, %Y, %I:%M %p").replace(tzinfo=UTC)
        return (local + ahead if match[3] == "-" else local - ahead).timestamp()
    except (ValueError, OverflowError):
        return None


# -- transcripts in text, before 2026 (note 3.4): a line `user:` or `assistant:` (older: `A:`) opens a block -----------


_SIGN = re.compile(rb"^\[(?:Thinking|Tool call|Tool result)\](?:[ \t\r]|$)", re.MULTILINE)
# Within an open `<user_query>` a person may quote what looks like a role.
_BLOCK = re.compile(
    r"<user_query>[^<]*(?:<(?!/?user_query>)[^<]*)*</user_query>|^(user|assistant|A):[ \t]*$", re.MULTILINE
)
_MARKED = re.compile(r"^\[(Thinking|Tool call|Tool result)\](?:[ \t]+(.*))?((?:\n(?:[ \t].*)?)*)$", re.MULTILINE)
"""A marker and the lines below it that are indented."""
_KEY = re.compile(r"([A-Za-z_-][\w.-]{0,60})(?:: ?|=)(.*)$")


def is_text(data: bytes) -> bool:
    """Return whether a file is a transcript in text: a role alone on its first line, and a sign of Cursor's.
    One that begins with the agent's part must use a tool or think.
    """
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = data.partition(b"\n")[0].rstrip()
    if first not in (b"user:", b"assistant:", b"A:"):
        return False  # as nearly every file: the rest of a document need not be looked through
    marked = _SIGN.search(data) or (first == b"user:" and re.search(rb"(?m)^<user_(?:query|info)>|^<timestamp>", data))
    return bool(marked)


def text_records(data: bytes) -> Iterator[Data]:
    """The blocks of a text."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").lstrip().replace("\r\n", "\n")
    roles = [match for match in _BLOCK.finditer(text) if match[1]]
    for match, end in zip(roles, [*(match.start() for match in roles[1:]), len(text)], strict=True):
        body = text[match.end() : end].strip("\n")
        if match[1] == "user":
            yield {"role": "user", "message": {"content": body}}
        else:
            yield {"role": "assistant", "message": {"content": _parts(body)}}


def _parts(body: str) -> list[Data]:
    """Return the agent's texts, thoughts and tool uses, in order; a result stands with its use if the block has it."""
    found, waiting = list[Data](), defaultdict[str, deque[Data]](deque)
    pieces = ["", "", "", *_MARKED.split(body)]
    for kind, title, below, after in zip(*(pieces[at::4] for at in range(4)), strict=True):
        name, text = (title or "").strip(), dedent(below).strip("\n")
        if kind == "Thinking":
            found.append({"type": "thinking", "thinking": "\n".join(filter(None, [name, text]))})
        elif kind == "Tool call":
            found.append({"type": "tool_use", "name": name, "input": _input(text)})
            waiting[name].append(found[-1])
        elif text and waiting[name]:  # most say only that there was a result
            waiting[name].popleft()["result"] = text
        elif text:
            found.append({"type": "tool_result", "content": text})
        if after.strip():
            found.append({"type": "text", "text": after.strip("\n")})
    return found


def _input(body: str) -> object:
    """A tool's input: keys with their values, or a text as it is, of JSON or of a patch."""
    values, key = dict[str, str](), ""
    for line in body.split("\n"):
        if (match := _KEY.match(line)) and match[1] not in values:
            key = match[1]
            values[key] = match[2]
        elif values:
            values[key] = f"{values[key]}\n{line}"
        else:
            return body
    return values
