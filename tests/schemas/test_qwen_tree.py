"""The live conversation is the chain from the last record back; what is off it was taken back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Flag, Kind
from schemas.providers.kit.history import Tree
from schemas.providers.qwen import PROVIDER
from schemas.session import Op
from tests.fixtures.qwen import Chat
from tests.schemas.conformance import assert_all_laws, assert_same_in_pieces, whole


def live_texts(session):
    rows = session.messages
    return [
        session.message(i).text for i in range(len(rows)) if not rows.has(i, Flag.REWOUND) and rows.kind[i] in (1, 4)
    ]


def rewound_prompts(session):
    return [e.prompt for e in session.exchanges if e.rewound]


def test_a_rewind_takes_back_what_stands_behind_its_parent(tmp_path):
    chat = Chat()
    chat.user("one")
    kept = chat.agent("1")
    chat.user("two")
    chat.agent("2")
    chat.rewind(kept)
    chat.user("three")
    chat.agent("3")
    session = chat.read(tmp_path)
    assert live_texts(session) == ["one", "1", "three", "3"]
    assert rewound_prompts(session) == ["two"]
    assert [e.prompt for e in session.live_exchanges] == ["one", "three"]
    assert session.title == "one"


def test_a_rewind_to_the_very_start_takes_back_everything(tmp_path):
    chat = Chat()
    chat.user("one")
    chat.agent("1")
    chat.rewind(None)
    session = chat.read(tmp_path)
    assert live_texts(session) == []
    assert session.exchanges[0].rewound
    chat.user("two")
    assert chat.read(tmp_path).title == "two"


def test_a_branch_that_is_taken_up_again_is_live_again(tmp_path):
    chat = Chat()
    first = chat.user("one")
    left = chat.agent("left")
    chat.agent("right", parent=first)
    assert live_texts(chat.read(tmp_path)) == ["one", "right"]
    chat.user("on the left", parent=left)
    assert live_texts(chat.read(tmp_path)) == ["one", "left", "on the left"]


def test_records_without_parents_follow_one_another(tmp_path):
    chat = Chat()
    chat.user("one", parent=...)
    chat.agent("1", parent=...)
    chat.agent("2", parent=7)
    assert live_texts(chat.read(tmp_path)) == ["one", "1", "2"]


def test_before_a_missing_parent_the_file_order_holds(tmp_path):
    chat = Chat()
    chat.user("one")
    chat.agent("1")
    chat.user("two", parent="lost")
    chat.agent("2")
    assert live_texts(chat.read(tmp_path)) == ["one", "1", "two", "2"]
    chat.rewind("lost")
    chat.user("three")
    assert live_texts(chat.read(tmp_path)) == ["one", "1", "three"]


def test_a_parent_may_come_after_its_child(tmp_path):
    chat = Chat()
    first = chat.user("one")
    chat.agent("2", parent="late")
    chat.user("never mind", parent=first)
    chat.agent("1", parent=first, uuid="late")
    assert live_texts(chat.read(tmp_path)) == ["one", "1"]


def test_a_circle_ends_nothing(tmp_path):
    chat = Chat()
    chat.user("one")
    chat.user("two", uuid="a", parent="b")
    chat.user("three", uuid="b", parent="a")
    chat.user("four", uuid="c", parent="c")
    assert live_texts(chat.read(tmp_path)) == ["one", "two", "three", "four"]


def test_metadata_without_parent_is_not_the_end(tmp_path):
    chat = Chat()
    chat.user("one")
    chat.agent("1")
    chat.system("custom_title", {"customTitle": "T"}, parent=None)
    assert live_texts(chat.read(tmp_path)) == ["one", "1"]
    chat.user("two")  # it hangs under the title now: a conversation of its own
    assert live_texts(chat.read(tmp_path)) == ["two"]


def test_what_is_written_beside_is_never_the_end(tmp_path):
    chat = Chat()
    first = chat.user("one")
    chat.agent("1")
    chat.system("session_artifact_event", {}, parent=first)
    assert live_texts(chat.read(tmp_path)) == ["one", "1"]


def test_a_title_written_again_beside_the_chain_changes_nothing(tmp_path):
    chat = Chat()
    chat.user("one")
    chat.agent("1")
    chat.beside("custom_title", {"customTitle": "T"})
    chat.user("two")
    assert live_texts(chat.read(tmp_path)) == ["one", "1", "two"]


def test_what_follows_a_rewind_is_not_in_the_exchange_that_was_taken_back(tmp_path):
    chat = Chat()
    kept = chat.user("one")
    chat.user("two")
    chat.rewind(kept)
    chat.agent("on with one", usage={"promptTokenCount": 5})
    session = chat.read(tmp_path)
    assert [(e.opener, e.prompt, e.rewound, len(e.groups)) for e in session.exchanges[1:]] == [
        (Kind.PROMPT, "two", True, 0),
        (None, "", False, 1),
    ]


def test_a_rewind_while_the_file_grows_updates_the_rows_it_took_back(tmp_path):
    chat = Chat()
    kept = chat.user("one")
    chat.user("two")
    chat.agent("2")
    path = chat.write(tmp_path)
    reading = PROVIDER.open(path)
    reading.step()
    chat.rewind(kept)
    chat.write(tmp_path)
    changes = reading.step()
    assert [(c.op, c.message) for c in changes] == [(Op.UPDATED, 1), (Op.UPDATED, 2), (Op.APPENDED, 3)]
    assert reading.session.exchanges[1].rewound
    assert reading.step() == []


# -- laws --------------------------------------------------------------------------------------------------------------

TREES = st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=1, max_size=30)


def chain_of(parents):
    """The live records of a well-formed tree, found the slow way."""
    live, node = set(), len(parents) - 1
    while node is not None:
        live.add(node)
        node = parents[node]
    return live


def well_formed(choices):
    return [None if c is None or i == 0 else c % i for i, c in enumerate(choices)]


@given(TREES, st.lists(st.integers(1, 29)))
def test_live_is_the_chain_whenever_it_is_asked_for(choices, stops):
    parents = well_formed(choices)
    tree, live = Tree(), {}
    for i, parent in enumerate(parents):
        tree.own(tree.add(str(i), None if parent is None else str(parent)), i)
        live[i] = True  # until the tree says otherwise
        if i in stops:
            live.update(tree.settle())
            assert {row for row, alive in live.items() if alive} == chain_of(parents[: i + 1])
    live.update(tree.settle())
    assert {row for row, alive in live.items() if alive} == chain_of(parents)


@given(
    st.lists(st.tuples(st.integers(0, 12), st.one_of(st.none(), st.just(...), st.integers(0, 14))), max_size=25),
    st.data(),
)
def test_any_tree_reads_the_same_in_pieces(tmp_path_factory, records, data):
    """Missing parents, circles, parents that come late, the same uuid again."""
    folder = tmp_path_factory.mktemp("qwen")
    chat = Chat()
    for number, (uuid, parent) in enumerate(records):
        named = parent if parent is None or parent is ... else f"r{parent}"
        chat.user(f"text {number}", uuid=f"r{uuid}", parent=named)
    raw = chat.data()
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=5))
    assert_same_in_pieces(PROVIDER, raw, folder, cuts, "x.jsonl")
    if raw:
        assert_all_laws(PROVIDER, folder / "x.jsonl")
    assert whole(PROVIDER, folder / "x.jsonl").duplicates == 0
