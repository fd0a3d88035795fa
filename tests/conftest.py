"""For all tests: each runs on a machine of its own, and the same way every time."""

from __future__ import annotations

import gc
import itertools
import os
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from viewer.follow import follower as follow

# A busy machine must fail no property, and what one finds must not depend on the run: `make fuzz` explores.
settings.register_profile(
    "same", derandomize=True, database=None, deadline=None, max_examples=30, suppress_health_check=list(HealthCheck)
)
settings.register_profile("explore", settings.get_profile("same"), derandomize=False, max_examples=300, print_blob=True)
settings.load_profile("same")

_KEPT = {"PATH", "TMPDIR", "TEMP", "TMP", "LD_LIBRARY_PATH", "SYSTEMROOT"}
_ROOT = Path(__file__).parents[1]
_NO_HOME = str(_ROOT / "tests" / "no-home")
"""There is none: what is read while tests are collected must not find the developer's."""
_OWN = {"HOME": _NO_HOME, "USERPROFILE": _NO_HOME, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
_OWN |= {"PYTHONHASHSEED": "0", "PYTHONPATH": str(_ROOT)}
for _name in set(os.environ) - _KEPT:
    if not _name.startswith("PYTEST_"):
        del os.environ[_name]
os.environ.update(_OWN)
if hasattr(time, "tzset"):
    time.tzset()
_number = itertools.count()


def pytest_collection(session: pytest.Session) -> None:
    """Of several processes that run all tests, each compiles a part of them first, and not each all of them."""
    told = getattr(session.config, "workerinput", None)
    if told and [Path(arg).name for arg in session.config.args] == ["tests"]:
        files = sorted((_ROOT / "tests").rglob("test_*.py"))[int(told["workerid"][2:]) :: told["workercount"]]
        for file in files:
            with suppress(Exception, pytest.skip.Exception):  # collecting it says what is wrong
                import_module(".".join(file.relative_to(_ROOT).with_suffix("").parts))


def pytest_collection_finish() -> None:
    gc.freeze()  # the tests stay to the end: garbage need not be looked for among them
    gc.set_threshold(50_000)  # as the program has it (viewer/start.py)


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder. pytest's own looks through those of all tests before it for a name that is free."""
    folder = tmp_path_factory.getbasetemp() / f"test-{next(_number)}"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that nobody has used; it is not there until something is written below it."""
    folder = tmp_path_factory.getbasetemp() / f"home-{next(_number)}"
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    monkeypatch.setattr(follow, "_QUICK_READ", 3600.0)  # a source that takes long to read is not given a rest
    return folder
