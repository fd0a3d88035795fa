"""The steps of a Toolpath document that turnlog did not write, as messages.

Each message is made in the shape that SessionData has, with turnlog's own part under `metadata.turnlog`, so that it is
built like any other (session_data_read.py). What a message has no field for goes into its metadata.
"""

from __future__ import annotations

from typing import Any

import orjson

from schemas.clean import clean, clean_value, one_line
from schemas.diffs import diff_to_json
from schemas.envelopes import strip_envelopes
from schemas.interchange.session_data_parts import as_object, as_text, texts_in
from schemas.interchange.toolpath import COMPACT, EVENT, PROVIDERS, TURN, WRITE, structural_type
from schemas.interchange.toolpath_tools import read_writes, type_of
from schemas.usage import as_count, overlapping

Data = dict[str, Any]
_TURN_KEYS = frozenset(
    {"type", "role", "text", "thinking", "group_id", "tool_uses", "token_usage", "attributed_token_usage",
     "stop_reason", "delegations", "environment", "model"}
)  # fmt: skip
_COUNTED = frozenset({"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"})
_ENVIRONMENT = (("working_dir", "cwd"), ("vcs_branch", "gitBranch"), ("vcs_revision", "gitRevision"))
_MARKED = (
    ("<environment_context>", "context", "environment"),
    ("<user_instructions>", "context", "instructions"),
    ("# AGENTS.md instructions", "context", "instructions"),
    ("<permissions instructions>", "context", "permissions"),
    ("<system-reminder>", "context", "reminder"),  # of which the end is missing
    ("Caveat: The messages below were generated", "context", "caveat"),
    ("<command-name>", "command", ""),
    ("<command-message>", "command", ""),
    ("<local-command-stdout>", "output", "command output"),
    ("<task-notification>", "note", "background task"),
    ("[Request interrupted by user", "interrupt", "Interrupted"),
    ("[compacted summary]", "compaction", "Compacted"),
    ("Compacted (summary):", "compaction", "Compacted"),
    ("This session is being continued from a previous conversation", "compaction", "Compacted"),
)
"""User turns that nobody typed: how their text begins, their kind, their label."""
_HIDDEN = frozenset(
    [
        "agent_message",
        "ai-title",
        "attachment",
        "agent_reasoning",
        "custom-title",
        "exec_command_begin",
        "exec_command_end",
        "file-history-snapshot",
        "ghost_snapshot",
        "item_completed",
        "last-prompt",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "patch_apply_begin",
        "patch_apply_end",
        "permission-mode",
        "progress",
        "queue-operation",
        "session_meta",
        "session_info",
        "task_complete",
        "task_started",
        "token_count",
        "turn_context",
        "turn_complete",
        "turn_started",
        "user_message",
        "world_state",
    ]
)
"""Events that repeat what the turns say, or hold nothing to read."""
_COMPACTIONS = frozenset({"compact_boundary", "compacted", "compaction", "context_compacted", "microcompact_boundary"})
_ERRORS = frozenset({"error", "api_error", "stream_error"})


def step_messages(step: Data, source: str) -> list[Data]:
    """The messages of a step, in order: thinking before text, since the format does not say; then the tools."""
    change = as_object(step.get("change"))
    identity = as_object(step.get("step"))
    messages: list[Data] = []
    turns = turns_of(step)
    for said in turns:
        messages += _turn(said, change, as_text(identity.get("actor")), source)
    told = {as_text(use.get("id")) for said in turns for use in _uses(said)}
    for key, part in change.items():
        kind = structural_type(part)
        if kind == EVENT:
            messages += _event(part["structural"])
        elif kind == COMPACT:
            messages.append(_compaction(part["structural"]))
        elif kind != TURN and not (kind == WRITE and as_text(part["structural"].get("tool_id")) in told):
            messages.append(_change(key, part))
    _identify(messages, step, identity)
    return messages


def turns_of(step: Data) -> list[Data]:
    """The payloads of a step's turns; there should be no more than one."""
    change = as_object(step.get("change"))
    return [part["structural"] for part in change.values() if structural_type(part) == TURN]


def _identify(messages: list[Data], step: Data, identity: Data) -> None:
    """Give each its id and time, and the first what is known of the step as a whole."""
    name = as_text(identity.get("id"))
    for number, message in enumerate(messages):
        message["id"] = f"{name}#{number + 1}" if number else name
        message["timestamp"] = identity.get("timestamp")
    about = {key: value for key, value in as_object(step.get("meta")).items() if key != "turnlog"}
    if about and messages:
        messages[0]["metadata"]["stepMeta"] = about


def _message(kind: str, text: str = "", label: str = "", flags: tuple[str, ...] = (), *, role: str = "agent") -> Data:
    ours: Data = {"kind": kind}
    if label:
        ours["label"] = label
    if flags:
        ours["flags"] = list(flags)
    data: Data = {"role": role, "metadata": {"turnlog": ours}}
    if text:
        data["content"] = [{"type": "thinking" if kind == "thinking" else "text", "text": text}]
    return data


