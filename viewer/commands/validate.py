"""`turnlog validate`: checks a document against its format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from viewer.output import DONE, NO, CallError, path_text, write_json

if TYPE_CHECKING:
    from schemas.interchange.session_data_check import Finding, Verdict

FORMATS = ("session-data", "toolpath", "toolpath-jsonl", "events", "snapshot", "agent-response")
"""Those of schemas/interchange/registry.py, written out so that --help need not import it."""
_PRINTED = 100
"""Findings of a kind that people get to see; `--json` has all."""


@click.command("validate")
@click.argument("file", metavar="FILE")
@click.option("--as", "as_format", metavar="FORMAT", help=f"One of {', '.join(FORMATS)}; guessed when not given.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(file: str, as_format: str | None, as_json: bool) -> int:
    """Check a document against its format.

    FILE is a path, or - for standard input. Ends with 0 when the document is valid, 1 when it is not, 2 when it cannot
    be read or its format is not known. Warnings do not make it invalid.
    """
    from schemas.interchange.registry import check

    path = _path(file)
    if as_format is not None and as_format not in FORMATS:
        raise CallError(f"{path_text(as_format)}: no such format; there are {', '.join(FORMATS)}")
    data = _read(path)
    name = as_format or _guess(path, data)
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
        _print(name, verdict)
    return DONE if verdict.valid else NO


def _path(file: str) -> Path:
    from viewer.targets import STDIN, all_of_stdin, given_path

    return all_of_stdin() if file == STDIN else given_path(file)


def _read(path: Path) -> bytes:
    """The file's bytes. Raises OSError, and CallError for what is no regular file: a pipe may never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise CallError(f"{path_text(path)}: not a regular file")
    try:
        data = path.read_bytes()
    except OSError as error:
        error.filename = error.filename or str(path)  # reading, unlike opening, does not say what
        raise
    return data


def _guess(path: Path, data: bytes) -> str:
    """The format by the document's own keys: a file's name is no evidence."""
    from schemas.interchange.registry import guess
    from schemas.provider import read_head

    if not data.strip():
        raise CallError(f"{path_text(path)}: empty")
    name = guess(read_head(path, data, whole=True))
    if name is None:
        raise CallError(f"{path_text(path)}: of no format that can be told by its content; say which with --as")
    return name


def _print(name: str, verdict: Verdict) -> None:
    def lines(findings: list[Finding], word: str) -> None:
        for finding in findings[:_PRINTED]:
            click.echo(f"{word}: {finding.path or '(document)'}: {finding.message}")
        if len(findings) > _PRINTED:
            click.echo(f"{word}: and {len(findings) - _PRINTED} more")

    lines(verdict.errors, "error")
    lines(verdict.warnings, "warning")
    click.echo(f"{'valid' if verdict.valid else 'not valid'} {name}")
