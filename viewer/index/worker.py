"""Reading many sessions for the index, in processes beside this one when there is much to read."""

from __future__ import annotations

import os
import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from queue import Empty, Queue, SimpleQueue
from signal import SIG_IGN, SIGINT, signal
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Thread
from types import MappingProxyType
from typing import NamedTuple

from schemas.provider import SessionFile
from schemas.troubles import bug
from viewer.cleanup import removed_after
from viewer.index.database import Indexed, Row
from viewer.index.summary import index_file
from viewer.index.texts import Known, SessionText

_PARALLEL_BYTES = 20 << 20
"""So much to read is worth the start of other processes."""
_FILE_BYTES = 100 << 10
"""What a file costs beside its bytes, in bytes."""
_PARCEL_BYTES = 4 << 20
_NEWEST = 50
"""So many fill a screen."""
_WORKER = "import sys; sys.path[:] = sys.argv[1:]; from viewer.index.worker import work; work()"


def index_all(
    files: list[SessionFile],
    take: Callable[[SessionText], None] = lambda text: None,
    known: Mapping[str, dict[str, Known]] = MappingProxyType({}),
) -> Iterator[Indexed]:
    """Read the files, newest first (see `_in_order`). Each gives a result, whatever is in it; its text, as far as it is
    not `known` of its family, goes to `take` before that.

    Where a worker is killed, by the kernel for memory or by a person, this process reads what is left.
    """
    # By name, which is what comes back from the workers.
    left = {
        file.file: _Job(file.file, file.size, file.mtime_ns, file.provider, known.get(file.file))
        for file in _in_order(files)
    }
    workers = min(os.cpu_count() or 1, 4)
    if workers > 1 and len(left) > 1 and sum(job.cost for job in left.values()) >= _PARALLEL_BYTES:
        for given in _in_parallel(list(left.values()), workers):
            if isinstance(given, Indexed):
                if (job := left.pop(given.path, None)) is not None:
                    given.path = job.path  # one text in memory, of 100,000
                yield given
            else:
                take(given)
    for job in left.values():
        yield index_one(job, take)


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
    """A session to read, with its size, its time and its agent as discovery saw them, and what the full-text index has
    of it and its subagents.
    """

    path: str
    size: int
    mtime_ns: int
    agent: str
    known: dict[str, Known] | None

    @property
    def cost(self) -> int:
        """Bytes that take as long to read."""
        return self.size + _FILE_BYTES


def index_one(job: _Job, take: Callable[[SessionText], None]) -> Indexed:
    """`index_file`, with an error for whatever it raises."""
    try:
        return index_file(job.path, (job.size, job.mtime_ns), job.agent, take, job.known)
    except Exception as error:  # noqa: BLE001
        # A bug that one file brings to light must not hide all the others: it is kept as this file's error.
        return Indexed(job.path, Row(job.size, job.mtime_ns, error=bug(error)))


def _in_parallel(jobs: list[_Job], workers: int) -> Iterator[Indexed | SessionText]:
    """Read as many of the files as the workers live to; all of them, unless something kills one.

    A worker is a program of its own that reads parcels from a pipe. It ends when that pipe does, and so with this
    process, however that ends. Not multiprocessing: what it starts outlives a process that is killed, and it cannot
    start anything while Textual stands in for standard error, which then has no descriptor.
    """
    parcels = deque(_parcels(jobs))
    # Full when its reader is slow: the index of 100,000 sessions need not wait in memory.
    results: Queue[Indexed | SessionText | None] = Queue(4 * workers)
    running: list[Popen[bytes]] = []

    def stop() -> None:
        parcels.clear()
        for worker in running:
            worker.kill()
        for worker in running:
            with suppress(TimeoutExpired):  # it waits for a disk that does not answer
                worker.wait(1)
        with suppress(Empty):
            while True:  # a thread that waits for room goes on to its end
                results.get_nowait()

    with removed_after(stop):
        for _ in range(min(workers, len(parcels))):
            try:
                worker = Popen([sys.executable, "-c", _WORKER, *sys.path], stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
            except OSError:  # the system gives us no processes
                break
            running.append(worker)
            Thread(target=_drive, args=(worker, parcels, results), name="indexing", daemon=True).start()
        ended = 0
        while ended < len(running):
            done = results.get()
            if done is None:
                ended += 1
            else:
                yield done


def _drive(worker: Popen[bytes], parcels: deque[list[_Job]], results: Queue[Indexed | SessionText | None]) -> None:
    """Give a worker parcels as long as there are any, and pass on what comes back; at the end None."""
    assert worker.stdin is not None and worker.stdout is not None
    try:
        with worker.stdin, worker.stdout:
            while parcels:
                pickle.dump(parcel := parcels.popleft(), worker.stdin)
                worker.stdin.flush()
                left = len(parcel)
                while left:
                    given = pickle.load(worker.stdout)
                    left -= isinstance(given, Indexed)
                    results.put(given)
    except (IndexError, OSError, EOFError, pickle.UnpicklingError):
        pass  # another worker got the last parcel; or something killed this one, and the caller reads what it had
    finally:
        results.put(None)


def work() -> None:
    """Run a worker: read parcels from standard input, and write what they hold to standard output."""
    signal(SIGINT, SIG_IGN)  # ctrl+c is for the process that started us
    parcels: SimpleQueue[list[_Job]] = SimpleQueue()
    Thread(target=_receive, args=(parcels,), daemon=True).start()

    def give(done: Indexed | SessionText) -> None:
        pickle.dump(done, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)

    while True:
        for job in parcels.get():
            give(index_one(job, give))
        sys.stdout.buffer.flush()


def _receive(parcels: SimpleQueue[list[_Job]]) -> None:
    """Take parcels in. The end of the pipe is the end of this process, in the midst of whatever file it reads."""
    try:
        while True:
            parcels.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(0)


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
