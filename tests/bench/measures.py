"""The measurements. Each gives rows (what, figure, bar) for the report."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from tests.bench import build, google, history
from tests.bench.terminal import Terminal

BIN = Path(sys.executable).parent
TURNLOG = str(BIN / "turnlog")


class Row(NamedTuple):
    """A line of the report."""

    what: str
    figure: str
    bar: str


def environment(home: Path) -> dict[str, str]:
    """A user's environment whose agents lie in `home` and nowhere else."""
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "TMPDIR")}
    return keep | {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
    }


def _home() -> Path:
    home = build.FOLDER / "home"
    home.mkdir(parents=True, exist_ok=True)
    return home


def _first_word(path: Path) -> bytes:
    """A word of the first prompt that is drawn in one piece."""
    from schemas.opening import read_session

    head = path.with_name("head.jsonl")
    with path.open("rb") as file:
        head.write_bytes(file.read(1 << 20).rsplit(b"\n", 1)[0] + b"\n")
    session = read_session(head)
    head.unlink()
    prompt = next(e.prompt for e in session.exchanges if e.prompt)
    return max((w for w in prompt[:60].split() if w.isascii()), key=len).encode()


def _start(argv: list[str], needle: bytes, env: dict[str, str]) -> float:
    terminal = Terminal(argv, env)
    try:
        shown = terminal.wait_for(needle, 60)
        return (shown or float("inf")) - terminal.started
    finally:
        terminal.close()


def first_content(sizes: tuple[int, ...] = (1, 57, 500), runs: int = 7) -> Iterator[Row]:
    """Process start to first content, in turn with a bare Textual app so that the machine's mood cancels out."""
    env = environment(_home())
    bare_argv = [sys.executable, "-m", "tests.bench.bare"]
    for size in sizes:
        path = build.big_session(size)
        needle = _first_word(path)
        bare, ours = [], []
        for _ in range(runs):
            bare.append(_start(bare_argv, b"BAREREADY", env))
            ours.append(_start([TURNLOG, str(path)], needle, env))
        ratio = statistics.median(o / b for o, b in zip(ours, bare, strict=True))
        figure = (
            f"{ratio:.2f} x ({statistics.median(ours) * 1000:.0f} ms, bare {statistics.median(bare) * 1000:.0f} ms)"
        )
        yield Row(f"first content, {size} MB", figure, "1.3 x bare")


def memory_and_keys() -> Iterator[Row]:
    """Opened, read to the end, scrolled to both ends; then keys."""
    for size, bar in ((57, 120), (500, 200)):
        path = build.big_session(size)
        terminal = Terminal([TURNLOG, str(path)], environment(_home()))
        try:
            terminal.wait_for(_first_word(path), 60)
            terminal.idle()
            loading = terminal.cpu()
            for key in (b"G", b"\x1b[5~", b"g", b"\x1b[6~"):
                terminal.key(key)
                terminal.idle(10)
            now, most = terminal.memory()
            yield Row(
                f"memory, {size} MB",
                f"{now:.0f} MB (at most {most:.0f}; read in {loading:.1f} s of processor)",
                f"{bar} MB",
            )
            yield from _keys(terminal, size)
        finally:
            terminal.close()


