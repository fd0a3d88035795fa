"""OpenCode: a SQLite database of all sessions with two kinds of rows, before that a tree of JSON files, and exports.

Formats: others.md 4, found-others.md 1 and 14b, which were read off genuine files. Which kind of rows counts is decided
for each session: the terminal program writes `message` and `part`, the HTTP API `session_message` beside them, and what
was migrated has both, with the same ids. The table `event` says everything again and is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from schemas.clean import as_json
from schemas.diffs import FileDiff
from schemas.folders import matching
from schemas.message import NO_FLAGS, Flag, Kind, Part, Tool, ToolStatus
from schemas.provider import Environment, Format, Head, Location, Problem, Reading, SessionFile
from schemas.providers.kit.bases import Data, Database, Home, Stream, Tree, diff_of, sources_in
from schemas.providers.kit.blocks import arguments_of, image_part
from schemas.providers.kit.files import Files, object_in
from schemas.providers.kit.history import History, Placed
from schemas.providers.kit.tables import columns_of, objects_in, rows_of
from schemas.providers.kit.words import Answer, Child, Count, Fact, Item, Piece, Say, Skip, Task, Title, Turn, Use
from schemas.records import Record, read_record
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, number, text_of, when, whole

if TYPE_CHECKING:
    import sqlite3

    from schemas.session import Session

FORKS = ("kilo",)
"""Programs with the same tables: told by a table of their own, or where all is alike by the folder."""
_ID = re.compile(r"ses_\w+")
_UNTITLED = re.compile(r"(New|Child) session - \d{4}-\d\d-\d\dT")
_AGENT = re.compile(r"\s*\(@([^()]+) subagent\)$")
_WRAPPED = re.compile(r"<(task_result|content|file)>\n?(.*?)\n?</\1>", re.DOTALL)
_NUMBERED = re.compile(r"^(?:\d+: |\d{5}\| )", re.MULTILINE)
_REMARK = re.compile(r"\s*<(\w+_metadata)>\n?(.*?)\n?</\1>\s*$", re.DOTALL)
_TABLES = (("session", "message"), ("session", "session_message"), ("session_v2", "session_message"))
_ENDS = {"completed": ToolStatus.OK, "error": ToolStatus.ERROR}


class Copies(History):
    """What a fork copied, which `OpenCode.rows` marks with the session it is from, and what was undone."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._undone = False
        self._rows: list[int] = []

    def enter(self, record: Record, time: float | None) -> bool:
        self.copied = text_of(dict_of(record[3].get("copyOf")).get("session"))
        self._undone = record[3].get("undone") is True
        return True

    def own(self, row: int, kind: int) -> None:
        if self._undone:
            self._rows.append(row)

    def settle(self) -> Iterator[tuple[int, bool]]:
        rows, self._rows = self._rows, []
        return ((row, False) for row in rows)


