"""A tool use in one line: what was done, to what, and how it ended. Screen and exports share it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from renderers.facts import format_seconds, plural
from schemas.clean import one_line
from schemas.diffs import FileDiff, from_v4a, totals
from schemas.message import PREVIEW, Tool, ToolStatus
from schemas.path_hints import shell_text
from schemas.session import Session
from schemas.slices import FILE_INPUTS, Slice, shell_slice, slice_of
from schemas.values import list_of, texts_of

Tone = Literal["plain", "good", "bad", "warn", "add", "remove"]
_OBJECT_LIMIT = 300
_SIGNS = re.compile(r"^\s*(?:#+|>+|[-*])\s+|\*\*|`")
_NAMED = 20
"""So many pieces of context are named in a line."""
_FOUND = re.compile(r"^Found (\d+) (?:total )?(file|line|match|occurrence|result)", re.MULTILINE)
_TELLING = (
    "file_path", "path", "notebook_path", "command", "cmd", "query", "pattern", "url", "description", "subject",
    "title", "name", "message", "prompt", "text", "id",
)  # fmt: skip
_MARKS: dict[ToolStatus, tuple[str, Tone]] = {
    ToolStatus.ERROR: ("failed", "bad"),
    ToolStatus.DENIED: ("denied", "bad"),
    ToolStatus.INTERRUPTED: ("interrupted", "bad"),
    ToolStatus.PENDING: ("no result", "warn"),
    ToolStatus.BACKGROUND: ("in background", "plain"),
}


_WRITES = {
    **dict.fromkeys(("Write", "write", "write_file", "write_to_file", "create"), "Write"),
    **dict.fromkeys(("NotebookEdit", "EditNotebook", "edit_notebook"), "NotebookEdit"),
    **dict.fromkeys(("Delete", "delete", "delete_file"), "Delete"),
    **dict.fromkeys(("Edit", "MultiEdit", "edit", "multiedit", "edit_file", "edit_file_v2", "reapply"), "Edit"),
    **dict.fromkeys(("replace", "smart_edit", "StrReplace", "MultiStrReplace", "search_replace"), "Edit"),
    **dict.fromkeys(("editor", "replace_in_file", "str_replace_editor"), "Edit"),
    **dict.fromkeys(("apply_patch", "ApplyPatch", "patch"), "Edit"),
}
"""Tools that change files, and what that is called. What their differences tell goes before it."""
_SEARCHES = {
    **dict.fromkeys(("Grep", "grep", "grep_files", "grep_search", "search_file_content"), "Grep"),
    **dict.fromkeys(("rg", "ripgrep", "ripgrep_raw_search"), "Grep"),
    **dict.fromkeys(("Glob", "glob", "glob_file_search", "file_search"), "Glob"),
    **dict.fromkeys(("SemanticSearch", "codebase_search", "semantic_search", "sem_search", "codesearch"), "Search"),
}
_SHELL_IDS = ("shell_id", "bash_id", "task_id")
_FOLDERS = ("path", "dir_path", "directory", "target_directory", "targetDirectory")
_PATCH_VERBS = {"add": "Write", "delete": "Delete", "move": "Move"}
_ADDRESS = re.compile(r"https?://\S+")


class Outcome(NamedTuple):
    """A short fact at the end of the line, and how it is meant."""

    text: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Headline:
    """A tool use in one line. None of its strings has a newline; `verb` is never empty."""

    verb: str
    object: str
    outcome: tuple[Outcome, ...]
    reason: str = ""
    """Why a change of files failed."""

    @property
    def title(self) -> str:
        """Verb and object: `Edit viewer/screens/app.py`."""
        return f"{self.verb} {self.object}" if self.object else self.verb

    @property
    def ending(self) -> str:
        """The outcome in words: `exit 1 · 41 s · 212 lines`; lines added and removed stand together: `+12 -3`."""
        text = "".join(f"{gap}{outcome.text}" for gap, outcome in self.spaced())
        return f"{text} · {self.reason}" if self.reason else text

    def spaced(self) -> Iterator[tuple[str, Outcome]]:
        """Each outcome behind what stands between it and the one before."""
        for before, outcome in zip((None, *self.outcome), self.outcome, strict=False):
            pair = before is not None and (before.tone, outcome.tone) == ("add", "remove")
            yield "" if before is None else " " if pair else " · ", outcome


def headline(tool: Tool, workspace_root: str | None = None) -> Headline:
    """The line of a tool use. Paths under `workspace_root` are shown from there."""
    verb, object_, facts = _what(tool, workspace_root)
    outcome = list(_status(tool))
    if tool.seconds is not None and tool.seconds >= 0.05:
        outcome.append(Outcome(format_seconds(tool.seconds), "plain"))
    if not tool.diffs or tool.status not in (ToolStatus.ERROR, ToolStatus.DENIED):  # what was tried did not happen
        outcome.extend(facts)
    if tool.images:
        outcome.append(Outcome(plural(len(tool.images), "image"), "plain"))
    return Headline(_flat(verb) or "tool", _flat(object_), tuple(outcome), _reason(tool, workspace_root))


def _reason(tool: Tool, root: str | None) -> str:
    """Return why a change of files came to nothing, in a line; empty where that is known, or the change was made."""
    unknown = tool.status is ToolStatus.ERROR or (tool.status is ToolStatus.DENIED and not tool.denier)
    if tool.type != "write" or not unknown:
        return ""
    first, _, rest = tool.text.strip().removeprefix("Error: ").partition("\n")
    if first.endswith(":"):  # it only says that something follows
        first += f" {rest.strip().partition(chr(10))[0]}"
    if root:
        first = first.replace(f"{root.rstrip('/')}/", "")
    return one_line(first, _OBJECT_LIMIT)


def verb_of(tool: Tool) -> str:
    """The verb of that line alone."""
    return _flat(_by_input(tool, None)[0]) or "tool"


def thinking_line(text: str) -> str:
    """The first words of what the agent thought, the signs of Markdown left out: its lines, with dots between."""
    lines = (_SIGNS.sub("", line).strip() for line in text[: 4 * _OBJECT_LIMIT].split("\n"))
    return one_line(" · ".join(filter(None, lines)), _OBJECT_LIMIT)


def context_line(session: Session, index: int) -> tuple[str, int]:
    """Name the pieces of context that are shown as one with message `index`, each once, and count them."""
    joined = session.messages.joined(index)
    labels = dict.fromkeys(session.message(i).label or "context" for i in joined[:_NAMED])
    return ", ".join(labels) + (", …" if len(joined) > _NAMED else ""), len(joined)


def relative_path(path: str, workspace_root: str | None) -> str:
    """`path` as seen from the workspace, if it lies in it; both kinds of slashes are understood."""
    root = (workspace_root or "").rstrip("/\\")
    if root and path.startswith(root):
        rest = path[len(root) :]
        if not rest.strip("/\\"):
            return "."
        if rest[0] in "/\\":
            return rest.lstrip("/\\")
    return path


def from_root(diff: FileDiff, root: str | None) -> FileDiff:
    """The diff with its paths as seen from the workspace."""
    renamed = relative_path(diff.renamed_to, root) if diff.renamed_to else None
    return replace(diff, path=relative_path(diff.path, root), renamed_to=renamed)


def tool_command(tool: Tool) -> str | None:
    """The whole command of a tool that runs one; None for any other tool."""
    if tool.type != "shell" and tool.name not in _COMMANDS:
        return None
    for key in ("command", "cmd", "script"):
        if text := shell_text(tool.input.get(key)):
            return text
    if commands := texts_of(tool.input.get("commands")):
        return "\n".join(commands)
    action = tool.input.get("action")
    return (shell_text(action.get("command")) or None) if isinstance(action, Mapping) else None


def tool_slice(tool: Tool) -> Slice | None:
    """Return the lines of a file that the use read and showed; None for any other tool."""
    if tool.status is not ToolStatus.OK or tool.images or tool.spilled or not tool.text.strip():
        return None
    if tool.type == "read" and tool.listing is not None:
        return slice_of(tool.text, tool.input, tool.listing)
    command = tool_command(tool)
    return shell_slice(command, tool.text) if command and not tool.runs else None


_Facts = tuple[Outcome, ...]
_What = tuple[str, str, _Facts]


def _what(tool: Tool, root: str | None) -> _What:
    """The line; its object says also what the source calls the use, unless it says that already."""
    verb, object_, facts = _by_input(tool, root)
    said = one_line(summary_of(tool), _OBJECT_LIMIT)
    if not said or said in object_:
        return verb, object_, facts
    is_within = re.search(rf"(?<!\w){re.escape(object_)}(?!\w)", said) is not None
    if tool.formatted is not None or _LEAD.match(tool.summary or "") or is_within:
        return verb, said, facts  # which is all that the source shows beside its own text, or says all
    return verb, f"{object_} · {said}", facts


def summary_of(tool: Tool) -> str:
    """Return the source's own summary of the use, without the words with which SessionData's producer begins."""
    return _LEAD.sub("", tool.summary or "", count=1).strip("` \n")


_LEAD = re.compile(r"Tool use:\s*(?:\*\*.*?\*\*)?")
"""How SessionData's producer begins a summary: `Tool use: **Bash** ls`."""


