"""Work in a thread that neither the screen nor the end of the program waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread


async def aside(work: Callable[[], object]) -> None:
    """Wait for `work`, done in a thread, and raise what it raised. `asyncio.to_thread` would make quitting wait too."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def tell(error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        failed: BaseException | None = None
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the one who waits is to have it, whatever it is
            failed = error
        with suppress(RuntimeError):  # the loop is closed: the program ended meanwhile
            loop.call_soon_threadsafe(tell, failed)

    Thread(target=run, name="aside", daemon=True).start()
    await done
