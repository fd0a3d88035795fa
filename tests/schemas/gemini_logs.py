"""Hypothesis strategies for logs of Gemini CLI, and the CLI's own reduction of one, as the formats note tells it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

Data = dict[str, Any]
IDS = ("a", "b", "c", "d", "e")
HEADER: Data = {
    "sessionId": "5e551011-0000-4000-8000-000000000001",
    "projectHash": "ab" * 32,
    "startTime": "2026-05-02T10:00:00.000Z",
    "lastUpdated": "2026-05-02T10:00:00.000Z",
    "kind": "main",
}

_ids = st.sampled_from(IDS)
_times = st.integers(0, 59).map(lambda s: f"2026-05-02T10:01:{s:02d}.000Z") | st.just(None)
_prompts = st.sampled_from(
    ["fix it", "", "/help me", "<hook_context>h</hook_context>", "<state_snapshot>s</state_snapshot>"]
)
_calls: st.SearchStrategy[list[Data]] = st.lists(st.sampled_from(["t1", "t2", "t3", None]), max_size=3).map(
    lambda ids: [
        {"id": i, "name": "glob", "args": {}, **({"status": "success"} if n % 2 else {})} for n, i in enumerate(ids)
    ]
)
_tokens = st.none() | st.integers(0, 50).map(
    lambda n: {"input": 100 + n, "output": n, "cached": n, "thoughts": 1, "total": 0}
)


@st.composite
def messages(draw: st.DrawFn, ids: st.SearchStrategy[str] = _ids) -> Data:
    """A message of any type, with an id out of few."""
    kind = draw(st.sampled_from(["user", "gemini", "gemini", "gemini", "info", "error", "response", "novel"]))
    record: Data = {"id": draw(ids), "timestamp": draw(_times), "type": kind}
    if kind == "gemini":
        record |= {"content": draw(st.sampled_from(["", "said"])), "thoughts": draw(st.sampled_from([[], ["hm"]]))}
        record |= {"toolCalls": draw(_calls), "tokens": draw(_tokens), "model": draw(st.sampled_from(["m1", "m2"]))}
    elif kind == "response":
        answer = {"id": draw(st.sampled_from(["t1", "t2", ""])), "name": "glob", "response": {"output": "found"}}
        record |= {"type": "user", "content": [{"functionResponse": answer}]}
    else:
        record["content"] = draw(_prompts)
    return record


_checkpoints = st.lists(messages(), max_size=4, unique_by=lambda m: m["id"]).map(lambda ms: {"$set": {"messages": ms}})
records = st.one_of(
    messages(),
    messages(),
    messages(),
    _checkpoints,
    st.sampled_from([*IDS, "gone"]).map(lambda i: {"$rewindTo": i}),
    st.sampled_from(["One", "Two"]).map(lambda s: {"$set": {"summary": s}}),
    st.just({"nobody": "knows"}),
)


@st.composite
def written_again(draw: st.DrawFn) -> list[Data]:
    """An answer, written again when more of its tool uses ended."""
    first = draw(messages().filter(lambda record: record["type"] == "gemini"))
    more, figures = draw(_calls), draw(st.just(first["tokens"]) | _tokens)
    between = draw(st.sampled_from([[], [{"$set": {"lastUpdated": "2026-05-02T10:02:00.000Z"}}]]))
    return [first, *between, first | {"toolCalls": first["toolCalls"] + more, "tokens": figures}]


logs = st.lists(records.map(lambda record: [record]) | written_again(), max_size=14).map(
    lambda found: [record for one in found for record in one]
)


def lines(items: list[Data], *, header: bool = True) -> list[bytes]:
    """A log as lines, with their newlines."""
    return [json.dumps(item).encode() + b"\n" for item in ([HEADER] if header else []) + items]


def reduced(items: list[Data]) -> list[str]:
    """The ids of the messages that the CLI itself would have in the end, in its order."""
    found: dict[str, Data] = {}
    for item in items:
        if "$rewindTo" in item:
            names = list(found)
            cut = names.index(item["$rewindTo"]) if item["$rewindTo"] in found else 0
            for name in names[cut:]:
                del found[name]
        elif "id" in item:
            found[item["id"]] = item
        elif "messages" in item.get("$set", {}):
            found = {message["id"]: message for message in item["$set"]["messages"]}
    return list(found)
