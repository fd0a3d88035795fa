"""The short cut for the commonest lines gives the session which the general way gives, whatever the lines hold."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.providers.claude.parse import ClaudeParser
from schemas.records import FileStore, JsonLines, Record
from schemas.session import Session
from tests.schemas.claude_lines import SESSION, Lines, usage
from tests.schemas.conformance import facts
from tests.schemas.test_claude_corpus import ALL


class GeneralParser(ClaudeParser):
    """Sends every record the general way."""

    def __init__(self, session: Session, *, agent: bool = False) -> None:
        super().__init__(session, agent=agent)
        self._feed = self._general

    def _general(self, records: Iterable[Record], first: int) -> None:
        for record in records:
            self.take(record, record[3], record[3].get("type"))


def both(data: bytes, path: Path, cut: int) -> tuple[list[Any], list[Any]]:
    """What both ways make of a file, read in two pieces: what each piece changed, and all that a session can tell."""
    answers = []
    for kind in (ClaudeParser, GeneralParser):
        session = Session("claude", "Claude Code", path, path.stem)
        session.stores.append(FileStore(path))
        parser, lines = kind(session), JsonLines()
        changes = [
            parser.feed(lines.push(data[:cut])),
            parser.feed(lines.push(data[cut:])),
            parser.feed(lines.finish()),
        ]
        prompts = [(p.node, p.parent, p.row, p.abandoned, list(p.rows)) for p in parser.branches.prompts]
        answers.append([changes, facts(parser.session), prompts, list(parser.branches.owner), parser.branches.nodes])
    return answers[0], answers[1]


@pytest.mark.parametrize("path", [p for p in ALL if p.stat().st_size < 4 << 20], ids=lambda p: p.name[-20:])
def test_collected_files(path: Path) -> None:
    data = path.read_bytes()
    fast, general = both(data, path, len(data) // 2)
    assert fast == general


ODD = st.sampled_from(
    [None, "", " ", "x", 7, [], {}, True, "Exit code 1\nno", "é\n\nü", "out<system-reminder>r</system-reminder>"]
)
KEYS = ("uuid", "parentUuid", "timestamp", "isSidechain", "cwd", "message", "type", "forkedFrom", "isApiErrorMessage")
BLOCK_KEYS = ("type", "text", "thinking", "signature", "id", "name", "tool_use_id", "content", "is_error")
FIGURES = st.sampled_from([usage(1, 2), usage(1, 3), usage(5, 1, 7), {}, {"output_tokens": -1}, {"input_tokens": 1.0}])
BLOCKS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.sampled_from(["a", "ab", "abc\nd", "b"])}),
    st.fixed_dictionaries(
        {"type": st.just("thinking"), "thinking": st.sampled_from(["", "hm"]), "signature": st.sampled_from(["s", "t"])}
    ),
    st.fixed_dictionaries(
        {"type": st.just("tool_use"), "id": st.sampled_from("ABCDE"), "name": st.sampled_from(["Bash", "Task"])}
    ),
)
RESULTS = st.fixed_dictionaries(
    {"type": st.just("tool_result"), "tool_use_id": st.sampled_from("ABCDE"), "content": ODD},
    optional={"is_error": st.booleans()},
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    lines = Lines()
    lines.user("begin")
    uuids = [str(lines.last)]
    for _ in range(draw(st.integers(1, 25))):
        envelope: dict[str, Any] = {}
        if not draw(st.integers(0, 3)):
            envelope["parent"] = draw(st.sampled_from([*uuids, None, "?" * 36]))
        if not draw(st.integers(0, 9)):
            envelope["uuid"] = draw(st.sampled_from([*uuids, "z" * 36, "short"]))
        if not draw(st.integers(0, 5)):
            envelope[draw(st.sampled_from(KEYS[2:5] + KEYS[7:]))] = draw(ODD)
        if not draw(st.integers(0, 5)):
            envelope["timestamp"] = draw(st.sampled_from(["2026-11-02T09:00:00.500Z", "2026-11-02T08:59:59.999Z"]))
        act = draw(st.sampled_from("aaaaarrrrpxuqfc"))
        if act == "a":
            blocks = draw(st.lists(BLOCKS, min_size=1, max_size=2 if not draw(st.integers(0, 4)) else 1))
            if not draw(st.integers(0, 5)):
                blocks[0][draw(st.sampled_from(BLOCK_KEYS))] = draw(ODD)
            lines.agent(*blocks, response=draw(st.sampled_from(["m1", "m2", "m3"])), usage=draw(FIGURES), **envelope)
        elif act == "r":
            block = draw(RESULTS)
            if not draw(st.integers(0, 5)):
                block[draw(st.sampled_from(BLOCK_KEYS))] = draw(ODD)
            extra = draw(
                st.sampled_from([None, {"interrupted": True}, {"interrupted": False}, "User rejected tool use"])
            )
            lines.user([block], toolUseResult=extra, **envelope)
        elif act == "p":
            lines.chain(
                "progress", data={"type": draw(st.sampled_from(["hook_progress", "agent_progress"]))}, **envelope
            )
        elif act == "x":
            kind = draw(st.sampled_from(["hook_success", "file", "plan_mode", 7]))
            lines.chain("attachment", attachment={"type": kind}, **envelope)
        elif act == "u":
            lines.user(draw(st.sampled_from(["and", "<command-name>/x</command-name>", "go"])), **envelope)
        elif act == "q":
            operation = draw(st.sampled_from(["enqueue", "dequeue", "remove"]))
            lines.fact("queue-operation", operation=operation, content="by the way", **envelope)
        elif act == "f":
            lines.fact(draw(st.sampled_from(["ai-title", "mode", "new-fact"])), aiTitle="T", **envelope)
        else:
            lines.system(draw(st.sampled_from(["compact_boundary", "informational"])), content="c", **envelope)
        uuids.append(str(lines.last))
    return lines.data


@given(files(), st.floats(0, 1))
def test_any_lines(tmp_path_factory: pytest.TempPathFactory, data: bytes, share: float) -> None:
    path = tmp_path_factory.getbasetemp() / f"{SESSION}.jsonl"
    path.write_bytes(data)
    fast, general = both(data, path, int(len(data) * share))
    assert fast == general


def test_common_lines_do_take_the_short_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the comparisons above would compare nothing."""
    lines = Lines()
    lines.user("begin")
    lines.say("first", usage=usage(1, 1))
    for number in range(20):
        lines.use("Bash", use=f"t{number}", usage=usage(1, 1), response=f"m{number}")
        lines.result("out", use=f"t{number}", error=number % 2 == 0)
        lines.chain("progress", data={"type": "hook_progress"})
        lines.attach("hook_success")
    general: list[Record] = []
    take = ClaudeParser.take
    monkeypatch.setattr(ClaudeParser, "take", lambda self, *r: (general.append(r[0]), take(self, *r))[1])
    parser = ClaudeParser(Session("claude", "Claude Code", Path("x.jsonl"), "x"))
    parser.feed(JsonLines().push(lines.data))
    assert len(parser.session.messages) == 22
    assert len(general) < 8  # the first records, and one for each new minute
