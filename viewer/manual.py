"""The man page, made from the same help as `--help` and from the table of keys: `make man`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

import click

from viewer.cli import COMMANDS, turnlog
from viewer.screens.config_keys import key_name
from viewer.screens.keys import BROWSER, FIND, TRANSCRIPT

_HELP = (("-h, --help", "Show the help; behind a command's name that of the command."),)
_STATUS = (
    ("0", "done"),
    ("1", "the answer is no: a document is invalid, nothing was found"),
    ("2", "a wrong call, or input that cannot be read"),
)


def manual() -> str:
    """The page in the language of man(7)."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    root = click.Context(turnlog, info_name="turnlog", **turnlog.context_settings)
    first, *rest = _paragraphs(turnlog.help or "")
    yield from ('.TH TURNLOG 1 "" turnlog', ".nh")
    yield from (".SH NAME", f"turnlog \\- {_text(first.rstrip('.'))}", ".SH SYNOPSIS")
    yield from (".B turnlog", _text("[OPTIONS] [TARGET | COMMAND ...]"), ".SH DESCRIPTION")
    for paragraph in rest:
        yield from _paragraph(paragraph)
    yield from (".SH OPTIONS", *_options(turnlog, root), *_table(_HELP), ".SH COMMANDS")
    for name in COMMANDS:
        command = turnlog.get_command(root, name)
        assert command is not None, name
        context = click.Context(command, info_name=name, parent=root, **turnlog.context_settings)
        yield f".SS {_text(' '.join(['turnlog', name, *command.collect_usage_pieces(context)]))}"
        for paragraph in _paragraphs(command.help or ""):
            yield from _paragraph(paragraph)
        yield from _options(command, context)
        for paragraph in _paragraphs(command.epilog or ""):
            yield from _paragraph(paragraph)
    for screen, keys in (("list", BROWSER), ("search", FIND), ("transcript", TRANSCRIPT)):
        yield f".SH KEYS IN THE {screen.upper()}"
        yield from _table((" ".join(key_name(name) for name in key.keys), key.help) for key in keys)
    yield from (".SH EXIT STATUS", *_table(_STATUS))


def _paragraphs(text: str) -> list[str]:
    return [part for part in inspect.cleandoc(text).split("\n\n") if part.strip()]


def _paragraph(text: str) -> Iterator[str]:
    """A paragraph; one that begins with a backspace keeps its lines, as for click."""
    kept = text.lstrip().startswith("\b")
    lines = [_text(line) for line in text.replace("\b", "").strip("\n").split("\n")]
    yield ".PP"
    yield from (".nf", *lines, ".fi") if kept else lines


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    options = (param for param in command.params if isinstance(param, click.Option))
    records = (option.get_help_record(context) for option in options)
    return _table(record for record in records if record is not None)


def _table(rows: Iterator[tuple[str, str]] | tuple[tuple[str, str], ...]) -> Iterator[str]:
    for name, words in rows:
        yield from (".TP", f".B {_text(name)}", _text(words))


def _text(text: str) -> str:
    """Text in which nothing is a request: no line begins with a dot or a quote, and hyphens can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith(".") else text


if __name__ == "__main__":
    sys.stdout.write(manual())
