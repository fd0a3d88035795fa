"""A message as rows, folded or open. One function for each kind of message."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.segment import Segment
from rich.style import Style

from renderers.facts import exchange_facts, exchange_numbers, format_seconds, kind_name, plural, short_model, usage_line
from renderers.headline import context_line, headline, thinking_line
from renderers.terminal.diff import printed_rows
from renderers.terminal.folds import FULL_LINE, SHORT_LINES, Fold
from renderers.terminal.layout import (
    CLOSED,
    LEAF,
    OPEN,
    PROSE,
    Block,
    Look,
    capped,
    flat,
    indented,
    more_row,
    title_row,
)
from renderers.terminal.markdown import markdown_rows, prose_rows
from renderers.terminal.rows import MIN_WIDTH, Row, crop, expand_tabs, width_of, wrap
from renderers.terminal.tool import tool_block
from schemas.clean import one_line
from schemas.message import Flag, Kind, Message
from schemas.session import Session
from schemas.table import NONE

SPEAKER, ANSWER = "❯", "●"
_COST_TO_COME = " " * len("$0.08")
_TAB = 4
"""Columns of a tab in a prompt's first line."""
_PASTE_LINES = 24
"""Lines of a long prompt that are shown before it is asked for."""
_PROSE = 4
"""So many times as many lines of what somebody wrote are drawn at once as of what a program printed."""


def render_block(session: Session, index: int, fold: Fold, look: Look) -> Block:
    """The rows of message `index`. `fold` is LINE or more."""
    message = session.message(index)
    if message.flags & Flag.OPENER:
        block = _opener(session, message, fold, look)
    elif fold is Fold.LINE and message.flags & (Flag.REWOUND | Flag.INHERITED):
        return _old_line(session, message, look)
    elif message.tool is not None:
        block = tool_block(message, message.tool, fold, look, session.workspace_root)
    elif message.kind is Kind.CONTEXT and fold is Fold.LINE:
        block = _context_line(session, message, look)
    else:
        block = _BY_KIND.get(message.kind, _note)(message, fold, look)
    if fold > Fold.LINE:
        block.rows.extend(_image_rows(message, look))
    if fold is Fold.FULL and not message.figures and not message.flags & Flag.OPENER:
        block.rows.extend(_group_rows(session, index, look))
    return block


def _old_line(session: Session, message: Message, look: Look) -> Block:
    """A message that was rewound or is a copy, in one dim line that says so."""
    mark = "rewound" if message.flags & Flag.REWOUND else "inherited"
    title = headline(message.tool, session.workspace_root).title if message.tool else message.text or message.label
    dim = look.palette.dim
    left = [(f"{mark}  ", dim), (one_line(title, 400), dim)]
    return Block([title_row(look, look.body, Segment(CLOSED, dim), left, [])])


def _image_rows(message: Message, look: Look) -> Iterable[Row]:
    """Say which key shows the images, where they are recorded."""
    if any(image.data for image in message.images):
        note = "i shows the image" if len(message.images) == 1 else f"i shows the {len(message.images)} images"
        row = Row([Segment(" " * look.text), Segment(note, look.palette.dim)])
        yield row._replace(gutter=len(row.text))  # a remark of ours, not a part of the transcript


def _group_rows(session: Session, index: int, look: Look) -> Iterable[Row]:
    """Draw the tokens of the model call that ended here."""
    group = session.messages.group[index]
    if group != NONE and session.groups.last[group] == index:
        text = usage_line(session.groups.usage[group])
        for segments, join in wrap([(text, look.palette.dim)], look.width - look.text):
            yield Row([Segment(" " * look.text), *segments], look.text, join)


# -- prompts ---------------------------------------------------------------------------------------------------------


