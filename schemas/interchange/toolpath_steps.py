"""The steps of a Toolpath document as messages.

What a message has no field for goes into its metadata. Index, exchange, model and group of a message are known to who
reads the path (toolpath_read.py).
"""

from __future__ import annotations

from typing import Any

from schemas.agents import id_called, published_of
from schemas.clean import as_json, clean, one_line
from schemas.envelopes import strip_envelopes
from schemas.interchange.session_data_facts import as_text, read_time
from schemas.interchange.session_data_read import ENDS, read_tool, texts_in
from schemas.interchange.session_data_usage import tells_own
from schemas.interchange.toolpath import (
    COMPACT,
    ENVIRONMENT,
    EVENT,
    FIGURES,
    TURN,
    WRITE,
    identity_of,
    payloads_of,
    structural_type,
)
from schemas.interchange.toolpath_tools import read_writes, type_of, writes_of
from schemas.message import NO_FLAGS, Flag, Kind, Message, Part
from schemas.usage import as_count, overlapping
from schemas.values import dict_of

Data = dict[str, Any]
_TURN_KEYS = frozenset(
    {"type", "role", "text", "thinking", "group_id", "tool_uses", "token_usage", "attributed_token_usage",
     "stop_reason", "delegations", "environment", "model"}
)  # fmt: skip
_MARKED = (
    ("<environment_context>", Kind.CONTEXT, "environment"),
    ("<user_instructions>", Kind.CONTEXT, "instructions"),
    ("# AGENTS.md instructions", Kind.CONTEXT, "instructions"),
    ("<permissions instructions>", Kind.CONTEXT, "permissions"),
    ("<system-reminder>", Kind.CONTEXT, "reminder"),  # of which the end is missing
    ("Caveat: The messages below were generated", Kind.CONTEXT, "caveat"),
    ("<command-name>", Kind.COMMAND, ""),
    ("<command-message>", Kind.COMMAND, ""),
    ("<bash-input>", Kind.COMMAND, ""),
    ("<local-command-stdout>", Kind.OUTPUT, "command output"),
    ("<task-notification>", Kind.NOTE, "background task"),
    ("[Request interrupted by user", Kind.INTERRUPT, "Interrupted"),
    ("[compacted summary]", Kind.COMPACTION, "Compacted"),
    ("Compacted (summary):", Kind.COMPACTION, "Compacted"),
    ("This session is being continued from a previous conversation", Kind.COMPACTION, "Compacted"),
)
"""User turns that nobody typed: how their text begins, their kind, their label."""
_HIDDEN = frozenset(
    """agent_message ai-title attachment agent_reasoning custom-title exec_command_begin exec_command_end
    file-history-snapshot ghost_snapshot item_completed last-prompt mcp_tool_call_begin mcp_tool_call_end
    patch_apply_begin patch_apply_end permission-mode progress queue-operation session_meta session_info
    task_complete task_started token_count turn_context turn_complete turn_started turnlog.exchange
    turnlog.group user_message world_state""".split()  # noqa: SIM905
)
"""Events that repeat what the turns say, or hold nothing to read."""
_COMPACTIONS = frozenset({"compact_boundary", "compacted", "compaction", "context_compacted", "microcompact_boundary"})
_EVENT_KINDS = {
    "error": Kind.ERROR,
    "api_error": Kind.ERROR,
    "stream_error": Kind.ERROR,
    "interrupt": Kind.INTERRUPT,
    "turn_aborted": Kind.INTERRUPT,
    "output": Kind.OUTPUT,
    "local_command": Kind.OUTPUT,
    "context": Kind.CONTEXT,
}
"""What an event is by its type; others are notes."""


def step_messages(step: Data, source: str) -> list[Message]:
    """The messages of a step, in order: thinking before text, since the format does not say; then the tools."""
    change = dict_of(step.get("change"))
    identity = identity_of(step, "step")
    messages: list[Message] = []
    turns = list(payloads_of(step, TURN))
    for said in turns:
        messages += _turn(said, change, as_text(identity.get("actor")), source)
    told = {as_text(use.get("id")) for said in turns for use in uses_of(said)}
    for key, part in change.items():
        kind = structural_type(part)
        if kind == EVENT:
            messages += _event(part["structural"])
        elif kind == COMPACT:
            messages.append(_compaction(part["structural"]))
        elif kind != TURN and not (kind == WRITE and as_text(part["structural"].get("tool_id")) in told):
            messages.append(_change(key, part))
    name, time = as_text(identity.get("id")), read_time(identity.get("timestamp"))
    for number, message in enumerate(messages):
        message.id = f"{name}#{number + 1}" if number else name
        message.timestamp = time
    about = {key: value for key, value in dict_of(step.get("meta")).items() if key != "turnlog"}
    if about and messages:
        messages[0].metadata["stepMeta"] = about
    return messages