class OpenCode(Database, Tree):
    """OpenCode, and what its forks have in common with it."""

    id = "opencode"
    name = "OpenCode"
    verified: ClassVar[str] = "genuine databases and trees of 1.1.65, 1.2.20 and 1.18.33; rows of 2.x on made-up files"
    counting = (
        "OpenCode keeps the tokens of each call; input excludes the cache, and thinking is added to the output where "
        "it is not in it. Calls that make titles and calls that were interrupted have no figures."
    )
    formats: ClassVar[tuple[Format, ...]] = (
        Format("OpenCode database", "tables session, message and part, or session_v2 and session_message"),
        Format("OpenCode session, JSON files", "an object with the id of a session and projectID"),
        Format("OpenCode export, JSON", "an object with info, the session, and messages, each with info and parts"),
    )
    homes: ClassVar[tuple[Home, ...]] = (
        Home("$OPENCODE_DATA_DIR", "OPENCODE_DATA_DIR"),
        Home("$XDG_DATA_HOME/opencode", "XDG_DATA_HOME"),
        Home(".local/share/opencode"),
    )
    files: ClassVar[tuple[str, ...]] = ("opencode*.db",)
    has_files = True
    trees: ClassVar[str] = "storage/session/*/ses_*.json"
    history: ClassVar[type[History]] = Copies
    marks: ClassVar[tuple[bytes, ...]] = (b"SQLite format 3", b'"projectID"')
    resume = ("opencode", "--session")
    tools = {
        "bash": "shell", "read": "read", "webfetch": "read", "write": "write", "edit": "write", "multiedit": "write",
        "patch": "write", "apply_patch": "write", "glob": "search", "grep": "search", "list": "search",
        "codesearch": "search", "websearch": "search", "lsp": "search", "task": "task", "todowrite": "task",
        "todoread": "task", "skill": "generic", "question": "generic", "plan_enter": "generic", "plan_exit": "generic",
        "invalid": "generic",
    }  # fmt: skip

    # -- which sources there are -----------------------------------------------------------------------------------

    def told(self, head: Head) -> bool:
        """The tables of a database, or the keys of a session or an export; and no fork's."""
        tables, document = head.tables, dict_of(head.document)
        session = dict_of(document.get("info")) if isinstance(document.get("messages"), list) else document
        return (
            ("data" in tables.get("message", ()) and "message_id" in tables.get("part", ()) and "session" in tables)
            or "session_v2" in tables
            or ("projectID" in session and _ID.fullmatch(text_of(session.get("id"))) is not None)
        ) and self.is_mine(head)

    def is_mine(self, head: Head) -> bool:
        """Whether what OpenCode and its forks all write was written by this one."""
        by_table = [fork for fork in FORKS if any(table.startswith(f"{fork}_") for table in head.tables)]
        by_folder = [name for name in reversed(head.path.parts[:-1]) if name in (*FORKS, "opencode")]
        return [*by_table, *by_folder, "opencode"][0] == self.id

    def locations(self, env: Environment) -> list[Location]:
        """The folders, and the database that a variable names."""
        found, variable = super().locations(env), f"{self.id.upper()}_DB"
        named = env.variables.get(variable, "")
        if not named or named == ":memory:":
            return found
        # A name alone is that of a file in the folder; an absolute path stays itself when it is joined.
        return [*dict.fromkeys(Location(folder.path / named, variable) for folder in found), *found]

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions of the databases, and those of the tree that are in none of them."""
        from schemas.sqlite import read_database

        migrated: set[str] = set()
        for path in sources_in(location, self.files, problems):
            try:
                yield from self.held(path)
                migrated |= read_database(path, _ids, once="ids")
            except OSError as error:
                problems.append(Problem(path, str(error)))
        for file, stat in matching(location.path, self.trees, problems) if location.path.is_dir() else ():
            name, parent = Path(file).stem, text_of(object_in(Path(file)).get("parentID"))
            is_child = _ID.fullmatch(parent) and (parent in migrated or Path(file).with_name(f"{parent}.json").exists())
            if name not in migrated and not is_child:
                yield SessionFile(self.id, file, name, stat.st_size, stat.st_mtime_ns)

    def open_key(self, path: Path, key: str) -> Reading:
        """Begin to read a session of a database, or the one in a file."""
        return super().open_key(path, key) if key else Tree.open(self, path)

    def sessions(self, database: sqlite3.Connection) -> Iterable[tuple[str, float]]:
        """Sessions that hold a message, subagents apart unless their parent is gone; of sessions in both tables the
        newer one counts.
        """
        known, found = _ids(database), dict[str, float]()
        for table, messages in _TABLES:
            columns = columns_of(database, table)
            if not columns or not columns_of(database, messages):
                continue
            parent = "parent_id" if "parent_id" in columns else "NULL"
            for name, changed, mother in database.execute(
                f"SELECT id, time_updated, {parent} FROM {table} s "
                f"WHERE EXISTS (SELECT 1 FROM {messages} WHERE session_id = s.id)"
            ):
                if mother not in known:
                    found[text_of(name)] = when(changed) or 0.0
        return found.items()

    # -- records ---------------------------------------------------------------------------------------------------

    def rows(self, database: sqlite3.Connection, session: str) -> Iterable[Data]:
        """The session, its messages in order with their parts, its subagents, and what is still in the queue."""
        asked = _Asked(database)
        own = asked.rows("session_v2", "id = ?", session) or asked.rows("session", "id = ?", session)
        if not own:
            return
        row = own[0]
        project = asked.rows("project", "id = ?", text_of(row.get("project_id")))
        todos = asked.rows("todo", "session_id = ? ORDER BY position", session)
        place = {"worktree": project[0].get("worktree")} if project else {}
        yield {
            "type": "session",
            **row,
            **place,
            "todos": [{k: t.get(k) for k in ("content", "status")} for t in todos],
        }
        for table in ("session_v2", "session"):
            for child in asked.rows(table, "parent_id = ? ORDER BY id DESC", session):
                yield {"type": "subagent", "id": child.get("id"), "title": child.get("title")}
        newer = asked.rows("session_message", "session_id = ? ORDER BY seq", session)
        older = asked.rows("message", "session_id = ? ORDER BY time_created, id", session)
        if not newer or not {one["id"] for one in newer} & {one["id"] for one in older}:
            parts: dict[str, list[Data]] = {}
            for part in asked.parts(session):
                parts.setdefault(text_of(part.pop("message_id", "")), []).append(part)
            messages = [one | {"parts": parts.get(text_of(one.get("id")), [])} for one in older]
            yield from undone(row, asked.copies(row, messages))
        yield from newer
        for queued in asked.rows(
            "session_input", "session_id = ? AND promoted_seq IS NULL ORDER BY admitted_seq", session
        ):
            yield {"type": "queued", **queued}

    def gather(self, path: Path, files: Files) -> Iterable[Data]:
        """The same of an export, or of a session's file and the folders of the tree in which it lies."""
        document = files.document(path)
        if isinstance(document.get("messages"), list):
            session = dict_of(document.get("info"))
            yield {"type": "session", **session}
            found = [dict_of(one) for one in document["messages"]]
            yield from undone(
                session, [dict_of(one.get("info")) | {"parts": list_of(one.get("parts"))} for one in found]
            )
            return
        name = text_of(document.get("id"))
        if not _ID.fullmatch(name):
            return
        root = path.parents[2] if len(path.parts) > 3 else path.parent
        place = files.document(root / "project" / f"{path.parent.name}.json").get("worktree")
        yield {"type": "session", **document, "worktree": place}
        for child, session in files.documents(path.parent):
            if session.get("parentID") == name:
                yield {
                    "type": "subagent",
                    "id": child,
                    "title": session.get("title"),
                    "path": str(path.with_name(f"{child}.json")),
                }
        messages = list(files.documents(root / "message" / name, growing=True))
        last = len(messages) - 1
        yield from undone(document, [
            message | {"parts": [part for _, part in files.documents(root / "part" / key, growing=number == last)]}
            for number, (key, message) in enumerate(messages)
        ])  # fmt: skip

    def type(self, record: Data) -> str:
        """Rows of the older kind say their role instead."""
        return text_of(record.get("type")) or text_of(record.get("role")) or "message"

    def time(self, record: Data) -> float | None:
        """When it was created."""
        return when(dict_of(record.get("time")).get("created")) or when(record.get("time_created"))

    def read(self, record: Data) -> Iterator[Item]:
        match record.get("type") or record.get("role"):
            case "session":
                yield from self._session(record)
            case "subagent":
                title, name = text_of(record.get("title")), text_of(record.get("id"))
                agent = _AGENT.search(title)
                path = text_of(record.get("path"))
                task = Task(agent[1] if agent else "", _AGENT.sub("", title))
                yield Child(name, Path(path) if path else None, "" if path else name, task)
            case "user":
                yield from self._prompt(record)
            case "assistant":
                yield from self._answer(record)
            case "queued":
                yield Say(Kind.STEER, text_of(_object(record.get("prompt")).get("text")), label="Queued")
            case "synthetic" | "system" | "skill" as kind:
                label = (
                    text_of(record.get("description")) or text_of(record.get("name")) or text_of(record.get("skill"))
                )
                yield Say(Kind.CONTEXT, text_of(record.get("text")), label=label or f"Added ({kind})")
            case "shell":
                yield Say(Kind.COMMAND, f"! {text_of(record.get('command'))}")
                output, code = record.get("output"), whole(record.get("exit"))
                said = text_of(output) or text_of(dict_of(output).get("text")) or text_of(dict_of(output).get("output"))
                yield Say(Kind.OUTPUT, said, label=f"exit {code}" if code else "Output")
            case "compaction":
                label = f"Compacted, {text_of(record.get('reason')) or 'manual'}"
                failed = " (failed)" if record.get("status") == "failed" else ""
                yield Say(Kind.COMPACTION, text_of(record.get("summary")), label=label + failed)
                yield Count(usage_of(record))
            case "model-switched":
                yield Fact(model=text_of(dict_of(record.get("model")).get("id")))
                yield Skip("model-switched")
            case "idle":
                if record.get("outcome") == "interrupted":
                    yield Say(Kind.INTERRUPT, label="Interrupted")
                else:
                    yield Skip("idle")
                yield Turn(begins=False, failed=record.get("outcome") != "succeeded")
            case "agent-switched" | "location-switched" as kind:
                yield Skip(text_of(kind))
            case _:
                yield Say(Kind.UNKNOWN)

    def _session(self, row: Data) -> Iterator[Item]:
        title, place, times = text_of(row.get("title")), text_of(row.get("directory")), dict_of(row.get("time"))
        parent = text_of(row.get("parentID")) or text_of(row.get("parent_id"))
        yield Fact(
            id=row.get("id"), version=row.get("version"),
            workspace_root=place if len(place) > 1 else text_of(row.get("worktree")) or place,
            updated=when(times.get("updated")) or when(row.get("time_updated")),
            parent=parent, agent_id=row.get("id") if parent else "", forked_from=row.get("fork_session_id"),
            link=row.get("share_url") or dict_of(row.get("share")).get("url"), agent=row.get("agent"),
            archived=bool(row.get("time_archived") or times.get("archived")), todos=row.get("todos"),
        )  # fmt: skip
        if not _UNTITLED.match(title):
            yield Title(title)
        yield Skip("session")

    def _prompt(self, record: Data) -> Iterator[Item]:
        """What a person typed in one message; what the program put beside it stands behind it."""
        parts = [dict_of(part) for part in list_of(record.get("parts"))]
        if "text" in record:  # a row of the newer kind
            files = [dict_of(file) | {"type": "file"} for file in list_of(record.get("files"))]
            parts = [{"type": "text", "text": record["text"]}, *files]
        typed = [
            part
            for part in parts
            if part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored")
        ]
        images = [
            part for part in parts if part.get("type") == "file" and text_of(part.get("mime")).startswith("image/")
        ]
        text = "\n\n".join(unquoted(text_of(part.get("text"))) for part in typed)
        if typed or images:
            name = text_of(typed[0].get("id")) if typed else ""
            yield Say(Kind.PROMPT, text, id=name, images=[_image(part) for part in images])
        for part in parts:
            name, text = text_of(part.get("id")), text_of(part.get("text"))
            match part.get("type"):
                case "text" if part.get("synthetic"):
                    yield Say(Kind.CONTEXT, text, id=name, label=f"Added by {self.name}")
                case "text" if part.get("ignored"):
                    yield Say(Kind.NOTE, text, id=name, label="Not sent to the model")
                case "file" if part not in images:
                    label = text_of(part.get("filename")) or text_of(part.get("uri")) or text_of(part.get("url"))[:200]
                    yield Say(Kind.CONTEXT, id=name, label=f"Attached {label or 'a file'}")
                case "subtask":
                    yield Say(
                        Kind.PROMPT, text_of(part.get("prompt")), f"Subtask for {text_of(part.get('agent'))}", id=name
                    )
                case "compaction":
                    how = "automatically" if part.get("auto") is True else "by hand"
                    yield Piece(Kind.COMPACTION, label=f"Compacted {how}", id=_compaction(record.get("id")))
                case "text" | "file":
                    pass
                case "agent":  # stands in the text
                    yield Skip("agent")
                case kind:
                    yield Say(Kind.UNKNOWN, label=f"part {text_of(kind)}", id=name)
        if not parts:
            yield Skip("message without parts")

    def _answer(self, record: Data) -> Iterator[Item]:
        """One response of the model: parts of a row of the older kind, content of one of the newer."""
        model = text_of(record.get("modelID")) or text_of(dict_of(record.get("model")).get("id"))
        parts = [dict_of(part) for part in list_of(record.get("parts")) + list_of(record.get("content"))]
        error, stopped = dict_of(record.get("error")), False
        fault = text_of(dict_of(error.get("data")).get("message")) or text_of(error.get("message"))
        if error:
            stopped = error.get("name") == "MessageAbortedError" or fault.endswith("interrupted")
        if record.get("summary") is True:
            text = "\n\n".join(text_of(part.get("text")) for part in parts if part.get("type") == "text")
            yield Piece(Kind.COMPACTION, text, id=_compaction(record.get("parentID")), model=model)
        for part in parts:
            # Rows of the newer kind call the texts of each message alike.
            name = text_of(part.get("id")) if "parts" in record else ""
            times = dict_of(part.get("time"))
            time, text = when(times.get("start")) or when(times.get("created")), text_of(part.get("text"))
            match part.get("type"):
                case "text" if part.get("synthetic"):
                    yield Say(Kind.NOTE, text, model=model, id=name, time=time, label=f"Added by {self.name}")
                case "text":
                    if text.strip() and record.get("summary") is not True:
                        yield Say(Kind.TEXT, text, model=model, id=name, time=time)
                case "reasoning" if text or not times or times.get("end") or times.get("completed"):
                    flags = NO_FLAGS if text else Flag.WITHHELD
                    yield Say(Kind.THINKING, text, model=model, id=name, time=time, flags=flags)
                case "reasoning":
                    pass  # it is being written
                case "tool":
                    yield self._use(part, model, name, stopped=stopped)
                case "retry":
                    reason = text_of(dict_of(dict_of(part.get("error")).get("data")).get("message"))
                    yield Say(
                        Kind.NOTE, reason, f"Attempt {whole(part.get('attempt')) or '?'} failed", id=name, time=time
                    )
                case "file" if text_of(part.get("mime")).startswith("image/"):
                    yield Say(Kind.TEXT, model=model, id=name, images=[_image(part)])
                case "file":
                    yield Say(
                        Kind.NOTE,
                        id=name,
                        label=f"File {text_of(part.get('filename')) or text_of(part.get('url'))[:200]}",
                    )
                case "step-start" | "step-finish" | "snapshot" | "patch":
                    pass  # the same figures as the message's, and changes that the tool uses tell
                case kind:
                    yield Say(Kind.UNKNOWN, label=f"part {text_of(kind)}", id=name)
        if error:
            code = whole(dict_of(error.get("data")).get("statusCode"))
            label = " ".join([text_of(error.get("name")) or "Error", *([str(code)] if code else [])])
            name = f"{text_of(record.get('id'))}:error"
            if stopped:
                yield Say(
                    Kind.INTERRUPT,
                    label="Interrupted",
                    id=name,
                    time=when(dict_of(record.get("time")).get("completed")),
                )
            else:
                yield Say(Kind.ERROR, fault, label=label, id=name, model=model)
        if not parts and not error:
            yield Skip("answer without parts")
        yield Count(usage_of(record), text_of(dict_of(record.get("copyOf")).get("id")), model)

    def _use(self, part: Data, model: str, name: str, *, stopped: bool) -> Use:
        state = dict_of(part.get("state"))
        facts = dict_of(state.get("metadata")) | dict_of(state.get("structured"))
        tool, use_id = (
            text_of(part.get("tool")) or text_of(part.get("name")),
            text_of(part.get("callID")) or text_of(part.get("id")),
        )
        times = dict_of(state.get("time")) or dict_of(part.get("time"))
        begun = number(times.get("start")) or number(times.get("ran")) or number(times.get("created"))
        ended = number(times.get("end")) or number(times.get("completed"))
        given = arguments_of(state.get("input"), "raw")
        started = dict_of(given)
        status, text, code = _ended(state, facts, tool, stopped=stopped)
        images = [_image(dict_of(one)) for one in list_of(state.get("attachments")) + list_of(state.get("content"))
                  if text_of(dict_of(one).get("mime")).startswith("image/")]  # fmt: skip
        seconds = None if begun is None or ended is None or ended < begun else (ended - begun) / 1000
        details = {
            "diff": text_of(dict_of(facts.get("filediff")).get("patch")) or text_of(facts.get("diff")),
            "files": facts.get("files"),
        }
        waits = status is ToolStatus.PENDING and not text
        task = Task(
            text_of(started.get("subagent_type")), text_of(started.get("description")), text_of(started.get("prompt"))
        )
        return Use(
            name=tool, use_id=use_id, id=name, model=model, input=given, time=when(begun),
            answer=None if waits else Answer(use_id, text, status, code, seconds, images, details=details),
            subagent=text_of(facts.get("sessionId")), task=task if tool == "task" else None,
        )  # fmt: skip

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """The changes that the result tells, else what the input says."""
        details = dict_of(answer.details) if answer is not None else {}
        if tool.type == "write" and tool.status is ToolStatus.OK:
            told = [dict_of(file) for file in list_of(details.get("files"))]
            found = [
                diff_of(
                    text_of(f.get("filePath")) or text_of(f.get("file")),
                    text_of(f.get("diff")) or text_of(f.get("patch")),
                )
                for f in told
            ]
            if any(found):
                return [diff for diffs in found for diff in diffs]
            if "@@" in text_of(details.get("diff")):
                return diff_of(text_of(tool.input.get("filePath")), text_of(details["diff"]))
        return super().diffs(tool, answer)


