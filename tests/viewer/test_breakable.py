"""The program's end does not wait for what a thread is still importing."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.waiting import LIMIT
from viewer.usage.breakable import BrokenOffError, break_off, breakable_imports


def test_an_import_ends_with_the_module_that_it_is_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = "import test_hooks\ntest_hooks.wait()\ntry:\n    import slow_second\nexcept Exception:\n    pass\n"
    (tmp_path / "slow_first.py").write_text(first)
    (tmp_path / "slow_second.py").write_text("raise AssertionError('imported all the same')\n")
    reached, go_on, ended = Event(), Event(), []
    (tmp_path / "test_hooks.py").write_text("wait = None\n")
    (tmp_path / "fine_module.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    import test_hooks  # type: ignore[import-not-found]

    test_hooks.wait = lambda: (reached.set(), go_on.wait(LIMIT))

    def work() -> None:
        try:
            with breakable_imports():
                __import__("slow_first")
        except BrokenOffError:
            ended.append("broken off")

    thread = Thread(target=work)
    thread.start()
    assert reached.wait(LIMIT)
    break_off()
    import colorsys  # another thread's imports go on

    go_on.set()
    thread.join(10)
    assert ended == ["broken off"] and colorsys
    assert not {"slow_first", "slow_second"} & sys.modules.keys()
    with breakable_imports():  # the next one begins anew
        import fine_module  # type: ignore[import-not-found]

    assert fine_module
