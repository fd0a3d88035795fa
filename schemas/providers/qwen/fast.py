"""The commonest lines, taken with as little work as can be: nearly all lines of a session have one of these shapes.

    an `assistant` line whose parts are texts, thinking and ordinary tool uses
    a `tool_result` line with the one result that a tool use waits for, and that is a success
    the program's telemetry, which holds nothing to read

What they mean is said where they are handled in general (parse.py, agent.py, results.py). Here it is written out again
over variables that the functions below share. Each looks first and changes something only when all fits; what does not
fit goes the general way, and the session is the same either way (tests/schemas/test_qwen_fast.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from schemas.message import Flag, Kind, SpanRole
from schemas.providers._google_tools import ok_text
from schemas.providers.claude.keys import MILLIS, SECONDS, block_key, key_of
from schemas.providers.qwen.results import AGENT_TOOLS
from schemas.providers.qwen.tokens import read_usage
from schemas.providers.qwen.tree import ASIDE, NOBODY, REAL
from schemas.records import Record
from schemas.session import Exchange
from schemas.table import NONE, pack_span
from schemas.usage import TokenUsage, as_count
from schemas.values import text_of

if TYPE_CHECKING:
    from schemas.providers.qwen.parse import QwenParser

Value = dict[str, Any]
_TEXT, _THINKING, _TOOL = int(Kind.TEXT), int(Kind.THINKING), int(Kind.TOOL)
_PENDING, _RESULT = int(Flag.PENDING), int(SpanRole.RESULT)
_MANY = 100  # parts; a message of more is for the general way, which counts them
_place_of = itemgetter("uuid", "parentUuid", "timestamp")
_MISFIT = (LookupError, TypeError, ValueError)
Piece: TypeAlias = tuple[int, int, int, int, str]
"""Of a message: its kind, block, characters, lines, and the id of a tool use."""


def fast_feed(parser: QwenParser) -> Callable[[Iterable[Record], int], None]:
    """A function that takes records in the file's order; messages from its second argument on are new in this piece."""
    session, tree, clock = parser.session, parser.tree, parser.clock
    known, state = tree.known, tree.state
    add_parent, add_state, add_live = tree.parent.append, state.append, tree.live.append
    add_first, add_rows, add_offset, add_length = (
        column.append for column in (tree.first, tree.rows, parser.offsets, parser.lengths)
    )
    messages, groups, spans, following = session.messages, session.groups, session.spans, session.spans.following
    hidden, changed, calls, group_of = session.hidden, parser.changed, parser.results.calls, parser.agent_lines.groups
    exchanges = session.exchanges
    # What holds between two records that go the general way: `look` reads it anew, `settle` writes it back.
    warm, first = False, 0
    model_name, model = "", 0
    time, minute, base_time, above = 0.0, "", 0.0, NOBODY
    usage_last: TokenUsage | None = None

    def look() -> None:
        """See whether all is as it mostly is."""
        nonlocal warm
        warm = parser.placed and bool(exchanges) and not parser.rewound and session.created is not None

    def settle() -> None:
        """Write back what the general way, or a reader, relies on."""
        nonlocal usage_last
        if usage_last is not None:
            session.context_used, usage_last = usage_last.context, None

    def enter(value: Value) -> bool:
        """Whether a record stands in the tree as most do; `above` and `time` are its parent and its time then."""
        nonlocal above, time, minute, base_time
        try:
            uuid, parent, stamp = _place_of(value)
            # Of what JSON knows only strings have both a length and a hash.
            if len(uuid) != 36 or hash(uuid) in known or type(parent) is not str:
                return False
            above = known[hash(parent)]
            if stamp[:17] == minute:
                time = base_time + (SECONDS[stamp[17:20]] + MILLIS[stamp[20:]])
            elif (read := clock.read(stamp)) is not None:
                time, minute, base_time = read, clock.minute, clock.base
            else:
                return False
        except _MISFIT:
            return False
        if state[above] == ASIDE or "forkedFrom" in value:
            return False
        return parser.agent or ("isSidechain" not in value and "agentId" not in value)

    def stand(record: Record, value: Value, row: int, rows: int) -> int:
        """Put a record into the tree with the messages that it makes, `rows` from `row` on; returns its node."""
        node = known[hash(value["uuid"])] = tree.leaf = tree.last = len(state)
        add_parent(above)
        add_state(REAL)
        add_live(0)
        add_first(row)
        add_rows(rows)
        add_offset(record[0])
        add_length(record[1])
        if time > session.updated:  # type: ignore[operator]  # it is known as soon as `created` is
            session.updated = time
        elif time < session.created:  # type: ignore[operator]
            session.created = time
        if not parser.learned:
            parser.learn(value)
        return node

    def touch(exchange: Exchange) -> None:
        if exchange.started is None or time < exchange.started:
            session.touch(exchange, time)
        elif time > exchange.ended:  # type: ignore[operator]
            exchange.ended = time

    def assistant(record: Record, value: Value) -> bool:
        """A call of the model with texts, thinking and tool uses; False, and nothing is changed, if it is another."""
        nonlocal model_name, model, usage_last
        pieces = _pieces(value)
        if not pieces or not enter(value) or not value["uuid"].isprintable():  # an id is clean then
            return False
        usage = read_usage(value.get("usageMetadata"))
        parser.people.at = None
        if (name := text_of(value.get("model"))) != model_name:
            model_name, model = name, session.model_index(name)
        row, exchange, key = len(messages.kind), exchanges[-1], key_of(value["uuid"])
        node = stand(record, value, row, len(pieces))
        touch(exchange)
        group, number = NONE if usage is None else len(groups.ids), exchange.index
        span, count = len(following), len(pieces)
        spans.data += pack_span(record[0], record[1], record[2], 0, 0) * count
        following.extend([NONE] * count)
        rows: list[tuple[Any, ...]] = []
        for kind, block, chars, lines, use in pieces:
            flags = 0
            if kind == _TOOL:
                flags = _PENDING
                exchange.tools += 1
                calls[use] = row
            rows.append((kind, flags, block, model, number, group, span, chars, lines, time, block_key(key, block)))
            row += 1
            span += 1
        messages.extend(rows)
        if usage is not None:
            usage_last = usage
            group_of[node] = session.add_group(value["uuid"], usage, record, model=model)
            groups.last[group] = row - 1
        if window := as_count(value.get("contextWindowSize")):
            session.context_window = window
        return True

    def result(record: Record, value: Value) -> bool:
        """The result of a tool use that waits for it; False, and nothing is changed, if it is anything else."""
        try:
            parts, about = value["message"]["parts"], value["toolCallResult"]
            answer = parts[0]["functionResponse"]
            use, name, status = answer["id"], answer["name"], about["status"]
            row = calls.get(use, -1) if use else -1
        except _MISFIT:
            return False
        if row < 0 or type(name) is not str or (text := ok_text(name, parts, status)) is None:
            return False
        flags = messages.flags[row]
        if not flags & _PENDING or not enter(value):
            return False
        stand(record, value, 0, 0)
        messages.flags[row], messages.chars[row], messages.lines[row] = (
            flags ^ _PENDING,
            len(text),
            text.count("\n") + 1,
        )
        spans.extend(messages.span[row], spans.add(0, record[0], record[1], record[2], _RESULT))
        touch(exchanges[messages.exchange[row]])
        if row < first:
            changed.add(row)
        return True

    def telemetry(record: Record, value: Value) -> bool:
        """The usage of a call once more; False if it stands elsewhere than most."""
        if not enter(value):
            return False
        stand(record, value, 0, 0)
        hidden["ui_telemetry"] += 1
        return True

    def feed(records: Iterable[Record], new: int) -> None:
        nonlocal first
        first = new
        look()
        for record in records:
            value = record[3]
            kind = value.get("type")
            if warm:
                if kind == "assistant":
                    if assistant(record, value):
                        continue
                elif kind == "tool_result":
                    if result(record, value):
                        continue
                elif kind == "system" and value.get("subtype") == "ui_telemetry" and telemetry(record, value):
                    continue
            settle()
            parser.take(record)
            look()
        settle()

    return feed


def _pieces(value: Value) -> list[Piece] | None:
    """What an answer's parts make, if they are of the common sorts and no two neighbours belong together."""
    try:
        parts = value["message"]["parts"]
    except _MISFIT:
        return None
    if type(parts) is not list or len(parts) > _MANY:
        return None
    pieces: list[Piece] = []
    before = 0
    for block, part in enumerate(parts):
        if type(part) is not dict:
            return None
        if (call := part.get("functionCall")) is not None:
            if type(call) is not dict:
                return None
            use, name, before = call.get("id"), call.get("name"), _TOOL
            if type(use) is not str or not use or type(name) is not str or name in AGENT_TOOLS:
                return None
            pieces.append((_TOOL, block, 0, 0, use))
            continue
        text, thought = part.get("text"), part.get("thought")
        kind = _TEXT if len(part) == 1 else _THINKING if len(part) == 2 and thought is True else before
        if type(text) is not str or kind == before:
            return None
        if text and not text.isspace():
            pieces.append((kind, block, len(text), text.count("\n") + 1, ""))
        before = kind
    return pieces
