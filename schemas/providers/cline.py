"""Cline: a document of messages a session and a manifest beside it (formats/others.md 7, found-others.md 5).

Subagents have documents of their own in the folder of their session. Until 4.0 a session was a task of the editor's
extension: `_cline_tasks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import orjson

from schemas.diffs import FileDiff, added_file
from schemas.folders import object_in, state_of
from schemas.message import NO_FLAGS, Flag, Kind, Part, Tool, ToolStatus
from schemas.provider import Format, Head
from schemas.providers import _cline_tasks as tasks
from schemas.providers.kit.bases import Data, Document, Home
from schemas.providers.kit.blocks import arguments_of, image_part, inclusive_figures, texts_in
from schemas.providers.kit.words import Answer, Child, Count, Fact, Item, Say, Skip, Task, Title, Turn, Use
from schemas.records import read_document
from schemas.slices import Listing
from schemas.values import dict_of, list_of, text_of, when, whole

if TYPE_CHECKING:
    from schemas.session import Session

_ENDING, _SUMMARY = ".messages.json", "compaction_summary"
_FIGURES = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


class Cline(Document):
    """Cline's command line and its extensions of editors."""

    id = "cline"
    name = "Cline"
    verified: ClassVar[str] = "genuine sessions of CLI 2.14, 3.0.57 and 3.0.65; tasks on made-up files"
    counting = (
        "Cline keeps the figures of each response with its message; the input includes the cache, which is taken apart "
        "here. Where no message has any, the sum of the manifest counts. Tasks keep those of each request."
    )
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Cline session, one JSON document", "an object with sessionId, agent and messages"),
        Format("Cline task, what the model saw", "a list of messages, the first of them with a <task>"),
        Format("Cline task, what the person saw", "a list of objects with ts and say or ask"),
    )
    homes: ClassVar[tuple[Home, ...]] = (
        Home("$CLINE_SESSION_DATA_DIR", "CLINE_SESSION_DATA_DIR"),
        Home("$CLINE_DATA_DIR", "CLINE_DATA_DIR"),
        Home("$CLINE_DIR/data", "CLINE_DIR"),
        Home(".cline/data"),
        *tasks.in_editors("saoudrizwan.claude-dev"),
    )
    files: ClassVar[tuple[str, ...]] = (f"*/*{_ENDING}", f"sessions/*/*{_ENDING}", f"tasks/*/{tasks.HISTORY}")
    marks: ClassVar[tuple[bytes, ...]] = (b'"role"', b'"say"', b'"ask"', b'"messages"')
    resume: ClassVar[tuple[str, ...]] = ("cline", "--id")
    listing = Listing(r"(\d+) \| ?")
    tools = tasks.TOOLS | {
        "run_commands": "shell", "read_files": "read", "search_codebase": "search", "fetch_web_content": "read",
        "web_search": "search", "editor": "write", "apply_patch": "write", "spawn_agent": "task",
        "use_subagents": "task", "focus_chain": "task", "skills": "generic", "use_skill": "generic",
        "ask_question": "generic", "submit_and_exit": "generic", "summarize_task": "generic",
    }  # fmt: skip

    # -- the document ----------------------------------------------------------------------------------------------

    def detect(self, head: Head) -> bool:
        return bool(self.records(head.document)) and not tasks.fork_of(head.path)

    def records(self, document: Any) -> Sequence[Data]:
        if isinstance(document, list):
            return tasks.records(document)
        said = dict_of(document)
        if not ("sessionId" in said and "agent" in said and isinstance(said.get("messages"), list)):
            return []
        header = {key: value for key, value in said.items() if key != "messages"}
        return [{**header, "type": "session"}, *map(dict_of, said["messages"])]

    def sides(self, path: Path) -> Sequence[Path]:
        if path.name in (tasks.HISTORY, tasks.SHOWN):
            return tasks.sides(path)
        return [path.with_name(path.name.replace(_ENDING, ending)) for ending in (".json", ".compaction.json")]

    def merged(self, path: Path, document: Any, sides: Sequence[Any]) -> Sequence[Data]:
        """The manifest goes first; a compaction stands where the messages that it stands for end."""
        if isinstance(document, list):
            return tasks.records(document, *sides, name=path.parent.name)
        records = list(self.records(document))
        manifest, compaction = dict_of(sides[0]), dict_of(sides[1])
        for message in map(dict_of, list_of(compaction.get("messages"))):
            if dict_of(message.get("metadata")).get("kind") == _SUMMARY:
                records.insert(1 + (whole(compaction.get("source_message_count")) or 0), message)
        if manifest.get("session_id") != records[0].get("sessionId"):
            return records
        spent = dict_of(dict_of(manifest.get("metadata")).get("usage"))
        if not any(isinstance(record.get("metrics"), dict) for record in records):
            records.append({"type": "usage", "metrics": spent, "modelInfo": {"id": manifest.get("model")}})
        return [{**manifest, "type": "manifest"}, *records]

    def time(self, record: Data) -> float | None:
        return when(record.get("ts"))

    def type(self, record: Data) -> str:
        return text_of(record.get("type")) or text_of(record.get("role")) or "(no type)"

    def id_of(self, path: Path) -> str:
        """The folder's name; empty for a subagent, whose document lies in the folder of its session."""
        name = path.name.removesuffix(_ENDING)
        return path.parent.name if name in (path.parent.name, tasks.HISTORY) else ""

    def resume_command(self, session: Session) -> list[str] | None:
        return super().resume_command(session) if session.path.name.endswith(_ENDING) else None

    def stamps(self, session: Session) -> object:
        paths = _documents_in(session.path) or [tasks.index_of(session.path)]
        return [(path, state_of(path)) for path in paths]

    def beside(self, session: Session) -> Iterable[Item]:
        """The subagents in the session's folder; of a task what the index of tasks says."""
        if not session.path.name.endswith(_ENDING):
            yield from tasks.index_says(session)
            return
        children = [(path, child) for path in _documents_in(session.path) if (child := _child_at(path, state_of(path)))]
        names = {session.id, *(child[0] for _, child in children)}
        rows = (row for row, kind in enumerate(session.messages.kind) if children and kind == Kind.TOOL)
        made = ((message.timestamp, message.tool) for message in map(session.message, rows))
        uses = [(time, tool) for time, tool in made if tool is not None and tool.name == "spawn_agent"]
        for path, (name, parent, begun, prompt) in children:
            ours = parent == session.id or (session.lineage.agent_id is None and parent not in names)
            if not ours or name == session.id:
                continue
            # Nothing names the tool use: it has the same words, or was the last one before the subagent began.
            same = [use for use in uses if text_of(use[1].input.get("task")).split() == prompt.split()]
            found = same[:1] or [use for use in uses if begun and use[0] and use[0] <= begun + 1][-1:]
            uses = [use for use in uses if use not in found]
            use_id = found[0][1].use_id if found else ""
            yield Child(path.name.removesuffix(_ENDING), path, task=Task(prompt=prompt), use_id=use_id)

    # -- a record --------------------------------------------------------------------------------------------------

    def read(self, record: Data) -> Iterator[Item]:
        metadata, model = dict_of(record.get("metadata")), text_of(dict_of(record.get("modelInfo")).get("id"))
        match record.get("type"):
            case "manifest":
                yield Title(typed_in(text_of(record.get("prompt")))[0], 1)
                yield Title(text_of(metadata.get("title")), 2)
                yield Fact(
                    workspace_root=record.get("cwd") or record.get("workspace_root"), status=record.get("status"),
                    created=when(record.get("started_at")) or when(record.get("created_at")),
                    branch=dict_of(metadata.get("git")).get("branch"),
                )  # fmt: skip
            case "session":
                origin = dict_of(record.get("origin"))
                yield Fact(
                    id=record.get("sessionId"), version=origin.get("version"), parent=origin.get("parentThreadId"),
                    agent_id=origin.get("subagent"),
                )  # fmt: skip
                if system := text_of(record.get("system_prompt")):
                    yield Say(Kind.CONTEXT, system, label="System prompt")
            case "usage":
                yield Skip("usage")
            case tasks.TYPE:
                yield from tasks.read(record, self.blocks)
                return
            case _ if metadata.get("kind") == _SUMMARY:
                before, made = whole(metadata.get("tokensBefore")), when(metadata.get("generatedAt"))
                label = f"Compacted, {before:,} tokens before" if before else "Compacted"
                yield Say(Kind.COMPACTION, text_of(metadata.get("summary")), label=label, time=made)
            case _ if metadata.get("displayOnly") is True and metadata.get("displayRole") == "error":
                yield Say(Kind.ERROR, texts_in(record.get("content")), label="Error")
                yield Turn(begins=False, failed=True)
            case _ if record.get("role") in ("user", "assistant"):
                texts = _prompts if record["role"] == "user" else _texts
                yield from self.blocks(tasks.blocks_of(record), texts, model)
            case _:
                yield Say(Kind.UNKNOWN)
        if "metrics" in record:  # those of an answer that broke off are all 0: they are not known
            yield Count(inclusive_figures(dict_of(record["metrics"]), *_FIGURES), model=model)

    def blocks(self, blocks: Iterable[Data], texts: Any, model: str = "") -> Iterator[Item]:
        """Read the items of blocks of content; `texts` reads those of text."""
        for block in blocks:
            match block.get("type"):
                case "text":
                    yield from texts(text_of(block.get("text")), model)
                case "thinking" | "redacted_thinking":
                    text = text_of(block.get("thinking")) or text_of(block.get("text"))
                    yield Say(Kind.THINKING, text, model=model, flags=NO_FLAGS if text else Flag.WITHHELD)
                case "tool_use":
                    yield _use(block, model)
                case "tool_result":
                    yield from _result(block)
                case "image":
                    yield Say(Kind.CONTEXT, label="Image", images=_images([block]))
                case "file":
                    yield Say(Kind.CONTEXT, text_of(block.get("content")), label=f"File {text_of(block.get('path'))}")
                case kind:
                    yield Say(Kind.UNKNOWN, label=f"content {text_of(kind)}")

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """An edit without an old text makes a file, if it inserts nothing."""
        given, found = tool.input, super().diffs(tool, answer)
        if tool.name == "replace_in_file" and tool.status in (ToolStatus.OK, ToolStatus.PENDING):
            return tasks.replacements(text_of(given.get("path")), text_of(given.get("diff")))
        if found and tool.name == "editor" and not given.get("old_text") and "insert_line" not in given:
            return [added_file(text_of(given.get("path")), text_of(given.get("new_text")))]
        return found


