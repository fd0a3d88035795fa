"""The live conversation is the chain from the last record back; what is off it was taken back."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from schemas.providers.kit.history import Tree
from schemas.providers.qwen import PROVIDER
from schemas.session import Op
from tests.fixtures.qwen import Chat
from tests.schemas.conformance import assert_all_laws, assert_same_in_pieces, whole


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


def chain_of(parents, leaf):
    """The live records of a well-formed tree, found the slow way."""
    live, node = set(), leaf
    while node is not None:
        live.add(node)
        node = parents[node]
    return live


def well_formed(choices):
    return [None if c is None or i == 0 else c % i for i, c in enumerate(choices)]


@example([None, 0, None], [1], {1: 0, 2: 1})
@given(TREES, st.lists(st.integers(1, 29)), st.dictionaries(st.integers(0, 29), st.integers(0, 29)))
def test_live_is_the_chain_whenever_it_is_asked_for(choices, stops, again):
    """`again`: the records after which an earlier one is written once more."""
    parents = well_formed(choices)
    tree, live, nodes, leaf = Tree(), {}, [], 0
    for i, parent in enumerate(parents):
        nodes.append(tree.add(str(i), None if parent is None else str(parent)))
        tree.own(nodes[i], i)
        live[i], leaf = True, i  # until the tree says otherwise
        if i in again:
            leaf = again[i] % (i + 1)
            tree.again(nodes[leaf])
        if i in stops:
            live.update(tree.settle())
            assert {row for row, alive in live.items() if alive} == chain_of(parents[: i + 1], leaf)
    live.update(tree.settle())
    assert {row for row, alive in live.items() if alive} == chain_of(parents, leaf)


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