# -- turns -------------------------------------------------------------------------------------------------------------


def _turn(said: Data, change: Data, actor: str, source: str) -> list[Data]:
    role, text, thinking = as_text(said.get("role")).lower(), _words(said.get("text")), _words(said.get("thinking"))
    messages: list[Data] = []
    if thinking:
        messages.append(_message("thinking", thinking))
    if role in ("assistant", "agent"):
        if text:
            messages.append(_message("text", text))
    elif text:
        messages += _typed(text, role, actor)
    messages += [_tool(use, said, change, PROVIDERS.get(source, source)) for use in _uses(said)]
    messages += _delegated(said)
    if not messages:
        messages.append(_nothing(role, source))
    _note_facts(messages, said, source)
    return messages


def _words(value: object) -> str:
    """A text, also one that is given as the list of its parts or as the only part."""
    parts = [value] if isinstance(value, dict) else value
    return as_text(value) or clean(texts_in(parts) or "")


def _typed(text: str, role: str, actor: str) -> list[Data]:
    """A turn that is not the model's: a person's, unless it says otherwise or begins as only programs do. What programs
    put before a person's words is a message of its own.
    """
    rest, envelopes = strip_envelopes(text)
    before = [_message("context", "\n\n".join(envelopes), "reminder")] if envelopes else []
    if not rest:
        return before or [_message("context", text, one_line(role, 40))]
    return [*before, _without_envelopes(rest if envelopes else text, role, actor)]


def _without_envelopes(text: str, role: str, actor: str) -> Data:
    for beginning, kind, label in _MARKED:
        if text.startswith(beginning):
            return _message(kind, text, label, role="user" if kind == "command" else "agent")
    if role == "user" and not actor.startswith(("tool:", "agent:", "ci:")):
        return _message("prompt", text, role="user")
    return _message("output" if role == "tool" else "context", text, one_line(role, 40))


def _nothing(role: str, source: str) -> Data:
    # Claude Code writes a line for thinking whose text is kept back, and so a turn that is empty.
    if role == "assistant" and source == "claude-code":
        return _message("thinking", label="Thinking withheld by the provider", flags=("withheld",))
    return _message("note", label=f"empty turn ({one_line(role, 20)})" if role else "empty turn")


def _uses(said: Data) -> list[Data]:
    uses = said.get("tool_uses")
    return [use for use in uses if isinstance(use, dict)] if isinstance(uses, list) else []


def _tool(use: Data, said: Data, change: Data, provider: str) -> Data:
    name = as_text(use.get("name")) or "unknown"
    result, given = use.get("result"), use.get("input")
    writes = read_writes(change, use.get("id"))
    failed = as_object(result).get("is_error") is True
    flags = (("error",) if failed else ()) + (("pending",) if result is None else ())
    delegated = delegation_of(use, said)
    message = _message("tool", flags=flags + (("subagent",) if delegated else ()))
    tool: Data = {"name": name, "type": type_of(provider, name, use.get("category")), "useId": use.get("id")}
    tool["input"] = given if isinstance(given, dict) else {} if given is None else {"input": given}
    if result is not None:
        tool["output"] = result
    message["tool"] = tool
    if writes or delegated:
        facts: Data = {"status": "error" if failed else "pending" if result is None else "ok"}
        facts["diffs"] = [diff_to_json(diff) for diff in writes]
        if delegated:
            facts["subagent"] = as_text(delegated.get("agent_id"))
        message["metadata"]["turnlog"]["tool"] = facts
    if writes:
        message["pathHints"] = [diff.path for diff in writes]
    if texts := _texts(change, use.get("id")):
        message["metadata"]["fileTexts"] = texts
    return message


def _texts(change: Data, use_id: object) -> Data:
    """The whole texts of the files that a tool use changed, by path: a diff has only some lines of them."""
    texts: Data = {}
    for path, part in change.items():
        if structural_type(part) == WRITE and part["structural"].get("tool_id") == use_id:
            said = part["structural"]
            if said.get("operation") != "add" and (whole := {k: said[k] for k in ("before", "after") if k in said}):
                texts[path] = whole
    return texts


def delegation_of(use: Data, said: Data) -> Data | None:
    """The delegation that a tool use started: it names the use, or it is the only one and so is the use."""
    rows = delegations_of(said)
    named = next((row for row in rows if row.get("agent_id") == use.get("id")), None)
    if named is not None:
        return named
    uses = [other for other in _uses(said) if other.get("category") == "delegation"]
    if use.get("category") == "delegation" and len(uses) == len(rows):
        return rows[uses.index(use)]
    return None


def is_started(row: Data, said: Data) -> bool:
    """Whether one of the turn's tool uses started a delegation of it."""
    return any(delegation_of(use, said) is row for use in _uses(said))


