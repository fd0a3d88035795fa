"""`turnlog export`: a session as a document."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viewer.output import DONE, CallError, progress, short_path, warn, write_bytes

if TYPE_CHECKING:
    from renderers.options import Include
    from renderers.redact import Redactor
    from schemas.session import Session

FORMATS = {
    "markdown": ".md", "html": ".html", "text": ".txt", "json": ".json", "toolpath": ".path.json",
    "toolpath-jsonl": ".path.jsonl", "agent-response": ".response.json",
}  # fmt: skip
"""What can be written, and the ending of its files."""
_PARTS = ("thinking", "tools", "output", "subagents", "context")


def _part(name: str, words: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return click.option(f"--{name}/--no-{name}", default=True, help=words)


@click.command("export")
@click.argument("target", metavar="TARGET")
@click.option("--to", "form", default="markdown", metavar="FORMAT", help=f"{', '.join(FORMATS)}; markdown by default.")
@click.option("-o", "destination", metavar="FILE|DIR/", help="Write there instead of to standard output.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@_part("thinking", "What the agent thought.")
@_part("tools", "Tool uses, with input and diff.")
@_part("output", "What tools and commands printed.")
@_part("subagents", "The sessions of subagents, under the calls that started them.")
@_part("context", "What the program put into the conversation.")
@click.option("--redact/--no-redact", default=True, help="Replace keys, tokens and passwords; how many is said.")
def command(target: str, form: str, destination: str | None, force: bool, redact: bool, **parts: bool) -> int:
    """Write a session as a document.

    TARGET is a path, a session id or the beginning of one, `latest`, or - for standard input. An existing file is kept
    unless --force is given; a name in DIR/ is made of the session's date, title and id.
    """
    from renderers.options import Include
    from renderers.redact import Redactor
    from schemas.opening import read_session
    from viewer.targets import Targets

    _check(form, parts)
    if destination == "":
        raise CallError("-o: an empty name")
    include = Include(redact=redact, **parts)
    path = Targets().resolve(target).path
    with progress("reading") as bar:
        session = read_session(path, bar)
    try:
        redactor = Redactor() if redact else None
        chunks = document(session, form, include, redactor)
        if destination is None or destination == "-":
            for chunk in chunks:
                write_bytes(chunk)
        else:
            _write(destination, session, form, chunks, force=force, redact=redact)
        if redactor is not None and redactor.count:
            warn(_redacted(redactor))
    finally:
        session.close()
    return DONE


def _check(form: str, parts: dict[str, bool]) -> None:
    if form not in FORMATS:
        raise CallError(f"--to {form}: no such format; there are {', '.join(FORMATS)}")
    left_out = [name for name in _PARTS if not parts[name] and name != "subagents"]
    if form not in ("markdown", "html", "text") and left_out:
        raise CallError(f"--no-{left_out[0]}: a JSON document holds the whole session")


def document(session: Session, form: str, include: Include, redactor: Redactor | None) -> Iterator[bytes]:
    """The document in one of FORMATS, in pieces. `redactor` replaces secrets and counts them."""
    from schemas.opening import family, read_subagent

    load = read_subagent if include.subagents else None
    if form == "json":
        from schemas.interchange.session_data_write import to_session_data

        if include.subagents:
            for _ in family(session):
                pass  # the document holds subagents that have been read
        edit = redactor.redact if redactor else None
        yield from to_session_data(session, edit=edit, subagents=include.subagents)
        return
    if form in ("toolpath", "toolpath-jsonl"):
        yield from _toolpath(session, form, include, redactor)
        return
    if form == "agent-response":
        from schemas.interchange.agent_response_write import losses, to_agent_response

        yield from to_agent_response(session, edit=redactor.redact if redactor else None)
        for loss in losses(session):
            warn(f"{form} cannot hold {loss}: left out")
        return
    if form == "markdown":
        from renderers.markdown import render
    elif form == "html":
        from renderers.html import render
    else:
        from renderers.plain import render
    yield from _encoded(render(session, include, redactor=redactor, subagents=load))


def _toolpath(session: Session, form: str, include: Include, redactor: Redactor | None) -> Iterator[bytes]:
    """A Toolpath document or stream; says afterwards what it could not hold."""
    from collections import Counter

    from renderers.facts import plural
    from schemas.interchange.toolpath_write import LOSSES, to_toolpath, to_toolpath_stream
    from schemas.opening import family

    if include.subagents:
        for _ in family(session):
            pass  # the document holds subagents that have been read
    lost: Counter[str] = Counter()
    write = to_toolpath if form == "toolpath" else to_toolpath_stream
    edit = redactor.redact if redactor else None
    yield from write(session, edit=edit, subagents=include.subagents, lost=lost)
    for what, count in lost.items():
        if count:
            warn(f"{form}: {plural(count, what)} {LOSSES[what]}")


def _encoded(pieces: Iterable[str], size: int = 1 << 16) -> Iterator[bytes]:
    """Text as UTF-8 in chunks worth a write."""
    waiting: list[str] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= size:
            yield "".join(waiting).encode("utf-8", "replace")
            waiting, length = [], 0
    if waiting:
        yield "".join(waiting).encode("utf-8", "replace")


def _write(
    destination: str, session: Session, form: str, chunks: Iterator[bytes], *, force: bool, redact: bool
) -> None:
    from renderers.names import export_name
    from viewer.exporting import write_file

    path = Path(destination)
    if path.is_dir() or destination.endswith(("/", os.sep)):
        path.mkdir(parents=True, exist_ok=True)
        path = path / export_name(session, FORMATS[form], redact=redact)
    if path.exists() and any(os.path.exists(own) and path.samefile(own) for own in _own_files(session)):
        raise CallError(f"{short_path(path)}: the session itself; session files are only ever read")
    write_file(path, chunks, force=force)
    warn(f"wrote {short_path(path)}")


def _own_files(session: Session) -> set[Path]:
    """The files that a session was read from."""
    return {session.path, *(store.path for store in session.stores)}


def _redacted(redactor: Redactor) -> str:
    from renderers.facts import plural

    kinds = ", ".join(f"{count} {kind}" for kind, count in redactor.counts.most_common())
    return f"{plural(redactor.count, 'secret')} redacted ({kinds}); --no-redact keeps them"
