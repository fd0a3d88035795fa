"""Tasks of Cline's extension until 4.0 (formats/others.md 7.2): what the model saw, what the person saw, an index.

What the model saw is read; it has no figures and, in older files, no times: those are the requests' that the person
saw. What only the person saw (errors, a last remark) goes where its time belongs. Older models call tools in XML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.diffs import FileDiff, from_strings
from schemas.folders import bytes_in, state_of
from schemas.message import Kind, ToolStatus, ToolType
from schemas.provider import Home
from schemas.providers.kit.blocks import arguments_of, image_part, inclusive_figures
from schemas.providers.kit.words import Answer, Count, Fact, Item, Say, Skip, Title, Use
from schemas.records import read_document
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of, when

if TYPE_CHECKING:
    from schemas.session import Session

Data = dict[str, Any]
HISTORY, SHOWN = "api_conversation_history.json", "ui_messages.json"
FACTS = "history_item.json"
"""Where forks keep what Cline has in its index."""
TYPE = "task"
"""The type that the records of a task are given."""
_REQUESTS = ("api_req_started", "deleted_api_reqs", "subagent_usage")
_ERRORS = ("error", "diff_error", "clineignore_error", "api_req_failed", "mistake_limit_reached")
TOOLS: dict[str, ToolType] = {
    "access_mcp_resource": "generic", "ask_followup_question": "generic", "attempt_completion": "generic",
    "browser_action": "generic", "condense": "generic", "execute_command": "shell",
    "list_code_definition_names": "search", "list_files": "search", "load_mcp_documentation": "generic",
    "new_rule": "write", "new_task": "task", "plan_mode_respond": "generic", "read_file": "read",
    "replace_in_file": "write", "search_files": "search", "use_mcp_tool": "generic", "web_fetch": "read",
    "write_to_file": "write",
}  # fmt: skip
"""What older models call in XML."""
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")


def in_editors(extension: str) -> Iterator[Home]:
    """The folders of an editor's extension, in each editor and on each system."""
    for base, reason, platform in (
        (".config", "default", "linux"), ("Library/Application Support", "default", "darwin"),
        ("$APPDATA", "APPDATA", "win32"), ("AppData/Roaming", "default", "win32"),
    ):  # fmt: skip
        for editor in _EDITORS:
            yield Home(f"{base}/{editor}/User/globalStorage/{extension}", reason, (platform,))
    yield Home(f".vscode-server/data/User/globalStorage/{extension}")


def sides(path: Path) -> list[Path]:
    """Return the other file of the person's view and the model's; with the index where the person's is not there."""
    other = path.with_name(SHOWN if path.name == HISTORY else HISTORY)
    return [other] if path.name == SHOWN or other.exists() else [other, index_of(path)]


def records(document: Sequence[Any], other: Any = None, index: Any = None, *, name: str = "") -> list[Data]:
    """The records of a task, of which `document` is one side and `other` perhaps the other; none for other lists.

    What nobody saw is counted by the sums that the index has for the task `name`.
    """
    first = dict_of(document[0]) if document else {}
    kind = text_of(first.get("type"))
    begun = (text_of(block.get("text")).lstrip().startswith("<task>") for block in blocks_of(first))
    if first.get("role") == "user" and any(begun):
        sums = [one for one in map(dict_of, list_of(index)) if one.get("id") == name]
        merged = _merged([dict_of(message) for message in document], list_of(other))
        return merged + [{"type": TYPE, "ts": None, "index": one} for one in sums]
    if kind in ("say", "ask") and isinstance(first.get(kind), str) and "ts" in first:
        return _merged([dict_of(message) for message in list_of(other)], document)
    return []


def _merged(history: list[Data], shown: Sequence[Any]) -> list[Data]:
    said = [one for one in map(dict_of, shown) if one.get("partial") is not True]
    requests = [one for one in said if one.get("say") in _REQUESTS]
    timed = all(when(message.get("ts")) for message in history if message.get("role") == "assistant")
    made: list[Data] = []
    turn = 0
    for message in history:
        mine: list[Data] = []
        if message.get("role") == "assistant":
            turn += 1
            while requests and (_time(requests[0]) <= _time(message) if timed else not mine):
                mine.append(requests.pop(0))
        time = message.get("ts") or next((one.get("ts") for one in mine or requests), None)
        made.append({**message, "type": TYPE, "ts": time, "turn": turn, "requests": mine})
    known = "\n".join(text for message in history if message.get("role") == "user" for text in _texts_in(message))
    for n, one in enumerate(said):
        what, text, time = one.get(text_of(one.get("type"))), text_of(one.get("text")), _time(one)
        if history and what not in _ERRORS and (what != "user_feedback" or text.strip() in known):
            continue
        place = next((at for at, record in enumerate(made) if _time(record) > time), len(made))
        opens = not history and n == 0
        made.insert(place, {**one, "type": TYPE, "shown": what, "opens": opens, "turn": n})
    if history and requests:
        made.append({"type": TYPE, "ts": requests[-1].get("ts"), "requests": requests})
    return made


