"""The demo's main session: Claude Code finds out why tide times are an hour early in summer."""

from __future__ import annotations

from viewer.demo.claude import SMALL_MODEL, ClaudeSession, Say, Think
from viewer.demo.files import Files

ROOT = "/home/dev/src/tidewatch"

ALMANAC = '''"""Tide tables as values: the turns of the water at a harbour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from tidewatch.harbours import Harbour


@dataclass(frozen=True, slots=True)
class Tide:
    """One turn of the water, in the harbour's own time."""

    at: datetime
    height: float
    high: bool


def tides_on(harbour: Harbour, day: date) -> list[Tide]:
    """The turns of one local day, earliest first."""
    midnight = datetime(day.year, day.month, day.day) - harbour.utc_offset
    turns = harbour.model.turns(midnight, midnight + timedelta(days=1))
    return [
        Tide(turn.at + harbour.utc_offset, turn.height, turn.high)
        for turn in turns
    ]


def next_high(harbour: Harbour, now: datetime) -> Tide:
    """The next high water after `now`, which is UTC."""
    for turn in harbour.model.turns(now, now + timedelta(hours=14)):
        if turn.high:
            return Tide(turn.at + harbour.utc_offset, turn.height, True)
    raise LookupError(f"{harbour.name}: no high water within 14 hours")
'''

HARBOURS = '''"""The harbours we know, read from harbours.toml."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tidewatch.model import TideModel


@dataclass(frozen=True, slots=True)
class Harbour:
    """A place with a tide gauge."""

    name: str
    utc_offset: timedelta
    model: TideModel


def harbour_from(table: dict[str, object]) -> Harbour:
    """A harbour from its table in harbours.toml."""
    return Harbour(
        name=str(table["name"]),
        utc_offset=timedelta(hours=float(table["utc_offset"])),
        model=TideModel.from_constants(table["constants"]),
    )
'''

CALENDAR = '''"""Tides as a calendar that phones can subscribe to."""

from __future__ import annotations

from collections.abc import Iterable

from tidewatch.almanac import Tide
from tidewatch.harbours import Harbour


def calendar(harbour: Harbour, tides: Iterable[Tide]) -> str:
    """An iCalendar with one event a high water."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//tidewatch//EN"]
    for tide in tides:
        if tide.high:
            stamp = tide.at.strftime("%Y%m%dT%H%M%S")
            lines += ["BEGIN:VEVENT", f"DTSTART:{stamp}", f"SUMMARY:{harbour.name} {tide.height:.1f} m", "END:VEVENT"]
    lines.append("END:VCALENDAR")
    return "\\r\\n".join(lines) + "\\r\\n"
'''

CHANGELOG = """# Changelog

## Unreleased

### Added
- Neap and spring tides are marked in the month view.

## 1.4.0 - 2026-02-11

### Changed
- Heights are rounded to a tenth of a metre, as in the printed tables.
"""

_FAILS = """F.....................................                                   [100%]
=================================== FAILURES ===================================
_______________________ test_saint_malo_on_a_summer_day ________________________

    def test_saint_malo_on_a_summer_day():
        tides = tides_on(load("saint-malo"), date(2026, 7, 14))
>       assert clock(tides) == ["01:02", "07:48", "13:27", "20:05"]
E       AssertionError: assert ['00:02', '06...:27', '19:05'] == ['01:02', '07...:27', '20:05']
E         At index 0 diff: '00:02' != '01:02'

tests/test_almanac.py:31: AssertionError
=========================== short test summary info ============================
FAILED tests/test_almanac.py::test_saint_malo_on_a_summer_day - AssertionErr...
1 failed, 37 passed in 1.92s"""

_FAILS_TOO = """......................................F.                                 [100%]
=================================== FAILURES ===================================
______________________ test_the_night_the_clocks_go_back _______________________

    def test_the_night_the_clocks_go_back():
        day = tides_on(load("saint-malo"), date(2026, 10, 25))
>       assert clock(day) == ["04:36", "10:58", "16:51", "23:20"]
E       AssertionError: assert ['04:36', '10:58', '16:51'] == ['04:36', '10...:51', '23:20']
E         Right contains one more item: '23:20'

tests/test_almanac.py:47: AssertionError
=========================== short test summary info ============================
FAILED tests/test_almanac.py::test_the_night_the_clocks_go_back - AssertionE...
1 failed, 39 passed in 1.97s"""

