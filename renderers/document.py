"""A session as a document: the order and the words that the Markdown, HTML and plain text exports share.

`Document.pieces` streams pieces; a writer turns each into its own format. Texts in pieces are as the session has them
(cleaned, redacted if asked), never escaped: escaping is the writer's part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias, TypeVar

from renderers.facts import (
    exchange_facts,
    exchange_numbers,
    format_exact,
    iso_time,
    kind_name,
    lack_names,
    plural,
    usage_line,
    utc_time,
)
from renderers.headline import Headline, Outcome, from_root, headline, lines_in, summary_of, thinking_line, tool_slice
from renderers.inputs import Code as Code
from renderers.inputs import tool_inputs
from renderers.options import Include
from renderers.places import Part
from renderers.redact import Redactor, marks_in
from schemas.clean import Run, one_line, runs_from
from schemas.diffs import passages_in
from schemas.message import USER_KINDS, Flag, Kind, Message, Tool
from schemas.session import Exchange, Session, Subagent
from schemas.usage import TokenUsage, total_usage

Fact: TypeAlias = str | int | bool | list[str] | dict[str, int | None]
Load: TypeAlias = Callable[[Subagent], Session | None]
T = TypeVar("T")
MAX_DEPTH = 100
"""Subagents of subagents: 79 levels have been seen; a cycle must end somewhere."""
_LISTED = 200
_TABLE = 1000
"""Rows of a table in one fold."""
_HEADING = 100
_BEGINNING = 4000
"""Characters of a thinking that are looked at for its first words: enough to know a secret among them."""
_AGENTS = frozenset({"Task", "Agent"})


class Front(NamedTuple):
    """The start of the document: its title, and the facts by name."""

    title: str
    facts: dict[str, Fact]


class Heading(NamedTuple):
    """The start of an exchange (or of the foot). Level 2, or 3 inside a fold; never another."""

    text: str
    level: int
    anchor: str


class Facts(NamedTuple):
    """A quiet line."""

    text: str


class Mark(NamedTuple):
    """A line that is to be seen: an interrupt, an error, a compaction."""

    text: str
    bad: bool = False


class Prompt(NamedTuple):
    """A person's text as Markdown."""

    text: str


class Prose(NamedTuple):
    """The agent's text as Markdown."""

    text: str


class Open(NamedTuple):
    """The start of a fold; `kind` is thinking, tool, output, context, compaction, subagent, rewound or inherited."""

    title: str
    ending: str
    kind: str
    line: Headline | None = None


class Close(NamedTuple):
    """The end of a fold."""


class Items(NamedTuple):
    """A short list."""

    rows: tuple[str, ...]


Piece: TypeAlias = Front | Heading | Facts | Mark | Prompt | Prose | Code | Open | Close | Items