def _by_input(tool: Tool, root: str | None) -> _What:
    if tool.diffs:
        return _changed(tool, root)
    name = tool.name
    if (command := tool_command(tool)) is not None:
        return "$", _first_line(command), _lines(tool)
    if special := _SPECIAL.get(name):
        return special(tool, root)
    if name.startswith("mcp__"):
        server, _, call = name[5:].partition("__")
        return f"{server}: {call}" if call else server, _telling(tool, root), _lines(tool)
    if tool.type == "read":
        return _read(tool, root)
    if tool.type == "task" and _text(tool, "description", "prompt", "message", "subagent_type"):
        return _agent(tool, root)
    return name, _telling(tool, root), _lines(tool)


def _status(tool: Tool) -> list[Outcome]:
    """Return the end of a use in words, if it did not simply go well. An exit code says it better than "failed"."""
    if tool.status in (ToolStatus.OK, ToolStatus.ERROR) and tool.exit_code:
        return [Outcome(f"exit {tool.exit_code}", "bad")]
    if tool.status not in _MARKS:
        return []
    words, tone = _MARKS[tool.status]
    return [Outcome(f"{words} by {tool.denier}" if tool.denier else words, tone)]


def lines_in(text: str) -> int:
    """Count the lines of a text."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _lines(tool: Tool) -> _Facts:
    count = lines_in(_printed(tool))
    return (Outcome(plural(count, "line"), "plain"),) if count else ()


def _printed(tool: Tool) -> str:
    """The result, without the line that says of what it is a preview."""
    return tool.text.rpartition(f"\n\n{PREVIEW}")[0] or tool.text if tool.spilled else tool.text


def _changed(tool: Tool, root: str | None) -> _What:
    """A change of files: `Edit a.py, b.py +12 -3`."""
    added, removed = totals(tool.diffs)
    facts = ([Outcome(f"+{added}", "add")] if added else []) + ([Outcome(f"-{removed}", "remove")] if removed else [])
    operations = {diff.operation for diff in tool.diffs}
    verb = _PATCH_VERBS.get(next(iter(operations)), "Edit") if len(operations) == 1 else "Edit"
    if (called := _WRITES.get(tool.name, "Edit")) != "Edit":
        verb = called
    shown = _listed(list(dict.fromkeys(from_root(diff, root).names for diff in tool.diffs)))
    if not facts and verb == "Delete":  # what was in it is not told
        return verb, shown, ()
    return verb, shown, tuple(facts) or (Outcome("empty" if operations == {"add"} else "no change", "plain"),)


def _listed(names: list[str]) -> str:
    """The first few of many names."""
    return ", ".join(names[:4]) + (f", {len(names) - 4} more" if len(names) > 4 else "")


def _read(tool: Tool, root: str | None) -> _What:
    files = [file.get("path") if isinstance(file, Mapping) else file for file in list_of(tool.input.get("files"))]
    path = relative_path(_text(tool, *FILE_INPUTS), root) or _listed([relative_path(f, root) for f in texts_of(files)])
    path = path or _telling(tool, root)
    start = tool.input.get("offset")
    if isinstance(start, int) and not isinstance(start, bool) and start > 1:
        path += f":{start}"
    return "Read", path, _lines(tool)


def _write(tool: Tool, root: str | None) -> _What:
    """A change of which no difference is told: it failed, or only names its files."""
    verb = _WRITES[tool.name]
    if path := _text(tool, *FILE_INPUTS):
        return verb, relative_path(path, root), ()
    files = _patched(tool)
    kinds = {kind.lower() for kind, _ in files}
    if len(kinds) == 1:
        verb = _PATCH_VERBS.get(kinds.pop(), verb)
    names = list(dict.fromkeys(relative_path(path, root) for _, path in files))
    return verb, _listed(names) if names else _telling(tool, root), ()


def _patched(tool: Tool) -> list[tuple[str, str]]:
    """The files that a patch names, each with what is done to it."""
    changes = tool.input.get("changes")
    if isinstance(changes, list):
        named = [change for change in changes if isinstance(change, Mapping) and isinstance(change.get("path"), str)]
        kinds = [change.get("kind") for change in named]
        kinds = [kind.get("type") if isinstance(kind, Mapping) else kind for kind in kinds]
        return [(str(kind), change["path"]) for kind, change in zip(kinds, named, strict=True)]
    patch = next(iter(texts_of([tool.input.get(key) for key in ("input", "patch", "patchText", "arguments")])), "")
    return [(diff.operation, diff.path) for diff in from_v4a(patch)]


def _search(tool: Tool, root: str | None) -> _What:
    pattern = _text(tool, "pattern", "query", "regex", "glob_pattern", "globPattern")
    where = relative_path(_text(tool, *_FOLDERS), root)
    kind = _text(tool, "glob", "type", "include")
    object_ = (
        (f'"{pattern}"' if pattern else "")
        + (f" in {where}" if where and where != "." else "")
        + (f" ({kind})" if kind else "")
    )
    return _SEARCHES[tool.name], object_, _hits(tool)


def _hits(tool: Tool) -> _Facts:
    if tool.status is not ToolStatus.OK or (tool.output is None and not tool.text):  # nobody tells what was found
        return ()
    noun = "file" if _SEARCHES[tool.name] == "Glob" else "hit"
    if match := _FOUND.match(tool.text):
        return (Outcome(plural(int(match[1]), "file" if match[2] == "file" else "hit"), "plain"),)
    if not tool.text.strip() or re.match(r"no (?:files|matches|results)", tool.text, re.IGNORECASE):
        return (Outcome(f"no {noun}s", "plain"),)
    rows = [line for line in _printed(tool).split("\n") if line.strip() and line != "--" and not line.startswith("(")]
    return (Outcome(plural(len(rows), noun), "plain"),)


def _agent(tool: Tool, root: str | None) -> _What:
    kind = _text(tool, "subagent_type", "agent_type", "agent_name", "role", "agent")
    task = _text(tool, "description", "task_name", "message", "prompt", "objective", "task")
    return "Agent", ": ".join(piece for piece in (kind, _first_line(task)) if piece), ()


def _todos(tool: Tool, root: str | None) -> _What:
    items = tool.input.get("todos", tool.input.get("plan"))
    entries = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
    done = sum(item.get("status") == "completed" for item in entries)
    now = next((item for item in entries if item.get("status") == "in_progress"), {})
    current = next((str(now[key]) for key in ("activeForm", "content", "step", "description") if now.get(key)), "")
    name = "Plan" if tool.name == "update_plan" else "Todo"
    return name, current, (Outcome(f"{done} of {len(entries)} done", "plain"),)


def _task_item(tool: Tool, root: str | None) -> _What:
    number, subject = _text(tool, "taskId", "task_id", "id"), _text(tool, "subject", "description", "activeForm")
    state = _text(tool, "status")
    verb = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", tool.name).capitalize()
    object_ = " ".join(piece for piece in (f"#{number}" if number else "", subject) if piece)
    return verb, object_, (Outcome(state.replace("_", " "), "plain"),) if state else ()


def _fetch(tool: Tool, root: str | None) -> _What:
    url = _text(tool, "url")
    if not url and (found := _ADDRESS.search(_text(tool, "prompt"))):  # Gemini's is asked in words
        url = found[0].rstrip(".,;:)'\"")
    try:
        parts = urlsplit(url)
        url = f"{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/") or url
    except ValueError:  # "http://[" is no address, but somebody asked for it
        pass
    return "WebFetch", url or _telling(tool, root), _lines(tool)


def _web_search(tool: Tool, root: str | None) -> _What:
    query = _text(tool, "query")
    action = tool.input.get("action")
    if not query and isinstance(action, Mapping):
        query = str(action.get("query") or action.get("url") or "")
    return "WebSearch", f'"{query}"' if query else "", ()


def _question(tool: Tool, root: str | None) -> _What:
    asked = tool.input.get("questions")
    first = asked[0] if isinstance(asked, list) and asked and isinstance(asked[0], Mapping) else tool.input
    more = f" (and {len(asked) - 1} more)" if isinstance(asked, list) and len(asked) > 1 else ""
    return "Ask", f"{first.get('question') or ''}{more}", ()


def _stdin(tool: Tool, root: str | None) -> _What:
    chars = _text(tool, "chars")
    session = _text(tool, "session_id")
    object_ = f"{_first_line(chars)}" if chars.strip() else "waited for output" if not chars else "enter"
    return "Input" if chars else "Wait", f"{object_}{f' (process {session})' if session else ''}", _lines(tool)


_COMMANDS = frozenset({"Bash", "PowerShell", "shell", "container.exec", "shell_command", "exec_command", "local_shell"})
_READS = ("Read", "NotebookRead", "ReadFile", "read", "read_file", "read_file_v2", "read_many_files", "view_image")
_AGENTS = ("Task", "Agent", "Subagent", "task", "task_v2", "agent", "spawn_agent", "invoke_agent", "delegate_to_agent")
_TODOS = ("TodoWrite", "todo_write", "todowrite", "write_todos", "update_todos", "update_plan")
_QUESTIONS = (
    "AskUserQuestion", "ask_user_question", "ask_user", "AskQuestion", "ask_question", "question",
    "request_user_input",
)  # fmt: skip
_SPECIAL: dict[str, Callable[[Tool, str | None], _What]] = {
    **dict.fromkeys(_READS, _read),
    **dict.fromkeys(_WRITES, _write),
    **dict.fromkeys(_SEARCHES, _search),
    **dict.fromkeys(
        ("LS", "ls", "list", "list_dir", "list_dir_v2", "list_directory"),
        lambda tool, root: ("List", relative_path(_text(tool, *_FOLDERS), root), _lines(tool)),
    ),
    **dict.fromkeys(_AGENTS, _agent),
    **dict.fromkeys(_TODOS, _todos),
    **dict.fromkeys(("TaskCreate", "TaskUpdate", "TaskGet"), _task_item),
    **dict.fromkeys(("WebSearch", "web_search", "web_search_call", "google_web_search", "websearch"), _web_search),
    **dict.fromkeys(("BashOutput", "TaskOutput"), lambda tool, _: ("Output", _text(tool, *_SHELL_IDS), _lines(tool))),
    **dict.fromkeys(("KillBash", "KillShell", "TaskStop"), lambda tool, _: ("Stop", _text(tool, *_SHELL_IDS), ())),
    **dict.fromkeys(("WebFetch", "web_fetch", "webfetch", "fetch"), _fetch),
    **dict.fromkeys(
        ("Skill", "skill", "activate_skill"),
        lambda tool, _: ("Skill", f"{_text(tool, 'skill', 'command', 'name')} {_text(tool, 'args')}".strip(), ()),
    ),
    **dict.fromkeys(_QUESTIONS, _question),
    **dict.fromkeys(
        ("ExitPlanMode", "exit_plan_mode", "CreatePlan", "create_plan"),
        lambda tool, _: ("Plan", _first_line(_text(tool, "plan").lstrip("# \n")), ()),
    ),
    "write_stdin": _stdin,
}
"""What each agent calls its tools, and the one line that all tools of a kind have."""


def _text(tool: Tool, *keys: str) -> str:
    """The first of these inputs that says something."""
    for key in keys:
        value = tool.input.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def _telling(tool: Tool, root: str | None) -> str:
    """The input that says most about what an unknown tool was asked to do."""
    if said := summary_of(tool):
        return said
    for key in (*_TELLING, *tool.input):
        value = tool.input.get(key)
        if isinstance(value, str) and value.strip():
            return relative_path(_first_line(value), root)
    for key, value in tool.input.items():
        if isinstance(value, (int, float, bool)):
            return f"{key} {value}"
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return _first_line(", ".join(value))
    return ""


def _first_line(text: str) -> str:
    """The first line that is not blank, with an ellipsis if there is more."""
    lines = text.strip().split("\n", 1)
    more = len(lines) > 1 and bool(lines[1].strip())
    return f"{lines[0].rstrip()} …" if more else lines[0].rstrip()


def _flat(text: Any) -> str:
    return one_line(str(text), _OBJECT_LIMIT)
