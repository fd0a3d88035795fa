"""Standard input as a file that grows: a session is read from anywhere in it, and the program that writes it never
waits for us.

A thread copies the bytes as they come into a temporary file, which the ordinary Follower follows. The file goes when
the program ends.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Condition, Thread, Timer

from schemas.changes import Seen
from schemas.opening import OpenError, head_of, recognise
from schemas.paths import call_path
from schemas.provider import HEAD_BYTES, NOISE_BYTES
from viewer.cleanup import remove_at_end
from viewer.follow.follower import Follower
from viewer.output import CallError

_PIECE = 1 << 20
"""Bytes to ask for at once, and what a pipe is asked to hold: while a big one is parsed, each read costs the thread a
wait for the interpreter.
"""
_NOISE_RECORDS = 200
"""Records that are looked at before it counts as no session (formats/streams.md 1.2), within NOISE_BYTES."""
_PATIENCE = 0.5
"""Seconds after which a person is told what is waited for."""
_WHOLE = (b"\x28\xb5\x2f\xfd", b"SQLite format 3\0")
"""How files begin that can only be read when all of them is there: zstd, SQLite."""


class Spool:
    """Standard input, copied to `path` by a thread of its own.

    `fd` is read to its end and then closed. `listen` names who is told of news. Nothing here ever raises for trouble
    with reading or writing: `trouble` says what it was, and what came until then stays.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.is_live = not stat.S_ISREG(os.fstat(fd).st_mode)
        """Whether it comes from a program, and so may come while it happens; a file was written some other day."""
        self._folder = tempfile.mkdtemp(prefix="turnlog-")
        # At once: a signal may end the program before `close` can be called.
        remove_at_end(partial(shutil.rmtree, self._folder, ignore_errors=True))
        self.path = Path(self._folder, "stdin.jsonl")
        call_path(self.path, "-")
        self._file = self.path.open("wb", buffering=0)
        self.size = 0
        """Bytes that came so far."""
        self.lines = 0
        """Newlines among them."""
        self.ended = False
        """Whether the other end was closed, so that no more will come."""
        self.trouble = ""
        self._keep = True
        self._listener: Callable[[], object] | None = None
        self._news = Condition()
        remove_at_end(self.close)
        _let_pipe_hold(fd)
        Thread(target=self._copy, name="standard input", daemon=True).start()

    def listen(self, listener: Callable[[], object] | None) -> None:
        """Call `listener` from the thread whenever something came, and at the end; None: nobody any more."""
        with self._news:
            self._listener = listener

    def close(self) -> None:
        """Remove the file."""
        self._keep = False
        self._file.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def received(self) -> Iterator[bytes]:
        """The bytes that came so far, as they came."""
        left = self.size
        with self.path.open("rb") as file:
            while left and (data := file.read(min(left, _PIECE))):
                left -= len(data)
                yield data

    # -- the thread ------------------------------------------------------------------------------------------------

    def _copy(self) -> None:
        try:
            while (data := self._read()) != b"":
                if self._keep and data:
                    self._write(data)
                    self._tell()
        except OSError as error:
            self.trouble = f"standard input: {(error.strerror or str(error)).lower()}"
        finally:
            self.ended = True
            self._tell()
            os.close(self._fd)

    def _read(self) -> bytes | None:
        """Read what comes next: nothing at the end; None if there was nothing yet where a descriptor does not wait."""
        try:
            return os.read(self._fd, _PIECE)
        except BlockingIOError:
            select.select([self._fd], [], [])
            return None

    def _write(self, data: bytes) -> None:
        """Append; when that fails (a full disk) the rest is read all the same, so that the agent can go on."""
        rest = memoryview(data)
        try:
            while rest:
                written = self._file.write(rest)
                rest = rest[written:]
        except (OSError, ValueError) as error:  # ValueError: closed a moment ago
            self._keep = False
            self.trouble = f"standard input: {(getattr(error, 'strerror', None) or str(error)).lower()}"
        kept = len(data) - len(rest)
        self.lines += data[:kept].count(b"\n")
        self.size += kept

    def _tell(self) -> None:
        with self._news:
            self._news.notify_all()
            if self._listener is not None:
                self._listener()

    # -- waiting ---------------------------------------------------------------------------------------------------

    def wait_for_session(self) -> None:
        """Wait for as much as shows whose session it is, at most to the end of input.

        Raises OpenError for what is no session: what came is looked at up to 1 MB or 200 records, and to its end where
        it may be one document.
        """
        seen, lines = 0, 0
        with self._notice():
            while not self.ended:
                if self.lines > lines:
                    since, seen, lines = seen, self.size, self.lines
                    if self._recognised(since):
                        return
                self._wait(lines)
        if not self.size:
            raise OpenError(self.path, self.trouble or "nothing came on standard input")
        recognise(head_of(self.path))

    def wait_for_end(self) -> None:
        """Wait until all of it is there. Raises CallError when it could not be copied."""
        with self._notice():
            while not self.ended:
                self._wait()
        if self.trouble:
            raise CallError(self.trouble)

    def drain(self) -> None:
        """Read on to the end and keep nothing."""
        self._keep = False
        while not self.ended:
            self._wait()

    def _wait(self, known: int | None = None) -> None:
        """Wait a moment, or until there are more lines than are known, or the end."""
        with self._news:
            self._news.wait_for(lambda: self.ended or (known is not None and self.lines > known), _PATIENCE / 2)

    def _recognised(self, since: int) -> bool:
        """Tell whether what came so far is a session; raises OpenError when it has become clear that it is none.

        `since` is how much was no session the last time.
        """
        with self.path.open("rb") as file:
            first = file.read(HEAD_BYTES)
            file.seek(since)
            new = file.read(NOISE_BYTES)
        if first.startswith(_WHOLE) or may_be_document(first) or (b"{" not in new and self.size < NOISE_BYTES):
            return False
        try:
            head = head_of(self.path)
        except OpenError:
            return False  # white space only
        try:
            recognise(head, growing=True)
        except OpenError:
            begun = head.data.rpartition(b"\n")[2].lstrip().startswith(b"{")  # a first record of megabytes
            if (self.size >= NOISE_BYTES and not begun) or len(head.records) >= _NOISE_RECORDS:
                raise
            return False
        return True

    @contextmanager
    def _notice(self) -> Iterator[None]:
        """Say on a terminal what is waited for, once that takes a while; it is wiped away afterwards."""
        said = ""

        def write(text: str) -> None:
            sys.stderr.write(text)
            sys.stderr.flush()

        def tell() -> None:
            nonlocal said
            said = f"turnlog: {'reading' if self.size else 'waiting for'} standard input "
            write(said)

        teller = Timer(_PATIENCE, tell)
        teller.daemon = True
        if on_terminal := sys.stderr.isatty():
            teller.start()
        try:
            yield
        finally:
            teller.cancel()
            if on_terminal:
                teller.join()
            if said:
                write(f"\r{' ' * (len(said) + 2)}\r")  # 2 for the ^C that ends the waiting