class Document:
    """One session, or a `part` of it, with its subagents, which `subagents` reads: each stands under its call. The
    `redactor` replaces secrets, and counts them.
    """

    def __init__(
        self,
        session: Session,
        include: Include,
        *,
        redactor: Redactor | None = None,
        subagents: Load | None = None,
        part: Part | None = None,
    ) -> None:
        self.session, self.include = session, include
        self.redactor, self.load, self.part = redactor, subagents, part
        self._loaded: dict[int, Session | None] = {}
        parts = {
            Kind.TOOL: include.tools,
            Kind.THINKING: include.thinking,
            Kind.OUTPUT: include.output,
            Kind.CONTEXT: include.context,
        }
        left_out = frozenset(kind for kind, included in parts.items() if not included)
        self._left_out: frozenset[Kind] = frozenset(Kind) - USER_KINDS if include.prompts else left_out

    def title(self) -> str:
        """The session's title, else its first prompt."""
        first = next((e.prompt for e in self.session.exchanges if e.opener is Kind.PROMPT and e.prompt), "")
        return one_line(self._hide(self.session.title or first or "Untitled session"))

    def heading(self, exchange: Exchange, number: int | None) -> str:
        """`3. the prompt's beginning`, cut for a heading; says so when an exchange is rewound or no exchange at all."""
        unopened = "After the rewind" if exchange.index else "Before the first prompt"
        text = exchange.prompt or (unopened if exchange.opener is None else "(empty prompt)")
        title = f"{number}. {text}" if number else f"rewound: {text}" if exchange.rewound else text
        return _short(self._hide(title))  # the cut would hide secrets

    def pieces(self, *, headed: bool = False) -> Iterator[Piece]:
        """The whole document. What stands for a part of a session has no front and no foot; with `headed` a front."""
        yield from map(self._without_secrets, self._pieces(headed))

    def _pieces(self, headed: bool) -> Iterator[Piece]:
        session, part = self.session, self.part
        if part is None or headed:
            yield Front(self.title(), self._facts())
        if part is None:
            yield from self._exchanges(session, 2, "", 0)
            yield from self._foot()
        elif part.message is not None:
            yield from self._message(session, session.message(part.message), "", 0)
        else:
            numbers = exchange_numbers(session)
            for index in part.exchanges:
                yield from self._exchange(session, session.exchanges[index], numbers[index], 2, "", 0)

    # -- secrets ---------------------------------------------------------------------------------------------------

    def written(self, text: str) -> str:
        """A piece as the writer made it, ready to go out: here secrets' marks are counted."""
        return self.redactor.finish(text) if self.redactor is not None else text

    def _hide(self, value: T) -> T:
        return self.redactor.hide(value) if self.redactor is not None else value

    def _without_secrets(self, piece: Piece) -> Piece:
        """The one door: whatever text is in a piece goes out without its secrets. Before it they are only taken out of
        what is cut, since half a secret may not look like one.
        """
        if self.redactor is None or isinstance(piece, Close):
            return piece
        match piece:
            case Code(text, language, label, runs):
                hidden = self._hide(text)
                return Code(hidden, language, self._hide(label), runs if hidden == text else ())
            case Open(title, ending, kind, line):
                words = [title, ending, *((line.verb, line.object, *(o.text for o in line.outcome)) if line else ())]
                if self._hide(words) == words:  # mostly, and it is looked at once
                    return piece
                if line is not None:
                    outcome = tuple(Outcome(self._hide(words), tone) for words, tone in line.outcome)
                    line = Headline(self._hide(line.verb), self._hide(line.object), outcome)
                return Open(self._hide(title), self._hide(ending), kind, line)
            case Front(title, facts):
                return Front(self._hide(title), {name: self._hide(fact) for name, fact in facts.items()})
            case Items(rows):
                return Items(tuple(map(self._hide, rows)))
            case _:
                return piece._replace(text=self._hide(piece.text))

    # -- facts -----------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Fact]:
        s = self.session
        own = s.usage()
        family, _, missing, _ = self._family_usage()
        facts: dict[str, Fact | None] = {
            "title": self.title(),
            "agent": s.provider_name,
            "version": s.version,
            "session": s.id,
            "workspace": s.workspace_root,
            "branch": s.branch,
            "models": [model for model in s.models if model],
            "created": iso_time(s.created) if s.created is not None else None,
            "updated": iso_time(s.updated) if s.updated is not None else None,
            "exchanges": len(s.live_exchanges),
            "messages": len(s.messages),
            "archived": s.metadata.get("archived") is True or None,
            "tokens": own.to_json() if own else None,
            "not_in_source": lack_names(s.lacks),
            "tokens_with_subagents": family.to_json() if family and self._listed() and not missing else None,
            "subagents": len(self._listed()) or None,
            "forked_from": s.lineage.forked_from,
            "continues": s.lineage.continues,
            "parent": s.lineage.parent,
            "links": list(s.links),
            "left_out": list(self.include.left_out),
            "secrets_redacted": self.redactor is not None,
        }
        return {k: v for k, v in facts.items() if v is not None and v != "" and v != []}

    def _listed(self) -> list[Subagent]:
        return [subagent for subagent in self.session.subagents if not subagent.internal]

    def _session_of(self, subagent: Subagent) -> Session | None:
        if self.load is None:
            return None
        key = id(subagent)
        if key not in self._loaded:
            self._loaded[key] = self.load(subagent)
        return self._loaded[key]

    def _family_usage(self) -> tuple[TokenUsage | None, int, int, bool]:
        """The session's total with those of its subagents at any depth, each counted once; how many were read, and how
        many of those that are listed could not be: nobody knows what they used. And whether one has no figures.
        """
        seen: set[int] = set()
        usages: list[TokenUsage | None] = []
        missing, partial = 0, False
        queue = [(self.session, 0)]
        while queue:
            member, depth = queue.pop()
            if id(member) in seen or depth > MAX_DEPTH:
                continue
            seen.add(id(member))
            usages.append(member.usage())
            partial = partial or member.is_unmetered
            for subagent in member.subagents:
                child = self._session_of(subagent)
                if child is not None:
                    queue.append((child, depth + 1))
                else:
                    missing += not subagent.internal
        return total_usage(usages), len(usages) - 1, missing, partial

    # -- exchanges -------------------------------------------------------------------------------------------------

    def _exchanges(self, session: Session, level: int, prefix: str, depth: int) -> Iterator[Piece]:
        numbers = exchange_numbers(session)
        if any(exchange.inherited for exchange in session.exchanges):
            source = session.lineage.forked_from or session.lineage.parent or "another session"
            title = f"{plural(session.inherited_exchanges, 'exchange')} inherited from {source}"
            yield Open(title, "copies, not counted here", "inherited")
            for exchange in session.exchanges:
                if exchange.inherited:
                    yield from self._exchange(session, exchange, None, 3, prefix, depth)
            yield Close()
        for exchange, number in zip(session.exchanges, numbers, strict=True):
            if not exchange.inherited:
                yield from self._exchange(session, exchange, number, level, prefix, depth)

    def _exchange(
        self, session: Session, exchange: Exchange, number: int | None, level: int, prefix: str, depth: int
    ) -> Iterator[Piece]:
        body = self._body(session, exchange, prefix, depth)
        first = next(body, None)
        if first is None and exchange.opener is None:
            return  # a preamble with nothing to show
        yield Heading(self.heading(exchange, number), level, f"{prefix}e{exchange.index}")
        facts = exchange_facts(session, exchange.index, utc_time)
        if self.include.prompts:
            facts = facts[: exchange.started is not None]
        if facts:
            yield Facts(" · ".join(facts))
        if first is not None:
            yield first
            yield from body
        if self.include.prompts:
            return
        usage = session.exchange_usage(exchange.index)
        ending = [f"exchange: {usage_line(usage, format_exact)}"] if usage is not None else []
        # A line for each would stand between everything else.
        flags, chars = session.messages.flags, session.messages.chars
        messages = session.message_range(exchange.index) if self.include.thinking else ()
        if withheld := sum(bool(flags[i] & Flag.WITHHELD) and not chars[i] for i in messages):
            ending.append(f"{plural(withheld, 'thinking block')} withheld by the provider")
        if ending:
            yield Facts(" · ".join(ending))

    def _body(self, session: Session, exchange: Exchange, prefix: str, depth: int) -> Iterator[Piece]:
        flags, opener, withheld = session.messages.flags, int(Flag.OPENER), int(Flag.WITHHELD)
        said = exchange.prompt if _is_plain(exchange.prompt) else None
        taken_back = 0 if exchange.rewound else int(Flag.REWOUND)
        rewound = False
        table: list[Message] = []
        joined: list[Message] = []
        for index in session.message_range(exchange.index):
            if not session.messages.joins(index):
                yield from self._joined(joined)
            gone = bool(flags[index] & taken_back)
            if gone != rewound:
                yield Open("Rewound", "this part was taken back", "rewound") if gone else Close()
                rewound = gone
            if flags[index] & withheld and not session.messages.chars[index]:
                continue  # counted at the exchange's end
            if session.messages.kind_of(index) in self._left_out:
                continue
            message = session.message(index)
            if message.kind is Kind.CONTEXT:
                joined.append(message)
                continue
            if message.figures:
                table.append(message)
                if len(table) < _TABLE:
                    continue
            yield from self._table(table)
            if message.figures:
                continue
            for piece in self._message(session, message, prefix, depth):
                # The heading says it, word for word.
                heads = isinstance(piece, Prompt | Facts) and piece.text == said
                if said is None or not (flags[index] & opener and heads):
                    yield piece
        yield from self._table(table)
        yield from self._joined(joined)
        if rewound:
            yield Close()

    def _table(self, rows: list[Message]) -> Iterator[Piece]:
        """Messages that are rows of a table, folded away together; the list is empty afterwards."""
        if rows:
            calls = sum(row.group is not None for row in rows)  # the others head the columns
            yield Open(plural(calls, "model call"), "", "output")
            yield Code("\n".join(f"{row.label}  {row.figures}" for row in rows))
            yield Close()
            rows.clear()

    # -- messages --------------------------------------------------------------------------------------------------

    def _message(self, session: Session, message: Message, prefix: str, depth: int) -> Iterator[Piece]:
        kind = message.kind
        if kind is Kind.TOOL:
            if message.tool is not None and self.include.tools:
                yield from self._tool(session, message, message.tool, prefix, depth)
            return
        text, label = message.text, message.label
        if kind is Kind.TEXT:
            if text:
                yield Prose(text)
        elif kind is Kind.THINKING:
            if self.include.thinking:
                yield from self._thinking(text, bool(message.flags & Flag.WITHHELD))
        elif kind in (Kind.PROMPT, Kind.COMMAND, Kind.STEER):
            if kind is Kind.STEER:
                yield Facts(f"typed while the agent was working{f': {label}' if label and text else ''}")
            yield Prompt(text or label)
        elif kind is Kind.COMPACTION:
            yield Mark(label if "ompact" in label else f"Compacted {label}".strip())
            if text:
                yield from _fold("Summary", text, "compaction", Prose(text))
        elif kind is Kind.ERROR:
            yield Mark(label if "rror" in label else f"Error: {label}" if label else "Error", bad=True)
            if text and text != label:
                yield Code(text)
        elif kind is Kind.INTERRUPT:
            yield Mark(label or text or "Interrupted", bad=True)
        elif kind is Kind.OUTPUT:
            if text and self.include.output:
                runs = tuple(message.parts[0].runs) if len(message.parts) == 1 and text == message.text else ()
                yield from _fold(label or "Command output", text, "output", *self._printed(text, runs))
        else:
            yield from self._aside(kind, label, text)

    def _thinking(self, text: str, withheld: bool) -> Iterator[Piece]:
        if text:
            words = thinking_line(self._hide(text[:_BEGINNING]))
            yield Open(f"Thinking: {words}", "the rest is withheld by the provider" if withheld else "", "thinking")
            yield Prose(text)
            yield Close()
        else:
            yield Facts("thinking, withheld by the provider" if withheld else "thinking, empty")

    def _joined(self, rows: list[Message]) -> Iterator[Piece]:
        """Context that was put into the conversation in one go, folded away together; the list is empty afterwards."""
        if len(rows) == 1:
            yield from self._aside(rows[0].kind, rows[0].label, rows[0].text)
        elif rows and self.include.context:
            labels = ", ".join(dict.fromkeys(filter(None, (row.label for row in rows))))
            yield Open(one_line(f"Context: {labels}"), plural(len(rows), "block"), "context")
            yield from (Code(row.text, label=row.label) for row in rows if row.text)
            yield Close()
        rows.clear()

    def _aside(self, kind: Kind, label: str, text: str) -> Iterator[Piece]:
        """Context, notes and unknown records. A note's line is always shown, its text is context."""
        name = kind_name(kind)
        if kind is Kind.NOTE and label and (not self.include.context or text in ("", label)):
            yield Facts(label)
        elif self.include.context:
            says_it = kind is Kind.NOTE or label.lower().startswith(name)
            title = label if label and says_it else ": ".join(filter(None, (name.capitalize(), label)))
            yield from _fold(title, text, "context", Code(text, "json" if kind is Kind.UNKNOWN else ""))

    def _tool(self, session: Session, message: Message, tool: Tool, prefix: str, depth: int) -> Iterator[Piece]:
        if self.redactor is not None:  # what is said of it is cut to a line
            tool = replace(
                tool, name=self._hide(tool.name), input=self._hide(tool.input), summary=self._hide(tool.summary)
            )
        # What the source made of the use is for both, so it can only be shown where both are.
        formatted = tool.formatted if self.include.output else None
        listings = [] if formatted else list(tool_inputs(tool))
        diffs = [] if formatted else tool.diffs
        diff = "".join(from_root(diff, session.workspace_root).unified() for diff in diffs)
        output = tool.text if self.include.output and not formatted else ""
        line = headline(tool, session.workspace_root)
        yield Open(line.title, line.ending, "tool", line)
        said = summary_of(tool)
        if said and one_line(said, len(said)) not in line.object:  # it is longer than the line may be
            yield Code(said)
        if formatted:
            yield Prose(formatted.strip("\n"))
        yield from listings
        if diff:
            yield Code(diff, "diff")
        if self.include.output:
            if output and tool.name in _AGENTS:
                yield Prose(output)  # what a subagent answers is written like any answer
            elif (part := tool_slice(tool) if output else None) is not None:
                first = part.start or 1
                yield Code(part.whole, label=f"output, from line {first}" if first > 1 else "output")
            else:
                yield from self._printed(output, tool.runs, "output")
            for image in tool.images:
                yield Facts(image.text)
        elif tool.text:
            yield Facts(f"output left out: {plural(lines_in(tool.text), 'line')}")
        if tool.subagent is not None:
            for subagent in [agent for agent in session.subagents if agent.id == tool.subagent][:1]:
                yield from self._subagent(subagent, f"{prefix}m{message.index}-", depth)
        yield Close()

    def _printed(self, text: str, runs: Sequence[Run], label: str = "") -> Iterator[Piece]:
        """A program's output, the differences in it by themselves."""
        passages = list(passages_in(text))
        if len(passages) > 1 and (hidden := self._hide(text)) != text:  # a secret may reach over several
            text, runs, passages = hidden, (), list(passages_in(hidden))
        for start, end, diff, _ in passages:
            if diff is not None:
                yield Code(text[start:end], "diff", diff.title)
            elif start < end:
                yield Code(text[start:end], label=label, runs=runs_from(runs, start))

    # -- subagents -------------------------------------------------------------------------------------------------

    def _subagent(self, subagent: Subagent, prefix: str, depth: int) -> Iterator[Piece]:
        called, task = (one_line(self._hide(text)) for text in (subagent.name, subagent.description))
        name = f"Subagent {called}".rstrip()
        title = f"{name}: {task}" if task else name
        child = self._session_of(subagent)
        if child is None:
            if self.load is not None:
                # A stream names a session that lies elsewhere; only what has a place can be unreadable there.
                elsewhere = f"a session of its own: {subagent.id}"
                yield Facts(f"{title}: {elsewhere if subagent.path is None else 'its session cannot be read'}")
            return
        usage = _subagent_usage(child)
        if not self.include.subagents or depth >= MAX_DEPTH:
            yield Facts(f"{title}: {plural(len(child.messages), 'message')} left out · {usage}")
            return
        yield Open(title, plural(len(child.messages), "message"), "subagent")
        yield from self._exchanges(child, 3, prefix, depth + 1)
        yield Facts(f"subagent: {usage}")
        yield Close()

    # -- foot ------------------------------------------------------------------------------------------------------

    def _foot(self) -> Iterator[Piece]:
        s = self.session
        loose = [agent for agent in self._listed() if agent.tool_use is None]
        if loose and self.load is not None and not self.include.prompts:
            yield Heading("Subagents without a recorded call", 2, "subagents")
            for number, subagent in enumerate(loose):
                yield from self._subagent(subagent, f"s{number}-", 0)
        yield Heading("Totals", 2, "totals")
        what = f"these {runs} runs" if isinstance(runs := s.metadata.get("runs"), int) else "this session"
        rows = [f"{what}: {s.own_total or usage_line(s.usage(), format_exact)}"]
        if self.load is not None and s.subagents and not all(_is_counted_inside(a.session) for a in s.subagents):
            family, read, missing, partial = self._family_usage()
            if read or not missing:
                count = read if missing else len(s.subagents)
                least = "at least " if partial and family is not None else ""
                rows.append(f"with {plural(count, 'subagent')}: {least}{usage_line(family, format_exact)}")
            if missing:
                rows.append(f"{plural(missing, 'subagent')} not included: no session of theirs can be read")
        if self.include.left_out:
            rows.append(f"left out: {', '.join(self.include.left_out)}")
        if s.duplicates:
            rows.append(f"{plural(s.duplicates, 'record')} left out as copies of earlier ones")
        rows += [f"{plural(count, 'record')} not known to turnlog: {name}" for name, count in s.unknown.most_common()]
        for number, u in enumerate(s.unreadable[:_LISTED]):
            rows.append(f"line {u.line}{s.whose_line(number)} could not be read: {u.reason} ({u.length:,} bytes)")
        if len(s.unreadable) > _LISTED:
            rows.append(f"{len(s.unreadable) - _LISTED:,} more lines could not be read")
        rows = [one_line(self._hide(row), 400) for row in rows]
        if self.redactor is not None and (counts := self.redactor.counts + marks_in("\n".join(rows))):
            kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
            rows.append(f"{plural(counts.total(), 'secret')} redacted: {kinds}")
        yield Items(tuple(rows))


