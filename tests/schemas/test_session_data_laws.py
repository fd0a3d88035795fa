from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.clean import Run, Sgr, clean
from schemas.diffs import FileDiff, Hunk
from schemas.interchange.session_data_check import validate_session_data
from schemas.interchange.session_data_read import read_document
from schemas.message import USER_KINDS, Flag, Kind, Message, Part, Tool, ToolStatus
from schemas.records import Unreadable
from schemas.session import Inherited, Lack, Lineage, Session, Subagent
from schemas.table import NONE
from schemas.usage import TokenUsage
from tests.schemas.session_documents import written
from tests.support import Hand

text = st.text(max_size=30).map(clean)
word = st.text("abcäß-_.:/ 0", min_size=1, max_size=12).map(lambda s: s.strip() or "w")
count = st.none() | st.integers(0, 1 << 40)
value = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 60), 1 << 60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(word.filter(lambda key: key not in ("turnlog", "records")), value, max_size=3)
colours = st.none() | st.integers(0, 255) | st.tuples(*[st.integers(0, 255)] * 3)


@st.composite
def runs(draw, of: str) -> list[Run]:
    ends = sorted(draw(st.sets(st.integers(0, len(of)), max_size=4)))
    return [
        Run(a, b, Sgr(draw(colours), draw(colours), draw(st.booleans())))
        for a, b in zip(ends[::2], ends[1::2], strict=False)
    ]


@st.composite
def parts(draw, types: tuple[str, ...] = ("text", "image")) -> Part:
    content = draw(text)
    part = Part(draw(st.sampled_from(types)), content, runs=draw(runs(content)))
    if part.type == "image":
        part.media_type, part.size = draw(st.none() | word), draw(count)
    return part


@st.composite
def diffs(draw) -> FileDiff:
    lines = st.tuples(st.sampled_from(" +-"), st.text("ab ", max_size=5)).map("".join)
    places = st.none() | st.integers(0, 999)
    hunks = [
        Hunk(draw(st.lists(lines, max_size=3)), draw(places), draw(places)) for _ in range(draw(st.integers(0, 2)))
    ]
    return FileDiff(
        draw(word), draw(st.sampled_from(["add", "update", "delete", "move"])), hunks, draw(st.none() | word)
    )


@st.composite
def tools(draw) -> Tool:
    said = draw(text)
    output = draw(st.none() | objects | st.just({"content": said, "is_error": False}))
    return Tool(
        name=draw(word),
        type=draw(st.sampled_from(["write", "read", "search", "shell", "task", "generic", "unknown"])),
        use_id=draw(st.just("") | word),
        input=draw(objects),
        output=output,
        text=said,
        runs=draw(runs(said)),
        status=draw(st.sampled_from(ToolStatus)),
        exit_code=draw(st.none() | st.integers(-1, 255)),
        seconds=draw(st.none() | st.floats(0, 1e6)),
        diffs=draw(st.lists(diffs(), max_size=2)),
        images=draw(st.lists(parts(("image",)), max_size=2)),
        subagent=draw(st.none() | word),
        spilled=draw(st.booleans()),
        summary=draw(st.none() | word),
    )


usages = st.builds(TokenUsage, count, count, count, count, count, count)
FACTS = (
    "provider", "provider_name", "id", "title", "workspace_root", "branch", "version", "context_window", "context_used",
    "lineage", "links", "duplicates", "lacks", "own_total", "unreadable", "unknown", "hidden", "subagents",
)  # fmt: skip


@st.composite
def sessions(draw) -> Session:
    hand = Hand(draw(st.sampled_from(["claude", "codex", "gemini", "qwen"])))
    hand.session.title = draw(word)
    for number in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(list(Kind)))
        opens = kind in (Kind.PROMPT, Kind.COMMAND) and draw(st.booleans())
        fields: dict[str, Any] = {"label": draw(st.just("") | word), "metadata": draw(objects)}
        if kind == Kind.TOOL:
            fields["tool"] = draw(tools())
        elif kind == Kind.THINKING:
            fields["parts"] = draw(st.lists(parts(("thinking",)), max_size=2))
        else:
            fields["parts"] = draw(st.lists(parts(), max_size=3))
        if kind not in USER_KINDS:
            fields["path_hints"] = draw(st.lists(word, max_size=2))
        fields["model"] = draw(st.none() | st.sampled_from(["claude-opus-5", "gpt-5"]))
        if kind not in USER_KINDS:
            fields["usage"] = draw(st.none() | usages)
        flags = draw(st.sampled_from([Flag(0), Flag.ERROR, Flag.REWOUND | Flag.PENDING, Flag.SUBAGENT]))
        hand.add(kind, opener=draw(word) if opens else None, flags=flags, id=f"id{number}", **fields)
        exchange = hand.session.exchanges[-1]
        exchange.seconds = draw(st.none() | st.floats(0, 1e6))
        exchange.errors, exchange.rewound = draw(st.integers(0, 3)), draw(st.booleans())
        exchange.interrupted, exchange.inherited = draw(st.booleans()), draw(st.booleans())
    return hand.session


