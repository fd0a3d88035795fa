"""The commonest lines of all, taken in one loop: nine lines in ten of a session are one of four shapes.

    an `assistant` line with one block that was not seen before: a text, a thinking, an ordinary tool use
    a `user` line with the one result that a tool use waited for, and no error
    `progress`, and an `attachment` that holds nothing to read
    a title or another fact of the session, outside the chain

What each of them means is said where it is handled in general (parse.py, agent.py, results.py); here it is written out
again, in one function with its state in local names, since calls and attributes cost more than the work itself: this
halves the time of a whole parse. Whatever does not fit goes the general way, and the session is the same
(tests/schemas/test_claude_fast.py compares the two).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from schemas.message import Flag, Kind
from schemas.providers.claude.agent import STARTERS
from schemas.providers.claude.branches import NOBODY
from schemas.providers.claude.keys import MILLIS, SECONDS
from schemas.providers.claude.notices import SHOWN_ATTACHMENTS, hidden_attachment
from schemas.providers.claude.results import joined
from schemas.records import Record
from schemas.session import Exchange
from schemas.table import NONE, pack_span

if TYPE_CHECKING:
    from schemas.providers.claude.parse import ClaudeParser

_TEXT, _THINKING, _TOOL = int(Kind.TEXT), int(Kind.THINKING), int(Kind.TOOL)
_PENDING, _WITHHELD, _REWOUND = int(Flag.PENDING), int(Flag.WITHHELD), int(Flag.REWOUND)
_NOT_PENDING = 0xFFFF & ~_PENDING
_USAGE, _RESULT = 3, 1
_FLAGS, _SPAN, _CHARS, _LINES = 1, 6, 7, 8  # places in a row that waits (MessageTable.extend)
_CHAIN = frozenset({"assistant", "user", "progress", "attachment"})
_FACTS = frozenset({"ai-title", "last-prompt", "custom-title", "file-history-snapshot", "mode", "agent-name"})
_place = itemgetter("uuid", "parentUuid", "timestamp", "isSidechain", "cwd")
_response = itemgetter("id", "model", "content", "usage")


class FastLines:
    """Takes the records of one parser, one piece after the other."""

    def __init__(self, parser: ClaudeParser) -> None:
        self._parser = parser
        self._rows: list[list[Any]] = []
        self._add_nowhere: Callable[[int], None] = deque[int](maxlen=0).append
        self._nobody = Exchange(0, 0, None, "")

    def feed(self, records: Iterable[Record], first: int) -> None:  # noqa: C901, PLR0912, PLR0915
        """Take records in the file's order; messages from `first` on are new in this piece."""
        parser = self._parser
        session, branches, agent, groups = parser.session, parser.branches, parser.agent_lines, parser.groups
        nodes, owner, prompts = branches.nodes, branches.owner, branches.prompts
        messages, spans, hidden, changed = session.messages, session.spans, session.hidden, parser.changed
        span_data, following = spans.data, spans.following
        uses, blocks, tasks = parser.results.uses, agent.blocks, parser.links.tasks
        group_ids, group_tails, group_last = groups.by_id, groups.tails, session.groups.last
        take, general, metadata = groups.take, parser.take, parser.notices.metadata
        rows = self._rows
        clock = parser.clock
        add_owner, add_following, add_row = owner.append, following.append, rows.append

        # Set when `warm` is computed, and good until a record goes the general way.
        warm, ran = self._is_warm(), False
        minute, base_time, newest, oldest = clock.minute, clock.base, parser.newest, parser.oldest
        exchange = session.exchanges[-1] if session.exchanges else self._nobody
        side_wanted, model_name, model_number = parser.agent, *agent.model
        last_group, last_usage, last_uuid, last_node = -1, None, None, NOBODY
        growing = agent.growing[0] if agent.growing is not None else None
        prompt_number, prompt_flags, add_answer = -1, 0, self._add_nowhere
        start = index = len(messages.kind)
        time, above = 0.0, NOBODY
        facts: dict[str, Any] = {}

        for record in records:
            offset, size, line, value = record
            kind = value.get("type")
            fits = False
            if warm and kind in _CHAIN if type(kind) is str else False:
                try:
                    uuid, parent, stamp, side, cwd = _place(value)
                    # Only strings have a length and a hash: of what JSON knows, at least.
                    fits = len(uuid) == 36 == len(parent) and stamp[:17] == minute and type(cwd) is str
                    time = base_time + (SECONDS[stamp[17:20]] + MILLIS[stamp[20:]])
                    identity = hash(uuid)
                    above = last_node if parent == last_uuid else nodes.get(hash(parent), NOBODY)
                    fits = (
                        fits
                        and side is side_wanted
                        and identity not in nodes
                        and time >= oldest
                        and "forkedFrom" not in value
                    )
                    if kind == "assistant":
                        group_id, model, content, usage = _response(value["message"])
                        (block,) = content
                        block_kind = block["type"]
                        group_hash = hash(group_id)
                        fits = (
                            fits
                            and model == model_name
                            and type(usage) is dict
                            and type(group_id) is str
                            and group_id != ""
                            and "isApiErrorMessage" not in value
                        )
                    elif kind == "user":
                        (block,) = value["message"]["content"]
                        fits = fits and block["type"] == "tool_result" and "isCompactSummary" not in value
                    elif kind == "progress":
                        inner = value["data"]
                        fits = fits and type(inner) is dict
                    else:
                        inner = value["attachment"]
                        fits = fits and type(inner["type"]) is str and inner["type"] not in SHOWN_ATTACHMENTS
                except (KeyError, TypeError, ValueError):
                    fits = False

                if fits and kind == "assistant":
                    flags = chars = lines = 0
                    if block_kind == "tool_use":
                        use = block.get("id")
                        row_kind, flags = _TOOL, _PENDING
                        fits = type(use) is str and (mark := hash(use)) not in uses
                        fits = fits and block.get("name") not in STARTERS
                    elif block_kind == "text":
                        text = block.get("text")
                        row_kind = _TEXT
                        fits = type(text) is str and growing != group_hash and text != "" and not text.isspace()
                        if fits:
                            chars, lines = len(text), text.count("\n") + 1
                            mark = hash((group_hash, text))
                            fits = mark not in blocks
                    elif block_kind == "thinking":
                        text = block.get("thinking")
                        row_kind = _THINKING
                        fits = type(text) is str
                        if fits and text:
                            chars, lines = len(text), text.count("\n") + 1
                            mark = hash((group_hash, "thinking", text))
                        elif fits:
                            signature = block.get("signature")
                            flags = _WITHHELD
                            mark = hash((group_hash, "thinking", signature if type(signature) is str else ""))
                            fits = type(signature) is str and signature != ""
                        fits = fits and mark not in blocks
                    else:
                        fits = False

                    if fits:
                        # Its place in the tree
                        prompt = owner[above]
                        last_uuid, last_node = uuid, len(owner)
                        add_owner(prompt)
                        nodes[identity] = last_node
                        if prompt != prompt_number:
                            prompt_number, prompt_flags, add_answer = prompt, 0, self._add_nowhere
                            if prompt != NOBODY:
                                add_answer = prompts[prompt].rows.append
                                prompt_flags = _REWOUND if prompts[prompt].abandoned else 0
                        add_answer(index)
                        if time > newest:
                            newest = exchange.ended = time
                            if exchange.started is None:
                                exchange.started = time
                        else:
                            session.touch(exchange, time)
                        facts, ran = value, True
                        # Its message
                        span = len(following)
                        span_data += pack_span(offset, size, line, 0, 0)
                        add_following(NONE)
                        if row_kind == _TOOL:
                            uses[mark] = index
                            exchange.tools += 1
                        else:
                            blocks.add(mark)
                            if row_kind == _TEXT:
                                agent.growing = (group_hash, index, span, text)
                                growing = group_hash
                        # Its usage
                        group = group_ids.get(group_hash, -1)
                        if group == last_group and group >= 0 and usage == last_usage:
                            span_data += pack_span(offset, size, line, 0, _USAGE)
                            add_following(NONE)
                            following[group_tails[group]] = span + 1
                            group_tails[group] = span + 1
                        else:
                            group = take(group_id, usage, record, model_number, moves=True)
                            last_group, last_usage = group, usage
                        if group >= 0:
                            last = group_last[group]
                            if last < first:
                                changed.add(last)
                            group_last[group] = index
                        key = hash(int(uuid.replace("-", ""), 16)) if _is_plain(uuid) else 0
                        add_row(
                            [row_kind, flags | prompt_flags, 0, model_number, exchange.index,
                             group if group >= 0 else NONE, span, chars, lines, time, key]
                        )  # fmt: skip
                        index += 1
                        continue
