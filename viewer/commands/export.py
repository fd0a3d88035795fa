"""`turnlog export`: a session as a document."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import click

from renderers.facts import plural
from renderers.options import MAX_COMMENT, Include
from renderers.places import Part
from schemas.opening import OpenError, family, read_subagent
from schemas.session import Session
from viewer.completion import agents, one_of
from viewer.completion import target as target_completion
from viewer.exporting import Kept, check_not_read, own_files, place_of, write_file
from viewer.output import DONE, NO, CallError, path_text, short_path, warn, write_bytes
from viewer.sessions.selection import opened, part_at, up_to_date
from viewer.sessions.targets import STDIN, Target, Targets

if TYPE_CHECKING:
    from renderers.redact import Redactor

FORMATS = {
    "markdown": ".md", "html": ".html", "text": ".txt", "json": ".json", "toolpath": ".path.json",
    "toolpath-jsonl": ".path.jsonl", "agent-response": ".response.json",
}  # fmt: skip
"""What can be written, and the ending of its files."""
READ = ("markdown", "html", "text")
"""Those for people, of which parts can be left out."""
_TOLD = ", ".join(FORMATS).replace("json,", "json (SessionData 1.0),", 1)
_PARTS = ("thinking", "tools", "output", "subagents", "context")


def _part(name: str, words: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return click.option(f"--{name}/--no-{name}", default=True, help=words)


@click.command("export")
@click.argument("targets", nargs=-1, metavar="[TARGET]...", shell_complete=target_completion)
@click.option(
    "--to",
    "form",
    default="markdown",
    metavar="FORMAT",
    shell_complete=one_of(FORMATS),
    help=f"{_TOLD}; markdown by default.",
)
@click.option("-o", "destination", metavar="FILE|DIR/", help="Write there instead of to standard output.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--watch", is_flag=True, help="Write the file again whenever the session grows, until ctrl+c.")
@click.option("--all", "everything", is_flag=True, help="All sessions of this machine; TARGETs are words as in list.")
@click.option("--here", is_flag=True, help="With --all: only sessions of this directory and those below it.")
@click.option("--agent", metavar="NAME", shell_complete=agents, help="With --all: only one agent's sessions.")
@click.option("--since", metavar="WHEN", help="With --all: only sessions since a day or an age.")
@click.option("--prompts", is_flag=True, help="Only what the person typed.")
@_part("thinking", "What the agent thought.")
@_part("tools", "Tool uses, with input and diff.")
@_part("output", "What tools and commands printed.")
@_part("subagents", "The sessions of subagents, under the calls that started them.")
@_part("context", "What the program put into the conversation.")
@click.option("--redact/--no-redact", default=True, help="Replace keys, tokens and passwords; how many is said.")
def command(
    targets: tuple[str, ...],
    form: str,
    destination: str | None,
    force: bool,
    watch: bool,
    everything: bool,
    here: bool,
    agent: str | None,
    since: str | None,
    redact: bool,
    **parts: bool,
) -> int:
    """Write a session as a document.

    TARGET is a path, a session id or the beginning of one, `latest`, or - for standard input. TARGET#3 is its third
    exchange, TARGET#3-5 the third to the fifth, TARGET#3.2 a message. Several go into a directory, as does --all.

    An existing file is kept unless --force is given. A name in DIR/ is made of the session's date, title and id, and
    stays when its title changes.

    All parts are written unless you say --no-…; a JSON document is always whole, but for --no-subagents.
    """
    _check(form, parts)
    many = everything or len(targets) > 1
    if not everything and (here or agent or since):
        raise CallError("--here, --agent and --since choose among --all")
    if not (everything or targets):
        raise CallError(
            "which session? TARGET is a path, an id or `latest`; --all takes all (see turnlog export --help)"
        )
    if many and (watch or not _is_folder(destination)):
        raise CallError("--watch takes one session" if watch else "several sessions go into a directory: -o DIR/")
    place = destination if _is_folder(destination) else place_of(destination, force=force)
    export = _Export(form, Include(redact=redact, **parts), force)
    if everything:
        return export.many(_listed(targets, here, agent, since), str(destination), strict=False)
    resolver = Targets()
    found = [resolver.resolve(target) for target in targets]
    if any(target.place for target in found) and form not in READ:
        raise CallError(f"{found[0].given}: a JSON document holds the whole session, and no place in it")
    if many:
        return export.many(list(dict.fromkeys(found)), str(destination), strict=True)
    if watch:
        return export.watch(found[0], place)
    export.one(found[0], place)
    export.say_secrets()
    return DONE


def _listed(words: tuple[str, ...], here: bool, agent: str | None, since: str | None) -> list[Target]:
    """The sessions that `turnlog list` would show."""
    from viewer.commands.list import list_filter
    from viewer.index.library import Library

    chosen, library = list_filter(words, here, agent, since, False), Library()
    return [Target(summary.path, str(summary.path)) for summary in up_to_date(library).all() if chosen(summary)]


class _Export:
    """Exports of sessions in one form."""

    def __init__(self, form: str, include: Include, force: bool) -> None:
        self._form, self._include, self._force = form, include, force
        self._names: dict[str, list[str]] = {}
        """The files that are in a directory."""
        self._secrets: Counter[str] = Counter()
        self._losses: list[str] = []
        """What a format could not hold of a session, where that is not said one by one."""
        self._written: set[Path] = set()
        """The files that were written to a directory."""

    def many(self, targets: list[Target], folder: str, *, strict: bool) -> int:
        """Write each session to a file in a folder. One that cannot be read is left out and said, unless it was named
        (`strict`); one that is there already is kept and counted.
        """
        written = kept = losing = 0
        for target in targets:
            try:
                self.one(target, folder, quiet=True)
                written += 1
                losing += bool(self._losses)
                self._losses.clear()
            except Kept:
                kept += 1
            except OpenError as error:
                if strict:
                    raise
                warn(str(error))
        why = "written for another of that name" if self._force else "--force replaces them"
        said = f", {plural(kept, 'file')} kept ({why})" if kept else ""
        warn(f"wrote {plural(written, 'session')} to {short_path(folder)}{said}")
        if losing:
            warn(f"{self._form}: {plural(losing, 'session')} not held in full (export one of them to see what)")
        self.say_secrets()
        return DONE if targets else NO

    def one(self, target: Target, destination: Path | str | None, *, quiet: bool = False) -> Path | None:
        """Write a session to a file, in a directory (a text), or to standard output; returns the file."""
        from renderers.redact import Redactor
        from schemas.interchange.toolpath import merges_in

        with opened(target.path) as session:
            part = part_at(session, target.place)
            say = self._losses.append if quiet else warn
            if self._form not in ("toolpath", "toolpath-jsonl"):
                _say_losses(say, self._form, Counter(merge=merges_in(session)))
            redactor = Redactor() if self._include.redact else None
            size: Counter[str] = Counter()
            chunks = _counted(document(session, self._form, self._include, redactor, part, say), size)
            place = self._name_in(destination, session, target.place) if isinstance(destination, str) else destination
            if place is None:
                for chunk in chunks:
                    write_bytes(chunk)
            else:
                if isinstance(destination, str) and place in self._written:
                    raise Kept(place)
                self._written.add(place)
                check_not_read(place, own_files(session))
                write_file(place, chunks, force=self._force)
                if not quiet:
                    warn(f"wrote {short_path(place)}")
            if self._form == "markdown" and not quiet:
                _say_size(session, self._include, part, size.total())
            if redactor is not None:
                self._secrets += redactor.counts
            return place

    def _name_in(self, folder: str, session: Session, at: str) -> Path:
        """The file of a session in a folder: the one that is there, else one named anew. Raises CallError where the
        folder cannot be made.
        """
        from renderers.names import export_name, export_tail

        suffix = at.replace("#", "-") + FORMATS[self._form]
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise CallError(f"{path_text(folder)}: {(error.strerror or str(error)).lower()}") from error
        place = Path(folder, export_name(session, suffix, redact=self._include.redact))
        there = self._names.setdefault(folder, os.listdir(folder))
        if place.name not in there and place.name[:1].isdigit():
            day, tail = place.name[:11], f"-{export_tail(session)}{suffix}"
            place = place.with_name(next((n for n in there if n.startswith(day) and n.endswith(tail)), place.name))
        return place

    def watch(self, target: Target, destination: Path | str | None) -> int:
        """Write a session's file, and again whenever the session or a subagent of it grew, until a signal ends that."""
        import asyncio

        from viewer.follow.rewriting import keep_writing

        if destination is None or target.given == STDIN:
            raise CallError("--watch: the session of a file, written to one: turnlog export TARGET -o FILE --watch")
        place: Path | str | None = destination
        begun = False

        def write() -> None:
            nonlocal place, begun
            self._secrets.clear()
            place = self.one(target, place, quiet=begun)
            if not begun:
                self._force = begun = True
                warn("written again as the session grows (ctrl+c ends it)")

        asyncio.run(keep_writing(target.path, write))
        self.say_secrets()
        return DONE

    def say_secrets(self) -> None:
        """Say how many secrets were replaced, if any."""
        if self._secrets:
            kinds = ", ".join(f"{count} {kind}" for kind, count in self._secrets.most_common())
            warn(f"{plural(self._secrets.total(), 'secret')} redacted ({kinds}); --no-redact keeps them")