def _opener(session: Session, message: Message, fold: Fold, look: Look) -> Block:
    """An exchange's header: its prompt, and the quiet facts at the right edge."""
    palette = look.palette
    folded = fold is Fold.LINE
    old = bool(message.flags & (Flag.REWOUND | Flag.INHERITED))
    style = palette.dim if old else palette.prompt
    number = exchange_numbers(session)[message.exchange]
    mark = f" {number}" if number is not None else ""
    head = [
        Segment(" "),
        Segment(CLOSED if folded else OPEN, palette.dim if old else palette.person),
        Segment(mark, palette.dim if old else palette.person),
        Segment("  "),
    ]
    column = 1 + 1 + len(mark) + 2
    room = look.width - column
    text = message.text or message.label or "(empty prompt)"
    facts = _facts_beside(session, message, folded, room, text, look)
    first = room - (width_of(facts) + 2 if facts else 0)
    if folded:
        rows = [Row([Segment(crop(one_line(text, 400), first), style)])]
        more = 0
    else:
        rows, more = _prompt_rows(text, first, look, column, old, fold)
    title = rows[0]
    gap = room - sum(width_of(s.text) for s in title.segments) - width_of(facts)
    right = [Segment(" " * max(1, gap)), Segment(facts, palette.dim)] if facts else []
    out = [Row([*head, *title.segments, *right], column, "\n", title.text, "fold")]
    out.extend(indented(rows[1:], column))
    if more:
        out.append(more_row(look, column, more))
    return Block(out, bool(more))