def _ended(state: Data, facts: Data, tool: str, *, stopped: bool) -> tuple[ToolStatus, str, int | None]:
    """How a tool use ended, what it gave, and its exit code. A command that fails is `completed` like any other."""
    error = state.get("error")
    fault = text_of(error) or text_of(dict_of(error).get("message"))
    items = [text_of(dict_of(item).get("text")) for item in list_of(state.get("content"))]
    text = text_of(state.get("output")) or "\n".join(filter(None, items))
    text = text or text_of(facts.get("output")) or text_of(facts.get("content"))
    status, code = _ENDS.get(text_of(state.get("status")), ToolStatus.PENDING), whole(facts.get("exit"))
    if status is ToolStatus.ERROR:
        text = "\n".join(filter(None, (text, fault)))
        if "rejected permission" in fault:
            status = ToolStatus.DENIED
        elif facts.get("interrupted") is True or fault.endswith(("interrupted", "aborted")):
            status = ToolStatus.INTERRUPTED
    elif status is ToolStatus.PENDING and stopped:
        status = ToolStatus.INTERRUPTED
    elif status is ToolStatus.OK:
        if "User aborted the command" in text[-200:]:
            status = ToolStatus.INTERRUPTED
        elif code or tool == "invalid":
            status = ToolStatus.ERROR
    if wrapped := _WRAPPED.search(text):
        text = _NUMBERED.sub("", wrapped[2]) if wrapped[1] != "task_result" else wrapped[2]
    return status, _REMARK.sub(r"\n\n\2", text) if text.rstrip().endswith("_metadata>") else text, code