def _counted(chunks: Iterable[bytes], size: Counter[str]) -> Iterator[bytes]:
    """The chunks, their characters counted."""
    for chunk in chunks:
        size["characters"] += len(chunk.decode("utf-8", "replace"))
        yield chunk


_SMALLER = (
    ("context",), ("output",), ("output", "context"), ("output", "context", "thinking", "subagents"),
    ("tools", "output", "context", "thinking", "subagents"),
)  # fmt: skip
"""What may be left out so that a document fits into a comment, the least first."""


def _say_size(session: Session, include: Include, part: Part | None, size: int) -> None:
    """Say of Markdown that is too long for a comment what would make it fit. What does not is not made to its end."""
    if size <= MAX_COMMENT:
        return
    names = smaller(session, include, part)
    options = " ".join("--prompts" if name == "prompts" else f"--no-{name}" for name in names)
    advice = f"{options} makes it fit" if names else "only some of its exchanges fit, as in TARGET#3 or TARGET#3-5"
    warn(f"{size:,} characters; a comment on GitHub takes {MAX_COMMENT:,}: {advice}")


def smaller(session: Session, include: Include, part: Part | None) -> tuple[str, ...]:
    """Name the parts without which a session's Markdown would fit into a comment; `prompts` where only those would; no
    name where nothing does.
    """
    changes = [(names, dict.fromkeys(names, False)) for names in _SMALLER]
    fitting = (names for names, change in changes if _fits(session, include, part, change))
    return next(fitting, None) or (("prompts",) if _fits(session, include, part, {"prompts": True}) else ())