_EXPLORE_PROMPT = (
    "Find every place in tidewatch/ and scripts/ that makes a local time out of a UTC time, or the reverse. "
    "Say for each whether it uses a fixed offset. Do not change anything."
)
_EXPLORE_ANSWER = """Five places make local times. Four use the fixed offset:

| place | what it does | fixed offset |
|---|---|---|
| `almanac.py:22` | start of the local day in UTC | yes |
| `almanac.py:25` | a turn's local time | yes |
| `almanac.py:34` | next high water | yes |
| `harbours.py:24` | reads `utc_offset` from the table | yes |
| `web/views.py:61` | "updated at" in the footer | no, `ZoneInfo` |

`calendar.py` writes the local time as it comes, without a zone."""

_TABLES_PROMPT = (
    "Compare the printed tables in tests/tables/*.csv with what tides_on() gives for the same days. "
    "Report harbour, month and the difference in minutes. Do not change anything."
)
_TABLES_ANSWER = """I compared 2,928 turns of four harbours with the printed tables.

- **November to March:** every turn within 4 minutes.
- **April to October:** every turn of *Saint-Malo*, *Cuxhaven* and *Dover* exactly 60 minutes early.
- **Reykjavík** agrees all year round: Iceland keeps UTC.

So the model is right and the clock is wrong."""

_SUMMARY = """## What was asked
Tide times of Saint-Malo are an hour early since the end of March: find out why and fix it.

## What was done
- `Harbour.utc_offset` (a fixed `timedelta`) became `Harbour.zone` (a `ZoneInfo`), read from `zone` in harbours.toml.
- `tides_on` asks the model from local midnight to the next local midnight, which is 23 or 25 hours apart twice a year.
- Tests: one summer day, the night the clocks go back. All 40 pass.

## What is next
- `calendar.py` writes `DTSTART` without a zone; nothing was changed there yet."""


def explore(start: float, files: Files) -> ClaudeSession:
    """The subagent that reads the code."""
    agent = ClaudeSession(
        "tidewatch/explore",
        start,
        files,
        branch="fix/summer-time",
        model=SMALL_MODEL,
        agent="a3f91c7e2d60b845a",
        parent=_session_id(),
    )
    agent.prompt(_EXPLORE_PROMPT, 0.2)
    listing = (
        "tidewatch/almanac.py\ntidewatch/calendar.py\ntidewatch/harbours.py\ntidewatch/model.py\ntidewatch/web/views.py"
    )
    matches = (
        "tidewatch/almanac.py:22:    midnight = datetime(day.year, day.month, day.day) - harbour.utc_offset\n"
        "tidewatch/almanac.py:25:        Tide(turn.at + harbour.utc_offset, turn.height, turn.high)\n"
        "tidewatch/almanac.py:34:            return Tide(turn.at + harbour.utc_offset, turn.height, True)\n"
        "tidewatch/harbours.py:16:    utc_offset: timedelta\n"
        'tidewatch/harbours.py:24:        utc_offset=timedelta(hours=float(table["utc_offset"])),\n'
        'tidewatch/web/views.py:61:    return now.astimezone(ZoneInfo("Europe/Paris")).strftime("%H:%M")'
    )
    agent.reply(
        Say("I'll list the modules, then search for offsets and zones."),
        agent.bash("ls tidewatch/*.py tidewatch/web/*.py", listing, 0.4, about="List the modules"),
        agent.bash(
            "rg -n 'utc_offset|astimezone|ZoneInfo' tidewatch scripts", matches, 0.5, about="Search for offsets"
        ),
    )
    agent.reply(agent.read("tidewatch/almanac.py"), agent.read("tidewatch/calendar.py"), after=5)
    agent.reply(Say(_EXPLORE_ANSWER), after=9)
    return agent