def usage_of(record: Data) -> TokenUsage:
    """The figures of a call. Newer builds and all rows of the newer kind keep thinking out of the output."""
    tokens = dict_of(record.get("tokens"))
    cache = dict_of(tokens.get("cache"))
    fresh, output, reasoning = (as_count(tokens.get(key)) for key in ("input", "output", "reasoning"))
    read, write = as_count(cache.get("read")), as_count(cache.get("write"))
    known = [n for n in (fresh, output, reasoning, read, write) if n is not None]
    apart = tokens["total"] == sum(known) if "total" in tokens else "role" not in record
    if output is not None and reasoning and apart:
        output += reasoning
    return TokenUsage(fresh, output, read, write, reasoning) if any(known) else TokenUsage()


def undone(session: Data, messages: list[Data]) -> Iterator[Data]:
    """The messages, those marked that an undo took back: all from one on, or from one of its parts."""
    revert = _object(session.get("revert"))
    since, part = text_of(revert.get("messageID")), text_of(revert.get("partID"))
    gone = False
    for message in messages:
        parts = list_of(message.get("parts"))
        first = next((n for n, one in enumerate(parts) if part and dict_of(one).get("id") == part), 0)
        if since and message.get("id") == since and first:
            gone = True
            yield message | {"parts": parts[:first]}
            yield {key: message.get(key) for key in ("role", "time", "modelID")} | {
                "parts": parts[first:],
                "undone": True,
            }
        else:
            gone = gone or bool(since and message.get("id") == since)
            yield message | {"undone": True} if gone else message