def may_be_document(data: bytes) -> bool:
    """Tell whether data begins as one JSON value of many lines does, in which case all of it must be there to be read.

    A line cannot end within a string or a word, so what goes on in the next line fails at this one's very end.
    """
    first, newline, _ = data.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")
    line = first.decode("utf-8", "replace").rstrip()
    if not newline or not line.startswith(("{", "[")):
        return False
    try:
        json.JSONDecoder().raw_decode(line)
    except json.JSONDecodeError as error:
        return error.pos >= len(line)
    except (ValueError, RecursionError):  # a number of thousands of digits; a thousand brackets
        return False
    return False


class StreamFollower(Follower):
    """Follows what comes on standard input. At its end `finished` turns true, and nothing is looked at any more.

    Raises OpenError as Follower does; wait for the session first.
    """

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self.finished = False
        self._whole = spool.ended
        super().__init__(spool.path)
        self._give_time()

    def _give_time(self) -> None:
        """Let what an agent prints without times have those at which it came (formats/streams.md 1.3)."""
        from schemas.providers.kit.pipe import Pipe, Printed
        from schemas.reading import LinesReading, ParsedReading

        reading = self.reading
        self.is_stream = isinstance(reading, LinesReading | ParsedReading) and isinstance(reading.parser, Pipe)
        """Whether it is what an agent prints while it works, and no session file of one."""
        if isinstance(self.reading, Printed) and self.spool.is_live:
            self.reading.parser.clock = time.time

    @property
    def written(self) -> float | None:
        """Now, while the agent may still write, however long it is silent (seconds since 1970); afterwards None."""
        return None if self.finished else time.time()

    @property
    def live(self) -> bool:
        """Tell whether the agent may still write."""
        return not self.finished

    def poll(self) -> None:
        """Take what came; when all was taken and no more will come, what waited for its newline."""
        if self.finished:
            return
        over, seen = self.spool.ended, Seen(self.session)  # before looking: what came until the end is in the file then
        if self._whole:
            self.step()  # a file that was complete when it was opened need not be looked at again
        else:
            super().poll()
        if over and self.loaded and not seen.changes(self.session):
            self.finished = True
            self.finish()
        self.trouble = self.trouble or self.spool.trouble


def take_terminal() -> bool:
    """Let keys come from the terminal although standard input is something else; False where there is no terminal.

    Textual reads keys from descriptor 0.
    """
    try:
        terminal = os.open("CONIN$" if sys.platform == "win32" else "/dev/tty", os.O_RDWR)
    except OSError:
        return False
    os.dup2(terminal, 0)
    os.close(terminal)
    return True


def spool_stdin() -> Spool:
    """Begin to copy standard input. Raises CallError when it is a terminal or closed."""
    if sys.stdin is None:
        raise CallError("-: standard input is closed")
    if sys.stdin.isatty():
        raise CallError("-: standard input is a terminal; pipe a session into it")
    # A copy of the descriptor: its place may be given to the terminal.
    return Spool(os.dup(sys.stdin.fileno()))


def _let_pipe_hold(fd: int) -> None:
    """Ask for a larger pipe, where there is one and the system can."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # a file, a socket; or this user has too many large pipes
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIECE)
