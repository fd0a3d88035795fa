"""The clock of following: it says when to look at files, a tenth of a second at most after any change, at once where
the system says so.

The clock is the truth: network mounts, WSL and exhausted inotify limits send no events. Events make it quick.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from pathlib import Path

INTERVAL = 0.1
"""Seconds between looks when nothing is heard."""
QUICK = 0.008
"""Seconds between looks while something changes: events take 10 to 20 ms, and after a line often comes another."""
QUICK_FOR = 2.0
"""Seconds after a change in which to look so often. A look is one `stat`."""


class Hints:
    """Tells when to look: `async for _ in hints.ticks(): follower.poll()`. `watch` may be called again at any time.

    `note` says why there are no events, once there are none; looking goes on by the clock.
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self.interval = interval
        self.note = ""
        self.stopped = False
        """Whether a signal asked for the end."""
        self._heard = asyncio.Event()
        self._quick_until = 0.0
        self._folders: frozenset[Path] = frozenset()
        self._task: asyncio.Task[None] | None = None

    def watch(self, files: Iterable[Path]) -> None:
        """Listen for changes of these files instead of those before: their folders are watched, so that a file that is
        replaced or comes back is noticed too.
        """
        folders = frozenset(folder for file in files if (folder := file.absolute().parent).is_dir())
        if folders == self._folders:
            return
        self._stop_listening()
        self._folders = folders
        if folders:
            self._task = asyncio.get_running_loop().create_task(self._listen(folders))

    async def ticks(self) -> AsyncIterator[None]:
        """Yields at once and then whenever it is time to look; ends never."""
        while True:
            yield
            with suppress(TimeoutError):
                quick = time.monotonic() < self._quick_until
                await asyncio.wait_for(self._heard.wait(), min(QUICK, self.interval) if quick else self.interval)
            self._heard.clear()

    def wake(self) -> None:
        """Let the next tick come at once."""
        self._heard.set()

    def stop(self) -> None:
        """Ask for the end; for `call_at_signals`."""
        self.stopped = True
        self.wake()

    def stir(self) -> None:
        """Something changed, so more is likely to: look more often for a while."""
        self._quick_until = time.monotonic() + QUICK_FOR

    async def close(self) -> None:
        """Stop listening."""
        task = self._task
        self._stop_listening()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

    def _stop_listening(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = None

    async def _listen(self, folders: frozenset[Path]) -> None:
        try:
            async for _ in written_below(folders, deep=False):
                self._heard.set()
        except (OSError, RuntimeError) as error:
            self.note = f"no file events ({error}); looking ten times a second"


async def written_below(folders: Iterable[Path], *, deep: bool = True) -> AsyncIterator[set[Path]]:
    """The paths that changed in some folders, and with `deep` in those below them, whenever the system says so. Raises
    OSError or RuntimeError where it does not.
    """
    from watchfiles import awatch

    # In WSL watchfiles would poll by itself, with a thread of its own; the callers' clocks do that already. It wakes at
    # each step, heard or not: at 10 ms that costs 0.6 s of processor a minute, at 50 ms 0.15. One file that somebody
    # looks at is worth it.
    changes = awatch(
        *folders,
        watch_filter=None,
        step=50 if deep else 10,
        debounce=100,
        recursive=deep,
        force_polling=False,
        rust_timeout=1000,
    )
    async for some in changes:
        yield {Path(path) for _, path in some}


def call_at_signals(stop: Callable[[], object]) -> None:
    """Call `stop` in the running event loop when a signal asks the program to end."""
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows: an interrupt is a KeyboardInterrupt there
            asyncio.get_running_loop().add_signal_handler(name, stop)
