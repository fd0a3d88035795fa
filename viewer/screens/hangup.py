"""The certain end: a program that was told to end, or whose terminal is gone, ends within a moment, whatever hangs.

Textual gives what it draws to a thread with a bounded queue. When the terminal is gone that thread dies, and when the
terminal takes nothing any more it waits; whoever draws next then waits for ever. Neither the event loop nor a signal
handler of asyncio runs from then on. So a thread of ours, which needs neither, asks for the end and sees to it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from viewer.cleanup import remove_now

_WRITER = "textual-output"
"""Textual's name for the thread that writes to the terminal."""
_PATIENCE = {signal.SIGHUP: 1.0, signal.SIGTERM: 4.0}
"""Seconds for an end in order. Where the terminal is still there it is to be given back, also over a slow line."""
_OVER = 0
"""What stands for no signal in the pipe: the program has ended by itself."""
_AGAIN = 0.1
"""Seconds between attempts to ask a program that has only just started."""
_RESET = (
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?1004l\x1b[?2004l\x1b[?2048l"
    b"\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h"
)
"""What undoes everything that Textual asks of a terminal."""


class Guard:
    """While it is entered, SIGHUP, SIGTERM and the loss of the terminal end the program.

    `leave` asks for an end in order with an exit code, from any thread; it returns False when there is nobody yet to
    ask. When that takes too long, `die` is called with the exit code, after what lies about was removed. The code is
    128 and the signal's number, as a shell says it; a terminal that is gone counts as SIGHUP.
    """

    def __init__(self, leave: Callable[[int], bool], die: Callable[[int], object] = os._exit) -> None:
        self._leave, self._die = leave, die
        self._terminal = _terminal()
        self._attributes: list[Any] | None = None
        self._wake, self._waker = os.pipe()
        self._handlers: dict[int, Any] = {}
        self._hook = threading.excepthook

    def __enter__(self) -> Self:
        if self._terminal is not None:
            with suppress(termios.error):
                self._attributes = termios.tcgetattr(self._terminal)
        # Python's own handlers, which also run while the main thread waits for a lock; asyncio's need its loop.
        for number in _PATIENCE:
            self._handlers[number] = signal.signal(number, lambda number, _: self._say(number))
        threading.excepthook = self._thread_failed
        threading.Thread(target=self._watch, name="guard", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        threading.excepthook = self._hook
        self._say(_OVER)

    def _say(self, number: int) -> None:
        """Give our thread a signal's number. By a pipe, since a signal may come while any lock is held."""
        os.write(self._waker, bytes([number]))

    def _thread_failed(self, args: threading.ExceptHookArgs) -> None:
        if args.thread is not None and args.thread.name == _WRITER:
            self._say(signal.SIGHUP)
        else:
            self._hook(args)

    # -- the thread ------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        if self._terminal is not None:
            poll.register(self._terminal, 0)  # only that it is gone
        deadline, asked, code = None, False, 0
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            for fd, event in poll.poll(None if left is None else 1000 * (left if asked else min(left, _AGAIN))):
                if fd == self._wake:
                    number = os.read(self._wake, 1)[0]
                else:
                    poll.unregister(fd)
                    if event & select.POLLNVAL:  # a system that cannot watch terminals so
                        continue
                    number = signal.SIGHUP
                if number != _OVER:
                    code = code or 128 + number
                    end = time.monotonic() + _PATIENCE[signal.Signals(number)]
                    deadline = end if deadline is None else min(deadline, end)
                elif deadline is None:
                    os.close(self._wake)
                    os.close(self._waker)
                    return
            if deadline is not None:
                asked = asked or self._leave(code)
                if time.monotonic() >= deadline:
                    self._end(code)
                    return

    def _end(self, code: int) -> None:
        """The end that is not in order."""
        try:
            remove_now()
            self._give_back()
        finally:
            self._die(code)

    def _give_back(self) -> None:
        """Give the terminal back as far as that needs no waiting."""
        if self._terminal is None:
            return
        # Who no longer has the terminal's foreground would be stopped for touching it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        with suppress(OSError, termios.error):
            if self._attributes is not None:
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._attributes)
            os.set_blocking(self._terminal, False)
            os.write(self._terminal, _RESET)
        with suppress(OSError):
            os.set_blocking(self._terminal, True)


def _terminal() -> int | None:
    """The descriptor that is drawn on."""
    stream = sys.__stderr__
    with suppress(OSError, ValueError):
        if stream is not None and stream.isatty():
            return stream.fileno()
    return None