def _delegated(said: Data) -> list[Data]:
    """What delegations say that no tool use does: an errand of which none is known, a result that is another one."""
    notes: list[Data] = []
    uses = [(delegation_of(use, said), use) for use in _uses(said)]
    for row in delegations_of(said):
        use = next((use for started, use in uses if started is row), None)
        words = [as_text(row.get("prompt"))] if use is None and not row.get("turns") else []
        result = as_text(row.get("result"))
        if result and (use is None or result not in as_text(as_object(use.get("result")).get("content"))):
            words.append(result)
        if text := "\n\n".join(word for word in words if word):
            notes.append(_message("note", text, one_line(f"subagent {as_text(row.get('agent_id'))}", 80)))
    return notes


def delegations_of(said: Data) -> list[Data]:
    """A turn's delegations."""
    rows = said.get("delegations")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _note_facts(messages: list[Data], said: Data, source: str) -> None:
    """What a turn says beside its texts and tools, in the metadata of its first message."""
    facts: Data = {}
    if reason := as_text(said.get("stop_reason")):
        facts["stopReason"] = reason
    environment = as_object(said.get("environment"))
    facts |= {ours: as_text(environment[key]) for key, ours in _ENVIRONMENT if as_text(environment.get(key))}
    if attributed := as_object(said.get("attributed_token_usage")):
        facts["attributed"] = attributed
    total = as_object(said.get("token_usage"))
    if fields := _beyond(total):
        facts["usageFields"] = fields
    if source == "gemini-cli" and (told := _untold(total)):
        messages[-1]["metadata"]["tokens"] = told  # where the group ends
    if fields := {key: value for key, value in said.items() if key not in _TURN_KEYS}:
        facts["turnFields"] = fields
    messages[0]["metadata"] |= facts


def _untold(usage: Data) -> dict[str, int]:
    """A total in Gemini CLI's own figures, where turnlog's do not tell them again."""
    whole, output, read = (as_count(usage.get(f"{name}_tokens")) for name in ("input", "output", "cache_read"))
    thoughts = as_count(as_object(as_object(usage.get("breakdowns")).get("output")).get("reasoning"))
    output = output if output is None or thoughts is None else max(output - thoughts, 0)
    return overlapping({"input": whole or 0, "output": output, "cached": read, "thoughts": thoughts})


def _beyond(usage: Data) -> Data:
    """What a total says beside the figures that are counted."""
    fields = {key: value for key, value in usage.items() if key not in _COUNTED}
    parts = as_object(fields.pop("breakdowns", None))
    rest = {name: part for name, part in parts.items() if name != "output" or as_object(part).keys() - {"reasoning"}}
    return fields | ({"breakdowns": rest} if rest else {})


# -- what is no turn ---------------------------------------------------------------------------------------------------


def _event(said: Data) -> list[Data]:
    """An event's message, or none where there is nothing to read."""
    kind = as_text(said.get("entry_type"))
    data = as_object(said.get("raw")) or said
    sub = as_text(data.get("subtype"))
    if kind in _COMPACTIONS or sub in _COMPACTIONS:
        return [_compaction(as_object(as_object(data.get("entry_extra")).get("compactMetadata")) | data)]
    if kind in _HIDDEN:
        return []
    text = next((t for key in ("text", "message", "content", "summary") if (t := as_text(data.get(key)))), "")
    if not text:
        text = _json(
            {key: value for key, value in said.items() if key not in ("type", "entry_type", "event_source_id")}
        )
    label = as_text(said.get("label")) or " ".join(word for word in (kind, sub) if word) or "event"
    return [_message("error" if kind in _ERRORS else "note", text, one_line(label, 80))]


def _compaction(said: Data) -> Data:
    tokens = said.get("pre_tokens", said.get("preTokens"))
    facts = [as_text(said.get("trigger"))]
    if isinstance(tokens, int | float) and not isinstance(tokens, bool):
        facts.append(f"{tokens:,.0f} tokens before")
    label = ", ".join(["Compacted", *(one_line(fact, 40) for fact in facts if fact)])
    message = _message("compaction", as_text(said.get("summary")), label)
    if kept := said.get("kept"):
        message["metadata"]["kept"] = kept
    return message


def _change(key: str, part: object) -> Data:
    """Some other artifact's change: its diff, or whatever it says."""
    said = as_object(as_object(part).get("structural"))
    raw = as_text(as_object(part).get("raw"))
    what = as_text(said.get("operation")) or as_text(said.get("type")) or "change"
    target = as_text(said.get("rename_to"))
    place = f"{clean(key)} → {target}" if target else clean(key)
    message = _message("note", raw or _json(said or part), one_line(f"{what} {place}", 200))
    if raw and said:  # the text is the diff alone
        message["metadata"]["change"] = said
    message["pathHints"] = [clean(key)]
    return message


def _json(value: object) -> str:
    try:
        return orjson.dumps(clean_value(value), option=orjson.OPT_INDENT_2, default=str).decode()
    except TypeError:
        return clean(str(value))
