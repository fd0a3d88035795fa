"""Writing an export to a file: whole or not at all, and never over another file unless that is wanted."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from viewer.output import CallError, path_text


def check_free(path: Path, *, force: bool) -> None:
    """Raises CallError when a file is in the way, before any work is done for it."""
    if path.is_dir():
        raise CallError(f"{path_text(path)}: a directory")
    if os.path.lexists(path) and not force and not _is_special(path):
        raise CallError(f"{path_text(path)}: exists already, kept (--force replaces it)")


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
        raise CallError(f"{path_text(path)}: exists already, kept (--force replaces it)") from None
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
    try:
        with open(
            os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666), "wb"
        ) as file:
            file.writelines(chunks)
        if force:
            os.replace(beside, place)
        else:
            _move_new(beside, place)
    finally:
        beside.unlink(missing_ok=True)


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
    """Whether it is a device, a pipe or a socket."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