def _short(text: str) -> str:
    """A title cut between words."""
    if len(text) <= _HEADING:
        return text
    start = text[: _HEADING - 1]
    words = start.rpartition(" ")[0]
    return f"{(words if len(words) > _HEADING // 2 else start).rstrip(' ,.;:')}…"


def _is_plain(text: str) -> bool:
    """Return whether a prompt is a short line that reads the same in a heading: no Markdown in it."""
    return 0 < len(text) <= _HEADING - 8 and text.replace(" ", "").translate(_SIGNS).isalnum()


_SIGNS = str.maketrans("", "", ",.?!':;/()-")


def _fold(title: str, text: str, kind: str, *pieces: Piece) -> Iterator[Piece]:
    yield Open(one_line(title), plural(lines_in(text), "line"), kind)
    if text:
        yield from pieces
    yield Close()


def _subagent_usage(child: Session) -> str:
    """A subagent's tokens. Those within a stream are part of the run's total, which has no place for them apart."""
    if _is_counted_inside(child):
        inside = TokenUsage.from_json(child.metadata["usageInParent"])
        return f"{usage_line(inside, format_exact)}, inside the session's own total"
    return usage_line(child.usage(), format_exact)


def _is_counted_inside(child: Session | None) -> bool:
    return child is not None and child.usage() is None and isinstance(child.metadata.get("usageInParent"), dict)
