"""What other readers of these agents' files get wrong, one rule a case."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from schemas.message import Message
from schemas.opening import family, head_of, open_reading, read_session, recognise
from schemas.paths import address_of
from schemas.provider import Environment, Keyed
from schemas.providers import printers, providers
from schemas.reading import WholeReading
from schemas.session import Session
from schemas.usage import TokenUsage, total_usage
from tests.fixtures import (
    amp,
    atif,
    crush,
    droid,
    goose,
    gptme,
    hermes,
    kimi_cli,
    kimi_code,
    messages,
    mini_swe_agent,
    openhands,
    roo,
    vibe,
)
from tests.fixtures.build import (
    PROMPTS,
    START,
    Data,
    at,
    billed,
    call,
    message,
    ms,
    text,
    write_database,
    write_json,
    write_lines,
)


class Case(NamedTuple):
    """A source, and what is read of it."""

    make: Callable[[Path], Path]
    lines: list[str]
    usage: TokenUsage | None


def shown(session: Session) -> list[str]:
    """The messages as lines: their kinds and texts; of tool uses the name, how they ended and the exit code."""
    return [_line(session.message(row)) for row in range(len(session.messages))]


def _line(message: Message) -> str:
    if tool := message.tool:
        code = "" if tool.exit_code is None else f" {tool.exit_code}"
        return f"TOOL {tool.name} {tool.status}{code}: {' '.join(tool.text.split())}".rstrip(": ")
    return f"{message.kind.name} {message.text or message.label}"


def _lines(name: str, *records: Iterable[Data]) -> Callable[[Path], Path]:
    return lambda folder: write_lines(folder / name, [record for some in records for record in some])


def _document(value: Any, name: str = "session.json") -> Callable[[Path], Path]:
    return lambda folder: write_json(folder / name, value)


# -- one rule a case ---------------------------------------------------------------------------------------------------

ASKED, SAID = f"PROMPT {PROMPTS[0]}", "TEXT It is lit."
STEP = kimi_code.step(2, "s1", (10, 5, 100), kimi_code.said(3, "It is lit."))
TWICE = kimi_code.step(4, "s2", (7, 3, 120), kimi_code.said(5, "It is lit."))
USAGE, BOTH = TokenUsage(10, 5, 100, 0), TokenUsage(17, 8, 220, 0)


def _wire(*records: Iterable[Data]) -> Callable[[Path], Path]:
    return _lines("wire.jsonl", kimi_code.head(), *records)


def _kimi_cases() -> dict[str, Case]:
    prompt, again = kimi_code.typed(1, PROMPTS[0]), kimi_code.typed(4, PROMPTS[0])
    untold = [{**prompt[0], "input": []}, *prompt[1:]]
    unrecorded = [record for record in STEP if record["type"] != "usage.record"]
    repeated = kimi_code.record(3, "context.append_message", message=message("assistant", [text("It is lit.")]))
    cut = kimi_code.event(3, "step.begin", uuid="s9"), kimi_code.record(3, "turn.ended", reason="cancelled")
    return {
        "kimi-code: tokens and prompts that stand four times": Case(_wire(prompt, STEP), [ASKED, SAID], USAGE),
        "kimi-code: tokens at the end of a step only": Case(_wire(prompt, unrecorded), [ASKED, SAID], USAGE),
        "kimi-code: a prompt in the context only": Case(_wire(untold, STEP), [ASKED, SAID], USAGE),
        "kimi-code: what the context repeats of the agent": Case(_wire(prompt, STEP, [repeated]), [ASKED, SAID], USAGE),
        "kimi-code: the same prompt asked twice": Case(
            _wire(prompt, STEP, again, TWICE), [ASKED, SAID, ASKED, SAID], BOTH
        ),
        "kimi-code: a turn that was cancelled": Case(
            _wire(prompt, cut), [ASKED, "INTERRUPT Interrupted"], None
        ),
    }  # fmt: skip


def _kimi_cli_cases() -> dict[str, Case]:
    wire, turn = kimi_cli.lamp()[:1], kimi_cli.event(1, "TurnBegin", user_input=PROMPTS[0])
    refused = kimi_cli.result(3, "c1", "", "The tool call is rejected by the user.")
    killed = kimi_cli.result(3, "c1", "", "Command failed with exit code: -2.")
    use = kimi_cli.use(2, "c1", "Shell", '{"command": "x"}')

    def make(*more: Data) -> Callable[[Path], Path]:
        return _lines("0197/wire.jsonl", wire, [turn, use, *more])

    return {
        "kimi-cli: a refusal": Case(
            make(refused), [ASKED, "TOOL Shell denied: The tool call is rejected by the user."], None
        ),
        "kimi-cli: a signal": Case(
            make(killed), [ASKED, "TOOL Shell interrupted -2: Command failed with exit code: -2."], None
        ),
    }  # fmt: skip


def _gptme_cases() -> dict[str, Case]:
    def said(words: str, *more: Data) -> Callable[[Path], Path]:
        return _lines("x/conversation.jsonl", [gptme.said("user", 1, PROMPTS[0]), gptme.answer(2, words, 10, 5), *more])

    one, two = gptme.use("c1", "shell", command="echo '}'"), gptme.use("c2", "save", path="a", content="@x(1): {}")
    usage = TokenUsage(10, 5, 0, 0)
    ends = gptme.said("system", 3, "}", call_id="c1"), gptme.said("system", 3, "Saved", call_id="c2")
    return {
        "gptme: tool uses between words": Case(
            said(f"First.\n{one}\nThen.\n{two}\nDone.", *ends),
            [ASKED, "TEXT First.", "TOOL shell ok: }", "TEXT Then.", "TOOL save ok: Saved", "TEXT Done."], usage,
        ),
        "gptme: what only looks like a tool use": Case(
            said("Mail me@home(work): {} is no tool."), [ASKED, "TEXT Mail me@home(work): {} is no tool."], usage
        ),
        "gptme: a tool use that broke off": Case(
            said('@shell(c1): {"command": "ech'), [ASKED, "TOOL shell pending"], usage
        ),
    }  # fmt: skip


def _mini_cases() -> dict[str, Case]:
    bad = {"interrupt_type": "FormatError", "response": mini_swe_agent.response(2, "No call.", billed(9, 1))}
    interrupted = message("exit", "", extra={"exit_status": "KeyboardInterrupt", "submission": ""})
    given = [message("user", PROMPTS[0]), message("user", "No tool calls found.", extra=bad), interrupted]
    fenced = "THOUGHT: dark.\n\n```mswea_bash_command\nlight lamp\n```"
    extra = {"response": mini_swe_agent.response(2, fenced, billed(10, 5)), "actions": [{"command": "light lamp"}]}
    result = message("user", "<returncode>3</returncode>", extra={"raw_output": "oh", "returncode": 3})
    textual = [message("user", PROMPTS[0]), message("assistant", fenced, extra=extra), result]
    return {
        "mini-swe-agent: the response that could not be read counts": Case(
            _document(mini_swe_agent.trajectory(given), "a.traj.json"),
            [ASKED, "TEXT No call.", "CONTEXT No tool calls found.", "INTERRUPT Interrupted"],
            TokenUsage(9, 1, 0, None, 0),
        ),
        "mini-swe-agent: commands in the text": Case(
            _document(mini_swe_agent.trajectory(textual), "a.traj.json"),
            [ASKED, "TEXT THOUGHT: dark.", "TOOL bash error 3: oh"], TokenUsage(10, 5, 0, None, 0),
        ),
    }  # fmt: skip


def _message_cases() -> dict[str, Case]:
    two = message("assistant", None, tool_calls=[call("a", "bash", command="1"), call("b", "bash", command="2")])
    crossed = [message("tool", "two", tool_call_id="b"), message("tool", "one", tool_call_id="a")]
    again = message("assistant", None, tool_calls=[call("a", "bash", command="3")])
    begin = [message("user", PROMPTS[0])]
    unnamed = message("assistant", None, function_call={"name": "bash", "arguments": "{}"})
    tagged = '<think>Dark.</think>On.\n<tool_call>\n{"name": "bash", "arguments": {"command": "1"}}\n</tool_call>'
    talk = [{"from": "human", "value": PROMPTS[0]}, {"from": "gpt", "value": tagged},
            {"from": "tool", "value": "<tool_response>\none\n</tool_response>"}]  # fmt: skip
    items = [
        message("user", PROMPTS[0]), {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Dark."}]},
        {"type": "function_call", "call_id": "a", "name": "bash", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "one"},
    ]  # fmt: skip
    return {
        "messages: results out of order": Case(
            _document([*begin, two, *crossed]), [ASKED, "TOOL bash ok: one", "TOOL bash ok: two"], None
        ),
        "messages: ids that repeat each turn": Case(
            _document([*begin, two, *crossed, again, message("tool", "three", tool_call_id="a")]),
            [ASKED, "TOOL bash ok: one", "TOOL bash ok: two", "TOOL bash ok: three"], None,
        ),
        "messages: functions, which have no ids": Case(
            _document([*begin, unnamed, message("function", "one", name="bash")]), [ASKED, "TOOL bash ok: one"], None
        ),
        "messages: ShareGPT's, with tags": Case(
            _document({"conversations": talk}), [ASKED, "THINKING Dark.", "TEXT On.", "TOOL bash ok: one"], None
        ),
        "messages: items of OpenAI's responses": Case(
            _document(items), [ASKED, "THINKING Dark.", "TOOL bash ok: one"], None
        ),
        "messages: a message a line": Case(
            _lines("a.jsonl", [*begin, message("assistant", "It is lit.")]), [ASKED, SAID], None
        ),
    }  # fmt: skip


def _amp_cases() -> dict[str, Case]:
    def thread(*results: Data) -> Callable[[Path], Path]:
        uses = [amp.use(name, "Bash", cmd="x") for name in "abc"[: len(results)]]
        asked = {"role": "user", "messageId": 0, "content": [text(PROMPTS[0])]}
        told = [{"role": "assistant", "content": uses}, {"role": "user", "content": list(results)}]
        return _document(amp.thread([asked, *told]))

    plain = {"type": "tool_result", "tool_use_id": "b", "content": "two", "is_error": False}
    return {
        "amp: both shapes of results": Case(
            thread(amp.ran("a", {"output": "one", "exitCode": 2}), plain, amp.ran("c", "three")),
            [ASKED, "TOOL Bash error 2: one", "TOOL Bash ok: two", "TOOL Bash ok: three"], None,
        ),
        "amp: a result that is not there yet": Case(
            thread(amp.ran("a", None, "in-progress")), [ASKED, "TOOL Bash pending"], None
        ),
        "amp: a use that was stopped": Case(
            thread(amp.ran("a", None, "cancelled", reason="Stopped")), [ASKED, "TOOL Bash interrupted: Stopped"], None
        ),
    }  # fmt: skip


def _droid_cases() -> dict[str, Case]:
    def session(*more: Data) -> Callable[[Path], Path]:
        return _lines("a.jsonl", droid.lamp()[:1], [droid.said("user", 1, text(PROMPTS[0])), *more])

    return {
        "droid: only the person sees an error": Case(
            session(droid.said("user", 2, text("503"), visibility="user_only")), [ASKED, "ERROR 503"], None
        ),
        "droid: only the model sees what was added": Case(
            session(droid.said("user", 2, text("Be brief"), visibility="llm_only")), [ASKED, "CONTEXT Be brief"], None
        ),
        "droid: how a command ended is in its last line": Case(
            session(
                droid.said("assistant", 2, droid.use("a", "Execute", command="x")),
                droid.said("user", 3, droid.result("a", "one\n\n[Process exited with code 0]")),
            ),
            [ASKED, "TOOL Execute ok 0: one"], None,
        ),
    }  # fmt: skip


def _atif_cases() -> dict[str, Case]:
    copied = atif.step(2, "agent", "Old.", is_copied_context=True, **atif.metrics(1000, 9))
    asked = atif.step(1, "user", PROMPTS[0])
    sums = {"total_prompt_tokens": 110, "total_completion_tokens": 5, "total_cached_tokens": 100}
    without = atif.trajectory([asked, atif.step(2, "agent", "It is lit.")], "a", final_metrics=sums)
    return {
        "atif: copied steps do not count": Case(
            _document(atif.trajectory([asked, copied, atif.step(3, "agent", "It is lit.", **atif.metrics(10, 5))], "")),
            [ASKED, "TEXT Old.", SAID], TokenUsage(10, 5, 0),
        ),
        "atif: the sum, where no step has figures": Case(_document(without), [ASKED, SAID], TokenUsage(10, 5, 100)),
    }  # fmt: skip


CASES = {
    **_kimi_cases(), **_kimi_cli_cases(), **_gptme_cases(), **_mini_cases(), **_message_cases(), **_amp_cases(),
    **_droid_cases(), **_atif_cases(),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_rule(case: str, tmp_path: Path) -> None:
    session = read_session(CASES[case].make(tmp_path))
    assert session.provider == case.partition(":")[0]
    assert shown(session) == CASES[case].lines
    assert session.usage() == CASES[case].usage


# -- databases, and many files -----------------------------------------------------------------------------------------


def test_a_row_of_gooses_ledger_is_of_the_answer_before_it(tmp_path: Path) -> None:
    session = read_session(address_of(write_database(tmp_path / "sessions.db", goose.TABLES, goose.lamp()), goose.LAMP))
    spent = [session.exchange_usage(exchange.index) for exchange in session.exchanges]
    assert spent == [TokenUsage(17, 8, 220, 0), TokenUsage(58, 8, 0, 0)]
    groups = [session.messages.group[row] for row in range(len(session.messages))]
    assert groups[1] == groups[2] == groups[3] and groups[4] != groups[3]


def test_a_database_of_goose_without_a_ledger_has_a_sum(tmp_path: Path) -> None:
    figures = {"accumulated_input_tokens": 130, "accumulated_output_tokens": 9, "accumulated_cache_read_tokens": 100}
    rows = [goose.session(goose.LAMP, 0, **figures), goose.message(goose.LAMP, 1, "user", text(PROMPTS[0]))]
    tables = goose.TABLES[: goose.TABLES.index("CREATE TABLE usage_ledger")]
    session = read_session(address_of(write_database(tmp_path / "sessions.db", tables, rows), goose.LAMP))
    assert session.usage() == TokenUsage(30, 9, 100)


def test_crushs_figures_are_no_sums_but_the_size_of_the_context(tmp_path: Path) -> None:
    session = read_session(address_of(write_database(tmp_path / "crush.db", crush.TABLES, crush.lamp()), crush.LAMP))
    assert session.usage() is None and session.context_used == 120 and session.metadata["costUsd"] == 0.02


@pytest.mark.parametrize(
    ("wire", "context", "listed"),
    [
        (kimi_cli.lamp(), ["_system_prompt", "user"], "wire.jsonl"),
        (kimi_cli.lamp()[:1], ["_system_prompt", "user"], "context.jsonl"),
        (None, ["_system_prompt", "user"], "context.jsonl"),
        (kimi_cli.lamp()[:1], [], "wire.jsonl"),
        (None, [], ""),
    ],
)
def test_kimi_clis_context_is_the_session_where_the_wire_tells_no_event(
    wire: list[Data] | None, context: list[str], listed: str, tmp_path: Path
) -> None:
    folder = tmp_path / "sessions/0cc1/0197"
    write_lines(folder / "context.jsonl", [message(role, PROMPTS[0]) for role in context])
    if wire is not None:
        write_lines(folder / "wire.jsonl", wire)
    agent = providers()["kimi-cli"]
    found = list(agent.find(agent.locations(Environment({"KIMI_SHARE_DIR": str(tmp_path)}, tmp_path, "linux"))[0], []))
    assert [file.path.name for file in found] == [listed] * bool(listed)
    if listed == "context.jsonl":
        session = read_session(found[0].path)
        assert (session.provider, session.id, shown(session)[1:]) == ("kimi-cli", "0197", [ASKED])


@pytest.mark.parametrize(("said", "created"), [(str(ms(0)), START), (ms(0), START), ("soon", None), (None, None)])
def test_the_list_of_continues_sessions_tells_when_one_was_begun(
    said: object, created: float | None, tmp_path: Path
) -> None:
    sample = import_module("tests.fixtures.continue").samples(tmp_path)[0]
    listed = [
        {"sessionId": "other", "dateCreated": "1"},
        {"sessionId": read_session(sample.path).id, "dateCreated": said},
    ]
    write_json(sample.path.with_name("sessions.json"), listed)
    session = read_session(sample.path)
    assert (session.created, session.updated) == (created, None)


def test_crushs_projects_are_in_its_list(tmp_path: Path) -> None:
    projects = [{"path": "/srv/one"}, {"path": "/srv/two", "data_dir": "/data/two"}, {"path": "three"}, 4]
    write_json(tmp_path / ".local/share/crush/projects.json", {"projects": projects})
    found = [place.path for place in providers()["crush"].locations(Environment({}, tmp_path, "linux"))]
    assert found == [tmp_path / ".crush", Path("/srv/one/.crush"), Path("/data/two")]


def _helpers(session: Session) -> list[tuple[str, str, TokenUsage | None]]:
    """The subagents: their names, the tool uses that started them, and what they took."""
    return [
        (
            member.id,
            "" if child.tool_use is None else _line(session.message(child.tool_use)).split()[1],
            member.usage(),
        )
        for child, member in zip(session.subagents, list(family(session))[1:], strict=True)
    ]


HELPERS: dict[str, tuple[str, str, TokenUsage | None]] = {
    "atif": ("lamp:helper", "delegate", TokenUsage(20, 4, 0)),
    "crush": (crush.HELPER, "agent", None),
    "goose": (goose.HELPER, "delegate", TokenUsage(20, 4, 0, 0)),
    "hermes": (hermes.HELPER, "delegate_task", TokenUsage(11, 3, 0, 0, 0)),
    "kimi-cli": ("0197aaaa-lamp:a1b2", "Agent", TokenUsage(20, 4, 0, 0)),
    "kimi-code": (f"{kimi_code.LAMP}:agent-0", "Agent", TokenUsage(20, 4, 0, 0)),
    "openhands": (openhands.HELPER, "task", TokenUsage(20, 4, 0, 0, 0)),
    "vibe": ("0197bbbb", "task", TokenUsage(20, 4, 0)),
}


@pytest.mark.parametrize("name", HELPERS)
def test_a_subagent_belongs_to_the_use_that_started_it_and_counts_once(name: str, tmp_path: Path) -> None:
    made = import_module(f"tests.fixtures.{name.replace('-', '_')}").samples(tmp_path)
    sample = made[1] if name == "vibe" else made[0]
    session = read_session(sample.path)
    assert _helpers(session) == [HELPERS[name]]
    assert total_usage(member.usage() for member in family(session)) == total_usage([sample.usage, HELPERS[name][2]])


def test_a_trajectory_beside_another_is_its_subagent(tmp_path: Path) -> None:
    refs = [{"session_id": "helper", "trajectory_path": "helper.json"}, {"trajectory_path": "../secret.json"}]
    step = atif.step(2, "agent", "", **atif.tool("c1", "delegate", "Three.", refs=refs, prompt="Count them"))
    helper = atif.trajectory(
        [atif.step(1, "user", "Count them"), atif.step(2, "agent", "3", **atif.metrics(20, 4))], "h"
    )
    write_json(tmp_path / "lamp/helper.json", helper)
    write_json(tmp_path / "secret.json", helper)
    main = atif.trajectory([atif.step(1, "user", PROMPTS[0]), step], "main")
    session = read_session(write_json(tmp_path / "lamp/main.json", main))
    assert [(member.id, member.usage()) for member in family(session)] == [("main", None), ("h", TokenUsage(20, 4, 0))]


def test_a_task_is_roos_by_its_place_or_the_facts_beside_it_else_clines(tmp_path: Path) -> None:
    (sample,) = roo.samples(tmp_path)
    copy = tmp_path / "elsewhere/1" / sample.source.name
    copy.parent.mkdir(parents=True)
    shutil.copy(sample.source, copy)
    for path, owner in ((sample.source, "roo"), (copy, "cline")):
        assert (found := recognise(head_of(path))) is not None and found.id == owner
    write_json(copy.with_name("history_item.json"), roo.facts())
    assert (found := recognise(head_of(copy))) is not None and found.id == "roo"


def test_a_row_of_a_dataset_is_a_session(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [*messages.rows(), messages.rows()[0]])
    provider = recognise(head_of(path))
    assert isinstance(provider, Keyed)
    assert [file.key for file in provider.held(path)] == ["kite.3", "2", "kite"]
    assert [read_session(Path(file.path)).title for file in provider.held(path)] == [
        "Fly the kite",
        "Hi",
        "Fly the kite",
    ]


@pytest.mark.parametrize(("first", "agent"), [({}, "kimi-cli"), ({"created_at": 1795893589608}, "kimi-code")])
def test_the_first_line_of_a_wire_tells_whose_it_is(first: Data, agent: str, tmp_path: Path) -> None:
    (tmp_path / "wire.jsonl").write_text(json.dumps({"type": "metadata", "protocol_version": "1.5", **first}) + "\n")
    assert recognise(head_of(tmp_path / "wire.jsonl")).id == agent


@pytest.mark.parametrize("name", ["droid", "kimi-code", "vibe"])
def test_what_an_agent_prints_is_its_own_and_no_others(name: str, tmp_path: Path) -> None:
    records = import_module(f"tests.fixtures.{name.replace('-', '_')}").stream()
    assert {stream.id for stream in printers() for record in records if stream.prints(record)} == {name}
    session = read_session(write_lines(tmp_path / "saved.jsonl", records))
    assert (session.provider, session.metadata["source"]) == (name, "stream")
    failed = [line for line in shown(session) if line.startswith("TOOL")]
    assert [line.split()[2:4] for line in failed] == [["error", "3:"]] and session.unknown == {}


# -- what the store of Vibe does ---------------------------------------------------------------------------------------


def test_vibes_journal_adds_to_the_chunks_and_replaces_what_it_named_before(tmp_path: Path) -> None:
    path = vibe.write_store(tmp_path / vibe.LAMP, vibe.lamp(), vibe.later()[:2])
    reading = open_reading(path)
    while not reading.done:
        reading.step()
    assert shown(reading.session)[-2:] == [f"PROMPT {PROMPTS[1]}", "TOOL bash pending"]
    assert "PROMPT Old" not in shown(reading.session), "an older generation's journal is in the chunks"
    write_lines(tmp_path / vibe.LAMP / vibe.JOURNAL, vibe.later())
    assert isinstance(reading, WholeReading) and reading.reread()
    assert shown(reading.session)[-2:] == ["TOOL bash error 3: oh", "ERROR 503: busy"]
    assert reading.session.usage() == TokenUsage(25, 10, 220)


def test_a_chunk_is_never_followed_out_of_the_store(tmp_path: Path) -> None:
    path = vibe.write_store(tmp_path / vibe.LAMP, vibe.lamp(), [])
    secret = write_json(tmp_path / "secret.json", [vibe.said(1, "s", "user", "secret")])
    manifest = tmp_path / vibe.LAMP / "generations/0000000000000008/manifest.json"
    held = json.loads(manifest.read_text())
    held["projection_state"]["chunks"] += ["../../secret", str(secret.with_suffix(""))]
    write_json(manifest, held)
    assert not any("secret" in line for line in shown(read_session(path)))


def test_times_without_a_zone_are_the_machines(tmp_path: Path) -> None:
    """Else an event stands hours away from what others tell of the same session."""
    openhands.write(tmp_path / "a", [openhands.asked(1, PROMPTS[0])], agent=[])
    session = read_session(tmp_path / "a/base_state.json")
    assert session.created == START + 1 and at(1) == "2026-05-28T20:26:41.000Z"
