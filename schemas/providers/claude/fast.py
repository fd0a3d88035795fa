"""The commonest lines, taken with as little work as can be: nine in ten lines of a session have one of these shapes.

    an `assistant` line with one block that is new: a text, a thinking, an ordinary tool use
    a `user` line with the one result that a tool use waits for, and no error
    `progress`, and an `attachment` that holds nothing to read
    a title, a text that is queued, or another fact of the session outside the chain

What they mean is said where they are handled in general (parse.py, agent.py, results.py). Here it is written out again,
over variables which the functions below share: calls and attributes cost more than the work itself, and so this halves
the time of a whole parse. Each function looks first and changes something only when all fits; what does not fit goes
the general way, and the session is the same either way (tests/schemas/test_claude_fast.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from schemas.message import Flag, Kind, SpanRole
from schemas.providers.claude.agent import STARTERS
from schemas.providers.claude.branches import NOBODY
from schemas.providers.claude.keys import MILLIS, SECONDS, key_of
from schemas.providers.claude.notices import SHOWN_ATTACHMENTS, hidden_attachment
from schemas.providers.claude.results import failure, joined
from schemas.records import Record
from schemas.session import Exchange
from schemas.table import NONE, pack_span

if TYPE_CHECKING:
    from schemas.providers.claude.parse import ClaudeParser

Value = dict[str, Any]
_TEXT, _THINKING, _TOOL = int(Kind.TEXT), int(Kind.THINKING), int(Kind.TOOL)
_PENDING, _WITHHELD, _REWOUND = int(Flag.PENDING), int(Flag.WITHHELD), int(Flag.REWOUND)
_ERROR, _INTERRUPTED = int(Flag.ERROR), int(Flag.INTERRUPTED)
_USAGE, _RESULT = int(SpanRole.USAGE), int(SpanRole.RESULT)
_FLAGS, _SPAN, _CHARS, _LINES = 1, 6, 7, 8  # places in a row that waits for `MessageTable.extend`
_FACTS = frozenset({"ai-title", "last-prompt", "custom-title", "file-history-snapshot", "mode", "agent-name"})
_QUEUED = ("enqueue", "dequeue")  # but not `remove`, which may show what was queued
_NO_EXCHANGE = Exchange(0, 0, None, "")
_place_of = itemgetter("uuid", "parentUuid", "timestamp", "isSidechain", "cwd")
_response_of = itemgetter("id", "model", "content", "usage")
_nowhere: Callable[[int], None] = deque[int](maxlen=0).append
_MISFIT = (KeyError, TypeError, ValueError)


def fast_feed(parser: ClaudeParser) -> Callable[[Iterable[Record], int], None]:
    """A function that takes records in the file's order; messages from its second argument on are new in this piece."""
    session, branches, agent, groups = parser.session, parser.branches, parser.agent_lines, parser.groups
    nodes, owner, prompts = branches.nodes, branches.owner, branches.prompts
    messages, spans, following = session.messages, session.spans, session.spans.following
    hidden, changed = session.hidden, parser.changed
    uses, blocks, tasks, clock = parser.results.uses, agent.blocks, parser.links.tasks, parser.clock
    group_of, group_tails, group_last, take_usage = groups.by_id, groups.tails, session.groups.last, groups.take
    rows: list[list[Any]] = []
    """New messages that are not in the table yet: it is filled many rows at a time."""

    # What follows holds between two records that go the general way: `look` reads it anew, `settle` writes it back.
    warm = ran = False
    minute, base_time, newest, oldest, time = "", 0.0, 0.0, 0.0, 0.0
    exchange, first, start, above = _NO_EXCHANGE, 0, 0, NOBODY
    side_wanted, model_number, model, usage_before = False, 0, object(), object()
    group_before, growing = -1, 0
    uuid_before, node_before = "", NOBODY
    prompt_number, prompt_flags, answer = -1, 0, _nowhere
    facts: Value = {}

    def look() -> None:
        """Take over what a record that went the general way changed."""
        nonlocal warm, ran, minute, base_time, newest, oldest, exchange, start
        nonlocal side_wanted, model, model_number, growing, group_before, prompt_number
        exchange = session.exchanges[-1] if session.exchanges else _NO_EXCHANGE
        warm = parser.is_settled and not (exchange.opener is None and exchange.inherited) and agent.model_number > 0
        if not warm:
            return
        warm = parser.command_row < 0 and bool(session.exchanges)
        ran = False
        minute, base_time, newest, oldest = clock.minute, clock.base, parser.newest, parser.oldest
        side_wanted, model, model_number = parser.agent, agent.model, agent.model_number
        growing = agent.growing[0] if agent.growing is not None else 0
        group_before = prompt_number = -1
        start = len(messages.kind)

    def settle() -> None:
        """Write back what the general way relies on."""
        nonlocal ran
        if ran:
            ran = False
            parser.newest, parser.time, parser.inherited, parser.owner = newest, time, False, owner[node_before]
            parser.facts = facts
        if rows:
            messages.extend(rows)
            rows.clear()

    def enter(value: Value) -> bool:
        """Whether a record stands in the tree as most do; `above` and `time` are its parent and its time then."""
        nonlocal above, time, minute, base_time
        try:
            uuid, parent, stamp, side, cwd = _place_of(value)
            # Of what JSON knows only strings have both a length and a hash.
            if len(uuid) != 36 or len(parent) != 36 or hash(uuid) in nodes:
                return False
            if stamp[:17] == minute:
                time = base_time + (SECONDS[stamp[17:20]] + MILLIS[stamp[20:]])
            elif (read := clock.read(stamp)) is not None:
                time, minute, base_time = read, clock.minute, clock.base
            else:
                return False
            above = node_before if parent == uuid_before else nodes.get(hash(parent), NOBODY)
        except _MISFIT:
            return False
        return side is side_wanted and type(cwd) is str and time >= oldest and "forkedFrom" not in value

    def assistant(record: Record, value: Value) -> bool:
        """A line with one block that was not seen before; False, and nothing is changed, if it is something else."""
        nonlocal ran, facts, newest, growing, group_before, usage_before, uuid_before, node_before
        nonlocal prompt_number, prompt_flags, answer
        try:
            group_id, said_by, content, usage = _response_of(value["message"])
            (block,) = content
            kind = block["type"]
        except _MISFIT:
            return False
        if said_by != model or type(usage) is not dict or type(group_id) is not str or "isApiErrorMessage" in value:
            return False
        group_mark = hash(group_id)
        chars = lines = flags = 0
        if kind == "tool_use":
            use = block.get("id")
            if type(use) is not str or (mark := hash(use)) in uses or block.get("name") in STARTERS:
                return False
            kind, flags = _TOOL, _PENDING
        elif kind == "text":
            text = block.get("text")
            if type(text) is not str or growing == group_mark or not text or text.isspace():
                return False
            if (mark := hash((group_mark, text))) in blocks:
                return False
            kind, chars, lines = _TEXT, len(text), text.count("\n") + 1
        elif kind == "thinking":
            text = block.get("thinking")
            said = text or block.get("signature")
            if type(text) is not str or type(said) is not str or not said:
                return False
            if (mark := hash((group_mark, "thinking", said))) in blocks:
                return False
            kind = _THINKING
            if text:
                chars, lines = len(text), text.count("\n") + 1
            else:
                flags = _WITHHELD
        else:
            return False
        if not group_id or not enter(value):
            return False

        # All fits. Its place in the tree first.
        facts, ran = value, True
        uuid_before = value["uuid"]
        index, node_before, prompt = start + len(rows), len(owner), owner[above]
        owner.append(prompt)
        nodes[hash(uuid_before)] = node_before
        if prompt != prompt_number:
            prompt_number, prompt_flags, answer = prompt, 0, _nowhere
            if prompt != NOBODY:
                answer = prompts[prompt].rows.append
                prompt_flags = _REWOUND if prompts[prompt].abandoned else 0
        answer(index)
        if time > newest:
            newest = time
        if exchange.started is None or time < exchange.started:
            session.touch(exchange, time)
        elif time > exchange.ended:  # type: ignore[operator]  # it is known as soon as the start is
            exchange.ended = time

        # Its message.
        offset, size, line, _ = record
        span = len(following)
        spans.data += pack_span(offset, size, line, 0, 0)
        following.append(NONE)
        if kind == _TOOL:
            uses[mark] = index
            exchange.tools += 1
        else:
            blocks.add(mark)
            if kind == _TEXT:
                agent.growing, growing = (group_mark, index, span, text), group_mark

        # Its usage: mostly that of the line before, said again.
        group = group_of.get(group_mark, -1)
        if group >= 0 and group == group_before and usage == usage_before:
            spans.data += pack_span(offset, size, line, 0, _USAGE)
            following.append(NONE)
            following[group_tails[group]] = group_tails[group] = span + 1
        else:
            group = take_usage(group_id, usage, record, model_number, moves=True)
            group_before, usage_before = group, usage
        if group >= 0:
            last = group_last[group]
            if last < first:
                changed.add(last)
            group_last[group] = index
        else:
            group = NONE
        rows.append(
            [kind, flags | prompt_flags, 0, model_number, exchange.index, group, span, chars, lines, time,
             key_of(uuid_before) or 1]
        )  # fmt: skip
        return True

    def result(record: Record, value: Value) -> bool:
        """A line with the result of a tool use that waits for it; False if it is something else."""
        nonlocal ran, facts, newest, uuid_before, node_before
        try:
            (block,) = value["message"]["content"]
            if block["type"] != "tool_result":
                return False
            use, content = block["tool_use_id"], block["content"]
            row = uses.get(hash(use), -1)
        except _MISFIT:
            return False
        text = content if type(content) is str else joined(content)
        extra = value.get("toolUseResult")
        outcome = 0
        if block.get("is_error") is True:
            if text.startswith("Exit code "):
                text = text.partition("\n")[2]
            outcome = failure(text, extra, value)
        elif type(extra) is dict and extra.get("interrupted") is True:
            outcome = _INTERRUPTED
        if row < 0 or type(use) is not str or row in tasks or text.endswith("</system-reminder>"):
            return False
        waits = row >= start
        flags = rows[row - start][_FLAGS] if waits else messages.flags[row]
        if not flags & _PENDING or "isCompactSummary" in value or not enter(value):
            return False

        facts, ran = value, True
        uuid_before, node_before = value["uuid"], len(owner)
        owner.append(owner[above])
        nodes[hash(uuid_before)] = node_before
        span = len(following)
        spans.data += pack_span(record[0], record[1], record[2], 0, _RESULT)
        following.append(NONE)
        chars, lines = len(text), text.count("\n") + 1 if text else 0
        if waits:
            entry = rows[row - start]
            entry[_FLAGS], entry[_CHARS], entry[_LINES] = flags ^ _PENDING | outcome, chars, lines
            spans.extend(entry[_SPAN], span)
            ended = exchange
        else:
            messages.flags[row], messages.chars[row], messages.lines[row] = flags ^ _PENDING | outcome, chars, lines
            spans.extend(messages.span[row], span)
            ended = session.exchanges[messages.exchange[row]]
        if outcome == _ERROR:
            ended.errors += 1
        if row < first:
            changed.add(row)
        if time > newest:
            newest = time
        if ended.started is None or time < ended.started:
            session.touch(ended, time)
        elif time > ended.ended:  # type: ignore[operator]
            ended.ended = time
        return True

    def silent(value: Value, kind: str) -> bool:
        """A link of the chain with nothing to read; False if there may be."""
        nonlocal ran, facts, newest, uuid_before, node_before
        inner = value.get("data" if kind == "progress" else "attachment")
        if type(inner) is not dict or type(what := inner.get("type")) is not str:
            return False
        if (kind == "attachment" and what in SHOWN_ATTACHMENTS) or not enter(value):
            return False
        facts, ran = value, True
        uuid_before, node_before = value["uuid"], above
        if above == NOBODY:
            node_before = len(owner)
            owner.append(NOBODY)
        nodes[hash(uuid_before)] = node_before
        if time > newest:
            newest = time
        if kind == "attachment":
            hidden[hidden_attachment(what)] += 1
        else:
            hidden["progress"] += 1
            if what == "agent_progress":
                parser.links.progress(value.get("parentToolUseID"), inner.get("agentId"))
        return True

    def feed(records: Iterable[Record], new: int) -> None:
        nonlocal first
        first = new
        look()
        for record in records:
            value = record[3]
            kind = value.get("type")
            if warm and type(kind) is str:
                if kind == "assistant":
                    if assistant(record, value):
                        continue
                elif kind == "user":
                    if result(record, value):
                        continue
                elif kind == "progress" or kind == "attachment":
                    if silent(value, kind):
                        continue
                elif (
                    (kind in _FACTS or (kind == "queue-operation" and value.get("operation") in _QUEUED))
                    and "uuid" not in value
                    and "cwd" not in value
                ):
                    parser.notices.metadata(record, value, kind)
                    continue
            settle()
            parser.take(record, value, kind)
            look()
        settle()

    return feed