def _message(kind: Kind, text: str = "", label: str = "", flags: Flag = NO_FLAGS) -> Message:
    parts = [Part("thinking" if kind == Kind.THINKING else "text", text)] if text else []
    return Message(-1, "", kind, 0, parts=parts, label=label, flags=flags)


# -- turns -------------------------------------------------------------------------------------------------------------


def _turn(said: Data, change: Data, actor: str, source: str) -> list[Message]:
    role, text, thinking = as_text(said.get("role")).lower(), words_of(said.get("text")), words_of(said.get("thinking"))
    messages: list[Message] = []
    if thinking:
        messages.append(_message(Kind.THINKING, thinking))
    if role in ("assistant", "agent"):
        if text:
            messages.append(_message(Kind.NOTE if actor.startswith("tool:") else Kind.TEXT, text))  # no model said it
    elif text:
        messages += _typed(text, role, actor)
    messages += [_tool(use, said, change, id_called(source)) for use in uses_of(said)]
    messages += _delegated(said)
    if not messages:
        messages.append(_nothing(role, source))
    _note_facts(messages, said, source)
    return messages


def words_of(value: object) -> str:
    """A text, also one that is given as the list of its parts or as the only part."""
    return as_text(value) or as_text(texts_in([value] if isinstance(value, dict) else value))


def _typed(text: str, role: str, actor: str) -> list[Message]:
    """A turn that is not the model's: a person's, unless it says otherwise or begins as only programs do. What programs
    put before a person's words is a message of its own.
    """
    rest, envelopes = strip_envelopes(text)
    before = [_message(Kind.CONTEXT, "\n\n".join(envelopes), "reminder")] if envelopes else []
    if not rest:
        return before or [_message(Kind.CONTEXT, text, one_line(role, 40))]
    return [*before, _without_envelopes(rest if envelopes else text, role, actor)]


def _without_envelopes(text: str, role: str, actor: str) -> Message:
    for beginning, kind, label in _MARKED:
        if text.startswith(beginning):
            return _message(kind, text, label)
    if role == "user" and not actor.startswith(("tool:", "agent:", "ci:")):
        return _message(Kind.PROMPT, text)
    return _message(Kind.OUTPUT if role == "tool" else Kind.CONTEXT, text, one_line(role, 40))


def _nothing(role: str, source: str) -> Message:
    # A line for thinking whose text is kept back is a turn that is empty.
    if role == "assistant" and published_of(id_called(source)).by_block:
        return _message(Kind.THINKING, label="Thinking withheld by the provider", flags=Flag.WITHHELD)
    return _message(Kind.NOTE, label=f"empty turn ({one_line(role, 20)})" if role else "empty turn")


def uses_of(said: Data) -> list[Data]:
    """A turn's tool uses."""
    return _objects(said.get("tool_uses"))


def delegations_of(said: Data) -> list[Data]:
    """A turn's delegations."""
    return _objects(said.get("delegations"))


def _objects(value: object) -> list[Data]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _tool(use: Data, said: Data, change: Data, provider: str) -> Message:
    name = as_text(use.get("name")) or "unknown"
    data = {
        "name": name,
        "type": type_of(provider, name, use.get("category")),
        "useId": use.get("id"),
        "input": use.get("input"),
        "output": use.get("result"),
    }
    message = _message(Kind.TOOL)
    tool = message.tool = read_tool(data, None, message.metadata)
    message.flags |= ENDS.get(tool.status, NO_FLAGS)
    if delegated := delegation_of(use, said):
        message.flags |= Flag.SUBAGENT
        tool.subagent = as_text(delegated.get("agent_id")) or None
    if writes := read_writes(change, use.get("id")):
        tool.diffs = writes
        message.path_hints = [diff.path for diff in writes]
    if texts := _texts(change, use.get("id")):
        message.metadata["fileTexts"] = texts
    return message


def _texts(change: Data, use_id: object) -> Data:
    """The whole texts of the files that a tool use changed, by path: a diff has only some lines of them."""
    texts: Data = {}
    for path, part in writes_of(change, use_id):
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
    uses = [other for other in uses_of(said) if other.get("category") == "delegation"]
    if use.get("category") == "delegation" and len(uses) == len(rows):
        return rows[uses.index(use)]
    return None


def _delegated(said: Data) -> list[Message]:
    """Make notes of what delegations say and no tool use does: an errand of which none is known, a result that is
    another one.
    """
    notes: list[Message] = []
    uses = [(delegation_of(use, said), use) for use in uses_of(said)]
    for row in delegations_of(said):
        use = next((use for started, use in uses if started is row), None)
        words = [as_text(row.get("prompt"))] if use is None and not row.get("turns") else []
        result = as_text(row.get("result"))
        if result and (use is None or result not in as_text(dict_of(use.get("result")).get("content"))):
            words.append(result)
        if text := "\n\n".join(word for word in words if word):
            notes.append(_message(Kind.NOTE, text, one_line(f"subagent {as_text(row.get('agent_id'))}", 80)))
    return notes


