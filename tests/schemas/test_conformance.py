"""The laws of conformance.py over the samples of every provider, those to come included.

A new agent adds `tests/fixtures/<id>/` with `samples` and `LOCATIONS` (see samples.py) and nothing in here.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Kind
from schemas.opening import OpenError, head_of, open_reading, recognise
from schemas.provider import Environment, Head, Problem, Provider
from schemas.providers import providers
from schemas.session import Lack, Session
from tests.schemas.conformance import (
    assert_all_laws,
    assert_builds_clean,
    assert_claims_none,
    assert_same_in_pieces,
    assert_sums,
    facts,
    family_of,
    whole,
)
from tests.schemas.samples import Sample

PROVIDERS = providers()
SHARED = Path(__file__).parents[2] / "../shared"
_NASTY = "\x1b]0;title\x07\x1b[31mred\x9b2J\u202egnp.exe\ud800\x00</details>```\n[link](javascript:x)"


def _fixtures(provider: str) -> Any:
    return import_module(f"tests.fixtures.{provider.replace('-', '_')}")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def samples(home: Path) -> dict[str, list[Sample]]:
    """The samples of every provider, each in a home directory of its own."""
    return {name: _fixtures(name).samples(home / name) for name in PROVIDERS}


@pytest.fixture(params=sorted(PROVIDERS))
def provider(request: pytest.FixtureRequest) -> Provider:
    return PROVIDERS[request.param]


# -- what is read ------------------------------------------------------------------------------------------------------


def test_every_sample_is_read_as_it_says(provider: Provider, samples: dict[str, list[Sample]]) -> None:
    assert samples[provider.id]
    for sample in samples[provider.id]:
        session = whole(provider, sample.path)
        where = str(sample.path)
        tools = [m.tool for i in range(len(session.messages)) if (m := session.message(i)).tool is not None]
        assert session.title == sample.title, where
        assert [exchange.prompt for exchange in session.live_exchanges] == sample.prompts, where
        assert session.usage() == sample.usage, where
        assert [model for model in session.models if model] == sample.models, where
        assert [(tool.name, tool.type, str(tool.status)) for tool in tools] == sample.tools, where
        assert (session.created, session.updated) == (sample.created, sample.updated), where
        assert session.lacks == sample.lacks, where


def test_what_a_source_lacks_is_unknown_and_not_zero(provider: Provider, samples: dict[str, list[Sample]]) -> None:
    for sample in samples[provider.id]:
        session = whole(provider, sample.path)
        if Lack.TOKENS in session.lacks:
            assert session.usage() is None and len(session.groups) == 0
        messages = [session.message(i) for i in range(len(session.messages))]
        if Lack.TIMES in session.lacks:  # when the session began may be known all the same
            assert all(message.timestamp is None for message in messages)
        if Lack.THINKING in session.lacks:
            assert not any(message.text for message in messages if message.kind is Kind.THINKING)


def test_all_laws(provider: Provider, samples: dict[str, list[Sample]]) -> None:
    for sample in samples[provider.id]:
        if sample.lines:
            assert_all_laws(provider, sample.path)
        else:
            session = whole(provider, sample.path)
            assert_builds_clean(session)
            for member in family_of(session):
                assert_sums(member)


def test_every_message_can_be_traced(provider: Provider, samples: dict[str, list[Sample]]) -> None:
    for sample in samples[provider.id]:
        session = whole(provider, sample.path)
        for i in range(len(session.messages)):
            assert session.message_spans(i)
            assert all(session.raw(span) for span in session.message_spans(i))


def test_two_readings_agree(provider: Provider, samples: dict[str, list[Sample]]) -> None:
    """Ids and keys are those of the source: folds, links and `tail` rely on them."""
    for sample in samples[provider.id]:
        assert facts(whole(provider, sample.path)) == facts(whole(provider, sample.path))


# -- recognised by content ---------------------------------------------------------------------------------------------


def test_told_by_content_whatever_the_name(
    provider: Provider, samples: dict[str, list[Sample]], tmp_path: Path
) -> None:
    for number, sample in enumerate(samples[provider.id]):
        assert recognise(head_of(sample.source)) is provider
        if sample.source.suffix == ".db" or sample.placed:
            continue  # a database is more than one file
        other = shutil.copy(sample.source, tmp_path / f"{number}.bin")
        assert recognise(head_of(Path(other))) is provider, sample.path


def test_a_first_record_may_be_megabytes_long(
    provider: Provider, samples: dict[str, list[Sample]], tmp_path: Path
) -> None:
    """Tools with their schemas, images, the text of a whole file: some agents write them first."""
    padding = "x" * (5 << 18)
    for number, sample in enumerate(samples[provider.id]):
        first, newline, rest = sample.source.read_bytes().partition(b"\n")
        if not sample.lines or not newline or not first.startswith(b"{"):
            continue
        padded = json.dumps({"padding": padding} | json.loads(first)).encode()
        path = tmp_path / f"{number}" / sample.source.name
        path.parent.mkdir()
        path.write_bytes(padded + newline + rest)
        assert recognise(head_of(path)) is provider, sample.path
        session = whole(provider, path)
        assert [exchange.prompt for exchange in session.live_exchanges] == sample.prompts, sample.path


def test_no_file_has_two_owners(provider: Provider, samples: dict[str, list[Sample]]) -> None:
    others = [sample.source for name, own in samples.items() if name != provider.id for sample in own]
    assert_claims_none(provider, others)


@pytest.mark.skipif(not SHARED.exists(), reason="no shared files here")
def test_no_file_of_the_corpus_is_claimed_by_two() -> None:
    """Where several agents are known to share one file's form, the file goes to one provider all the same."""
    for path in sorted((SHARED / "corpus").rglob("*")):
        if path.is_file() and path.suffix != ".py":
            try:
                head = head_of(path)
            except (OpenError, OSError):
                continue  # empty or damaged: nobody claims it
            owners = [other.id for other in PROVIDERS.values() if other.detect(head)]
            assert len(owners) <= 1, f"{path}: {owners}"


