"""`turnlog export`: a session as a document."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import click

from viewer.output import DONE, CallError, path_text, progress, short_path, warn, write_bytes

if TYPE_CHECKING:
    from renderers.options import Include
    from renderers.redact import Redactor
    from schemas.session import Session

FORMATS = {
    "markdown": ".md", "html": ".html", "text": ".txt", "json": ".json", "toolpath": ".path.json",
    "toolpath-jsonl": ".path.jsonl", "agent-response": ".response.json",
}  # fmt: skip
"""What can be written, and the ending of its files."""
_TOLD = ", ".join(FORMATS).replace("json,", "json (SessionData 1.0),", 1)
_PARTS = ("thinking", "tools", "output", "subagents", "context")


def _part(name: str, words: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return click.option(f"--{name}/--no-{name}", default=True, help=words)


@click.command("export")
@click.argument("target", metavar="TARGET")
@click.option("--to", "form", default="markdown", metavar="FORMAT", help=f"{_TOLD}; markdown by default.")
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

    All parts are written unless you say --no-…; a JSON document is always whole, but for --no-subagents.
    """
    from renderers.names import export_name
    from renderers.options import MAX_COMMENT, Include
    from renderers.redact import Redactor
    from schemas.interchange.toolpath import merges_in
    from schemas.opening import read_session
    from viewer.exporting import check_not_read, own_files, place_of, write_file
    from viewer.sessions.selection import say_others
    from viewer.sessions.targets import Targets

    _check(form, parts)
    place = None if _is_folder(destination) else place_of(destination, force=force)
    include = Include(redact=redact, **parts)
    path = Targets().resolve(target).path
    with progress("reading") as bar:
        session = read_session(path, bar)
    try:
        say_others(session, path)
        if form not in ("toolpath", "toolpath-jsonl"):
            _say_losses(form, Counter(merge=merges_in(session)))
        redactor = Redactor() if redact else None
        chunks = document(session, form, include, redactor)
        if _is_folder(destination):
            place = _place_in(destination, export_name(session, FORMATS[form], redact=redact))
        if place is None:
            for chunk in chunks:
                write_bytes(chunk)
        else:
            check_not_read(place, own_files(session))
            write_file(place, chunks, force=force)
            warn(f"wrote {short_path(place)}")
            size = os.path.getsize(place) if form == "markdown" and os.path.isfile(place) else 0
            if size > MAX_COMMENT:
                smaller = "--no-context --no-output make it smaller"
                warn(f"{size:,} bytes; a comment on GitHub takes {MAX_COMMENT:,}: {smaller}")
        if redactor is not None and redactor.count:
            warn(_redacted(redactor))
    finally:
        session.close()
    return DONE


def _is_folder(destination: str | None) -> TypeGuard[str]:
    return destination is not None and (destination.endswith(("/", os.sep)) or os.path.isdir(destination))


def _place_in(folder: str, name: str) -> Path:
    """A file in a folder, which is made. Raises CallError where that cannot be."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise CallError(f"{path_text(folder)}: {(error.strerror or str(error)).lower()}") from error
    return Path(folder) / name


def _check(form: str, parts: dict[str, bool]) -> None:
    if form not in FORMATS:
        command = f"; `turnlog {form}` writes it" if form in ("events", "snapshot") else ""
        raise CallError(f"--to {form}: no such format; there are {_TOLD}{command}")
    left_out = [name for name in _PARTS if not parts[name] and name != "subagents"]
    if form not in ("markdown", "html", "text") and left_out:
        raise CallError(f"--no-{left_out[0]}: a JSON document holds the whole session")


def document(session: Session, form: str, include: Include, redactor: Redactor | None) -> Iterator[bytes]:
    """The document in one of FORMATS, in pieces. `redactor` replaces secrets and counts them."""
    pieces = _pieces(session, form, include, redactor)
    # The Markdown, HTML and text writers have let their pieces through the redactor's door themselves.
    yield from map(redactor.finish_bytes, pieces) if redactor else pieces


def _pieces(session: Session, form: str, include: Include, redactor: Redactor | None) -> Iterator[bytes]:
    from schemas.opening import family, read_subagent

    load = read_subagent if include.subagents else None
    edit = redactor.hide if redactor else None
    lost: Counter[str] = Counter()
    if form == "json":
        from schemas.interchange.session_data_write import to_session_data

        if include.subagents:
            for _ in family(session):
                pass  # the document holds subagents that have been read
        yield from to_session_data(session, edit=edit, subagents=include.subagents, lost=lost)
        _say_losses(form, lost)
        _say_foreign(session)
        return
    if form in ("toolpath", "toolpath-jsonl"):
        from schemas.interchange.toolpath_write import to_toolpath, to_toolpath_stream

        if include.subagents:
            for _ in family(session):
                pass  # as above
        write = to_toolpath if form == "toolpath" else to_toolpath_stream
        yield from write(session, edit=edit, subagents=include.subagents, lost=lost)
        _say_losses(form, lost)
        return
    if form == "agent-response":
        from schemas.interchange.agent_response_write import LOSSES, to_agent_response

        yield from to_agent_response(session, edit=edit, lost=lost)
        _say_losses(form, lost, LOSSES)
        return
    if form == "markdown":
        from renderers.markdown import render
    elif form == "html":
        from renderers.html import render
    else:
        from renderers.plain import render
    yield from _encoded(render(session, include, redactor=redactor, subagents=load))


def _say_losses(form: str, lost: Counter[str], words: Mapping[str, str] | None = None) -> None:
    """One line a kind of what a document does not hold, and in the format's words what became of it."""
    from renderers.facts import plural
    from schemas.interchange.toolpath_write import LOSSES

    for what, count in lost.items():
        if count:
            warn(f"{form}: {plural(count, what)} {(words or LOSSES)[what]}")


def _say_foreign(session: Session) -> None:
    """One line where SessionData names the agent by an id of its own that this one does not have."""
    from schemas.interchange.session_data_check import PROVIDER_IDS

    if session.provider not in PROVIDER_IDS:
        known = ", ".join(PROVIDER_IDS)
        warn(f"json: the provider id {path_text(session.provider)} is kept, though the format names only {known}")


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


def _redacted(redactor: Redactor) -> str:
    from renderers.facts import plural

    kinds = ", ".join(f"{count} {kind}" for kind, count in redactor.counts.most_common())
    return f"{plural(redactor.count, 'secret')} redacted ({kinds}); --no-redact keeps them"