def tables(start: float, files: Files) -> ClaudeSession:
    """The subagent that compares with the printed tables."""
    agent = ClaudeSession(
        "tidewatch/tables", start, files, branch="fix/summer-time", agent="a81d04b6e95f7c32d", parent=_session_id()
    )
    agent.prompt(_TABLES_PROMPT, 0.2)
    head = "day,time,height,kind\n2026-07-14,01:02,11.3,high\n2026-07-14,07:48,2.1,low\n2026-07-14,13:27,11.0,high"
    agent.reply(
        agent.bash(
            "ls tests/tables; head -4 tests/tables/saint-malo.csv",
            f"cuxhaven.csv\ndover.csv\nreykjavik.csv\nsaint-malo.csv\n{head}",
            0.3,
        )
    )
    script = (
        "python - <<'EOF'\n"
        "import csv, pathlib\n"
        "from tidewatch.almanac import tides_on\n"
        "from tidewatch.harbours import load\n"
        "for table in sorted(pathlib.Path('tests/tables').glob('*.csv')):\n"
        "    compare(load(table.stem), csv.DictReader(table.open()))\n"
        "EOF"
    )
    wrong = (
        "Traceback (most recent call last):\n"
        '  File "<stdin>", line 5, in <module>\n'
        "NameError: name 'compare' is not defined"
    )
    agent.reply(agent.bash(script, wrong, 1.4, about="Compare all tables", exit_code=1), after=11)
    result = (
        "harbour      month  turns  median  worst\n"
        "cuxhaven     01        61       0      3\n"
        "cuxhaven     07        62     -60    -63\n"
        "dover        01        60       1      4\n"
        "dover        07        61     -60    -64\n"
        "reykjavik    01        61       0      2\n"
        "reykjavik    07        62       0      3\n"
        "saint-malo   01        61       0      4\n"
        "saint-malo   07        62     -60    -62"
    )
    agent.reply(
        Say("The helper was missing from my script; I'll write it out."),
        agent.bash("python /tmp/compare.py tests/tables/*.csv", result, 8.2, about="Compare all tables"),
        after=14,
    )
    agent.reply(Say(_TABLES_ANSWER), after=7)
    return agent


def _session_id() -> str:
    return ClaudeSession("tidewatch", 0, Files(ROOT, {})).id


def project() -> Files:
    """The working directory as the session finds it."""
    return Files(
        ROOT,
        {
            "tidewatch/almanac.py": ALMANAC,
            "tidewatch/harbours.py": HARBOURS,
            "tidewatch/calendar.py": CALENDAR,
            "CHANGELOG.md": CHANGELOG,
        },
    )


def tidewatch(start: float) -> tuple[ClaudeSession, dict[str, tuple[ClaudeSession, dict[str, object]]]]:
    """The session, and its subagents with their meta.json, by agent id."""
    files = project()
    session = ClaudeSession("tidewatch", start, files, branch="fix/summer-time")
    session.begin("Fix tide times that are an hour early in summer")
    agents = _find_out(session, files)
    _fix(session)
    _calendar(session)
    _changelog(session)
    return session, agents


def _find_out(session: ClaudeSession, files: Files) -> dict[str, tuple[ClaudeSession, dict[str, object]]]:
    session.prompt(
        "Since the end of March our Saint-Malo page shows high water an hour early, people have missed the causeway. "
        "Find out why and fix it. The printed tables are in tests/tables/."
    )
    session.reply(
        Think(
            "An hour, since the end of March: that is summer time. Before I believe it I want two things checked "
            "independently: where local times are made, and whether the model itself agrees with the printed tables. "
            "If the tables differ by exactly 60 minutes only from April to October, it is the clock and not the "
            "harmonic constants.\n\nBoth are reading only, so they can run side by side."
        ),
        Say(
            "An hour since the end of March smells of summer time. I'll have two things checked side by side before I "
            "touch anything: **where** local times are made, and **whether** the model agrees with the printed tables."
        ),
        session.todos(
            ("Find where local times are made", "Finding where local times are made", "in_progress"),
            ("Compare with the printed tables", "Comparing with the printed tables", "in_progress"),
            ("Write a failing test for a summer day", "Writing a failing test", "pending"),
            ("Use real time zones", "Using real time zones", "pending"),
        ),
        after=5,
    )
    first, second = explore(session.now + 6, files), tables(session.now + 6.5, files)
    session.reply(
        session.agent("Explore", "Find where local times are made", _EXPLORE_PROMPT, first),
        session.agent("general-purpose", "Compare with the printed tables", _TABLES_PROMPT, second),
        after=5,
    )
    session.reply(
        Say(
            "Both agree. The tide model is right to within 4 minutes all year; the **clock** is wrong: `Harbour` "
            "keeps a "
            "fixed `utc_offset`, so from April to October every harbour with summer time is exactly an hour early.\n\n"
            "The fix is a time zone instead of an offset. First a test that fails."
        ),
        session.bash(
            "cat >> tests/test_almanac.py <<'EOF'\n\n\ndef test_saint_malo_on_a_summer_day():\n"
            '    tides = tides_on(load("saint-malo"), date(2026, 7, 14))\n'
            '    assert clock(tides) == ["01:02", "07:48", "13:27", "20:05"]\nEOF\n'
            "pytest -q tests",
            _FAILS,
            4.1,
            about="Add a summer test and run the tests",
            exit_code=1,
        ),
        after=8,
    )
    ids = {"Explore": first, "general-purpose": second}
    uses = {
        block["input"]["subagent_type"]: block["id"]
        for record in session.records
        if record["type"] == "assistant"
        for block in record["message"]["content"]
        if block.get("name") == "Agent"
    }
    return {
        str(child.agent_id): (child, {"agentType": kind, "toolUseId": uses[kind], "spawnDepth": 1})
        for kind, child in ids.items()
    }