def _time(record: Data) -> float:
    return when(record.get("ts")) or 0.0


def _texts_in(message: Data) -> Iterator[str]:
    for block in blocks_of(message):
        yield text_of(block.get("text"))
        yield from _texts_in(block) if "content" in block else ()


def read(record: Data, blocks: Callable[..., Iterator[Item]]) -> Iterator[Item]:
    """Read the items of a task's record; `blocks` reads blocks of content that are no text."""
    info = dict_of(record.get("modelInfo"))
    model, turn = text_of(info.get("modelId")) or text_of(info.get("id")), f"xml-{record.get('turn')}"
    if "shown" in record:
        yield from _shown(record)
    elif record.get("role") == "assistant":
        yield from blocks(blocks_of(record), lambda text, model: _spoken(text, turn, model), model)
    elif record.get("role") == "user":
        yield from _asked(blocks_of(record), turn, blocks)
    elif index := dict_of(record.get("index")):
        yield Skip("index")
        yield Count(usage_of(index), "index", text_of(index.get("modelId")))
    elif "requests" not in record:
        yield Say(Kind.UNKNOWN, label=f"message of {text_of(record.get('role')) or 'nobody'}")
    for request in map(dict_of, list_of(record.get("requests"))):
        yield from _counted(request, model)


def _counted(request: Data, model: str) -> Iterator[Item]:
    figures, info = arguments_of(request.get("text")), dict_of(request.get("modelInfo"))
    yield Skip(text_of(request.get("say")))
    model = model or text_of(info.get("modelId"))
    # What speaks OpenAI's protocol tells the input as it comes: with what was cached.
    inclusive = info.get("providerId") == "openai"
    usage = inclusive_figures(figures, *_FIGURES) if inclusive else usage_of(figures)
    yield Count(usage, f"{request.get('say')}-{request.get('ts')}", model)


def blocks_of(record: Data) -> list[Data]:
    """The blocks of a message; a text alone is one."""
    content = record.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else [dict_of(b) for b in list_of(content)]


_FIGURES = ("tokensIn", "tokensOut", "cacheReads", "cacheWrites")


def usage_of(said: Data) -> TokenUsage:
    """The figures of a request, of which the input has no cache in it."""
    usage = TokenUsage(*(as_count(said.get(key)) for key in _FIGURES))
    return usage if any(usage) else TokenUsage()


def _spoken(text: str, turn: str, model: str) -> Iterator[Item]:
    """Read the model's text as items: thinking, text, a tool in XML, and how it broke off."""
    if thought := _THOUGHT.match(text):
        yield Say(Kind.THINKING, thought[1].strip(), model=model)
        text = text[thought.end() :]
    cut = _CUT.search(text)
    text = text[: cut.start()] if cut else text
    while found := _TOOL.search(text):
        if before := text[: found.start()].strip():
            yield Say(Kind.TEXT, before, model=model)
        yield Use(name=found[1], use_id=turn, input=dict(_PARAMETER.findall(found[2])), model=model)
        text = text[found.end() :]
    if text.strip():
        yield Say(Kind.TEXT, text.strip(), model=model)
    if cut:
        by_user = cut[1] == "user"
        yield Say(Kind.INTERRUPT if by_user else Kind.ERROR, label="Interrupted" if by_user else f"Cut off by {cut[1]}")


def _asked(parts: Iterable[Data], turn: str, blocks: Callable[..., Iterator[Item]]) -> Iterator[Item]:
    """Read the texts of a person or the program for the model; a result in text may go on in the blocks behind it."""
    result: list[str] | None = None
    for part in [*parts, {"type": "end"}]:
        text = text_of(part.get("text")) if part.get("type") == "text" else ""
        begins, tag = _RESULT.match(text), _TAG.match(text)
        if result is not None and (begins or tag or not text):
            yield from _ended(turn, "\n".join(result).strip())
            result = None
        if part.get("type") == "end":
            return
        if begins:
            result = [text[begins.end() :]]
        elif tag and tag[1] == "environment_details":
            yield Say(Kind.CONTEXT, text, label="Environment")
        elif tag:
            yield Say(Kind.PROMPT, tag[2].strip())
        elif result is not None:
            result.append(text)
        elif text:
            label = "Task resumed" if text.startswith("[TASK RESUMPTION]") else "Added by Cline"
            yield Say(Kind.CONTEXT, text, label=label)
        elif part.get("type") != "text":
            for item in blocks([part], lambda text, model: iter(())):
                yield item
                if isinstance(item, Answer):
                    yield from _remark(item.text or "")