def _fits(session: Session, include: Include, part: Part | None, change: Mapping[str, bool]) -> bool:
    """Tell whether a session's Markdown with other parts would fit into a comment."""
    from renderers.redact import Redactor

    redactor, size = Redactor() if include.redact else None, Counter[str]()
    chunks = document(session, "markdown", replace(include, **change), redactor, part)
    return all(size.total() <= MAX_COMMENT for _ in _counted(chunks, size))


def _is_folder(destination: str | None) -> TypeGuard[str]:
    return destination is not None and (destination.endswith(("/", os.sep)) or os.path.isdir(destination))


def _check(form: str, parts: dict[str, bool]) -> None:
    if form not in FORMATS:
        command = f"; `turnlog {form}` writes it" if form in ("events", "snapshot") else ""
        raise CallError(f"--to {form}: no such format; there are {_TOLD}{command}")
    left_out = [name for name in _PARTS if not parts[name] and name != "subagents"]
    if form not in READ and (left_out or parts["prompts"]):
        option = f"--no-{left_out[0]}" if left_out else "--prompts"
        raise CallError(f"{option}: a JSON document holds the whole session")


def document(
    session: Session,
    form: str,
    include: Include,
    redactor: Redactor | None,
    part: Part | None = None,
    say: Callable[[str], None] = warn,
) -> Iterator[bytes]:
    """The document in one of FORMATS, in pieces, of the session or a part of it. `redactor` replaces secrets and counts
    them; `say` takes lines on what the format cannot hold.
    """
    lost: Counter[str] = Counter()
    # The Markdown, HTML and text writers let their pieces through the redactor's door themselves.
    edit, finish = (redactor.hide, redactor.finish_bytes) if redactor else (None, bytes)
    if form in READ:
        from renderers.document import Document

        if form == "markdown":
            from renderers.markdown import render
        elif form == "html":
            from renderers.html import render
        else:
            from renderers.plain import render
        load = read_subagent if include.subagents else None
        yield from encoded(render(Document(session, include, redactor=redactor, subagents=load, part=part)))
    elif form == "agent-response":
        from schemas.interchange.agent_response import LOSSES, to_agent_response

        yield from map(finish, to_agent_response(session, edit=edit, lost=lost))
        _say_losses(say, form, lost, LOSSES)
    else:
        from schemas.interchange.session_data_check import PROVIDER_IDS
        from schemas.interchange.session_data_write import to_session_data
        from schemas.interchange.toolpath_write import to_toolpath, to_toolpath_stream

        if include.subagents:
            for _ in family(session):
                pass  # the document holds subagents that have been read
        write = {"json": to_session_data, "toolpath": to_toolpath, "toolpath-jsonl": to_toolpath_stream}[form]
        yield from map(finish, write(session, edit=edit, subagents=include.subagents, lost=lost))
        _say_losses(say, form, lost)
        if form == "json" and session.provider not in PROVIDER_IDS:
            names = ", ".join(PROVIDER_IDS)
            say(f"json: the provider id {path_text(session.provider)} is kept, though the format names only {names}")


def _say_losses(
    say: Callable[[str], None], form: str, lost: Counter[str], words: Mapping[str, str] | None = None
) -> None:
    """One line a kind of what a document does not hold, and in the format's words what became of it."""
    for what, count in (+lost).items():
        from schemas.interchange.toolpath_write import LOSSES  # mostly nothing is lost, and nothing imported for it

        say(f"{form}: {plural(count, what)} {(words or LOSSES)[what]}")


def encoded(pieces: Iterable[str], size: int = 1 << 16) -> Iterator[bytes]:
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
