"""A tool use as rows: one line folded; its input, its changes and its output when open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich.segment import Segment
from rich.style import Style

from renderers.facts import format_size
from renderers.headline import Headline, Outcome, from_root, headline, summary_of, tool_command, tool_slice
from renderers.inputs import json_text
from renderers.terminal.code import language_of_path
from renderers.terminal.diff import diff_rows, printed_rows
from renderers.terminal.diff import title_row as diff_title
from renderers.terminal.folds import SHORT_LINES, Fold
from renderers.terminal.layout import CLOSED, OPEN, Block, Look, capped, facts_room, indented, title_row
from renderers.terminal.markdown import markdown_rows, prose_rows
from renderers.terminal.rows import Row, crop, width_of
from renderers.terminal.style_names import Palette
from renderers.terminal.text import code_rows, slice_rows
from schemas.clean import one_line
from schemas.diffs import NEW_TEXTS, OLD_TEXTS, WHOLE_TEXTS, FileDiff, changes_asked
from schemas.images import picture_in
from schemas.message import Message, Part, Tool, ToolStatus
from schemas.slices import Slice

_BAD = frozenset({ToolStatus.ERROR, ToolStatus.DENIED, ToolStatus.INTERRUPTED})
_SOURCE_KEYS = frozenset({"code", "new_source", "patch", "input", "edits", *OLD_TEXTS, *NEW_TEXTS, *WHOLE_TEXTS})
_NAME = 2000
"""Characters of an argument's name that are shown: it may be a text itself."""
_PROSE_KEYS = frozenset({"prompt", "plan", "message", "description", "text"})


def tool_block(message: Message, tool: Tool, fold: Fold, look: Look, workspace_root: str | None) -> Block:
    """The block of a tool use."""
    head = headline(tool, workspace_root)
    running = tool.status is ToolStatus.PENDING and message.exchange == look.running
    # What only the screen knows: that it goes on, which is no fault, and what its subagent did.
    outcome = (Outcome("running", "plain"),) if running else head.outcome
    if did := look.subagents.get(message.index):
        outcome = (Outcome(did, "plain"), *outcome)
    head = replace(head, outcome=outcome)
    block = Block([_head_row(tool, head, fold, look)])
    if fold >= Fold.SHORT:
        block.rows.extend(_summary(tool, head, look))
        if tool.formatted:
            block.rows.extend(_formatted(tool.formatted, fold, look, block))
        else:
            part = tool_slice(tool)
            given = _input(tool, head, part, fold, look, block, workspace_root)
            result = _output(tool, part, fold, look, block)
            # Why a change came to nothing stands before what was tried.
            undone = tool.type == "write" and tool.status in _BAD
            for rows in (result, given) if undone else (given, result):
                block.rows.extend(rows)
        block.rows.extend(_notes(tool, look))
    return block


