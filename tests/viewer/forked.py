"""`turnlog` in a process that has been forked from one in which everything it imports is there.

Starting Python and importing takes ten times as long as what most commands do. It is a process of its own all the same,
with its own environment, directory, streams and exit code.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.waiting import LIMIT

_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.viewer.imported"])
_STREAMS = (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)


def run(arguments: list[str], env: Mapping[str, str], directory: Path) -> tuple[int, bytes, bytes]:
    """How a run ends: the exit code, and what was printed."""
    with TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        out.touch()
        err.touch()
        process = _FORKS.Process(target=_main, args=(arguments, dict(env), directory, (os.devnull, str(out), str(err))))
        process.start()
        process.join(LIMIT)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"turnlog {arguments} does not end")
        return process.exitcode, out.read_bytes(), err.read_bytes()


def _main(arguments: list[str], env: dict[str, str], directory: Path, streams: tuple[str, str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(directory)
    for number, (path, flags) in enumerate(zip(streams, _STREAMS, strict=True)):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode, encoding="utf-8") for number, mode in enumerate("rww"))
    sys.argv = ["turnlog", *arguments]
    from viewer.start import main

    try:
        main()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