def _fix(session: ClaudeSession) -> None:
    session.reply(
        Say("It fails for the right reason. Now the zone."),
        session.edit("tidewatch/harbours.py", "    utc_offset: timedelta\n", "    zone: ZoneInfo\n"),
        session.edit(
            "tidewatch/harbours.py",
            'utc_offset=timedelta(hours=float(table["utc_offset"])),',
            'zone=ZoneInfo(str(table["zone"])),',
        ),
        session.edit(
            "tidewatch/harbours.py",
            "from datetime import timedelta\n",
            "from zoneinfo import ZoneInfo\n",
        ),
        after=6,
    )
    session.reply(
        session.edit(
            "tidewatch/almanac.py",
            "    midnight = datetime(day.year, day.month, day.day) - harbour.utc_offset\n"
            "    turns = harbour.model.turns(midnight, midnight + timedelta(days=1))\n"
            "    return [\n"
            "        Tide(turn.at + harbour.utc_offset, turn.height, turn.high)\n"
            "        for turn in turns\n"
            "    ]\n",
            "    midnight = datetime(day.year, day.month, day.day, tzinfo=harbour.zone).astimezone(UTC)\n"
            "    turns = harbour.model.turns(midnight, midnight + timedelta(days=1))\n"
            "    return [Tide(turn.at.astimezone(harbour.zone), turn.height, turn.high) for turn in turns]\n",
        ),
        session.edit(
            "tidewatch/almanac.py",
            "            return Tide(turn.at + harbour.utc_offset, turn.height, True)\n",
            "            return Tide(turn.at.astimezone(harbour.zone), turn.height, True)\n",
        ),
        session.edit(
            "tidewatch/almanac.py",
            "from datetime import date, datetime, timedelta\n",
            "from datetime import UTC, date, datetime, timedelta\n",
        ),
        after=7,
    )
    session.reply(
        Say(
            "Summer is easy; the nights when the clocks change are where this goes wrong. A second test for one "
            "of them."
        ),
        session.bash(
            "sed -i 's/utc_offset = 1.0/zone = \"Europe\\/Paris\"/' harbours.toml && pytest -q tests",
            _FAILS_TOO,
            4.3,
            about="Switch harbours.toml to zones, run the tests",
            exit_code=1,
        ),
        after=6,
    )
    session.reply(
        Think(
            "25 October 2026 has 25 hours in Paris. I go from local midnight 24 hours on, so the last hour of that day "
            "is missing, and with it the turn at 23:20. Adding a day to an aware datetime in its own zone moves "
            "the wall "
            "clock, which is what I want; I did it after the conversion to UTC, where it moves real time."
        ),
        Say(
            "A good catch by the test: that day has **25 hours**, and I add 24 of them. The day has to end at the next "
            "*local* midnight."
        ),
        session.edit(
            "tidewatch/almanac.py",
            "    midnight = datetime(day.year, day.month, day.day, tzinfo=harbour.zone).astimezone(UTC)\n"
            "    turns = harbour.model.turns(midnight, midnight + timedelta(days=1))\n",
            "    midnight = datetime(day.year, day.month, day.day, tzinfo=harbour.zone)\n"
            "    # The day ends at the next local midnight: 23 or 25 hours on when the clocks change.\n"
            "    tomorrow = midnight + timedelta(days=1)\n"
            "    turns = harbour.model.turns(midnight.astimezone(UTC), tomorrow.astimezone(UTC))\n",
        ),
        session.bash(
            "pytest -q tests",
            "........................................                                 [100%]\n40 passed in 1.94s",
            3.9,
            about="Run the tests",
        ),
        after=9,
    )
    session.reply(
        session.todos(
            ("Find where local times are made", "Finding where local times are made", "completed"),
            ("Compare with the printed tables", "Comparing with the printed tables", "completed"),
            ("Write a failing test for a summer day", "Writing a failing test", "completed"),
            ("Use real time zones", "Using real time zones", "completed"),
        ),
        after=3,
    )
    session.reply(
        Say(
            "Fixed. All **40 tests** pass, and Saint-Malo on 14 July reads as printed:\n\n"
            "| | printed | before | now |\n|---|---|---|---|\n"
            "| high | 01:02 | 00:02 | 01:02 |\n| low | 07:48 | 06:48 | 07:48 |\n| high | 13:27 | 12:27 | 13:27 |\n"
            "| low | 20:05 | 19:05 | 20:05 |\n\n"
            "**Why it happened.** `Harbour` kept a fixed offset from UTC, which is right for half of the year.\n\n"
            "**What changed**\n\n"
            "1. `harbours.toml` names a zone (`Europe/Paris`) instead of an offset.\n"
            "2. `tides_on` asks from one local midnight to the next, also when the day has 23 or 25 hours.\n\n"
            "The calendar export still writes times without a zone; I have left it alone."
        ),
        after=6,
    )
    session.end_turn()


