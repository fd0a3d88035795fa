"""Events about tool uses: exit codes, durations, diffs, subagents. They name the use by its id."""

from __future__ import annotations

from typing import Any

from schemas.message import Kind
from schemas.providers.codex.mirrors import Source, key_of
from schemas.providers.codex.outputs import Outcome, decode, exec_text, mcp_outcome, patch_outcome
from schemas.providers.codex.prompts import status_text
from schemas.providers.codex.scan import TOOL, Scan
from schemas.providers.codex.tools import command_line, search_key
from schemas.records import Record
from schemas.values import dict_of, list_of, text_of, whole

COMMAND, OUTPUT = int(Kind.COMMAND), int(Kind.OUTPUT)


def detail(scan: Scan, record: Record, call_id: object, outcome: Outcome | None) -> int:
    """More about a tool use; what it is about may be missing (a copied beginning, commands within code)."""
    index = scan.find_call(call_id)
    if index is None:
        index = scan.add(TOOL, record)
        scan.remember_call(call_id, index)
        scan.from_events.add(index)
    else:
        scan.attach(index, record)
    if outcome is not None:
        scan.fit(index, outcome.text)
        scan.settle(index, outcome.failed, outcome.denied)
    return index


def exec_end(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A command ended."""
    if payload.get("source") in ("user_shell", "userShell"):
        _user_command(scan, record, payload)
        return
    call_id = payload.get("call_id") or payload.get("id")
    index = scan.calls.get(call_id) if type(call_id) is str else None
    if index is None:
        index = detail(scan, record, call_id, None)
    else:
        scan.attach(index, record)
    code, status = payload.get("exit_code"), payload.get("status")
    declined = status == "declined"
    scan.settle(index, bool(whole(code)) or declined or status == "failed", declined)
    if not scan.session.messages.chars[index]:  # its result may never come
        scan.fit(index, exec_text(payload))


def _user_command(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    words = payload.get("command")
    command = command_line([str(w) for w in words]) if isinstance(words, list) else text_of(words)
    result = exec_text(payload)
    index = scan.once(scan.prompts, COMMAND, COMMAND, command, record, Source.EVENT)
    if index is not None and result.strip():
        printed = scan.add(OUTPUT, record, 1, result)
        scan.prompts.note(key_of(OUTPUT, result), printed, Source.EVENT)


def patch_end(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A patch was applied or not."""
    index = detail(scan, record, payload.get("call_id") or payload.get("id"), patch_outcome(payload))
    texts = [
        text_of(dict_of(change).get("unified_diff")) or text_of(dict_of(change).get("content"))
        for change in dict_of(payload.get("changes")).values()
    ]
    chars = sum(map(len, texts))
    if chars > scan.session.messages.chars[index]:
        scan.resize(index, chars, sum(t.count("\n") + 1 for t in texts))


def mcp_end(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """An MCP tool answered."""
    result = payload.get("result")
    outcome = mcp_outcome(result) if result is not None else Outcome(_message_of(payload.get("error")))
    failed = outcome.failed or payload.get("status") == "failed" or bool(payload.get("error"))
    detail(scan, record, payload.get("call_id") or payload.get("id"), outcome._replace(failed=failed))


def _message_of(error: object) -> str:
    return text_of(error) or text_of(dict_of(error).get("message"))


def web_search_end(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A search ended; its item may lack the id."""
    source = Source.EVENT if "call_id" in payload else Source.COMPLETED
    call_id = payload.get("call_id") or payload.get("id")
    key = key_of("search", search_key(payload.get("action"), payload.get("query")))
    if scan.find_call(call_id) is None and (copied := scan.texts.match(key, source)) is not None:
        scan.attach(copied, record)
        return
    known = len(scan.session.messages)
    index = detail(scan, record, call_id, None)
    if index == known:
        scan.texts.note(key, index, source)


def about_call(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """An event that names a tool use."""
    detail(scan, record, payload.get("call_id") or payload.get("callId") or payload.get("id"), None)


def dynamic_response(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A tool of the app's answered."""
    call_id = payload.get("call_id") or payload.get("callId") or payload.get("id")
    outcome = decode(payload.get("content_items") or payload.get("contentItems") or [])
    detail(scan, record, call_id, outcome._replace(failed=payload.get("success") is False))


def collab_end(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A subagent was started, told something, waited for or closed."""
    index = detail(scan, record, payload.get("call_id"), None)
    if thread := payload.get("new_thread_id"):
        name = text_of(payload.get("new_agent_nickname")) or text_of(payload.get("new_agent_role"))
        scan.link_subagent(index, thread, name, text_of(payload.get("prompt")))
    _, text = status_text(payload.get("status"))
    scan.fit(index, text)


def subagent_activity(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A subagent started, or something else happened to it."""
    index = scan.find_call(payload.get("event_id") or payload.get("id"))
    if index is None:
        scan.add(Kind.NOTE, record)
    else:
        scan.attach(index, record)
    if payload.get("kind") == "started":
        name = text_of(payload.get("agent_path")).rsplit("/", 1)[-1]
        scan.link_subagent(index, payload.get("agent_thread_id"), name, "")


def collab_item(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """A completed use of a subagent tool (paginated rollouts)."""
    index = detail(scan, record, item.get("id"), None)
    if text_of(item.get("tool")).lower().replace("_", "") in ("spawnagent", "spawn"):
        for thread in list_of(item.get("receiver_thread_ids") or item.get("receiverThreadIds")):
            scan.link_subagent(index, thread, "", text_of(item.get("prompt")))


def assessment(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """The review guard judged an action."""
    index = scan.find_call(payload.get("target_item_id"))
    if index is None:
        scan.add(Kind.NOTE, record)
        return
    scan.attach(index, record)
    if payload.get("status") == "denied":
        scan.settle(index, failed=True, interrupted=True)
