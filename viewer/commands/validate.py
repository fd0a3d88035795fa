"""`turnlog validate`: checks a document against its format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viewer.output import DONE, NO, CallError, path_text, write_json

if TYPE_CHECKING:
    from schemas.interchange.session_data_check import Finding, Verdict

SESSION_DATA = "session-data"
FORMATS = (SESSION_DATA, "toolpath", "toolpath-jsonl", "events", "snapshot", "agent-response")
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
    path = _path(file)
    if as_format is not None and as_format not in FORMATS:
        raise CallError(f"{path_text(as_format)}: no such format; there are {', '.join(FORMATS)}")
    data = _read(path)
    name, check = _checker(path, data, as_format)
    verdict = check(data)
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
    """The file's bytes. Raises OSError, and CallError for what is no regular file (a pipe may never end), and for an
    empty file, which is no document of any format.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise CallError(f"{path_text(path)}: not a regular file")
    try:
        data = path.read_bytes()
    except OSError as error:
        error.filename = error.filename or str(path)  # reading, unlike opening, does not say what
        raise
    if not data.strip():
        raise CallError(f"{path_text(path)}: empty")
    return data


def _checker(path: Path, data: bytes, as_format: str | None) -> tuple[str, Callable[[bytes], Verdict]]:
    """The format's name and what checks it."""
    name = as_format or _guess(path, data)
    if name != SESSION_DATA:
        raise CallError(f"{path_text(path)}: this version cannot check {name} documents yet, only {SESSION_DATA}")
    return name, _check_session_data


def _guess(path: Path, data: bytes) -> str:
    """The format by the document's own keys: a file's name is no evidence."""
    from schemas.interchange.session_data import SESSION_DATA as SESSIONS
    from schemas.provider import read_head

    head = read_head(path, data, whole=True)
    keys = head.document.keys() if isinstance(head.document, dict) else set()
    if SESSIONS.detect(head):
        return SESSION_DATA
    if {"graph", "paths"} <= keys:
        return "toolpath"
    if head.records and "PathOpen" in head.records[0]:
        return "toolpath-jsonl"
    if {"schema_version", "totals"} <= keys:
        return "snapshot"
    if "final_response" in keys:
        return "agent-response"
    if head.records and {"provider", "usage", "session_id"} <= head.records[0].keys():
        return "events"
    raise CallError(f"{path_text(path)}: of no format that can be told by its content; say which with --as")


def _check_session_data(data: bytes) -> Verdict:
    from schemas.interchange.session_data_check import Finding, Verdict, validate_session_data

    value, reason = _parse(data)
    if reason:
        return Verdict([Finding("", reason)], [])
    return validate_session_data(value)


def _parse(data: bytes) -> tuple[Any, str]:
    """The JSON value, or why there is none."""
    import orjson

    try:
        return orjson.loads(data), ""
    except orjson.JSONDecodeError as error:
        return None, f"not JSON: {error.msg.lower()} at line {error.lineno}, column {error.colno}"


def _print(name: str, verdict: Verdict) -> None:
    def lines(findings: list[Finding], word: str) -> None:
        for finding in findings[:_PRINTED]:
            click.echo(f"{word}: {finding.path or '(document)'}: {finding.message}")
        if len(findings) > _PRINTED:
            click.echo(f"{word}: and {len(findings) - _PRINTED} more")

    lines(verdict.errors, "error")
    lines(verdict.warnings, "warning")
    click.echo(f"{'valid' if verdict.valid else 'not valid'} {name}")
