"""The short cut for the commonest lines gives the session which the general way gives, whatever the lines hold."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.providers.qwen.parse import QwenParser
from schemas.records import FileStore, JsonLines, Record
from schemas.session import Session
from tests.fixtures.qwen import SESSION, Chat, call, stamp, thought, tokens
from tests.schemas.conformance import facts
from tests.schemas.test_qwen_corpus import FILES


class GeneralParser(QwenParser):
    """Sends every record the general way."""

    def __init__(self, session: Session, *, child: bool = False) -> None:
        super().__init__(session, child=child)
        self._feed = self._general

    def _general(self, records: Iterable[Record], first: int) -> None:
        for record in records:
            self.take(record)


def both(data: bytes, path: Path, cut: int) -> tuple[list[Any], list[Any]]:
    """What both ways make of a file, read in two pieces: what each piece changed, and all that a session can tell."""
    answers = []
    for kind in (QwenParser, GeneralParser):
        session = Session("qwen", "Qwen Code", path, path.stem)
        session.stores.append(FileStore(path))
        parser, lines = kind(session), JsonLines()
        changes = [
            parser.feed(lines.push(data[:cut])),
            parser.feed(lines.push(data[cut:])),
            parser.feed(lines.finish()),
        ]
        tree = parser.tree
        nodes = [tree.known, tree.leaf, tree.last, *map(list, (tree.parent, tree.state, tree.live, tree.rows))]
        beside = [parser.results.calls, parser.agent_lines.groups, parser.people.at, session.context_used]
        answers.append([changes, facts(session), nodes, beside, list(parser.offsets), list(parser.lengths)])
    return answers[0], answers[1]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_collected_files(path: Path) -> None:
    data = path.read_bytes()
    fast, general = both(data, path, len(data) // 2)
    assert fast == general


ODD = st.sampled_from([None, "", " ", "x", 7, -1, 2.0, [], {}, True, "é\n\nü", "\x1b[1m", "?" * 36, "\x1c" + "a" * 35])
ENVELOPE = (
    "uuid", "parentUuid", "timestamp", "isSidechain", "agentId", "forkedFrom", "message", "type", "subtype", "model",
    "usageMetadata", "contextWindowSize", "toolCallResult", "gitBranch",
)  # fmt: skip
TEXTS = st.sampled_from(["a", "b\nc", "", " ", "Command was cancelled by user", "Background shell started"])
PARTS = st.one_of(
    TEXTS.map(lambda text: {"text": text}),
    TEXTS.map(thought),
    st.tuples(st.sampled_from("ABCD"), st.sampled_from(["edit", "run_shell_command", "task"])).map(lambda c: call(*c)),
)
USAGES = st.sampled_from([tokens(10, 2), tokens(10, 2, 4, 3, apart=True), tokens(10, 2, 40, 9), {}, None, ...])
RESPONSES = st.one_of(
    TEXTS.map(lambda text: {"output": text}),
    st.sampled_from([{"error": "no"}, {"output": "Output: x\nExit Code: 1"}, {"output": 7}, "bare", None]),
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A session of which most lines are common ones, and some are not quite."""
    chat = Chat()
    chat.user("begin")
    uuids = [str(chat.last)]
    for _ in range(draw(st.integers(1, 25))):
        fields: dict[str, Any] = {}
        if not draw(st.integers(0, 3)):
            fields["parent"] = draw(st.sampled_from([*uuids, None, "?" * 36]))
        if not draw(st.integers(0, 9)):
            fields["uuid"] = draw(st.sampled_from([*uuids, "z" * 36, "short", "?" * 36]))
        act = draw(st.sampled_from("aaaaarrrrttusqx"))
        if act == "a":
            parts = draw(st.lists(PARTS, min_size=1, max_size=4))
            if not draw(st.integers(0, 5)):
                parts[0][draw(st.sampled_from(["text", "thought", "functionCall", "inlineData"]))] = draw(ODD)
            chat.agent(*parts, usage=draw(USAGES), contextWindowSize=draw(st.sampled_from([..., 1000])), **fields)
        elif act == "r":
            about = draw(st.sampled_from([{}, {"status": "success"}, {"status": "error"}, {"status": "executing"}]))
            response = {"id": draw(st.sampled_from("ABCDE")), "name": "edit", "response": draw(RESPONSES)}
            if not draw(st.integers(0, 5)):
                response[draw(st.sampled_from(["id", "name", "response"]))] = draw(ODD)
            parts = [{"functionResponse": response}, *([{"text": "more"}] if not draw(st.integers(0, 5)) else [])]
            parts = parts if draw(st.integers(0, 5)) else []
            shown = {"toolCallResult": {"callId": response["id"], **about}} if about else {}
            chat.line("tool_result", message={"role": "user", "parts": parts}, **shown, **fields)
        elif act == "t":
            chat.system("ui_telemetry", {}, **fields)
        elif act == "u":
            chat.user(draw(st.sampled_from(["and", "/x", ""])), **fields)
        elif act == "s":
            chat.beside("custom_title", {"customTitle": "T"})
        elif act == "q":
            chat.system("at_command", {"userText": "look at @a", "filesRead": ["a"]})
        else:
            chat.rewind(draw(st.sampled_from([*uuids, None])))
        if not draw(st.integers(0, 5)):
            chat.rows[-1] = json.dumps(
                json.loads(chat.rows[-1]) | {draw(st.sampled_from(ENVELOPE)): draw(ODD)}
            ).encode()
        if not draw(st.integers(0, 9)):
            chat.clock = draw(st.sampled_from([chat.clock - 100, chat.clock + 3600]))
        uuids.append(str(chat.last))
    return chat.data()


@given(files(), st.floats(0, 1))
def test_any_lines(tmp_path_factory: pytest.TempPathFactory, data: bytes, share: float) -> None:
    path = tmp_path_factory.getbasetemp() / f"{SESSION}.jsonl"
    path.write_bytes(data)
    fast, general = both(data, path, int(len(data) * share))
    assert fast == general


@pytest.mark.parametrize("uuid", ["\x1c" + "a" * 35, "\u202e" + "a" * 35, "é" * 36])
def test_an_id_is_clean_in_both(tmp_path: Path, uuid: str) -> None:
    chat = Chat()
    chat.user("begin")
    chat.agent("Done.", uuid=uuid, usage=tokens(10, 2))
    fast, general = both(chat.data(), chat.write(tmp_path), 0)
    assert fast == general


def test_common_lines_do_take_the_short_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the comparisons above would compare nothing."""
    chat = Chat()
    chat.user("begin")
    chat.agent(thought("hm"), "I look.", call("c1", "read_file"), call("c2", "read_file"), usage=tokens(10, 2))
    chat.system("ui_telemetry", {})
    chat.result("c1", "read_file", {"output": "one"}, status="success")
    chat.result("c2", "read_file", {"output": "two"}, status="success")
    chat.agent("Done.", usage=tokens(20, 2), timestamp=stamp(chat.clock + 90))
    taken: list[object] = []
    general = QwenParser.take

    def take(self: QwenParser, record: Record) -> None:
        taken.append(record[3]["type"])
        general(self, record)

    monkeypatch.setattr(QwenParser, "take", take)
    assert len(chat.read(tmp_path).messages) == 6
    assert taken == ["user"]
