"""Completed items: what paginated rollouts write of each finished item, mostly what a response item says too."""

from __future__ import annotations

from typing import Any

from schemas.clean import one_line
from schemas.message import Kind
from schemas.providers.codex.details import (
    about_call,
    collab_item,
    dynamic_response,
    exec_end,
    mcp_end,
    patch_end,
    subagent_activity,
    web_search_end,
)
from schemas.providers.codex.items import Handler, compacted, said, take_segments, thought
from schemas.providers.codex.mirrors import Source
from schemas.providers.codex.prompts import completed_segments
from schemas.providers.codex.scan import Scan
from schemas.providers.codex.values import content_text
from schemas.records import Record
from schemas.values import dict_of, list_of, text_of


def note(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """An item worth a line; its words are made when somebody looks (notes.py)."""
    scan.add(Kind.NOTE, record)


def item_completed(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A finished item of a paginated rollout; most repeat a response item."""
    item = dict_of(payload.get("item"))
    kind = text_of(item.get("type"))
    handler = COMPLETED.get(kind) or COMPLETED.get(kind[:1].upper() + kind[1:])
    if handler is None:
        scan.session.unknown[f"item_completed {one_line(kind, 80) or '(no type)'}"] += 1
        scan.add(Kind.UNKNOWN, record, chars=record[1], lines=1)
    else:
        handler(scan, record, item)


def completed_user(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """A prompt."""
    take_segments(scan, record, completed_segments(item), Source.COMPLETED)


def completed_agent(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """What the assistant said."""
    said(scan, record, content_text(item.get("content")), Source.COMPLETED)


def completed_reasoning(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """Thinking."""
    parts = list_of(item.get("raw_content")) or list_of(item.get("summary_text"))
    thought(scan, record, [p for p in parts if isinstance(p, str) and p.strip()], Source.COMPLETED)


def completed_plan(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """A plan for the person to accept."""
    scan.once(scan.texts, Kind.NOTE, "plan", text_of(item.get("text")), record, Source.COMPLETED)


def completed_compaction(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """The context was compacted."""
    compacted(scan, record, "", Source.COMPLETED)


def hide_item(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """A completed item with nothing to read."""
    scan.session.hidden[f"item_completed {text_of(item.get('type'))}"] += 1


COMPLETED: dict[str, Handler] = {
    "UserMessage": completed_user,
    "AgentMessage": completed_agent,
    "Reasoning": completed_reasoning,
    "Plan": completed_plan,
    "CommandExecution": exec_end,
    "FileChange": patch_end,
    "McpToolCall": mcp_end,
    "DynamicToolCall": dynamic_response,
    "CollabAgentToolCall": collab_item,
    "CollabToolCall": collab_item,
    "SubAgentActivity": subagent_activity,
    "WebSearch": web_search_end,
    "Extension": web_search_end,
    "ImageView": about_call,
    "ImageGeneration": about_call,
    "HookPrompt": note,
    "ContextCompaction": completed_compaction,
    "EnteredReviewMode": note,
    "ExitedReviewMode": note,
    "Sleep": hide_item,
}