_TYPED = re.compile(r"<user_input[^>]*>(.*)</user_input>", re.DOTALL)
_EXITED = re.compile(r"(?:Command )?exited with code (-?\d{1,6})\Z")
_CODE_FIRST = re.compile(r"\A\[Command exited with code -?\d+\]\n+")


def typed_in(text: str) -> tuple[str, str]:
    """Return the words that a person typed in a text, and the text around them."""
    found = _TYPED.search(text)
    return (found[1].strip(), (text[: found.start()] + text[found.end() :]).strip()) if found else (text, "")


def _prompts(text: str, model: str) -> Iterator[Item]:
    typed, around = typed_in(text)
    if around:
        yield Say(Kind.CONTEXT, around, label="Added by Cline")
    if typed.lstrip().startswith("<environment_details>"):
        yield Say(Kind.CONTEXT, typed, label="Environment")
    elif typed.strip():
        yield Say(Kind.PROMPT, typed)


def _texts(text: str, model: str) -> Iterator[Item]:
    if text.strip():
        yield Say(Kind.TEXT, text, model=model)


def _images(blocks: Iterable[Data]) -> list[Part]:
    sources = [dict_of(block.get("source")) or block for block in blocks if block.get("type") == "image"]
    return [image_part(one.get("mediaType") or one.get("media_type"), one.get("data")) for one in sources]


