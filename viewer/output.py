"""The output of commands (JSON, messages on standard error, a progress bar, tables for people) and how they end.

Rich is imported by the functions that need it only: `--json` answers must not wait for it.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

from schemas.clean import one_line
from schemas.paths import path_name
from schemas.paths import path_text as path_text
from schemas.troubles import OpenError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.style import Style
    from rich.table import Table
    from rich.text import Text

    from schemas.provider import Problem

DONE, NO, WRONG = 0, 1, 2
"""Exit codes: done; the answer is no (invalid, nothing found); wrong call or unreadable input."""
_INTERRUPTED = 130


class CallError(Exception):
    """A call that cannot be answered: its text is one line for the person who made it. Exit code 2."""


def warn(message: str) -> None:
    """One line on standard error, whatever is in it."""
    print(f"turnlog: {one_line(message, 500)}", file=sys.stderr)


def warn_of(problems: Iterable[Problem]) -> None:
    """One line for each path that could not be read or looked into, with the reason."""
    for problem in problems:
        warn(f"{path_text(problem.path)}: {problem.reason}")


def write_bytes(data: bytes) -> None:
    """Bytes to standard output, which is UTF-8 whatever the locale says. Raises OSError when they cannot be written."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError:
        discard_output()
        raise


def discard_output() -> None:
    """A full disk has been said once: what is still buffered must not complain again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def ending(action: Callable[[], object]) -> int:
    """Run an action and return the program's exit code. Every error that a person can cause ends in one line."""
    try:
        code = action()
        sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except BrokenPipeError:
        return pipe_closed()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (OpenError, CallError) as error:
        return fail(str(error))
    except OSError as error:
        try:
            sys.stdout.flush()  # what was printed before the error; where that fails, it is the error, said once
        except OSError:
            discard_output()
        name = f"{error.filename}: " if error.filename else ""
        return fail(f"{name}{(os.strerror(error.errno) if error.errno else str(error)).lower()}")


def fail(message: str) -> int:
    """Say what is wrong; returns the exit code for it."""
    warn(message)
    return WRONG


def pipe_closed() -> int:
    """The reader has what it wanted; what is still buffered must not complain when Python ends."""
    discard_output()
    return DONE


def reader_gone() -> bool:
    """Tell whether nobody reads standard output any more, which a write would only notice when there is one."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def write_json(value: Any) -> None:
    """One JSON value and a newline."""
    from schemas.json_output import json_bytes

    write_bytes(json_bytes(value) + b"\n")


def short_path(path: os.PathLike[str] | str) -> str:
    """`path_text` with the home directory as `~`, in one line."""
    text, home = path_name(path), os.path.expanduser("~")
    if home not in ("", "/") and (text == home or text.startswith(home + os.sep)):
        text = "~" + text[len(home) :]
    return one_line(text, 4096)


class Progress:
    """A bar on a terminal's standard error for the time of a block, drawn once it has taken a while; else nothing."""

    _DELAY, _EVERY, _WIDTH = 0.4, 0.1, 30

    def __init__(self, label: str) -> None:
        self._label = one_line(label, 40)
        self._on = sys.stderr is not None and sys.stderr.isatty()
        self._next = time.monotonic() + self._DELAY
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        """Note that so many bytes (or whatever is counted) of so many are done."""
        if not self._on or (now := time.monotonic()) < self._next:
            return
        self._next = now + self._EVERY
        part = min(1.0, done / total) if total > 0 else 1.0
        bar = "#" * round(part * self._WIDTH)
        sys.stderr.write(f"\r{self._label} [{bar:<{self._WIDTH}}] {part:4.0%}")
        sys.stderr.flush()
        self._drawn = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        if self._drawn:
            sys.stderr.write("\r" + " " * (len(self._label) + self._WIDTH + 9) + "\r")
            sys.stderr.flush()


def console(piped: int = 80) -> Console:
    """Return the console for tables: standard output, 80 columns where nothing says how wide it is, no markup.

    `piped` is the width behind a pipe, which has none; COLUMNS goes before it.
    """
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            # Rich would end with code 1, which says "no".
            self.quiet = True
            raise BrokenPipeError

    if not sys.stdout.isatty():
        # Nothing behind a pipe cuts lines; a table of 80 columns can be read anywhere.
        columns = os.environ.get("COLUMNS", "")
        width = max(40, int(columns)) if columns.isdecimal() and len(columns) < 5 else piped
        return Quiet(width=width, markup=False, highlight=False, emoji=False)
    return Quiet(markup=False, highlight=False, emoji=False)


def say(screen: Console, *pieces: str | tuple[str, str | Style] | Text) -> None:
    """A line for people, as long as it is. A piece is a text, or a text and its style."""
    from rich.text import Text

    screen.print(Text.assemble(*pieces), soft_wrap=True)


def table(columns: Iterable[tuple[str, str]]) -> Table:
    """A quiet table: no lines, headings dim. A column: its heading and `left`, `right` or `fill` (the rest)."""
    from rich.table import Table
    from rich.text import Text

    quiet = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    for heading, kind in columns:
        quiet.add_column(
            Text(heading),
            justify="right" if kind == "right" else "left",
            ratio=1 if kind == "fill" else None,
            no_wrap=True,
            overflow="ellipsis",
            min_width=8 if kind == "fill" else None,
        )
    return quiet
