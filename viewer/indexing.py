"""Reading many sessions for the index, in processes beside this one when there is much to read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING, NamedTuple

from viewer.summary import Indexed, bug, index_file

if TYPE_CHECKING:
    from concurrent.futures import Future

    from schemas.provider import SessionFile

_PARALLEL_BYTES = 20 << 20
"""So much to read is worth the start of other processes."""
_FILE_BYTES = 100 << 10
"""What a file costs beside its bytes, in bytes."""
_PARCEL_BYTES = 4 << 20
_NEWEST = 50
"""So many fill a screen."""


def index_all(files: list[SessionFile]) -> Iterator[Indexed]:
    """Read the files, newest first (see `_in_order`). Each gives a result, whatever is in it.

    Where a worker process is killed, by the kernel for memory or by a person, this process reads what is left.
    """
    # By name, which is what comes back from the workers.
    left = {file.file: _Job(file.file, file.size, file.mtime_ns) for file in _in_order(files)}
    workers = min(os.cpu_count() or 1, 4)
    if workers > 1 and len(left) > 1 and sum(job.cost for job in left.values()) >= _PARALLEL_BYTES:
        for indexed in _in_parallel(list(left.values()), workers):
            left.pop(indexed.path, None)
            yield indexed
    yield from map(index_one, left.values())


def _in_order(files: list[SessionFile]) -> list[SessionFile]:
    """The newest files first, which a person waits for; then the others, the files of a folder together, since a parser
    looks at what lies beside a session and remembers it for a while. The folder with the newest of them comes first.
    """
    files = sorted(files, key=lambda file: file.mtime_ns, reverse=True)
    folders: dict[str, list[SessionFile]] = {}
    for file in files[_NEWEST:]:
        folders.setdefault(os.path.dirname(file.file), []).append(file)
    return [*files[:_NEWEST], *(file for folder in folders.values() for file in folder)]


class _Job(NamedTuple):
    """A session to read, with its size and time as discovery saw them."""

    path: str
    size: int
    mtime_ns: int

    @property
    def cost(self) -> int:
        """Bytes that take as long to read."""
        return self.size + _FILE_BYTES


def index_one(job: _Job) -> Indexed:
    """`index_file`, with an error for whatever it raises."""
    try:
        return index_file(job.path, (job.size, job.mtime_ns))
    except Exception as error:  # noqa: BLE001
        # A bug that one file brings to light must not hide all the others: it is kept as this file's error.
        return Indexed(job.path, job.size, job.mtime_ns, error=bug(error))


def _in_parallel(jobs: list[_Job], workers: int) -> Iterator[Indexed]:
    """As many of the files as the workers live to read; all of them, unless something kills one."""
    # Imported here: most often there is little to read.
    from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, ProcessPoolExecutor, wait
    from multiprocessing import get_context

    waiting: set[Future[list[Indexed]]] = set()
    try:
        # A fork of a program with threads (the app's) may hang: the workers start afresh.
        with ProcessPoolExecutor(workers, get_context("spawn"), initializer=signal, initargs=(SIGINT, SIG_IGN)) as pool:
            try:
                for parcel in _parcels(jobs):
                    waiting.add(pool.submit(index_some, parcel))
                    while len(waiting) > workers * 2:
                        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                        for future in done:
                            yield from future.result()
                while waiting:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield from future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    except (BrokenExecutor, OSError, ImportError):
        # A worker was killed, or the system gives us no processes or no semaphores. The caller reads what is left.
        return


def index_some(jobs: list[_Job]) -> list[Indexed]:
    """`index_one` of each; what a worker is asked for."""
    return [index_one(job) for job in jobs]


def _parcels(jobs: list[_Job]) -> Iterator[list[_Job]]:
    """The files in parcels that are worth being handed over, and small enough that both workers end together."""
    parcel: list[_Job] = []
    total = 0
    for job in jobs:
        parcel.append(job)
        total += job.cost
        if total >= _PARCEL_BYTES:
            yield parcel
            parcel, total = [], 0
    if parcel:
        yield parcel
