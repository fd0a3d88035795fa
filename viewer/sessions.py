"""The sessions a command was asked about, read one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from viewer.output import CallError, path_text, warn

if TYPE_CHECKING:
    from schemas.session import Session
    from viewer.targets import Target


def chosen(given: tuple[str, ...]) -> list[Target]:
    """The files that the arguments mean, each once; without any every session of this machine, the newest first. Raises
    CallError.
    """
    from viewer.targets import Target, Targets

    resolver = Targets()
    if given:
        return list({target.path: target for target in map(resolver.resolve, given)}.values())
    for problem in resolver.found.problems:
        warn(f"{path_text(problem.path)}: {problem.reason}")
    return [Target(file.path, str(file.path)) for file in resolver.found.files]


def each_session(
    targets: list[Target], progress: Callable[[int, int], None], *, strict: bool
) -> Iterator[tuple[Target, Session]]:
    """The targets' sessions. Each is closed when the next one is asked for, so that only one is in memory.

    A file that is no session is an OpenError where it was named (`strict`), else it is left out and said.
    """
    from schemas.opening import OpenError, read_session

    sizes = [_size(target.path) for target in targets]
    before, everything = 0, sum(sizes)
    for target, size in zip(targets, sizes, strict=True):
        offset = before

        def step(done: int, of: int, offset: int = offset, size: int = size) -> None:
            progress(offset + (size * done // of if of else 0), everything)

        before += size
        try:
            session = read_session(target.path, step)
        except OpenError as error:
            if strict:
                raise
            warn(str(error))
            continue
        except Exception as error:  # noqa: BLE001
            failed(target, error, strict=strict)
            continue
        try:
            yield target, session
        finally:
            session.close()


def failed(target: Target, error: Exception, *, strict: bool) -> None:
    """A bug that one file brings to light must not hide the figures of all the others: it is said. Raises CallError
    where the file was named.
    """
    from viewer.summary import bug

    reason = f"{target.shown_path}: {bug(error)}"
    if strict:
        raise CallError(reason) from error
    warn(reason)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # opening it says what is wrong