def _head_row(tool: Tool, head: Headline, fold: Fold, look: Look) -> Row:
    palette = look.palette
    bad = tool.status in _BAD
    glyph = Segment(CLOSED if fold < Fold.SHORT else OPEN, palette.bad if bad else palette.dim)
    left = [
        (head.verb, palette.bad if bad else palette.tool),
        (f" {head.object}" if head.object else "", palette.target),
    ]
    right = _outcome(head, bad, palette)
    if head.reason:
        room = look.width - look.body - 2
        room = min(room - min(width_of(head.title), room * 4 // 10) - 2, facts_room(room))
        reason = crop(head.reason, room - sum(width_of(text) for text, _ in right) - 3)
        right += [(f" · {reason}", palette.text)] if reason else []
    return title_row(look, look.body, glyph, left, right)


def _outcome(head: Headline, bad: bool, palette: Palette) -> list[tuple[str, Style]]:
    tones = {
        "plain": palette.dim, "good": palette.good, "bad": palette.bad, "warn": palette.warn,
        "add": palette.add_text, "remove": palette.remove_text,
    }  # fmt: skip
    out: list[tuple[str, Style]] = [("✗ ", palette.bad)] if bad else []
    for gap, outcome in head.spaced():
        out += [*([(gap, palette.dim)] if gap else []), (outcome.text, tones[outcome.tone])]
    return out


def _is_cut(head: Headline, look: Look) -> bool:
    """Return whether the line is too long for the screen."""
    return width_of(head.title) > look.width - look.text - width_of(head.ending) - 4


def _summary(tool: Tool, head: Headline, look: Look) -> Iterator[Row]:
    """Draw the source's own summary of the use, where its line has no room for all of it."""
    said = summary_of(tool)
    if said and (one_line(said, len(said)) not in head.object or _is_cut(head, look)):
        yield from indented(prose_rows(said, look.prose, look.palette.dim), look.text)


# -- input -----------------------------------------------------------------------------------------------------------


def _input(
    tool: Tool, head: Headline, part: Slice | None, fold: Fold, look: Look, block: Block, workspace_root: str | None
) -> Iterator[Row]:
    """Draw the input of the use, as far as its line does not say it already."""
    changes = tool.diffs or (changes_asked(tool.input) if tool.type == "write" and tool.status in _BAD else [])
    if changes:
        yield from _changes(changes, fold, look, block, workspace_root)
        return
    command = tool_command(tool)
    if command is not None:
        if command.strip() not in head.object or _is_cut(head, look):
            rows = code_rows(command, "bash", look.width - look.text, look.palette, look.highlights, block.wanted)
            yield from capped(indented(rows, look.text), command.count("\n") + 1, fold, look, block)
        return
    if (todos := _todo_items(tool)) is not None:
        yield from _todos(todos, look)
        return
    for name, value in tool.input.items():
        if value is None or value == "" or _said(value, head):
            continue
        if part is not None and part.start is not None and isinstance(value, int):
            continue  # where the slice begins and ends, which its numbers tell
        yield from _argument(name, value, tool, fold, look, block)


def _said(value: Any, head: Headline) -> bool:
    """Return whether the line shows the value already."""
    return (
        isinstance(value, str)
        and "\n" not in value
        and (
            value in head.object
            or head.object.split(":")[0] == value
            or (bool(head.object) and value.endswith("/" + head.object.split(":")[0]))
        )
    )


def _argument(name: str, value: Any, tool: Tool, fold: Fold, look: Look, block: Block) -> Iterator[Row]:
    palette, column, width = look.palette, look.text, look.width - look.text
    label = one_line(str(name), _NAME)
    beside = width - width_of(label) - 2
    if not isinstance(value, str):
        value = json_text(value, pretty=True)
        if len(value) < 200 and width_of(flat := " ".join(value.split())) <= beside:
            value = flat
    if "\n" not in value and "\t" not in value and width_of(value) <= beside:
        yield Row([Segment(" " * column), Segment(f"{label}  ", palette.dim), Segment(value, palette.target)], column)
        return
    yield from indented(prose_rows(label, width, palette.dim), column)
    lines = value.count("\n") + 1
    if name in _PROSE_KEYS:
        rows = iter(markdown_rows(value, min(width, look.prose), palette, look.highlights, block.wanted))
    elif name in _SOURCE_KEYS or lines > 1:
        path = str(tool.input.get("file_path") or tool.input.get("path") or "")
        rows = code_rows(value, language_of_path(path), width, palette, look.highlights, block.wanted)
    else:
        rows = prose_rows(value, width, palette.target)
    yield from capped(indented(rows, column), lines, fold, look, block)


def _changes(diffs: list[FileDiff], fold: Fold, look: Look, block: Block, root: str | None) -> Iterator[Row]:
    for diff in diffs:
        lines = sum(len(hunk.lines) + 1 for hunk in diff.hunks) - 1
        if len(diffs) > 1 or diff.renamed_to:
            title = diff_title(from_root(diff, root), look.width - look.text, look.palette)
            yield from indented([title], look.text)
        rows = diff_rows(diff, look.width - look.text, look.palette, look.highlights, block.wanted)
        # A change is what one opens an edit for, so more of it stands there at once than of an output.
        yield from capped(indented(rows, look.text), lines, fold, look, block, 3 * SHORT_LINES)


def _todo_items(tool: Tool) -> list[dict[str, Any]] | None:
    items = tool.input.get("todos", tool.input.get("plan"))
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        return None
    return items


def _todos(items: list[dict[str, Any]], look: Look) -> Iterator[Row]:
    palette = look.palette
    marks = {"completed": ("☑", palette.good), "in_progress": ("▸", palette.person)}
    for item in items:
        mark, style = marks.get(str(item.get("status")), ("☐", palette.dim))
        text = str(item.get("content") or item.get("step") or item.get("subject") or item)
        body = palette.dim if mark == "☑" else palette.text
        yield from indented(prose_rows(text, look.width - look.text - 2, body), look.text + 2, Segment(mark, style))


# -- output ----------------------------------------------------------------------------------------------------------


def _output(tool: Tool, part: Slice | None, fold: Fold, look: Look, block: Block) -> Iterator[Row]:
    """Draw the result of the use."""
    text = tool.text.rstrip("\n")
    if not text.strip() or (tool.diffs and tool.status is ToolStatus.OK):
        return
    width = look.width - look.text - 2
    lines = text.count("\n") + 1
    if part is not None:
        rows = slice_rows(part, width + 2, look.palette, look.highlights, block.wanted)
        yield from capped(indented(rows, look.text), part.whole.count("\n") + 1, fold, look, block)
        return
    if (tool.type == "task" or tool.subagent is not None) and not tool.runs:
        rows = iter(markdown_rows(text, min(width, look.prose), look.palette, look.highlights, block.wanted))
    else:
        limit = (look.full if fold >= Fold.FULL else SHORT_LINES) + 1
        rows = printed_rows(text, tool.runs, width, look.palette, look.highlights, block.wanted, limit)
    bar = Segment("│ ", look.palette.rule)
    barred = (Row([bar, *row.segments], row.gutter + 2, row.join, row.source, row.act) for row in rows)
    yield from capped(indented(barred, look.text), lines, fold, look, block)


def _formatted(text: str, fold: Fold, look: Look, block: Block) -> Iterator[Row]:
    """Draw the source's own rendering of the use and its result."""
    text = text.strip("\n")
    width = min(look.width - look.text, look.prose)
    rows = markdown_rows(text, width, look.palette, look.highlights, block.wanted)
    yield from capped(indented(iter(rows), look.text), text.count("\n") + 1, fold, look, block)


def _notes(tool: Tool, look: Look) -> Iterator[Row]:
    notes = [_image_words(image) for image in tool.images]
    if tool.spilled:
        notes.append("the output was written to a file beside the session")
    if tool.subagent is not None:
        notes.append("a opens the subagent's own transcript")
    for note in notes:
        for row in indented(prose_rows(note, look.width - look.text, look.palette.dim), look.text):
            yield row._replace(gutter=len(row.text))  # a remark of ours, not a part of the transcript


def _image_words(image: Part) -> str:
    """Name an image: its type, and how large it is."""
    picture = picture_in(image.data)
    pixels = f"{picture.width} x {picture.height}" if picture else ""
    return f"[{' '.join(filter(None, ('image', image.media_type, pixels, format_size(image.size))))}]"
