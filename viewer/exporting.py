"""Writing an export to a file: whole or not at all, and never over another file unless that is wanted."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from schemas.session import Session
from viewer.cleanup import removed_after
from viewer.output import CallError, path_text


class Kept(CallError):
    """An existing file was in the way, and was kept."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path_text(path)}: exists already, kept (--force replaces it)")


def place_of(given: str | None, *, force: bool) -> Path | None:
    """The file that `-o FILE` means; None for standard output. Raises CallError where it cannot be written there."""
    if given is None or given == "-":
        return None
    if not given:
        raise CallError("-o: an empty name")
    if given.endswith(("/", os.sep)):
        raise CallError(f"{path_text(given)}: a directory")
    path = Path(given)
    check_free(path, force=force)
    return path


def check_free(path: Path, *, force: bool) -> None:
    """Raises CallError when a file is in the way or its directory is missing, before any work is done for it."""
    if os.path.isdir(path):
        raise CallError(f"{path_text(path)}: a directory")
    if not os.path.exists(path.parent):
        # A misspelled directory must not come to life; only `-o DIR/` asks for one.
        raise CallError(f"{path_text(path.parent)}: no such directory")
    if os.path.lexists(path) and not force and not _is_special(path):
        raise Kept(path)


def check_not_read(path: Path, read: Iterable[Path]) -> None:
    """Raises CallError when `path` is one of the files that were read for what is to be written, `--force` or not."""
    if os.path.exists(path) and any(os.path.exists(one) and path.samefile(one) for one in read):
        raise CallError(f"{path_text(path)}: one of the files that are read, which are never written to")


def own_files(session: Session) -> set[Path]:
    """The files that a session was read from, its subagents' as far as they have been read."""
    files = {session.path, *(store.path for store in session.stores)}
    for agent in session.subagents:
        if agent.path is not None:
            files.add(agent.path)
        if agent.session is not None:
            files |= own_files(agent.session)
    return files


def write_file(path: Path, chunks: Iterable[bytes], *, force: bool) -> None:
    """Write a file beside its place and rename it there. An existing file is kept unless `force`: a CallError.

    A device or a pipe is written to as it is. Raises CallError with the reason when it cannot be written.
    """
    check_free(path, force=force)
    try:
        if _is_special(path):
            with path.open("wb") as file:
                file.writelines(chunks)
        else:
            _write_beside(path, chunks, force=force)
    except FileExistsError:
        raise Kept(path) from None
    except BrokenPipeError:
        raise  # whoever reads the pipe has enough, which is no error
    except OSError as error:
        # The name in the error is that of the file beside it, which says nothing to anybody.
        reason = "permission denied" if isinstance(error, PermissionError) else error.strerror or str(error)
        raise CallError(f"{path_text(path)}: {reason.lower()}") from error


def _write_beside(path: Path, chunks: Iterable[bytes], *, force: bool) -> None:
    """Write a file and rename it. Raises OSError: FileExistsError when the name is taken and not to be replaced."""
    # A link's target is replaced, not the link.
    place = Path(os.path.realpath(path)) if path.is_symlink() else path
    beside = place.with_name(f".{secrets.token_hex(8)}.turnlog-tmp")
    with removed_after(partial(beside.unlink, missing_ok=True)):
        with open(
            os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666), "wb"
        ) as file:
            file.writelines(chunks)
        if force:
            os.replace(beside, place)
        else:
            _move_new(beside, place)


def _move_new(beside: Path, place: Path) -> None:
    """Give a file its name unless that name is taken by now. Raises FileExistsError."""
    try:
        os.link(beside, place)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: take the name first, then put the file in its place.
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        try:
            os.replace(beside, place)
        except OSError:
            with suppress(OSError):
                place.unlink()
            raise


def _is_special(path: Path) -> bool:
    """Return whether a file is a device, a pipe or a socket."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
