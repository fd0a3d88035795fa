"""A thread in several files is one session, whichever of them is opened (formats note 7.4)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import zstandard

from schemas import zst
from schemas.provider import Location
from schemas.providers.codex import PROVIDER
from tests.fixtures.codex.rollouts import THREAD, Rollout, prompts, read, shown
from viewer.follow.follower import Follower

SHARED = Path(__file__).parents[2] / ".." / "shared"
FILES = [THREAD, *(f"019a0000-0000-7000-8000-0000000000e{n}" for n in (2, 3))]


def name(number):
    """The first file is named after the thread alone."""
    return f"rollout-2025-10-09T10-0{number}-00-{'_'.join(dict.fromkeys((THREAD, FILES[number])))}.jsonl"


def part(number, folder, end=None):
    """A file of the thread, which goes on from the one before; `end` is where it leaves that."""
    base = {"thread_id": FILES[number - 1], "end_byte_offset": end} if number else None
    rollout = Rollout(start=1_760_000_000 + 100 * number, **({"history_base": base} if base else {}))
    rollout.start(f"t{number}").user(f"part {number}").says(f"done {number}")
    total, last = 100 * (number + 1), 100
    rollout.count((total, 0, total // 10), (last, 0, last // 10)).done(f"t{number}")
    rollout.save(folder, name(number))
    return len(rollout.bytes)


def thread(folder):
    end = part(0, folder)
    end = part(1, folder, end)
    part(2, folder, end)


def sessions(folder):
    return list(PROVIDER.find(Location(folder, "test"), []))


@pytest.mark.parametrize("opened", [0, 1, 2])
@pytest.mark.parametrize("step", [1 << 20, 100])
def test_it_is_one_session_whichever_file_is_opened(tmp_path, opened, step):
    thread(tmp_path / "sessions")
    session = read(tmp_path / "sessions" / name(opened), step)
    assert prompts(session) == ["part 0", "part 1", "part 2"] and session.title == "part 0"
    assert session.usage().total == 330 and not any(e.rewound or e.inherited for e in session.exchanges)
    assert [file.path.name for file in sessions(tmp_path)] == [name(2)]


def test_it_goes_on_in_the_next_file_while_it_is_followed(tmp_path):
    folder = tmp_path / "sessions"
    end = part(0, folder)
    with_more = Rollout(meta=False, start=1_760_000_050).user("undone").says("gone").count((200, 0, 20), (100, 0, 10))
    with (folder / name(0)).open("ab") as file:
        file.write(with_more.bytes)
    follower = Follower(folder / name(0))
    follower.poll()
    keys = list(follower.session.messages.key)
    assert prompts(follower.session) == ["part 0", "undone"]
    part(1, folder, end)
    follower._refreshed = 0.0
    follower.poll()
    session = follower.session
    assert prompts(session) == ["part 0", "undone", "part 1"] and list(session.messages.key)[: len(keys)] == keys
    assert [e.rewound for e in session.exchanges] == [False, True, False]
    assert session.usage().total == 330
    with (folder / name(1)).open("ab") as file:
        file.write(Rollout(meta=False, start=1_760_000_200).user("and on").bytes)
    follower._refreshed = 0.0
    follower.poll()
    assert prompts(session)[-1] == "and on"
    assert shown(session) == shown(read(folder / name(1)))
    follower.close()


@pytest.mark.parametrize("how", ["cut", "bomb"])
def test_a_damaged_file_hides_no_good_one_of_its_thread(tmp_path, monkeypatch, how):
    """faults/f11: it is listed for itself, so that whoever lists says that it cannot be read."""
    monkeypatch.setattr(zst, "_ANY", 1 << 20)
    good = Rollout().user("hi").save(tmp_path / "archived_sessions", f"rollout-2025-10-09T10-00-00-{THREAD}.jsonl")
    packed = good.with_name(good.name + ".zst")
    packed.write_bytes(zstandard.compress(good.read_bytes()))
    good.unlink()
    cut = tmp_path / "sessions" / packed.name
    cut.parent.mkdir()
    if how == "cut":
        cut.write_bytes(zstandard.compress(Rollout().user("hi").says("x" * 9000).bytes)[:-20])
    else:
        cut.write_bytes(zstandard.compress(Rollout().bytes + b"\n" * (200 << 20)))
    assert {file.path for file in sessions(tmp_path)} == {packed, cut}
    assert prompts(read(packed)) == ["hi"]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared lab is not here")
def test_a_reverted_thread_of_the_real_program(tmp_path):
    home = tmp_path / "home"
    shutil.copytree(SHARED / "lab" / "faults" / "codex-4-reverted-thread", home)
    (file,) = sessions(home)
    session = read(file.path)
    assert session.usage().total == 354_376
    live = [e.prompt for e in session.live_exchanges]
    assert len(live) == 5 and live[0].endswith("(case tui1)") and not any("tui2" in prompt for prompt in live)
