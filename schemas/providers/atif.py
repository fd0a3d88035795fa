"""ATIF, Harbor's format of trajectories: a JSON document of steps, subagents within it or beside it (others.md 12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from schemas.message import NO_FLAGS, Flag, Kind, Lack, ToolStatus
from schemas.provider import Format
from schemas.providers.kit.bases import Data, Document
from schemas.providers.kit.blocks import arguments_of, image_part, texts_in
from schemas.providers.kit.history import History
from schemas.providers.kit.words import Answer, Child, Count, Fact, Item, Link, Say, Skip, Task, Total, Use
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of, when

_DEEPEST = 20


class Trajectories(History):
    """The policy that assigns each step to one of the trajectories in a document."""

    def whose(self, record: Data) -> str:
        return text_of(record.get("whose"))


class Atif(Document):
    """ATIF trajectories."""

    id = "atif"
    name = "ATIF"
    verified = "the format's own example; else made-up files"
    counting = (
        "ATIF has the tokens of each step that called the model; the input includes what came from the cache, which is "
        "taken apart here. Steps that were copied from another trajectory do not count."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"ATIF-v',)
    formats: ClassVar[tuple[Format, ...]] = (
        Format("ATIF trajectory, JSON", "an object with schema_version ATIF-v1 and steps"),
    )
    files = ()
    history = Trajectories
    lacks = frozenset({Lack.TIMES, Lack.TOKENS, Lack.THINKING})
    tools = {
        "bash": "shell", "execute_bash": "shell", "terminal": "shell", "shell": "shell", "bash_command": "shell",
        "read_file": "read", "write_file": "write", "edit_file": "write", "str_replace_editor": "write", "grep":
        "search", "web_search": "search", "delegate": "task", "task": "task",
    }  # fmt: skip

    def records(self, document: Any) -> Sequence[Data]:
        """The facts of a trajectory and its steps, and those of the trajectories within it."""
        held = dict_of(document)
        if not text_of(held.get("schema_version")).startswith("ATIF-v") or not isinstance(held.get("steps"), list):
            return ()
        return list(_flat(held, "", 0))

    def merged(self, path: Path, document: Any, sides: Sequence[Any]) -> Sequence[Data]:
        """The same, with where trajectories in files of their own lie."""
        records = self.records(document)
        for record in records:
            for result in list_of(dict_of(record.get("observation")).get("results")):
                for ref in map(dict_of, list_of(dict_of(result).get("subagent_trajectory_ref"))):
                    place = PurePosixPath(text_of(ref.get("trajectory_path")) or "/")
                    if not place.is_absolute() and ".." not in place.parts and (file := path.parent / place).is_file():
                        ref["file"] = str(file)
        return records

    def type(self, record: Data) -> str:
        """Return the source of a step, which serves as its type."""
        return text_of(record.get("source")) or text_of(record.get("type")) or "(no source)"

    def name_of(self, record: Data) -> str:
        """The step's number."""
        return f"step {record['step_id']}" if isinstance(record.get("step_id"), int) and "whose" not in record else ""

    def read(self, record: Data) -> Iterator[Item]:
        copied = record.get("is_copied_context") is True
        flags = Flag.INHERITED if copied else NO_FLAGS
        text, images = texts_in(record.get("message")), _images(record.get("message"))
        match self.type(record):
            case "trajectory":
                agent = dict_of(record.get("agent"))
                yield Fact(
                    id=record.get("trajectory_id") or record.get("session_id"), version=agent.get("version"),
                    model=agent.get("model_name") or agent.get("model"), agentName=agent.get("name"),
                    continued=record.get("continued_trajectory_ref"), notes=record.get("notes"),
                )  # fmt: skip
                yield Skip("trajectory")
            case "user":
                yield Say(Kind.PROMPT, text, images=images, flags=flags)
                yield from _observed(record)
            case "system":
                yield Say(Kind.CONTEXT, text, label="System prompt", images=images, flags=flags)
                yield from _observed(record)
            case "agent":
                yield from self._step(record, text, flags, copied=copied)
            case "final":
                usage = _figures(record, "total_prompt_tokens", "total_completion_tokens", "total_cached_tokens")
                if any(usage):
                    yield Total(usage, text_of(record.get("model")))
                yield Skip("final metrics")
            case _:
                yield Say(Kind.UNKNOWN)

    def _step(self, record: Data, text: str, flags: Flag, *, copied: bool) -> Iterator[Item]:
        model = text_of(record.get("model_name"))
        if thought := text_of(record.get("reasoning_content")):
            yield Say(Kind.THINKING, thought, model=model, flags=flags)
        if text.strip():
            yield Say(Kind.TEXT, text, model=model, flags=flags)
        for call in map(dict_of, list_of(record.get("tool_calls"))):
            given = arguments_of(call.get("arguments"))
            task = Task("", "", text_of(given.get("prompt"))) if _refs(record, call) else None
            yield Use(
                name=text_of(call.get("function_name")), use_id=text_of(call.get("tool_call_id")), input=given,
                model=model, flags=flags, task=task,
            )  # fmt: skip
        yield from _observed(record)
        usage = _figures(dict_of(record.get("metrics")), "prompt_tokens", "completion_tokens", "cached_tokens")
        if any(usage) and not copied:
            yield Count(usage, model=model)

    def time(self, record: Data) -> float | None:
        """Return the time of a step."""
        return when(record.get("timestamp"))


