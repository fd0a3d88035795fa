"""Bundled example sessions: written into a temporary directory when they are wanted, and gone afterwards."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.provider import Environment
from viewer.leftovers import removed_after

if TYPE_CHECKING:
    from viewer.library import Library


@contextmanager
def demo_home(now: float | None = None) -> Iterator[Environment]:
    """A machine on which there are the demo's sessions and nothing else; the newest ended minutes before `now`."""
    from viewer.demo.make import make_demo

    home = Path(tempfile.mkdtemp(prefix="turnlog-demo-"))
    with removed_after(partial(shutil.rmtree, home, ignore_errors=True)):
        make_demo(home, time.time() if now is None else now)
        yield Environment({}, home, sys.platform)


def demo_library(env: Environment) -> Library:
    """A library of the demo's sessions, whose index lies beside them and goes with them."""
    from viewer.library import Library

    return Library(env, env.home / "index.sqlite")


def demo_session(env: Environment) -> Path:
    """The demo's main session: Claude Code, with two subagents, a compaction and a failing test that gets fixed."""
    from viewer.demo.make import claude_path
    from viewer.demo.tidewatch import tidewatch

    return claude_path(env.home, tidewatch(0.0)[0])