def _note_facts(messages: list[Message], said: Data, source: str) -> None:
    """Note what a turn says beside its texts and tools, in the metadata of its first message."""
    facts: Data = {}
    if reason := as_text(said.get("stop_reason")):
        facts["stopReason"] = reason
    environment = dict_of(said.get("environment"))
    facts |= {ours: as_text(environment[key]) for key, ours in ENVIRONMENT.items() if as_text(environment.get(key))}
    if attributed := dict_of(said.get("attributed_token_usage")):
        facts["attributed"] = attributed
    total = dict_of(said.get("token_usage"))
    if fields := _beyond(total):
        facts["usageFields"] = fields
    if tells_own(id_called(source)) and (told := _untold(total)):
        messages[-1].metadata["tokens"] = told  # where the group ends
    if fields := {key: value for key, value in said.items() if key not in _TURN_KEYS}:
        facts["turnFields"] = fields
    messages[0].metadata |= facts


def _untold(usage: Data) -> dict[str, int]:
    """A total in the agent's own figures, where turnlog's do not tell them again."""
    whole, output, read = (as_count(usage.get(f"{name}_tokens")) for name in ("input", "output", "cache_read"))
    thoughts = as_count(dict_of(dict_of(usage.get("breakdowns")).get("output")).get("reasoning"))
    output = output if output is None or thoughts is None else max(output - thoughts, 0)
    return overlapping({"input": whole or 0, "output": output, "cached": read, "thoughts": thoughts})


def _beyond(usage: Data) -> Data:
    """Return what a total says beside the figures that are counted."""
    fields = {key: value for key, value in usage.items() if key not in FIGURES}
    parts = dict_of(fields.pop("breakdowns", None))
    rest = {name: part for name, part in parts.items() if name != "output" or dict_of(part).keys() - {"reasoning"}}
    return fields | ({"breakdowns": rest} if rest else {})


# -- what is no turn ---------------------------------------------------------------------------------------------------


def _event(said: Data) -> list[Message]:
    """An event's message, or none where there is nothing to read."""
    kind = as_text(said.get("entry_type"))
    record = dict_of(said.get("raw"))
    data = record or said
    sub = as_text(data.get("subtype"))
    if kind in _COMPACTIONS or sub in _COMPACTIONS:
        message = _compaction(dict_of(dict_of(data.get("entry_extra")).get("compactMetadata")) | data)
        if label := as_text(said.get("label")):
            message.label = one_line(label, 80)
        if not message.parts and (text := as_text(said.get("text"))):
            message.parts = [Part("text", text)]
        return [message]
    if kind in _HIDDEN and "label" not in said:
        return []
    texts = (as_text(source.get(key)) for source in (said, record) for key in ("text", "message", "content", "summary"))
    text = next((text for text in texts if text), "")
    label = as_text(said.get("label")) or " ".join(word for word in (kind, sub) if word) or "event"
    if not text and "label" not in said:
        if record:  # a line of the source of which nothing was read
            return []
        shown = {key: said[key] for key in said if key not in ("type", "entry_type", "event_source_id")}
        text = as_json(shown, indent=True)
    return [_message(_EVENT_KINDS.get(kind) or _EVENT_KINDS.get(sub, Kind.NOTE), text, one_line(label, 80))]


def _compaction(said: Data) -> Message:
    tokens = said.get("pre_tokens", said.get("preTokens"))
    facts = [as_text(said.get("trigger"))]
    if isinstance(tokens, int | float) and not isinstance(tokens, bool):
        facts.append(f"{tokens:,.0f} tokens before")
    label = ", ".join(["Compacted", *(one_line(fact, 40) for fact in facts if fact)])
    message = _message(Kind.COMPACTION, as_text(said.get("summary")), label)
    if kept := said.get("kept"):
        message.metadata["kept"] = kept
    return message


def _change(key: str, part: object) -> Message:
    """Some other artifact's change: its diff, or whatever it says."""
    said = dict_of(dict_of(part).get("structural"))
    raw = as_text(dict_of(part).get("raw"))
    what = as_text(said.get("operation")) or as_text(said.get("type")) or "change"
    target = as_text(said.get("rename_to"))
    place = f"{clean(key)} → {target}" if target else clean(key)
    message = _message(Kind.NOTE, raw or as_json(said or part, indent=True), one_line(f"{what} {place}", 200))
    if raw and said:  # the text is the diff alone
        message.metadata["change"] = said
    message.path_hints = [clean(key)]
    return message
