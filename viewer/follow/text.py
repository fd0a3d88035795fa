"""A message as `turnlog tail` prints it where there is no screen: whole, once, in lines that a log can hold."""

from __future__ import annotations

from collections.abc import Iterator

from renderers.facts import local_time, plural
from renderers.headline import headline, tool_command
from renderers.plain_tables import aligned_tables
from schemas.message import USER_KINDS, Flag, Kind, Message, Tool
from schemas.session import Session

OUTPUT_LINES = 20
"""Lines of a tool's output that are printed; how many more there are is said."""
_ASIDE_LINES = 4
_NAMES = {
    Kind.COMPACTION: "compacted",
    Kind.INTERRUPT: "interrupted",
    Kind.ERROR: "error",
    Kind.OUTPUT: "output",
    Kind.CONTEXT: "context",
    Kind.NOTE: "note",
    Kind.UNKNOWN: "unknown record",
}


def message_lines(session: Session, message: Message, most: int = OUTPUT_LINES) -> Iterator[str]:
    """The lines of a message, `most` of what a tool put out; an empty line stands before what begins something new."""
    kind = message.kind
    if kind in USER_KINDS:
        when = "" if message.timestamp is None else f"{local_time(message.timestamp)} "
        yield ""
        yield from _hanging(f"{when}> ", message.text or message.label)
    elif kind is Kind.TEXT:
        yield ""
        yield from aligned_tables(message.text).split("\n")
    elif kind is Kind.THINKING:
        if session.messages.repeats(message.index) and not message.text:
            return
        withheld = ", withheld by the provider" if message.flags & Flag.WITHHELD and not message.text else ""
        yield f"* thinking{withheld}"
        yield from _indented(message.text)
    elif message.tool is not None:
        yield from _tool_lines(session, message.tool, most)
    else:
        name = _NAMES.get(kind, "note")
        label = message.label if message.label.lower().startswith(name) else f"{name} {message.label}".strip()
        if message.figures:
            yield f"  {message.label}  {message.figures}"
            return
        yield f"- {label}"
        if message.text != message.label:
            yield from _cut(message.text, most if kind in (Kind.OUTPUT, Kind.ERROR) else _ASIDE_LINES)


def _tool_lines(session: Session, tool: Tool, most: int) -> Iterator[str]:
    line = headline(tool, session.workspace_root)
    yield f"* {line.title}" + (f"   {line.ending}" if line.ending else "")
    command = tool_command(tool)
    if command is not None and "\n" in command.strip():
        yield from _indented(command)
    for diff in tool.diffs:
        for hunk in diff.hunks:
            yield from ("    " + row for row in hunk.lines)
    if not tool.diffs:
        yield from _cut(tool.text, most)
    for image in tool.images:
        yield f"    {image.text}"


def _hanging(lead: str, text: str) -> Iterator[str]:
    for number, row in enumerate(text.split("\n")):
        yield (lead if number == 0 else " " * len(lead)) + row


def _indented(text: str) -> Iterator[str]:
    if text:
        yield from ("    " + row for row in text.rstrip("\n").split("\n"))


def _cut(text: str, limit: int) -> Iterator[str]:
    """The text's first lines, indented, and how many more there are."""
    if not text.strip():
        return
    rows = text.rstrip("\n").split("\n")
    # One line more costs no more room than the line that counts it.
    shown = rows if len(rows) <= limit + 1 else rows[:limit]
    yield from ("    " + row for row in shown)
    if len(shown) < len(rows):
        yield f"    … {plural(len(rows) - len(shown), 'more line')}"