def _ended(turn: str, text: str) -> Iterator[Item]:
    denied = text.startswith("The user denied this operation")
    failed = text.startswith(("The tool execution failed", "[ERROR]", "Error executing"))
    status = ToolStatus.DENIED if denied else ToolStatus.ERROR if failed else ToolStatus.OK
    yield Answer(turn, text, status)
    yield from _remark(text)


def _remark(text: str) -> Iterator[Item]:
    if found := _REMARK.search(text):
        yield Say(Kind.PROMPT, found[2].strip())


def _shown(record: Data) -> Iterator[Item]:
    """Read a record of what the person saw, which stands alone where there is nothing else."""
    what, text = text_of(record.get("shown")), text_of(record.get("text"))
    use_id = f"shown-{record.get('turn')}"
    images = [image_part("image/*", one) for one in list_of(record.get("images"))]
    match what:
        case _ if what in _ERRORS:
            yield Say(Kind.ERROR, text, label="Error")
        case "user_feedback":
            yield Say(Kind.PROMPT, text, images=images)
        case "text" | "task" if record.get("opens") is True:
            yield Say(Kind.PROMPT, text, images=images)
        case "text" | "completion_result" | "plan_mode_respond" | "followup" if text:
            yield Say(Kind.TEXT, text)
        case "reasoning" if text:
            yield Say(Kind.THINKING, text)
        case "command":
            yield Use(name="execute_command", use_id=use_id, input={"command": text})
        case "command_output" if text:
            yield Say(Kind.OUTPUT, text, label="Output")
        case "tool":
            given = arguments_of(text)
            yield Use(name=text_of(given.get("tool")), use_id=use_id, input=given)
        case _ if what in _REQUESTS:
            yield from _counted(record, "")
        case _:
            yield Skip(what)


def replacements(path: str, text: str) -> list[FileDiff]:
    """The change that blocks of SEARCH and REPLACE make."""
    changes = [from_strings(path, old, new) for old, new in _REPLACED.findall(text)]
    return [FileDiff(path, "update", [hunk for change in changes for hunk in change.hunks])] if changes else []


_THOUGHT = re.compile(r"\s*<thinking>(.*?)</thinking>", re.DOTALL)
_TOOL = re.compile(rf"<({'|'.join(TOOLS)})>(.*?)(?:</\1>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<(\w+)>\n?(.*?)\n?</\1>", re.DOTALL)
_CUT = re.compile(r"\s*\[Response interrupted by (?:a )?([^\]]+)\]\s*\Z")
_RESULT = re.compile(r"\[\w+(?: for [^\n]*| to [^\n]*)?\] Result:\s*")
_TAG = re.compile(r"\s*<(task|feedback|user_message|answer|environment_details)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_REMARK = re.compile(r"<(feedback|user_message|answer)>(.*?)</\1>", re.DOTALL)
_REPLACED = re.compile(r"[-<]{7} SEARCH>?\n(.*?)\n?={7}\n(.*?)\n?[+>]{7} REPLACE", re.DOTALL)


def index_says(session: Session) -> Iterator[Item]:
    """Read from the index a task's title, the folder it worked in and the time it began."""
    name = session.path.parent.name
    said = _index(index_of(session.path), state_of(index_of(session.path))).get(name, {})
    yield Title(text_of(said.get("task")), 1)
    yield Fact(
        workspace_root=said.get("cwdOnTaskInitialization") or said.get("workspace"),
        created=when(int(name)) if name.isdecimal() and len(name) < 15 else None,
    )  # fmt: skip


def fork_of(path: Path) -> str:
    """The extension that wrote a task, if it is a fork: by its folder, or by the facts that forks keep beside it."""
    name = next((one for one in ("roo-cline", "kilo-code") for part in path.parts if part.endswith(one)), "")
    return name or ("roo-cline" if (path.parent / FACTS).is_file() else "")


def index_of(path: Path) -> Path:
    """The index of the tasks among which one lies."""
    return path.parent.parent.with_name("state") / "taskHistory.json"


@lru_cache(maxsize=8)
def _index(path: Path, state: tuple[int, int]) -> dict[str, Data]:
    said = list_of(read_document(bytes_in(path)))
    return {text_of(one.get("id")): one for one in map(dict_of, said)}
