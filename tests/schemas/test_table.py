from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Flag, Kind, SpanRole
from schemas.table import NONE, GroupTable, MessageTable, SpanTable
from schemas.usage import TokenUsage


@given(st.lists(st.integers(0, 4), max_size=30))
def test_chains_hold_their_records_in_the_order_in_which_they_came(owners):
    """Against a dictionary of lists."""
    spans, heads, expected = SpanTable(), {}, {}
    for line, owner in enumerate(owners, 1):
        span = spans.add(owner, line * 10, 7, line, SpanRole.RESULT)
        if owner in heads:
            spans.extend(heads[owner], span)
        else:
            heads[owner] = span
        expected.setdefault(owner, []).append(line)
    assert {owner: [span.line for span in spans.chain(head)] for owner, head in heads.items()} == expected


def test_a_record_beyond_four_gigabytes():
    spans = SpanTable()
    head = spans.add(0, 5 << 40, 9, 1, SpanRole.BODY)
    assert next(spans.chain(head)) == (0, 5 << 40, 9, 1, SpanRole.BODY, 0)
    assert list(spans.chain(NONE)) == []


def test_a_row_gives_back_what_it_got():
    table = MessageTable()
    index = table.append(Kind.TOOL, -1, 3, 4, 5, 6.5, 7, 8)
    assert index == 0
    assert len(table) == 1
    assert table.kind_of(0) is Kind.TOOL
    assert table.when(0) == 6.5
    assert (table.exchange[0], table.span[0], table.block[0], table.chars[0], table.lines[0]) == (3, 4, 5, 7, 8)
    assert table.key[0] == (1 << 64) - 1
    assert table.group[0] == NONE
    table.flags[0] |= Flag.ERROR
    assert table.has(0, Flag.ERROR)
    assert not table.has(0, Flag.PENDING)


def test_what_does_not_fit_is_cut_not_refused():
    table = MessageTable()
    table.append(Kind.TEXT, 1 << 70, 0, 0, 1 << 20, None, 1 << 40, 1 << 40)
    assert table.when(0) is None
    assert (table.block[0], table.chars[0], table.lines[0]) == (0xFFFF, NONE, NONE)


def test_groups():
    table = GroupTable()
    assert table.append("g", 2, TokenUsage(1), 9, 3) == 0
    assert (len(table), table.ids, table.exchange[0], table.last[0], table.span[0], table.model[0]) == (
        1, ["g"], 2, NONE, 9, 3,
    )  # fmt: skip
    assert table.usage[0] == TokenUsage(1)
