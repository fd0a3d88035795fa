"""`turnlog validate`: checks a document against its format."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from renderers.facts import plural
from schemas.clean import one_line
from schemas.interchange.registry import NAMES, check, guess
from schemas.interchange.verdicts import Finding, Verdict
from schemas.json_faults import wide_encoding
from schemas.opening import OpenError, agent_of, head_of
from viewer.completion import one_of
from viewer.output import DONE, NO, CallError, path_text, short_path, write_json
from viewer.sessions.targets import STDIN, all_of_stdin, given_path

_PRINTED = 100
"""Findings of a kind that people get to see; `--json` has all."""


@click.command("validate")
@click.argument("file", metavar="FILE")
@click.option(
    "--as",
    "as_format",
    metavar="FORMAT",
    shell_complete=one_of(NAMES),
    help=f"One of {', '.join(NAMES)}; guessed when not given.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(file: str, as_format: str | None, as_json: bool) -> int:
    """Check a document against its format.

    FILE is a path, or - for standard input. Ends with 0 when the document is valid, 1 when it is not, 2 when it cannot
    be read or its format is not known. Warnings do not make it invalid.
    """
    path = all_of_stdin() if file == STDIN else given_path(file)
    if as_format is not None and as_format not in NAMES:
        raise CallError(f"{path_text(as_format)}: no such format; there are {', '.join(NAMES)}")
    called = "standard input" if file == STDIN else short_path(path)
    data = _read(path, called)
    name = as_format or _guess(path, called, data)
    verdict = check(name, data)
    if as_json:
        write_json(
            {
                "valid": verdict.valid,
                "format": name,
                "errors": [finding._asdict() for finding in verdict.errors],
                "warnings": [finding._asdict() for finding in verdict.warnings],
            }
        )
    else:
        _print(called, name, verdict)
    return DONE if verdict.valid else NO


def _read(path: Path, called: str) -> bytes:
    """Return the file's bytes. Raises OSError, and CallError for UTF-16, UTF-32 and a pipe, which may never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise CallError(f"{path_text(path)}: not a regular file")
    try:
        data = path.read_bytes()
    except OSError as error:
        error.filename = error.filename or str(path)  # reading, unlike opening, does not say what
        raise
    if wide := wide_encoding(data):
        raise CallError(f"{called}: a text in {wide}, where UTF-8 belongs")
    return data


def _guess(path: Path, called: str, data: bytes) -> str:
    """The format by the document's own keys: a file's name is no evidence."""
    if not data.strip():
        raise CallError(f"{called}: empty")
    said = guess(data)
    agent = None
    if said is None or not said.sure:  # an agent's own session file may have keys that a published format has too
        with suppress(OpenError):
            agent = agent_of(head_of(path))
    if said is not None and agent is None:
        return said.name
    formats = ", ".join(NAMES)
    if agent is not None:
        raise CallError(
            f"{called}: a session of {agent.name}, in its own form and none of {formats}; "
            "`turnlog export --to …` writes it as one of them"
        )
    raise CallError(f"{called}: by its keys none of the formats {formats}; say which with --as FORMAT")


def _print(file: str, name: str, verdict: Verdict) -> None:
    def lines(findings: list[Finding], word: str) -> None:
        for place, message in findings[:_PRINTED]:
            click.echo(one_line(f"{file}: {word}: {place}{': ' if place else ''}{message}", 1000))
        if len(findings) > _PRINTED:
            click.echo(f"{file}: {word}: and {len(findings) - _PRINTED:,} more")

    lines(verdict.errors, "error")
    lines(verdict.warnings, "warning")
    sums = [
        plural(len(found), word) for found, word in ((verdict.errors, "error"), (verdict.warnings, "warning")) if found
    ]
    click.echo(f"{file}: {'valid' if verdict.valid else 'not valid'} {name}{': ' if sums else ''}{', '.join(sums)}")
