"""SWE-agent: a trajectory as one JSON document, each step with what the model answered (others.md 13). Unverified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from schemas.message import Kind, Lack, ToolStatus
from schemas.provider import Format
from schemas.providers.kit.bases import Data, Document
from schemas.providers.kit.blocks import message_items
from schemas.providers.kit.words import Answer, Fact, Item, Say, Skip, Total, Use
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, number, text_of


class SweAgent(Document):
    """SWE-agent's trajectories."""

    id = "swe-agent"
    name = "SWE-agent"
    counting = "SWE-agent keeps one sum of tokens sent and received; what of it came from a cache it does not say."
    marks: ClassVar[tuple[bytes, ...]] = (b'"trajectory"',)
    formats: ClassVar[tuple[Format, ...]] = (
        Format("SWE-agent trajectory, JSON", "an object with trajectory, a list of action and observation"),
    )
    files = ()
    lacks = frozenset({Lack.TIMES, Lack.TOKENS})

    def id_of(self, path: Path) -> str:
        """The file's name without its ending."""
        return path.name.removesuffix(".traj")

    def records(self, document: Any) -> Sequence[Data]:
        """The first prompts, the steps, and how it ended."""
        held = dict_of(document)
        steps = [dict_of(step) for step in list_of(held.get("trajectory"))]
        if not steps or not all({"action", "observation"} <= step.keys() for step in steps):
            return ()
        asked = list_of(steps[0].get("query")) or list_of(held.get("history"))[:2]
        numbered = [{**step, "number": number} for number, step in enumerate(steps, 1)]
        info = dict_of(held.get("info"))
        return [*map(dict_of, asked), *numbered, {"type": "end", "environment": held.get("environment"), **info}]

    def type(self, record: Data) -> str:
        """A message's role, or what kind of record it is."""
        return text_of(record.get("role")) or text_of(record.get("type")) or "step"

    def name_of(self, record: Data) -> str:
        """The step's number."""
        return f"step {record['number']}" if "number" in record else ""

    def read(self, record: Data) -> Iterator[Item]:
        kind = self.type(record)
        if kind == "end":
            stats = dict_of(record.get("model_stats"))
            sent, received = as_count(stats.get("tokens_sent")), as_count(stats.get("tokens_received"))
            if sent or received:
                yield Total(TokenUsage(sent, received), "")
            yield Fact(version=record.get("swe_agent_version"), costUsd=number(stats.get("instance_cost")))
            yield Say(Kind.NOTE, text_of(record.get("submission")), label=text_of(record.get("exit_status")) or "Ended")
        elif kind != "step":
            for item in message_items(record):
                prompt = isinstance(item, Say) and item.kind is Kind.PROMPT
                yield item if prompt or kind != "user" else Skip(kind)
        else:
            action, use_id = text_of(record.get("action")).strip(), self.name_of(record)
            if thought := text_of(record.get("thought")).strip():
                yield Say(Kind.TEXT, thought)
            place, spent = dict_of(record.get("state")).get("working_dir"), number(record.get("execution_time"))
            yield Fact(workspace_root=place, cwd=place)
            if action:
                answer = Answer(use_id, text_of(record.get("observation")), ToolStatus.OK, seconds=spent)
                yield Use(name="bash", use_id=use_id, input={"command": action}, type="shell", answer=answer)


PROVIDER = SweAgent()
