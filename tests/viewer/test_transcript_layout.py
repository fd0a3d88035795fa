"""The layout against brute force: whatever happens, rows, tops and finding agree with simple sums."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from renderers.terminal.folds import Fold
from schemas.message import Flag, Kind
from schemas.session import Session
from tests.support import Hand
from viewer.transcript.folds import Folds
from viewer.transcript.layout import CHUNK, Layout, Position

KINDS = [Kind.TEXT, Kind.THINKING, Kind.TOOL, Kind.CONTEXT, Kind.STEER, Kind.NOTE, Kind.OUTPUT, Kind.ERROR]


def grow(hand: Hand, count: int, seed: int) -> None:
    """Messages of all kinds, cheaply: only columns, no content."""
    session = hand.session
    record = (0, 1, 1, {})
    for n in range(count):
        number = len(session.messages) + seed
        if number % 37 == 0:
            session.open_exchange(Kind.PROMPT, f"prompt {n}")
            index = session.add_message(Kind.PROMPT, number, record, chars=20, lines=1)
            session.mark_opener(index)
            if number % 5 == 0:
                session.messages.flags[index] |= Flag.REWOUND
        else:
            kind = KINDS[(number * 7 + number // 11) % len(KINDS)]
            index = session.add_message(kind, number, record, chars=(number * 131) % 4000, lines=(number * 17) % 90)
            if kind is Kind.THINKING and number % 3:
                session.messages.flags[index] |= Flag.WITHHELD
            if kind is Kind.NOTE and number % 2:
                session.messages.kind[index] = Kind.CONTEXT
            if session.messages.has(session.exchanges[-1].start, Flag.REWOUND):
                session.messages.flags[index] |= Flag.REWOUND


def true_rows(index: int, fold: Fold, width: int) -> int:
    """What drawing would give: any number that depends on message, fold and width only."""
    return {Fold.HIDDEN: 0, Fold.LINE: 1}.get(fold, 1 + (index * 31 + int(fold) * 7 + width) % 23)


def measure_all(layout: Layout, folds: Folds, session: Session, width: int) -> list[int]:
    for i in range(len(session.messages)):
        layout.set_height(i, true_rows(i, folds.fold(i), width))
    out = []
    for i in range(len(session.messages)):
        fold = folds.fold(i)
        before = folds.fold(i - 1) if i else Fold.HIDDEN
        margin = 0 if i == 0 or (fold == Fold.LINE and before <= Fold.LINE) else 1
        out.append(true_rows(i, fold, width) + margin + (i == layout._rule) if fold else 0)
    return out


STEP = st.one_of(
    st.tuples(st.just("grow"), st.integers(1, 400)),
    st.tuples(st.just("level"), st.integers(0, 3)),
    st.tuples(st.just("thinking"), st.just(0)),
    st.tuples(st.just("output"), st.just(0)),
    st.tuples(st.just("block"), st.integers(0, 2000)),
    st.tuples(st.just("exchange"), st.integers(0, 60)),
    st.tuples(st.just("width"), st.integers(20, 200)),
    st.tuples(st.just("change"), st.integers(0, 2000)),
    st.tuples(st.just("rule"), st.integers(0, 2000)),
    st.tuples(st.just("visit"), st.integers(0, 5000)),
)


@given(st.lists(STEP, max_size=12), st.integers(1, 900), st.integers(0, 40))
@example([("level", 0), ("rule", 0)], 1, 1)  # the line "new since" above a message that is hidden
def test_agrees_with_brute_force_whatever_happens(steps: list[tuple[str, int]], count: int, seed: int) -> None:
    hand = Hand()
    grow(hand, count, seed)
    session, width = hand.session, 80
    table = session.messages
    folds = Folds(session)
    layout = Layout(session, folds, width)
    for what, value in steps:
        index = value % len(table)
        if what == "grow":
            grow(hand, value, seed)
            layout.sync()
        elif what == "level":
            folds.set_level(value)
            layout.refold()
        elif what == "thinking":
            folds.toggle_thinking()
            layout.refold()
        elif what == "output":
            folds.toggle_output()
            layout.refold()
        elif what == "block":
            folds.blocks[index] = Fold(1 + value % 3)
            layout.refold(range(index, index + 1))
        elif what == "exchange":
            folds.exchanges[value % len(session.exchanges)] = bool(value % 2)
            layout.refold(session.message_range(value % len(session.exchanges)))
        elif what == "width":
            width = value
            layout.set_width(width)
        elif what == "change":
            table.lines[index] = value
            table.flags[index] ^= (
                Flag.REWOUND if value % 2 else Flag.WITHHELD if table.kind[index] == Kind.THINKING else 0
            )
            layout.sync([index])
        elif what == "rule":
            layout.set_rule(index)
        elif layout.total:
            layout.find(value)

    # Before measuring: estimates are consistent in themselves, and nothing visible is 0 rows or hidden has some.
    if layout.total:
        at = layout.find(layout.total // 2)
        assert layout.find(layout.row_of(at)) == at
    assert all((layout.height(i) > 0) == (folds.fold(i) > Fold.HIDDEN) for i in range(len(table)))

    heights = measure_all(layout, folds, session, width)
    assert layout.total == sum(heights)
    top = 0
    for i, height in enumerate(heights):
        assert layout.height(i) == height
        if i % 29 == 0 or i == len(heights) - 1:
            assert layout.row_of(layout.first_line(i)) == top
        if height:
            assert layout.find(top) == layout.first_line(i) == Position(i, -layout.head(i))
            assert layout.find(top + height - 1) == layout.last_line(i) == Position(i, height - layout.head(i) - 1)
        top += height


@given(st.integers(1, 1200), st.integers(0, 3), st.lists(st.integers(-60, 60), max_size=20), st.integers(0, 10_000))
def test_moving_skips_and_repeats_no_row(count: int, level: int, moves: list[int], start: int) -> None:
    """Though heights are measured on the way only."""
    hand = Hand()
    grow(hand, count, 0)
    session = hand.session
    folds = Folds(session)
    folds.set_level(level)
    layout = Layout(session, folds)

    def measure(index: int) -> None:
        layout.set_height(index, true_rows(index, folds.fold(index), 80))

    rows = []
    for i in range(count):
        fold = folds.fold(i)
        height = true_rows(i, fold, 80) + layout.head(i) if fold else 0
        rows.extend(Position(i, line - layout.head(i)) for line in range(height))
    at = start % len(rows)
    position = rows[at]
    for rows_on in moves:
        position = layout.move(position, rows_on, measure)
        at = min(max(at + rows_on, 0), len(rows) - 1)
        assert position == rows[at]


def test_a_change_of_all_folds_looks_at_no_message() -> None:
    """What makes `z` quick in a session of 300,000 messages: only a chunk that is entered asks for its messages."""
    hand = Hand()
    grow(hand, 40 * CHUNK, 0)
    asked: list[int] = []

    class Counting(Folds):
        def fold(self, index: int) -> Fold:
            asked.append(index)
            return super().fold(index)

    folds = Counting(hand.session)
    layout = Layout(hand.session, folds)
    before = layout.total
    folds.set_level(3)
    layout.refold()
    assert layout.total > before
    assert not asked
    layout.find(layout.total // 2)
    assert len(asked) < CHUNK


def test_estimates_are_near_enough_for_a_scroll_bar() -> None:
    """The sum over a chunk and the sum of its messages' own estimates differ by rounding only."""
    hand = Hand()
    grow(hand, 20 * CHUNK, 3)
    layout = Layout(hand.session, Folds(hand.session))
    coarse = layout.total
    fine = sum(layout.height(i) for i in range(20 * CHUNK))
    assert abs(coarse - fine) < 0.2 * fine


def test_a_session_without_messages_has_no_rows() -> None:
    layout = Layout(Hand().session, Folds(Hand().session))
    assert layout.total == 0
    assert layout.visible(0) is None
    assert layout.visible(5, -1) is None


def test_sizes_can_be_looked_at_later() -> None:
    """A session that is put there all at once is shown before all of it has been looked at."""
    hand = Hand()
    grow(hand, 20 * CHUNK + 7, 0)
    layout = Layout(hand.session, Folds(hand.session), read_later=True)
    assert layout.total == 2 * (20 * CHUNK + 7)
    last = layout.visible(20 * CHUNK + 6, -1)
    assert last is not None
    assert layout.height(last) > 0
    for _ in layout.read():
        assert layout.find(layout.row_of(Position(last, 0))) == Position(last, 0)
    whole = Layout(hand.session, Folds(hand.session))
    whole.height(last)
    assert layout.total == whole.total