def test_what_is_no_session_is_claimed_by_nobody(provider: Provider) -> None:
    for data in (
        b"# Notes\n\nuser: hi\n",
        b'{"a": 1}\n',
        b"[1, 2, 3]",
        b'"text"',
        b"{}\n{}\n",
        b"\0\1\2",
        b'{"type": "message"}\n',
    ):
        head = _head(data)
        assert not provider.detect(head), (provider.id, data)


def _head(data: bytes) -> Head:
    from schemas.provider import read_head

    return read_head(Path("any"), data, whole=True)


# -- while it grows ----------------------------------------------------------------------------------------------------


def test_whole_equals_piecewise(provider: Provider, samples: dict[str, list[Sample]], tmp_path: Path) -> None:
    for number, sample in enumerate(s for s in samples[provider.id] if s.lines):
        data = sample.source.read_bytes()
        # Beside the copy lies nothing, so that nothing but the file itself decides.
        folder = tmp_path / str(number)
        folder.mkdir()
        for cuts in _cuts(data):
            assert_same_in_pieces(provider, data, folder, cuts, sample.source.name)


def _cuts(data: bytes) -> Iterator[list[int]]:
    lines = [i + 1 for i, byte in enumerate(data) if byte == 10]
    yield lines
    yield from ([cut] for cut in lines)
    chance = random.Random(len(data))
    for count in (1, 3, 10, 40):
        yield [chance.randrange(len(data) + 1) for _ in range(count)]
    yield [cut + shift for cut in lines for shift in (-1, 0, 1)]


# -- hostile -----------------------------------------------------------------------------------------------------------


def test_hostile_text_stays_text(provider: Provider, samples: dict[str, list[Sample]], tmp_path: Path) -> None:
    """Each string carries escapes, bidi controls and a lone surrogate; all that is shown is clean."""
    for number, sample in enumerate(_json_samples(samples[provider.id])):
        path = tmp_path / f"{number}-{sample.source.name}"
        values = [_with_nasty(value) for value in _values(sample)]
        path.write_bytes(b"\n".join(json.dumps(value).encode() for value in values) + b"\n")
        session = whole(provider, path)
        assert len(session.messages)
        assert_builds_clean(session)


_KEYWORDS = ("type", "role", "subtype", "kind", "status", "schemaVersion", "id", "uuid", "event")