def _flat(held: Data, whose: str, depth: int) -> Iterator[Data]:
    """The facts, the steps and the subagents' of a trajectory, each with the subagent that it is of."""
    mark = {"whose": whose} if whose else {}
    steps = [dict_of(step) for step in list_of(held.get("steps"))]
    about = {key: value for key, value in held.items() if key not in ("steps", "subagent_trajectories")}
    if not whose:
        yield {"type": "trajectory", **about}
    yield from (step | mark for step in steps)
    if not any(dict_of(step.get("metrics")).get("prompt_tokens") for step in steps):
        model = dict_of(held.get("agent")).get("model_name")
        yield {"type": "final", "model": model, **dict_of(held.get("final_metrics"))} | mark
    for child in map(dict_of, list_of(held.get("subagent_trajectories")) if depth < _DEEPEST else []):
        name = text_of(child.get("trajectory_id")) or text_of(child.get("session_id")) or "subagent"
        yield from _flat(child, name, depth + 1)


def _refs(record: Data, call: Data) -> list[Data]:
    """The subagents to which a call led."""
    results = [dict_of(one) for one in list_of(dict_of(record.get("observation")).get("results"))]
    mine = [one for one in results if one.get("source_call_id") == call.get("tool_call_id")]
    return [dict_of(ref) for one in mine for ref in list_of(one.get("subagent_trajectory_ref"))]


def _observed(record: Data) -> Iterator[Item]:
    """The results of a step; one without a call is of the whole step."""
    for result in map(dict_of, list_of(dict_of(record.get("observation")).get("results"))):
        use_id, extra = text_of(result.get("source_call_id")), dict_of(result.get("extra"))
        text, failed = texts_in(result.get("content")), extra.get("is_error") is True or bool(extra.get("error"))
        if use_id:
            status = ToolStatus.ERROR if failed else ToolStatus.OK
            yield Answer(use_id, text or text_of(extra.get("error")), status, images=_images(result.get("content")))
        elif text:
            yield Say(Kind.CONTEXT, text, label="Observation")
        for ref in map(dict_of, list_of(result.get("subagent_trajectory_ref"))):
            name = text_of(ref.get("trajectory_id")) or text_of(ref.get("session_id"))
            if text_of(ref.get("file")):
                yield Child(name, Path(text_of(ref.get("file"))), use_id=use_id)
            elif name and use_id:
                yield Link(use_id, name)


def _figures(given: Data, fresh: str, output: str, cached: str) -> TokenUsage:
    """Figures whose input includes the cache; what was written to it stands among the extras."""
    extra = dict_of(given.get("extra"))
    total, read = as_count(given.get(fresh)), as_count(given.get(cached))
    written = as_count(extra.get("cache_creation_input_tokens")) or as_count(extra.get("cache_write_tokens"))
    rest = None if total is None else max(0, total - (read or 0) - (written or 0))
    return TokenUsage(rest, as_count(given.get(output)), read, written, as_count(extra.get("reasoning_tokens")))


def _images(content: object) -> list[Any]:
    sources = [dict_of(part.get("source")) for part in map(dict_of, list_of(content)) if part.get("type") != "text"]
    return [image_part(source.get("media_type"), None, source.get("path")) for source in sources]


PROVIDER = Atif()