def _keys(terminal: Terminal, size: int) -> Iterator[Row]:
    keys = {
        "page": (b"\x1b[6~", b"\x1b[5~"),
        "fold": (b"\r",),
        "next exchange": (b"]",),
        "end, start": (b"G", b"g"),
        "level": (b"4", b"1", b"2", b"3"),
    }
    for name, pair in keys.items():
        times = []
        for number in range(40):
            times.append(terminal.key(pair[number // 5 % len(pair)] if name == "page" else pair[number % len(pair)]))
            terminal.quiet(0.03)
        figure = f"{statistics.median(times) * 1000:.1f} ms median, {max(times) * 1000:.0f} worst"
        yield Row(f"key: {name}, {size} MB", figure, "16 ms, 50 worst")


def append_to_visible(count: int = 100) -> Iterator[Row]:
    """A line is appended to a followed session; until its text is on the terminal."""
    path = build.FOLDER / "follow" / "5e550000-0000-4000-8000-0000000000f0.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(build._small_session(1, path.stem))
    terminal = Terminal([TURNLOG, "tail", str(path)], environment(_home()))
    times = []
    try:
        terminal.wait_for(b"Done", 20)
        terminal.quiet(0.5)
        for number in range(count):
            word = f"APPENDED{number:05d}"
            row = {
                "type": "assistant",
                "uuid": f"a{number}",
                "sessionId": path.stem,
                "timestamp": "2026-03-05T10:00:00.000Z",
            }
            row["message"] = {
                "id": f"msg_a{number}",
                "role": "assistant",
                "model": "claude-opus-5",
                "content": [{"type": "text", "text": word}],
            }
            start = len(terminal.seen)
            moment = time.perf_counter()
            with path.open("a") as out:
                out.write(json.dumps(row) + "\n")
            shown = terminal.wait_for(word.encode(), 5, start)
            times.append((shown or float("inf")) - moment)
            terminal.quiet(0.02)
            time.sleep(0.037 * (number % 5))
    finally:
        terminal.close()
    times.sort()
    figure = f"{statistics.median(times) * 1000:.1f} ms median, {times[int(len(times) * 0.99) - 1] * 1000:.0f} at 99 %"
    yield Row("append to visible", figure, "20 ms, 60 at 99 %")


_PARSE = """
import sys, time, orjson
from pathlib import Path
from schemas.opening import read_session
path = Path(sys.argv[1])
def t(f):
    start = time.perf_counter(); f(); return time.perf_counter() - start
def plain():
    with open(path, "rb") as file:
        for line in file: orjson.loads(line)
pairs = [(t(plain), t(lambda: read_session(path))) for _ in range(5)]
best = min(p for p, _ in pairs), min(o for _, o in pairs)
print(best[0], best[1])
"""


def parse() -> Iterator[Row]:
    """The whole session read, against `orjson.loads` over the same lines."""
    sessions = {"": build.big_session(57), "Gemini CLI, ": google.big_gemini(33), "Qwen Code, ": google.big_qwen(57)}
    for what, path in sessions.items():
        argv = [sys.executable, "-c", _PARSE, str(path)]
        plain, ours = map(float, subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())
        size = path.stat().st_size / build.MB
        yield Row(
            f"parse, {what}{size:.0f} MB",
            f"{plain / ours:.2f} of orjson ({size / ours:.0f} MB/s, orjson {size / plain:.0f})",
            "0.5 of orjson",
        )


def export() -> Iterator[Row]:
    """Markdown export of 57 MB, as a whole process."""
    path = build.big_session(57)
    start = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    subprocess.run(
        [TURNLOG, "export", str(path), "--to", "markdown"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        env=environment(_home()),
    )
    seconds = time.perf_counter() - start
    peak = max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024
    size = path.stat().st_size / build.MB
    yield Row("Markdown export, 57 MB", f"{size / seconds:.0f} MB/s, {peak:.0f} MB", "30 MB/s, 150 MB")


def secrets() -> Iterator[Row]:
    """What redaction finds of the published kinds, what it takes for secrets in Python's library, and how fast."""
    from renderers.redact import Redactor
    from renderers.secret_kinds import find
    from tests.renderers.secrets import KINDS

    found = sum(kind.secret not in Redactor().redact(kind.text) for kind in KINDS)
    yield Row("secrets found", f"{found} of {len(KINDS)}", f"{len(KINDS)}")
    files = [path.read_bytes() for path in sorted(Path(os.__file__).parent.rglob("*.py"))]
    start = time.process_time()
    alarms = sum(len(find(data)) for data in files)
    seconds, size = time.process_time() - start, sum(map(len, files)) / build.MB
    yield Row(
        f"secrets in {size:.0f} MB of code", f"{alarms / size:.1f} a MB, {size / seconds:.0f} MB/s", "25 MB in 3 s"
    )


def listing(count: int = 10_000) -> Iterator[Row]:
    """Indexing and listing many small sessions, and one big home."""
    home = build.many_sessions(count)
    env = environment(home)
    subprocess.run(
        [TURNLOG, "list", "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, check=True
    )
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([TURNLOG, "list", "--json"], stdout=subprocess.DEVNULL, env=env, check=True)
        times.append(time.perf_counter() - start)
    yield Row(f"list --json, {count:,} indexed", f"{statistics.median(times):.2f} s", "0.3 s")
    bare, ours = [], []
    for _ in range(5):
        bare.append(_start([sys.executable, "-m", "tests.bench.bare"], b"BAREREADY", env))
        ours.append(_start([TURNLOG], b"number", env))
    ratio = statistics.median(o / b for o, b in zip(ours, bare, strict=True))
    yield Row(f"browser, {count:,} indexed", f"{ratio:.2f} x ({statistics.median(ours) * 1000:.0f} ms)", "1.3 x bare")


def indexing() -> Iterator[Row]:
    """Sessions that are new to the index."""
    path = build.big_session(57)
    home = build.FOLDER / "index-home"
    project = home / ".claude/projects/-home-dev-big"
    if not project.exists():
        project.mkdir(parents=True)
        data = path.read_bytes()
        for number in range(4):
            (project / f"{number:08x}-0000-4000-8000-0000000000bb.jsonl").write_bytes(data)
    env = environment(home)
    subprocess.run(["rm", "-rf", str(home / ".cache")], check=True)
    start = time.perf_counter()
    subprocess.run(
        [TURNLOG, "list", "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, check=True
    )
    seconds = time.perf_counter() - start
    size = sum(p.stat().st_size for p in project.iterdir()) / build.MB
    yield Row(f"index {size:.0f} MB of new sessions", f"{size / seconds:.0f} MB/s", "60 MB/s")


_QUERIES = """
    the|error|file|session|commit|zebrafinch|qqqzzz|userby|rror|e*|st*|err*|"the file"|"to be or not to be"|error test
    日本|tool:bash|role:you|file:.ex|is:error -the|error file:lib|since:2026-01-01 the
""".strip()


def searching(megabytes: int = 1000) -> Iterator[Row]:
    """Sessions taken into the full-text index, its size, and questions to it."""
    from schemas.provider import Environment
    from viewer.index.find import Find
    from viewer.index.library import Library
    from viewer.index.query import parse

    home = build.home_of_texts(megabytes)
    cache = home / ".cache"
    subprocess.run(["rm", "-rf", str(cache)], check=True)
    library = Library(Environment({}, home, sys.platform), cache / "index.sqlite", texts=True)
    start = time.perf_counter()
    size = sum(summary.size for summary in library.bring_up_to_date()) / build.MB
    seconds = time.perf_counter() - start
    used = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    yield Row(
        f"index {size:,.0f} MB with its text",
        f"{size / seconds:.0f} MB/s ({used:.0f} s of processor; this process at most {most} MB)",
        "60 MB/s on two cores",
    )
    find, times = Find(library), []
    chars = sum(chars for (chars,) in sqlite3.connect(library.text_path).execute("SELECT chars FROM sessions"))
    yield Row(
        "full-text index", f"{library.text_path.stat().st_size / chars:.0%} of {chars / 1e6:.0f} MB of text", "40 %"
    )
    queries = _QUERIES.replace("\n", "|").split("|")
    for typed in (*queries, *queries):
        start = time.perf_counter()
        for _ in find.groups(parse(typed)):
            pass
        times.append(time.perf_counter() - start)
    times = times[len(queries) :]  # the first round reads the file
    figure = f"{statistics.median(times) * 1000:.0f} ms median, {max(times) * 1000:.0f} worst of {len(times)} queries"
    yield Row(f"search over {size:,.0f} MB", figure, "50 ms, 150 worst")


def watching(count: int = 200, seconds: float = 15.0) -> Iterator[Row]:
    """Many sessions that are written at once among many that are not: how soon a change is told, and what it costs."""
    home = build.many_sessions(10_000)
    files = [
        home / f".claude/projects/-home-dev-live-{number % 50}/{number:08x}-0000-4000-8000-0000000000cc.jsonl"
        for number in range(count)
    ]
    for path in files:
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        build.append_turn(path, 0)
    process = subprocess.Popen([TURNLOG, "watch", "--json"], stdout=subprocess.PIPE, env=environment(home))
    written, lags = dict[str, float](), list[float]()

    def read() -> None:
        for line in process.stdout or ():
            if (at := written.pop(json.loads(line)["id"], None)) is not None:
                lags.append(time.monotonic() - at)

    reader = Thread(target=read, daemon=True)
    reader.start()
    time.sleep(20)
    lags.clear()
    before, begun = _cpu(process.pid), time.monotonic()
    for path in _write_for(seconds, files):
        written[path.stem] = time.monotonic()
    busy = (_cpu(process.pid) - before) / (time.monotonic() - begun)
    keys = _keys_of_watch(home, files, seconds)
    time.sleep(90)  # until none of them counts as being written
    before = _cpu(process.pid)
    time.sleep(30)
    idle = 2 * (_cpu(process.pid) - before)
    process.send_signal(signal.SIGINT)
    process.wait()
    reader.join()
    for path in files:  # the home is the list's, too
        path.unlink()
    lags.sort()
    told = f"{statistics.median(lags):.2f} s, 99 % in {lags[len(lags) * 99 // 100]:.2f} s, {busy:.0%} of a core"
    yield Row(f"watch {count} written a second", told, "0.3 s")
    yield Row(f"watch {count} at rest, 60 s", f"{idle:.2f} s of CPU", "1 s")
    figure = f"{statistics.median(keys) * 1000:.0f} ms median, 95 % in {keys[len(keys) * 95 // 100] * 1000:.0f}"
    yield Row(f"key while {count} are written", f"{figure} of {len(keys)}", "50 ms")


def _write_for(seconds: float, files: list[Path]) -> Iterator[Path]:
    """Append to each of some sessions once a second; yields each when it was written."""
    begun = next_at = time.monotonic()
    while time.monotonic() - begun < seconds:
        turn = files[-1].read_text().count("\n")
        for path in files:
            build.append_turn(path, turn)
            yield path
            next_at += 1 / len(files)
            time.sleep(max(0.0, next_at - time.monotonic()))


def _keys_of_watch(home: Path, files: list[Path], seconds: float) -> list[float]:
    """The seconds until the cursor of the watch screen has moved, in order, while its sessions are written."""
    writer = Thread(target=lambda: list(_write_for(seconds + 12, files)), daemon=True)
    writer.start()
    terminal = Terminal([TURNLOG, "watch"], environment(home))
    while terminal.read(10):  # all tiles are there, and are drawn anew as they change
        if time.perf_counter() - terminal.started > 10:
            break
    keys, begun = list[float](), time.monotonic()
    while time.monotonic() - begun < seconds:
        terminal.read(0)
        start, pressed = len(terminal.seen), time.perf_counter()
        os.write(terminal.fd, b"\x1b[B" if len(keys) % 8 < 4 else b"\x1b[A")
        moved = terminal.wait_for("▌".encode(), 2, start + 3)
        keys.append((moved or pressed + 2) - pressed)
        terminal.read(0.05)
    terminal.close()
    writer.join()
    return sorted(keys)


def _cpu(pid: int) -> float:
    """The seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def help_text(runs: int = 9) -> Iterator[Row]:
    """`turnlog --help` against importing click."""
    ours, click = [], []
    for _ in range(runs):
        for argv, times in (([TURNLOG, "--help"], ours), ([sys.executable, "-c", "import click"], click)):
            start = time.perf_counter()
            subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
            times.append(time.perf_counter() - start)
    ratio = statistics.median(o / c for o, c in zip(ours, click, strict=True))
    yield Row("turnlog --help", f"{ratio:.2f} x ({statistics.median(ours) * 1000:.0f} ms)", "2 x import click")


def origins(commits: int = 300) -> Iterator[Row]:
    """How the lines of a repository are traced to the sessions that wrote them, blank ones and brackets apart."""
    with tempfile.TemporaryDirectory() as folder:
        made = history.make(Path(folder), commits, 1)
        started = time.perf_counter()
        counts = history.judge(made)
    seconds = (time.perf_counter() - started) / len(made.files)
    written = counts["right"] + counts["several"] + counts["untraced"]
    figure = f"{counts['right'] / written:.0%} right, {counts['several'] / written:.1%} one of several, "
    figure += f"{counts['untraced'] / written:.0%} untraced, {counts['wrong']} lines wrong"
    yield Row(f"why, {commits} commits, {written:,} lines", f"{figure} ({seconds:.1f} s a file)", "0 wrong")


ALL = {
    "help": help_text,
    "parse": parse,
    "export": export,
    "secrets": secrets,
    "first": first_content,
    "keys": memory_and_keys,
    "append": append_to_visible,
    "index": indexing,
    "search": searching,
    "list": listing,
    "watch": watching,
    "why": origins,
}