def _with_nasty(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _with_nasty(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_nasty(item, key) for item in value]
    spoken = (
        isinstance(value, str) and key.lower().rpartition("_")[2] not in _KEYWORDS and not key.lower().endswith("id")
    )
    return f"{value}{_NASTY}" if spoken and len(value) > 12 and not value[:4].isdigit() else value


@given(data=st.data())
def test_any_damage_is_survived(
    provider: Provider, samples: dict[str, list[Sample]], tmp_path: Path, data: st.DataObject
) -> None:
    """Values of a wrong type, missing and doubled records: no exception, and every message can be made."""
    fitting = _json_samples(samples[provider.id])
    if not fitting:
        return
    sample = data.draw(st.sampled_from(fitting))
    values = _values(sample)
    chance = data.draw(st.randoms(use_true_random=False))
    for _ in range(data.draw(st.integers(1, 4))):
        _damage(values, chance)
    path = tmp_path / f"damaged-{sample.source.name}"
    path.write_bytes(b"".join(json.dumps(value).encode() + b"\n" for value in values))
    session = _survive(provider, path)
    for member in family_of(session):
        assert_sums(member)
    assert_builds_clean(session)


def _survive(provider: Provider, path: Path) -> Session:
    reading = provider.open(path)
    try:
        while not reading.done:
            reading.step()
        reading.finish()
        reading.refresh()
    except OSError:
        pass  # a document that is none any more is refused in words
    return reading.session


_JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    1.5,
    "",
    "x",
    [],
    [None],
    {},
    {"type": "text"},
    [[1]],
    "2026-13-45T99:00:00Z",
    1e300,
)


def _damage(values: list[Any], chance: random.Random) -> None:
    """Change one thing somewhere."""
    kind = chance.randrange(8)
    if kind == 0 and len(values) > 1:
        del values[chance.randrange(len(values))]
    elif kind == 1:
        values.insert(chance.randrange(len(values) + 1), chance.choice(values))
    else:
        places = [place for value in values for place in _places(value)]
        if places:
            holder, name = chance.choice(places)
            if kind == 2 and isinstance(holder, dict):
                del holder[name]
            else:
                holder[name] = deepcopy(chance.choice(_JUNK))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, name
            yield from _places(item)


def _json_samples(samples: list[Sample]) -> list[Sample]:
    return [sample for sample in samples if sample.source.suffix in (".jsonl", ".json") and sample.alone]


def _values(sample: Sample) -> list[Any]:
    """The records of a sample, or its one document."""
    text = sample.source.read_text(encoding="utf-8", errors="replace")
    if not sample.lines:
        return [json.loads(text)]
    return [value for line in text.split("\n") if line.startswith("{") and (value := _loaded(line)) is not None]