def _use(block: Data, model: str) -> Use:
    given = dict(arguments_of(block.get("input")))
    if isinstance(commands := given.get("commands"), str):  # a list as JSON text
        given["commands"] = list_of(read_document(commands.encode("utf-8", "replace"))) or [commands]
    name = text_of(block.get("name"))
    task = Task("", text_of(given.get("systemPrompt")), text_of(given.get("task"))) if name == "spawn_agent" else None
    return Use(name=name, use_id=text_of(block.get("id")), input=given, model=model, task=task)


def _result(block: Data) -> Iterator[Item]:
    said = block.get("content")
    one = arguments_of(said) if isinstance(said, str) else {}
    if "success" in one:
        said = [one]
    elif "finishReason" in one:  # a subagent's answer, beside its figures
        said = text_of(one.get("text"))
    parts = [dict_of(part) for part in list_of(said)]
    texts = [_shown(part, headed=len(parts) > 1) for part in parts if part.get("type") != "image"]
    errors = [text_of(part.get("error")) for part in parts if part.get("error") or part.get("success") is False]
    codes = [int(found[1]) for error in errors if (found := _EXITED.search(error))]
    aborted = any("was aborted" in error for error in errors)
    failed = ToolStatus.ERROR if errors or block.get("is_error") is True else ToolStatus.OK
    status = ToolStatus.INTERRUPTED if aborted else failed
    text = said if isinstance(said, str) else "\n\n".join(texts)
    yield Answer(text_of(block.get("tool_use_id")), text, status, codes[0] if codes else None, images=_images(parts))
    if aborted:
        yield Say(Kind.INTERRUPT, label="Interrupted")


def _shown(part: Data, *, headed: bool) -> str:
    """Return a tool's answer to one of its queries; the failure of a command shows in its exit code."""
    result, error = part.get("result", part.get("text", part.get("content"))), text_of(part.get("error"))
    text = result if isinstance(result, str) else orjson.dumps(result).decode() if result else ""
    lines = [f"{part['query']}:"] if headed and text_of(part.get("query")) else []
    lines += [text for text in (_CODE_FIRST.sub("", text), "" if _EXITED.search(error) else error) if text]
    return "\n".join(lines)


def _documents_in(path: Path) -> list[Path]:
    """The other documents of messages in the folder of one."""
    return sorted({*path.parent.glob(f"*{_ENDING}")} - {path}) if path.name.endswith(_ENDING) else []


@lru_cache(maxsize=256)
def _child_at(path: Path, state: tuple[int, int]) -> tuple[str, str, float | None, str] | None:
    """Return the facts of a subagent's document: its session's id, its parent's, the time it began, its prompt."""
    said = object_in(path)
    first = next(map(dict_of, list_of(said.get("messages"))), {})
    parent = dict_of(said.get("origin")).get("parentThreadId")
    if said.get("agent") != "subagent":
        return None
    return text_of(said.get("sessionId")), text_of(parent), when(first.get("ts")), texts_in(first.get("content"))


PROVIDER = Cline()
