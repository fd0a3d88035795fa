"""A session as text: one fact a line, and what is usual left out, so that a difference can be read in review."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from schemas.clean import Sgr
from schemas.diffs import FileDiff
from schemas.message import Flag, Kind, Message, Part, Span, SpanRole, Tool, ToolStatus
from schemas.opening import read_subagent
from schemas.providers import provider_of
from schemas.session import Exchange, Session, Subagent
from schemas.table import NONE
from schemas.usage import TokenUsage
from tests.support import usage_with_subagents

_FIGURES = ("in", "out", "cache read", "cache write", "reasoning", "cache write 1h")
_BY_A_MODEL = frozenset({Kind.TEXT, Kind.THINKING, Kind.TOOL})
_PLACES = ("cwd", "gitBranch")
"""Facts that most agents' messages have, and that seldom change."""
_LONG = 1_000
"""Characters of a line that are shown whole."""


def session_text(session: Session, folder: Path) -> str:
    """Everything that a reader could tell of a session whose files lie in `folder`, its subagents included."""
    lines = _SessionText(session, folder, {session.path}).lines()
    return "".join(f"{line}\n" for line in lines).replace(str(folder), "{folder}")


class _SessionText:
    """The lines of one session; `seen` are the addresses of those around it."""

    def __init__(self, session: Session, folder: Path, seen: set[Path]) -> None:
        self.session, self.folder, self.seen = session, folder, seen
        self.model: str | None = None
        self.places: dict[str, Any] = dict.fromkeys(_PLACES)
        """The model and the places of the messages before: only others are named."""

    def lines(self) -> Iterator[str]:
        """The session's own facts, then its exchanges with their messages, then its subagents."""
        yield from self._session()
        for exchange in self.session.exchanges:
            yield ""
            yield from self._exchange(exchange)
        for subagent in self.session.subagents:
            yield ""
            yield from self._subagent(subagent)

    def _session(self) -> Iterator[str]:
        session = self.session
        provider = provider_of(session.provider)
        command = provider.resume_command(session) if provider else None
        yield f"session {_plain(session.id)} of {session.provider_name}"
        yield from _given("key", session.key)
        yield from _given("title", session.title)
        yield from _given("workspace", session.workspace_root)
        yield from _given("branch", session.branch)
        yield from _given("version", session.version)
        if session.created is not None or session.updated is not None:
            yield f"created {_time(session.created)}, updated {_time(session.updated)}"
        yield from _given("models", ", ".join(session.models[1:]))
        yield from _given("context", _of(session.context_used, session.context_window))
        yield from _given("lacks", ", ".join(sorted(session.lacks)))
        yield from _given("resume", " ".join(command or []))
        for name in ("forked_from", "continues", "parent", "agent_id"):
            yield from _given(name.replace("_", " "), getattr(session.lineage, name))
        for link in session.links:
            yield f"link {_plain(link)}"
        yield from _facts(session.metadata)
        yield from _given("tokens", _usage(session.usage()))
        if session.subagents:
            yield from _given("tokens with subagents", _usage(usage_with_subagents(session)))
        yield from _given("own total", session.own_total)
        for key, inherited in session.inherited.items():
            name = _plain(key if key == inherited.group_id else f"{key}, there {inherited.group_id}")
            at = f"exchange {inherited.exchange}, {_time(inherited.time)}, {_plain(inherited.model) or 'no model'}"
            spans = [] if inherited.span == NONE else session.spans.chain(inherited.span)
            yield f"inherited {name}: {_usage(inherited.usage)}; {self._places(spans)}; {at}"
        for name, counter in (("unknown", session.unknown), ("hidden", session.hidden)):
            for kind, count in sorted(counter.items()):
                yield f"{name} {_plain(kind)}: {count}"
        yield from _given("duplicates", session.duplicates)
        for bad in session.unreadable:
            yield f"unreadable line {bad.line}{f' of {bad.file}' if bad.file else ''}: {_plain(bad.reason)}"

    def _exchange(self, exchange: Exchange) -> Iterator[str]:
        session = self.session
        opener = "without a prompt" if exchange.opener is None else exchange.opener.name
        yield f"exchange {exchange.index} {opener}"
        if exchange.id != f"{session.id}:{exchange.index}":
            yield f"  id {_plain(exchange.id)}"
        yield from _given("  prompt", exchange.prompt)
        for name in ("rewound", "interrupted", "inherited"):
            if getattr(exchange, name):
                yield f"  {name}"
        yield from _given("  errors", exchange.errors)
        if exchange.started is not None or exchange.ended is not None:
            yield f"  from {_time(exchange.started)} to {_time(exchange.ended)}"
        if exchange.seconds is not None:
            yield f"  took {exchange.seconds:g} s"
        for group in exchange.groups:
            yield f"  tokens of {_plain(session.groups.ids[group])}: {self._group(group)}"
        if len(exchange.groups) > 1:
            yield f"  tokens {_usage(session.exchange_usage(exchange.index))}"
        for message in session.exchange_messages(exchange.index):
            yield from (f"  {line}" for line in self._message(message))

    def _group(self, group: int) -> str:
        session, groups = self.session, self.session.groups
        more = [self._places(session.group_spans(group))]
        if groups.model[group]:
            more.append(_plain(session.models[groups.model[group]]))
        mine = [i for i in range(len(session.messages)) if session.messages.group[i] == group]
        if groups.last[group] != (mine[-1] if mine else NONE):
            more.append(f"ends with message {groups.last[group]}")
        return "; ".join([_usage(groups.usage[group]), *more])

    def _message(self, message: Message) -> Iterator[str]:
        session, tool = self.session, message.tool
        yield f"{message.index} {message.kind.name} {_plain(message.id)}"
        yield f"  {_time(message.timestamp)}, {self._places(session.message_spans(message.index))}"
        flags = message.flags & ~Flag.OPENER
        yield from _given("  flags", ", ".join(flag.name or "" for flag in Flag if flag & flags))
        if message.kind in _BY_A_MODEL and message.model != self.model:
            self.model = message.model
            yield f"  model {message.model}"
        elif message.kind not in _BY_A_MODEL and message.model is not None:
            yield f"  model {message.model}"
        yield from _given("  group", message.group)
        yield from _given("  label", message.label)
        yield from _given("  figures", message.figures)
        yield from _given("  paths", ", ".join(message.path_hints))
        for key in _PLACES:
            if message.metadata.get(key) != self.places[key]:
                self.places[key] = message.metadata.get(key)
                yield f"  fact {key} {_json(self.places[key])}"
        yield from (f"  {line}" for line in _facts(message.metadata, without=_PLACES))
        body = tool.text if tool else "\n\n".join(part.text for part in message.parts)
        size = session.messages.chars[message.index], session.messages.lines[message.index]
        if size != (len(body), body.count("\n") + bool(body)):
            yield f"  size {size[0]} characters, {size[1]} lines"
        usual = "thinking" if message.kind is Kind.THINKING else "text"
        for part in message.parts:
            yield from _part(part, usual)
        if tool is not None:
            yield from _tool(tool, message)

    def _places(self, spans: Iterable[Span]) -> str:
        """The lines that something was read from, and what they are to it."""
        found = []
        for span in spans:
            role = "" if span.role in (SpanRole.BODY, SpanRole.USAGE) else f" {span.role.name.lower()}"
            item = f".{span.item}" if span.item else ""
            store = f" of {self._relative(self.session.stores[span.store].path)}" if span.store else ""
            found.append(f"{span.line}{item}{role}{store}")
        return f"line {', '.join(found)}" if found else "no line"

    def _subagent(self, subagent: Subagent) -> Iterator[str]:
        yield f"subagent {_plain(subagent.id)}"
        yield from _given("  name", subagent.name)
        yield from _given("  description", subagent.description)
        if subagent.tool_use is not None:
            yield f"  started by message {subagent.tool_use}"
        if subagent.internal:
            yield "  internal"
        yield from _given("  file", self._relative(subagent.path) if subagent.path else "")
        if subagent.path in self.seen:
            return
        session = read_subagent(subagent)
        if session is None:
            yield "  no session"
            return
        seen = self.seen | {session.path} if subagent.path else self.seen
        for line in _SessionText(session, self.folder, seen).lines():
            yield f"    {line}".rstrip()

    def _relative(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else str(path)


def _given(name: str, value: object) -> Iterator[str]:
    """A line of a fact that is not empty."""
    if value:
        yield f"{name} {_plain(str(value))}"


def _facts(metadata: dict[str, Any], without: Iterable[str] = ()) -> Iterator[str]:
    for key, value in metadata.items():
        if key not in without:
            yield f"fact {_plain(key)} {_json(value)}"


def _part(part: Part, usual: str) -> Iterator[str]:
    if part.type == "image":
        yield f"  image {part.media_type}, {part.size} bytes: {_plain(part.text)}"
        return
    if part.type != usual:
        yield f"  {part.type}"
    yield from _body(part.text)
    yield from (f"  colour {run.start} to {run.end}: {_colour(run.sgr)}" for run in part.runs)


def _tool(tool: Tool, message: Message) -> Iterator[str]:
    ended = "" if tool.exit_code is None else f", exit code {tool.exit_code}"
    took = "" if tool.seconds is None else f", {tool.seconds:g} s"
    yield f"  tool {_plain(tool.name)}, {tool.type}, {tool.status}{ended}{took}"
    if tool.use_id != message.id:
        yield f"  use {_plain(tool.use_id) or 'without an id'}"
    yield f"  input {_json(tool.input)}"
    if tool.output is None:
        if tool.status is not ToolStatus.PENDING:
            yield "  no output"
    else:
        usual = {"content": tool.text, "is_error": tool.status is ToolStatus.ERROR}
        rest = {key: value for key, value in tool.output.items() if usual.get(key, _NOTHING) != value}
        if rest:
            yield f"  output {_json(rest)}"
    yield from _body(tool.text)
    yield from (f"  colour {run.start} to {run.end}: {_colour(run.sgr)}" for run in tool.runs)
    for image in tool.images:
        yield from _part(image, "text")
    for diff in tool.diffs:
        yield from _diff(diff)
    yield from _given("  subagent", tool.subagent)
    if tool.spilled:
        yield "  spilled"
    yield from _given("  summary", tool.summary)
    yield from _given("  formatted", tool.formatted)


_NOTHING = object()


def _diff(diff: FileDiff) -> Iterator[str]:
    moved = f" to {_plain(diff.renamed_to)}" if diff.renamed_to is not None else ""
    yield f"  {diff.operation} {_plain(diff.path)}{moved}, +{diff.added} -{diff.removed}"
    for hunk in diff.hunks:
        places = zip("-+", (hunk.old_start, hunk.new_start), strict=True)
        yield "".join(["    @@", *(f" {sign}{start}" for sign, start in places if start is not None)])
        yield from (f"    {_plain(line)}".rstrip() for line in hunk.lines)


def _body(text: str) -> Iterator[str]:
    if text:
        yield from (f"  | {_plain(line)}".rstrip() for line in text.split("\n"))


def _colour(sgr: Sgr) -> str:
    set_here = {name: value for name, value in sgr._asdict().items() if value not in (None, False)}
    return ", ".join(name if value is True else f"{name} {value}" for name, value in set_here.items())


def _usage(usage: TokenUsage | None) -> str:
    """Figures that are known, by their names."""
    if usage is None:
        return ""
    return ", ".join(f"{name} {n}" for name, n in zip(_FIGURES, usage, strict=True) if n is not None) or "unknown"


def _of(used: int | None, window: int | None) -> str:
    if used is None and window is None:
        return ""
    return f"{'unknown' if used is None else used}{'' if window is None else f' of {window}'}"


def _time(seconds: float | None) -> str:
    """A time as ISO 8601 has it, with as many digits as it needs."""
    if seconds is None:
        return "no time"
    try:
        text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").removesuffix("+00:00")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"
    return f"{text.rstrip('0').rstrip('.')}Z"


def _json(value: Any) -> str:
    return _plain(json.dumps(value, ensure_ascii=False, default=str))


def _plain(text: str) -> str:
    """A text on one line: what cannot be seen is written as an escape, and a very long line is cut in its middle."""
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    if shown.endswith(" "):
        shown = f"{shown[:-1]}\\x20"
    if len(shown) > _LONG:
        return f"{shown[: _LONG // 4]} … {len(shown)} characters … {shown[-_LONG // 4 :]}"
    return shown