def _loaded(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None  # a sample may end in the middle of a line


# -- where they live ---------------------------------------------------------------------------------------------------


def test_locations_on_every_system(provider: Provider, tmp_path: Path) -> None:
    places = _fixtures(provider.id).LOCATIONS
    if provider.id != "streams":
        assert {place.platform for place in places} == {"linux", "darwin", "win32"}
    for place in places:
        variables = {name: value.format(home=tmp_path) for name, value in place.variables.items()}
        found = {location.path for location in provider.locations(Environment(variables, tmp_path, place.platform))}
        assert {tmp_path / path.format(home=tmp_path) for path in place.expected} <= found, place
        assert all(location.reason for location in provider.locations(Environment(variables, tmp_path, place.platform)))


@pytest.mark.parametrize(
    ("provider_id", "path", "variables", "expected"),
    [
        ("claude", ".claude/projects/-w/1.jsonl", {}, None),
        ("claude", ".claude-work/projects/-w/1.jsonl", {}, ("CLAUDE_CONFIG_DIR", ".claude-work")),
        ("claude", ".claude-work/projects/-w/1.jsonl", {"CLAUDE_CONFIG_DIR": "~/.claude-work"}, None),
        ("claude", ".claude/projects/-w/1.jsonl", {"CLAUDE_CONFIG_DIR": "~/c2"}, ("CLAUDE_CONFIG_DIR", ".claude")),
        ("claude", "projects/notes/1.jsonl", {}, None),
        ("claude", "Downloads/1.jsonl", {}, None),
        ("codex", ".codex/sessions/2026/03/04/rollout-1.jsonl", {}, None),
        ("codex", "other/sessions/2026/03/04/rollout-1.jsonl", {}, ("CODEX_HOME", "other")),
        ("codex", "other/archived_sessions/rollout-1.jsonl", {}, ("CODEX_HOME", "other")),
        ("codex", "sessions/rollout-1.jsonl", {}, None),
        ("gemini", ".gemini/tmp/p/chats/session-1.json", {}, None),
        ("gemini", "two/.gemini/tmp/p/chats/session-1.json", {}, ("GEMINI_CLI_HOME", "two")),
        ("gemini", "two/.gemini/tmp/p/chats/session-1.json", {"GEMINI_CLI_HOME": "~/two"}, None),
        ("gemini", "chats/session-1.json", {}, None),
        ("qwen", ".qwen/projects/-w/chats/1.jsonl", {}, None),
        ("qwen", "q2/projects/-w/chats/1.jsonl", {}, ("QWEN_HOME", "q2")),
        ("qwen", "q2/projects/-w/chats/1.jsonl", {"QWEN_RUNTIME_DIR": "~/q2"}, None),
        ("cursor", ".cursor/chats/w/1/store.db", {}, None),
        ("cursor", ".config/cursor/chats/w/1/store.db", {}, None),
        ("cursor", "c2/chats/w/1/store.db", {}, ("CURSOR_CONFIG_DIR", "c2")),
        ("streams", "saved.jsonl", {}, None),
        ("pi", ".pi/agent/sessions/--w--/1.jsonl", {}, None),
        ("pi", "p2/sessions/--w--/1.jsonl", {}, ("PI_CODING_AGENT_DIR", "p2")),
        ("pi", "p2/sessions/--w--/1.jsonl", {"PI_CODING_AGENT_DIR": "~/p2"}, None),
        ("pi", "1.jsonl", {}, None),
        ("copilot", "c2/session-state/1/events.jsonl", {}, ("COPILOT_HOME", "c2")),
    ],
)  # fmt: skip
def test_the_variable_that_resuming_needs(
    provider_id: str, path: str, variables: dict[str, str], expected: tuple[str, str] | None, tmp_path: Path
) -> None:
    needed = PROVIDERS[provider_id].resume_home(tmp_path / path, Environment(variables, tmp_path, "linux"))
    assert needed == (expected and (expected[0], str(tmp_path / expected[1])))


def test_discovery_lists_each_session_once(provider: Provider, samples: dict[str, list[Sample]], home: Path) -> None:
    env = Environment({}, home / provider.id, "linux")
    problems: list[Problem] = []
    found = [file for location in provider.locations(env) for file in provider.find(location, problems)]
    assert not problems
    assert {file.path for file in found} == {sample.path for sample in samples[provider.id] if sample.listed}
    assert len({file.id for file in found}) == len(found)
    assert all(file.provider == provider.id and file.size > 0 and file.mtime_ns > 0 for file in found)


@pytest.mark.usefixtures("samples")
def test_a_linked_home_is_followed(provider: Provider, home: Path, tmp_path: Path) -> None:
    """People keep what belongs to their programs on another disk."""
    env, moved = (Environment({}, folder, "linux") for folder in (home / provider.id, tmp_path / "moved"))
    for there, link in zip(provider.locations(env), provider.locations(moved), strict=True):
        if there.path.is_dir():
            link.path.parent.mkdir(parents=True, exist_ok=True)
            link.path.symlink_to(there.path)
    found = [sum(1 for place in provider.locations(one) for _ in provider.find(place, [])) for one in (env, moved)]
    assert found[0] == found[1]
    assert found[0] or not provider.locations(env)


def test_reading_changes_nothing(provider: Provider, samples: dict[str, list[Sample]], home: Path) -> None:
    before = _tree(home / provider.id)
    for sample in samples[provider.id]:
        reading = open_reading(sample.path)
        while not reading.done:
            reading.step()
        reading.refresh()
        reading.session.close()
    assert _tree(home / provider.id) == before


def _tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in folder.rglob("*")
    }