def _calendar(session: ClaudeSession) -> None:
    session.compact(_SUMMARY, "keep the rules about time zones")
    session.prompt(
        "Great, thank you. Now the calendar too: phones in another country show the tides at the wrong time.", 45
    )
    session.reply(Think(""), session.read("tidewatch/calendar.py"), after=4)
    session.queued("keep the file names as they are, people have subscribed to them")
    session.reply(
        Say(
            "Phones take a `DTSTART` without a zone as *their* local time. In UTC with a `Z` it means the same moment "
            "everywhere, and needs no `VTIMEZONE` block. The file names stay."
        ),
        session.edit(
            "tidewatch/calendar.py",
            '            stamp = tide.at.strftime("%Y%m%dT%H%M%S")\n',
            '            stamp = tide.at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")\n',
        ),
        session.edit(
            "tidewatch/calendar.py",
            "from collections.abc import Iterable\n",
            "from collections.abc import Iterable\nfrom datetime import UTC\n",
        ),
        session.create(
            "tests/test_calendar.py",
            "from datetime import date\n\n"
            "from tidewatch.almanac import tides_on\n"
            "from tidewatch.calendar import calendar\n"
            "from tidewatch.harbours import load\n\n\n"
            "def test_events_name_a_moment_and_not_a_wall_clock():\n"
            '    harbour = load("saint-malo")\n'
            "    text = calendar(harbour, tides_on(harbour, date(2026, 7, 14)))\n"
            '    assert "DTSTART:20260713T230200Z" in text\n',
        ),
        session.bash(
            "pytest -q tests",
            ".........................................                                [100%]\n41 passed in 1.96s",
            3.8,
            about="Run the tests",
        ),
        after=8,
    )
    session.reply(
        Say(
            "Done: events are written in UTC, so a phone in Lisbon and one in Saint-Malo ring at the same moment. "
            "The file names are as they were. **41 tests** pass."
        ),
        after=4,
    )
    session.end_turn()


def _changelog(session: ClaudeSession) -> None:
    stat = (
        " harbours.toml           |  6 +++---\n tests/test_almanac.py   | 12 ++++++++++++\n"
        " tests/test_calendar.py  | 12 ++++++++++++\n tidewatch/almanac.py    | 14 +++++++-------\n"
        " tidewatch/calendar.py   |  3 ++-\n tidewatch/harbours.py   |  6 +++---\n"
        " 6 files changed, 39 insertions(+), 14 deletions(-)"
    )
    session.shell("git diff --stat", stat)
    session.prompt("write the changelog entry", 35)
    session.reply(
        Say("I'll bring the changelog into the *Keep a Changelog* form first: sections for each release, links to the"),
        after=4,
    )
    session.interrupt()
    session.prompt("no, one line under Fixed, nothing else", 9)
    session.reply(
        session.edit(
            "CHANGELOG.md",
            "- Neap and spring tides are marked in the month view.\n",
            "- Neap and spring tides are marked in the month view.\n\n### Fixed\n"
            "- Tide times follow summer time, on the page and in the calendar.\n",
        ),
        after=3,
    )
    session.reply(Say("One line, under *Fixed*. Nothing else touched."), after=3)
    session.end_turn()