def unquoted(text: str) -> str:
    """A prompt without the quotes that `opencode run` puts around an argument with spaces in it."""
    inner = text.strip()
    if len(inner) > 1 and inner[0] == inner[-1] == '"' and '"' not in inner[1:-1].replace('\\"', ""):
        return inner[1:-1].replace('\\"', '"')
    return text


def _compaction(message: object) -> str:
    """The id of the mark that the message which asked for a compaction and its summary make together."""
    return f"compaction:{text_of(message)}"


def _image(part: Data) -> Part:
    url = text_of(part.get("url")) or text_of(part.get("uri"))
    data = url.partition(";base64,")[2] or part.get("data")
    return image_part(part.get("mime"), data, part.get("filename"))


def _object(value: object) -> Data:
    """A column that holds JSON text, or the object."""
    if isinstance(value, str):
        return read_record(value.encode("utf-8", "surrogatepass")) or {}
    return dict_of(value)


def _ids(database: sqlite3.Connection) -> frozenset[str]:
    """The ids of all sessions, subagents included."""
    tables = [table for table in ("session", "session_v2") if columns_of(database, table)]
    return frozenset(text_of(name) for table in tables for (name,) in database.execute(f"SELECT id FROM {table}"))


class _Asked:
    """Questions to a database, some of whose tables and columns may be missing."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def rows(self, table: str, where: str, value: str) -> list[Data]:
        """The rows of a table as objects, with what their column `data` holds."""
        return [_with_data(one) for one in rows_of(self._database, table, where, value)]

    def parts(self, session: str) -> list[Data]:
        """The parts of a session's messages; older databases name the session in the message alone."""
        if not columns_of(self._database, "part"):
            return []
        found = objects_in(
            self._database,
            "SELECT part.id, part.message_id, part.data FROM message JOIN part ON part.message_id = message.id "
            "WHERE message.session_id = ? ORDER BY part.message_id, part.id", session,
        )  # fmt: skip
        return [_with_data(one) for one in found]

    def copies(self, session: Data, messages: list[Data]) -> list[Data]:
        """The messages, those marked that a fork copied: they have new ids, but are as old as they were, and so older
        than their session. Nothing else tells; where the session they are from is gone they are this one's.
        """
        begun, name = whole(session.get("time_created")), text_of(session.get("id"))
        old = [m for m in messages if begun and 0 < (whole(m.get("time_created")) or 0) < begun]
        if not old:
            return messages
        times = [whole(m.get("time_created")) for m in old]
        found = self._database.execute(
            "SELECT m.time_created, m.id, m.session_id FROM message m JOIN session s ON s.id = m.session_id "
            "WHERE m.time_created BETWEEN ? AND ? AND m.session_id <> ? AND m.time_created >= s.time_created",
            (min(filter(None, times)), max(filter(None, times)), name),
        )
        origins = {time: {"id": text_of(message), "session": text_of(owner)} for time, message, owner in found}
        return [
            m | {"copyOf": origin} if (origin := origins.get(m.get("time_created"))) and m in old else m
            for m in messages
        ]