@st.composite
def whole_sessions(draw) -> Session:
    """A session with facts of its own, for which a document without exchanges has no place."""
    session = draw(sessions().filter(lambda session: session.exchanges))
    maybe, number, counts = st.none() | word, st.integers(0, 9), st.dictionaries(word, st.integers(1, 9), max_size=2)
    session.branch, session.workspace_root, session.version = draw(maybe), draw(maybe), draw(maybe)
    session.context_window, session.context_used, session.duplicates = draw(count), draw(count), draw(number)
    session.lineage = Lineage(draw(maybe), draw(maybe), draw(maybe), draw(maybe))
    session.links, session.own_total = draw(st.lists(word, max_size=2)), draw(st.just("") | word)
    session.lacks = frozenset(draw(st.sets(st.sampled_from(list(Lack)))))
    session.unreadable = draw(st.lists(st.builds(Unreadable, number, word, number, number, word), max_size=2))
    session.unknown.update(draw(counts))
    session.hidden.update(draw(counts))
    session.metadata.update(draw(objects))
    for name in draw(st.sets(word, max_size=2)):
        time = draw(st.none() | st.integers(0, 2_000_000_000))
        exchange = draw(st.integers(0, len(session.exchanges) - 1))
        session.inherited[name] = Inherited(
            name, draw(usages), draw(st.sampled_from(["", "gpt-5"])), time, exchange, NONE
        )
    uses = [index for index, kind in enumerate(session.messages.kind) if kind == Kind.TOOL]
    for name in draw(st.sets(word, max_size=2)):
        use = draw(st.none() | st.sampled_from(uses)) if uses else None
        session.subagents.append(Subagent(name, draw(word), draw(word), tool_use=use, internal=draw(st.booleans())))
    return session


def seen(session: Session) -> list[Any]:
    """All that a reader can see, without what only says where it was read."""

    def plain(message: Message) -> dict[str, Any]:
        data = {name: getattr(message, name) for name in Message.__slots__}
        data["metadata"] = {key: item for key, item in message.metadata.items() if key != "records"}
        told = [name for name in Tool.__slots__ if name != "listing"]  # which the agent says, and no document
        data["tool"] = message.tool and {name: getattr(message.tool, name) for name in told}
        if message.tool and message.tool.output is None:
            data["tool"]["output"] = "whatever a result object must say"
        return data

    groups = session.groups
    return [
        [plain(session.message(i)) for i in range(len(session.messages))],
        [
            (e.start, e.opener, e.id, e.prompt, e.started, e.ended, e.seconds, e.tools, e.errors, e.rewound, e.groups)
            for e in session.exchanges
        ],
        [(e.interrupted, e.inherited, session.models[e.model]) for e in session.exchanges],
        [(name, groups.usage[i], groups.exchange[i], groups.last[i]) for i, name in enumerate(groups.ids)],
    ]


def facts(session: Session) -> dict[str, Any]:
    """What is true of the whole session."""
    return {name: getattr(session, name) for name in FACTS} | {
        "metadata": dict(session.metadata),
        "inherited": [one._replace(span=0) for one in session.inherited.values()],
    }


@given(sessions())
def test_a_session_survives_being_written_and_read(session):
    document = written(session)
    assert validate_session_data(document).errors == []
    back = read_document(document, session.path)
    before, after = seen(session), seen(back)
    for one, other in zip(before[0], after[0], strict=True):
        if one["tool"] and one["tool"]["output"] == "whatever a result object must say":
            other["tool"]["output"] = one["tool"]["output"]
    assert after == before
    assert written(back) == document


@given(whole_sessions())
def test_its_facts_survive_as_well(session):
    document = written(session)
    assert validate_session_data(document).errors == []
    back = read_document(document, session.path)
    assert facts(back) == facts(session)
    assert written(back) == document


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["exchanges", "messages", "content", "tool", "metadata", "turnlog", "kind", "role", "text", "type",
                 "usage", "parts", "runs", "groups", "group", "session", "subagents", "flags", "input", "output",
                 "opener", "timestamp", "name", "id", "diffs", "hunks", "lines", "exitCode", "seconds",
                 "inputTokens", "model"]
            ),
            inner,
            max_size=6,
        ),
        max_leaves=40,
    )
)  # fmt: skip
def test_whatever_a_document_holds_it_is_read(value):
    document = {"schemaVersion": "1.0", "exchanges": value if isinstance(value, list) else [value]}
    session = read_document(document, Path("nowhere/x.json"))
    first = written(session)
    assert validate_session_data(first).errors == []
    assert written(read_document(first, session.path)) == first
