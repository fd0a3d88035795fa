"""Big sessions for the benchmarks: a real session (or the bundled demo) repeated with fresh ids.

Built once into a folder of the system's temporary directory and kept for the next run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(tempfile.gettempdir()) / f"turnlog-bench-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
_REAL = ROOT.parent / "shared/corpus/claude/24_spotter_tree/-home-USER-projects-spotter-worktrees-spotter-a0y"
_ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?:msg|toolu|req)_[0-9A-Za-z]{8,}")
MB = 1 << 20


def source() -> tuple[str, bytes]:
    """The session that is repeated, and what it is called in the report."""
    real = sorted(_REAL.glob("*.jsonl"))
    if real:
        return f"{real[0].name} (real)", real[0].read_bytes()
    from viewer.demo import demo_home

    with demo_home() as env:
        path = max(env.home.rglob("projects/*/*.jsonl"), key=lambda p: p.stat().st_size)
        return "the bundled demo", path.read_bytes()


def big_session(megabytes: int) -> Path:
    """A session file of about so many MB in a Claude Code home of its own."""
    _, one = source()
    digest = hashlib.sha256(one).hexdigest()[:8]
    session_id = _session_id(one)
    path = FOLDER / f"{megabytes}mb-{digest}/projects/-home-dev-big/{session_id.decode()}.jsonl"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    if not one.endswith(b"\n"):
        one += b"\n"
    target = megabytes * MB
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as out:
        written = copy = 0
        while written < target:
            data = fresh_ids(one, copy, session_id)
            if written + len(data) > target:
                data = data[: data.rfind(b"\n", 0, target - written) + 1] or one[: one.find(b"\n") + 1]
            out.write(data)
            written += len(data)
            copy += 1
            if len(data) < len(one):
                break
    temporary.rename(path)
    return path


def _session_id(data: bytes) -> bytes:
    match = re.search(rb'"sessionId": ?"([0-9a-f-]{36})"', data)
    return match[1] if match else b"5e550000-0000-4000-8000-00000000b16b"


def fresh_ids(data: bytes, copy: int, keep: bytes) -> bytes:
    """The session with other ids everywhere but for its own."""
    if copy == 0:
        return data
    made: dict[bytes, bytes] = {}

    def other(match: re.Match[bytes]) -> bytes:
        old = match[0]
        if old == keep:
            return old
        if old not in made:
            digest = hashlib.blake2b(old, digest_size=16, salt=copy.to_bytes(8, "big")).hexdigest().encode()
            if b"_" in old:
                made[old] = old[: old.index(b"_") + 1] + digest
            else:
                made[old] = b"-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))
        return made[old]

    return _ID.sub(other, data)


def home_of_texts(megabytes: int) -> Path:
    """A Claude Code home of so many MB: the source once and again, with other ids, each time another session."""
    _, one = source()
    home = FOLDER / f"texts-{megabytes}"
    project = home / ".claude/projects/-home-dev-texts"
    session_id, written, copy = _session_id(one), 0, 1
    while written < megabytes * MB:
        own = f"{copy:08x}-0000-4000-8000-0000000000cc"
        path = project / f"{own}.jsonl"
        if not path.exists():
            project.mkdir(parents=True, exist_ok=True)
            path.write_bytes(fresh_ids(one, copy, session_id).replace(session_id, own.encode()))
            os.utime(path, (1_772_614_800 + copy * 60,) * 2)
        written, copy = written + path.stat().st_size, copy + 1
    return home


def many_sessions(count: int) -> Path:
    """A Claude Code home with so many small sessions in 100 projects."""
    home = FOLDER / f"many-{count}"
    if (home / "ready").exists():
        return home
    for number in range(count):
        project = home / f".claude/projects/-home-dev-project-{number % 100}"
        project.mkdir(parents=True, exist_ok=True)
        session_id = f"{number:08x}-0000-4000-8000-0000000000aa"
        (project / f"{session_id}.jsonl").write_text(_small_session(number, session_id))
    (home / "ready").touch()
    return home


def append_turn(path: Path, turn: int) -> None:
    """Append a prompt to a session (even turns) or an answer, with the time that it is."""
    now = time.time()
    stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"
    ids = {"uuid": f"{path.stem}-{turn}", "parentUuid": f"{path.stem}-{turn - 1}" if turn else None}
    envelope = {"sessionId": path.stem, "cwd": f"/home/dev/{path.parent.name[-2:]}", "timestamp": stamp, **ids}
    message: dict[str, object] = {"role": "user", "content": f"prompt {turn}"}
    if turn % 2:
        message = {"id": f"msg_{path.stem}_{turn}", "role": "assistant", "model": "claude-opus-5"}
        message |= {"content": [{"type": "text", "text": f"answer {turn}"}], "usage": {"output_tokens": 40}}
    with path.open("a") as file:
        file.write(json.dumps({"type": "assistant" if turn % 2 else "user", "message": message, **envelope}) + "\n")


def _small_session(number: int, session_id: str) -> str:
    envelope = {
        "sessionId": session_id,
        "cwd": f"/home/dev/project-{number % 100}",
        "version": "2.1.200",
        "gitBranch": "main",
    }
    moment = f"2026-03-{number % 28 + 1:02d}T{number % 24:02d}:{number % 60:02d}:"
    rows = []
    for turn in range(2):
        user, answer = f"{number:08x}-{turn}a", f"{number:08x}-{turn}b"
        prompt = f"change number {number}, step {turn}"
        rows.append(
            {
                "type": "user",
                "uuid": user,
                "timestamp": f"{moment}{turn}1.000Z",
                "message": {"role": "user", "content": prompt},
            }
        )
        usage = {
            "input_tokens": 3,
            "cache_read_input_tokens": 900,
            "cache_creation_input_tokens": 10,
            "output_tokens": 40,
        }
        message = {"id": f"msg_{number}_{turn}", "role": "assistant", "model": "claude-opus-5", "usage": usage}
        message["content"] = [{"type": "text", "text": f"Done with step {turn} of {number}."}]
        rows.append(
            {
                "type": "assistant",
                "uuid": answer,
                "parentUuid": user,
                "timestamp": f"{moment}{turn}9.000Z",
                "message": message,
            }
        )
    return "".join(json.dumps(envelope | row) + "\n" for row in rows)