def _with_data(row: Data) -> Data:
    return {name: value for name, value in row.items() if name != "data"} | _data(row.get("data"))


def _data(value: object) -> Data:
    """What a row's JSON text holds; a text that is none is kept as it is."""
    return _object(value) or ({"data": value} if value else {})


# -- what it prints ----------------------------------------------------------------------------------------------------


class Spent(Fact):
    """The cost of a step."""


class Steps(History):
    """Adds up what the steps cost: a step may be printed again."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._costs: dict[str, float] = {}

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """The cost of all steps so far."""
        self._costs[item.said["step"]] = item.said["cost"]
        yield record, number, Fact(costUsd=round(sum(self._costs.values()), 9))


class OpenCodeStream(Stream, OpenCode):
    """`opencode run --format json`: finished parts, each a line; one process is one exchange (formats/streams.md 6)."""

    formats = (Format("OpenCode, `run --format json`", "lines with sessionID and a timestamp in milliseconds"),)
    history = Steps
    lacks = frozenset()
    unended = "possibly cut off: the last step has no end; the session in OpenCode's own database may hold the rest"

    def prints(self, record: Data) -> bool:
        """The session's id and a time as a number."""
        kind, stamp = record.get("type"), record.get("timestamp")
        numeric = isinstance(stamp, int | float) and not isinstance(stamp, bool)
        return isinstance(kind, str) and isinstance(record.get("sessionID"), str) and numeric

    def run_of(self, record: Data) -> str:
        """The session's id."""
        return text_of(record.get("sessionID"))

    def time(self, record: Data) -> float | None:
        """When it was printed."""
        return when(record.get("timestamp"))

    def facts(self, record: Data) -> Data:
        """The message, which is one step."""
        step = dict_of(record.get("part")).get("messageID")
        return {"messageId": step} if isinstance(step, str) and step else {}

    def read(self, record: Data) -> Iterator[Item]:
        """A line is read by its part, whatever its own type."""
        part = dict_of(record.get("part"))
        name, text = text_of(part.get("id")), text_of(part.get("text"))
        kind = text_of(part.get("type")).replace("-", "_") or text_of(record.get("type"))
        match kind:
            case "text" | "reasoning" if text:
                yield Say(Kind.TEXT if kind == "text" else Kind.THINKING, text, id=name)
            case "tool" | "tool_use":
                use = self._use(part, "", name, stopped=False)
                yield replace(use, time=None)
                if use.subagent:
                    yield Child(use.subagent, task=use.task or Task(), use_id=use.use_id)
                    label = "Tokens exclude subagents: theirs are in sessions of their own"
                    yield Say(Kind.NOTE, label=label, once="subagents")
            case "step_finish":
                yield from self._step(part)
            case "error":
                yield self._failure(record.get("error"))
                yield Turn(begins=False, how="error")
            case "done":
                yield Turn(begins=False, how=text_of(record.get("reason")) or "done")
                yield Skip("done")
            case "step_start" | "snapshot" | "patch" | "text" | "reasoning":
                yield Skip(kind)
            case _:
                yield Say(Kind.UNKNOWN, label=text_of(part.get("type")) or kind or "(no type)")

    def _step(self, part: Data) -> Iterator[Item]:
        """Figures and cost of a step. All zero is what is printed where the model's provider told nothing."""
        reason, cost = text_of(part.get("reason")), number(part.get("cost"))
        usage, step = usage_of({"role": "assistant"} | part), text_of(part.get("id"))
        if any(usage):
            yield Count(usage, step)
        if cost is not None and (cost or any(usage)):
            yield Spent(step=step, cost=cost)
        if reason != "tool-calls":
            yield Turn(begins=False, how=reason)
        yield Skip("step_finish")

    def _failure(self, error: object) -> Say:
        data = dict_of(dict_of(error).get("data"))
        code = whole(data.get("statusCode"))
        label = f"{text_of(dict_of(error).get('name')) or 'Error'}{f' {code}' if code is not None else ''}"
        text = text_of(data.get("message")) or text_of(dict_of(error).get("message")) or text_of(error)
        return Say(Kind.ERROR, text or (as_json(error) if error else ""), label=label)


PROVIDER = OpenCode()
STREAM = OpenCodeStream()