def _facts_beside(session: Session, message: Message, folded: bool, room: int, text: str, look: Look) -> str:
    """The facts at the right of an exchange's first line: all where that leaves room for the prompt, else as many as
    take about half of the line.
    """
    line = one_line(text, 400) if folded else expand_tabs(text.strip("\n").partition("\n")[0][:400], _TAB)
    half = min(room * 55 // 100, room - 2 - MIN_WIDTH)
    return _facts(session, message, folded, max(room - 2 - width_of(line), half), look)


def _prompt_rows(text: str, first: int, look: Look, column: int, old: bool, fold: Fold) -> tuple[list[Row], int]:
    """A prompt as it was typed; the first row is shorter because the facts stand beside it."""
    palette = look.palette
    # Only its first line is strong: thirty bold lines of something pasted would shout.
    style, body = (palette.dim, palette.dim) if old else (palette.prompt, palette.text)
    text, end = text.strip("\n"), look.full * FULL_LINE
    lines = text[:end].split("\n")
    limit = min(len(lines), look.full if fold is Fold.FULL else _PASTE_LINES)
    width = min(look.width - column, PROSE)
    first = min(first, PROSE)
    rows = [Row(segments, 0, join) for segments, join in wrap([(expand_tabs(lines[0], _TAB), style)], width, first)]
    rest = "\n".join(lines[1:limit])
    if limit > 1:
        rows.extend(prose_rows(rest, width, body))
    return rows, len(lines) - limit + (text.count("\n", end) + 1 if len(text) > end else 0)


def _facts(session: Session, message: Message, folded: bool, room: int, look: Look) -> str:
    """`14:21 · 3 m 12 s · opus-5 · 9 tools · 41k · $0.08`, without what matters least where there is no room. A cost
    that is not known yet has its place left free, so that nothing moves when it comes.
    """
    exchange = session.exchanges[message.exchange]
    running = look.running == message.exchange
    cost = look.cost(message.exchange)
    cost = _COST_TO_COME if cost is None else cost
    pieces = exchange_facts(session, message.exchange, running=running, cost=cost)
    counted = message.kind is not Kind.NOTE  # what opens a part of a table is no prompt that was answered
    if counted and not running and len(session.groups) and session.exchange_usage(message.exchange) is None:
        pieces.append("tokens unknown")  # where the others' are known, none would look like 0
    if exchange.inherited or message.flags & Flag.INHERITED:
        pieces.insert(0, "inherited")
    if exchange.rewound or message.flags & Flag.REWOUND:
        pieces.insert(0, "rewound")
    if folded:
        hidden = len(session.message_range(message.exchange)) - 1
        if hidden:
            pieces.insert(0, plural(hidden, "message"))
    droppable = [
        short_model(session.models[exchange.model]),
        format_seconds(exchange.duration),
        plural(exchange.tools, "tool"),
        cost,
        *pieces[:1],
    ]
    while pieces and width_of(" · ".join(pieces)) > room and droppable:
        piece = droppable.pop(0)
        if piece in pieces:
            pieces.remove(piece)
    line = " · ".join(pieces)
    if pieces and pieces[-1] == _COST_TO_COME:
        line = line.removesuffix(f" · {_COST_TO_COME}") + f"   {_COST_TO_COME}"
    return line if width_of(line) <= room else ""


def _steer(message: Message, fold: Fold, look: Look) -> Block:
    """Typed by a person in the middle of an exchange."""
    glyph = Segment(SPEAKER, look.palette.person)
    text = message.text or message.label
    if message.kind is Kind.STEER and text != message.label:
        text = ": ".join(filter(None, (message.label, text)))  # what became of it
    if fold is Fold.LINE:
        return Block([title_row(look, look.body, glyph, [(one_line(text, 400), look.palette.prompt)], [])])
    text, more = _start(text, look)
    rows = list(indented(prose_rows(text, look.prose, look.palette.prompt), look.text, glyph))
    rows[0] = rows[0]._replace(act="fold")
    return _with_more(Block(rows), more, look)


# -- what the agent said and thought ---------------------------------------------------------------------------------


def _text(message: Message, fold: Fold, look: Look) -> Block:
    palette = look.palette
    glyph = Segment(ANSWER, palette.agent)
    text = message.text
    if fold is Fold.LINE:
        lines = text.count("\n") + 1
        facts = [(plural(lines, "line"), palette.dim)] if lines > 1 else []
        return Block(
            [title_row(look, look.body, Segment(CLOSED, palette.agent), [(one_line(text, 400), palette.text)], facts)]
        )
    block = Block([])
    text, more = _start(text, look)
    wide = look.width - look.text
    rows = markdown_rows(text, look.prose, palette, look.highlights, block.wanted, wide=wide)
    block.rows.extend(indented(rows or [Row([])], look.text, glyph))
    return _with_more(block, more, look)


def _start(text: str, look: Look) -> tuple[str, int]:
    """Return as much of a huge text as is drawn at once, and how many lines are left."""
    end, left = look.full * FULL_LINE, look.full * _PROSE
    if len(text) <= end and text.count("\n") < left:
        return text, 0
    at = -1
    while left and (found := text.find("\n", at + 1, end)) >= 0:
        at, left = found, left - 1
    end = at if not left else end
    return text[:end], text.count("\n", end + 1) + 1


def _with_more(block: Block, more: int, look: Look) -> Block:
    """The same with a row that says how much is not shown, if anything is not."""
    if more:
        block.rows.append(more_row(look, look.text, more))
        block.more = True
    return block


def _thinking(message: Message, fold: Fold, look: Look) -> Block:
    palette = look.palette
    text = message.text
    if message.flags & Flag.WITHHELD or not text:
        label = "thinking …" if message.flags & Flag.GROWING else "thinking withheld"
        row = title_row(look, look.body, Segment(LEAF, palette.dim), [(label, palette.dim)], [], "")
        return Block([row])
    if fold is Fold.LINE and (words := thinking_line(text)):
        left = [("thinking · ", palette.dim), (words, palette.thinking)]
        return Block([title_row(look, look.body, Segment(CLOSED, palette.dim), left, [])])
    label = f"thinking · {plural(len(text), 'character')}"
    glyph = Segment(OPEN if fold >= Fold.SHORT else CLOSED, palette.dim)
    rows = [title_row(look, look.body, glyph, [(label, palette.dim)], [])]
    block = Block(rows)
    if fold >= Fold.SHORT:
        text, more = _start(text, look)
        body = markdown_rows(text, look.prose, palette, look.highlights, block.wanted, palette.thinking)
        rows.extend(indented(body, look.text))
        _with_more(block, more, look)
    return block


# -- everything else -------------------------------------------------------------------------------------------------


def _compaction(message: Message, fold: Fold, look: Look) -> Block:
    """A line across: what stands above it the model no longer sees."""
    palette = look.palette
    label = message.label or "Compacted"
    glyph = OPEN if fold >= Fold.SHORT else CLOSED
    size = f" · summary {plural(len(message.text), 'character')}" if message.text else ""
    middle = crop(f" {glyph} {flat(label)}{size} ", look.width - look.body - 4)
    right = "─" * (look.width - look.body - 4 - width_of(middle))
    head = [
        Segment(" " * look.body),
        Segment("────", palette.rule),
        Segment(middle, palette.warn),
        Segment(right, palette.rule),
    ]
    block = Block([Row(head, look.body, act="fold" if message.text else "")])
    if fold >= Fold.SHORT and message.text:
        rows = markdown_rows(message.text, look.prose, palette, look.highlights, block.wanted)
        block.rows.extend(indented(rows, look.text))
    return block


def _error(message: Message, fold: Fold, look: Look) -> Block:
    mark = "■" if message.kind is Kind.INTERRUPT else "✗"
    style = look.palette.warn if message.kind is Kind.INTERRUPT else look.palette.bad
    label = message.label or ("Interrupted" if message.kind is Kind.INTERRUPT else "Error")
    return _labelled(message, label, Segment(mark, style), style, fold, look)


def _output(message: Message, fold: Fold, look: Look) -> Block:
    """Draw a command's output."""
    palette = look.palette
    text = message.text.strip("\n")
    lines = text.count("\n") + 1 if text else 0
    label = message.label or "output"
    glyph = Segment(OPEN if fold >= Fold.SHORT else CLOSED, palette.dim)
    block = Block([title_row(look, look.body, glyph, [(label, palette.dim)], [(plural(lines, "line"), palette.dim)])])
    if fold >= Fold.SHORT and text:
        runs = message.parts[0].runs if len(message.parts) == 1 else []
        limit = (look.full if fold >= Fold.FULL else SHORT_LINES) + 1
        rows = printed_rows(text, runs, look.width - look.text, palette, look.highlights, block.wanted, limit)
        block.rows.extend(capped(indented(rows, look.text), lines, fold, look, block))
    return block


def _note(message: Message, fold: Fold, look: Look) -> Block:
    label = message.label or kind_name(message.kind)
    dim = look.palette.dim
    return _labelled(message, label, Segment(LEAF, dim), dim, fold, look)


def _context_line(session: Session, message: Message, look: Look) -> Block:
    """Draw context that was given in one go as one line, however many messages that are."""
    labels, count = context_line(session, message.index)
    if count == 1 or session.messages.joins(message.index):
        return _note(message, Fold.LINE, look)
    dim = look.palette.dim
    return Block([title_row(look, look.body, Segment(CLOSED, dim), [(labels, dim)], [(plural(count, "block"), dim)])])


def _labelled(message: Message, label: str, glyph: Segment, style: Style, fold: Fold, look: Look) -> Block:
    """A label, and below it the text if there is more than the label says."""
    palette = look.palette
    text = message.text.strip("\n")
    if not text or text == label:
        facts = [(message.figures, palette.dim)] if message.figures else []
        return Block([title_row(look, look.body, glyph, [(label, style)], facts, "")])
    if glyph.text == LEAF:
        glyph = Segment(OPEN if fold >= Fold.SHORT else CLOSED, glyph.style)
    lines = text.count("\n") + 1
    size = message.figures or (plural(lines, "line") if lines > 3 else plural(len(text), "character"))
    head = title_row(look, look.body, glyph, [(label, style)], [(size, palette.dim)])
    block = Block([head])
    if fold >= Fold.SHORT:
        limit = SHORT_LINES if fold is Fold.SHORT else look.full
        shown = "\n".join(text.split("\n", limit)[:limit])
        block.rows.extend(indented(prose_rows(shown, look.width - look.text, palette.output), look.text))
        _with_more(block, max(0, lines - limit), look)
    return block


_BY_KIND: dict[Kind, Callable[[Message, Fold, Look], Block]] = {
    Kind.PROMPT: _steer,
    Kind.STEER: _steer,
    Kind.COMMAND: _steer,
    Kind.TEXT: _text,
    Kind.THINKING: _thinking,
    Kind.COMPACTION: _compaction,
    Kind.INTERRUPT: _error,
    Kind.ERROR: _error,
    Kind.OUTPUT: _output,
}
