"""Roo Code: tasks of Cline's form, each with its facts in a file beside it (others.md 7.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from schemas.folders import object_in, state_of
from schemas.provider import Format, Head
from schemas.providers import _cline_tasks as tasks
from schemas.providers.cline import Cline
from schemas.providers.kit.bases import Data, Home
from schemas.providers.kit.words import Fact, Item, Title
from schemas.values import dict_of, text_of, when

if TYPE_CHECKING:
    from schemas.session import Session


class Roo(Cline):
    """Roo Code's tasks; and what its forks have in common with it."""

    id = "roo"
    name = "Roo Code"
    verified = ""
    extension: ClassVar[str] = "roo-cline"
    counting = "Roo Code keeps the tokens of each request; where none has any, the sum beside the task counts."
    marks: ClassVar[tuple[bytes, ...]] = (b'"role"', b'"say"', b'"ask"')
    formats = (Format("Roo Code task, JSON", "a list of messages, beside a history_item.json"),)
    homes: ClassVar[tuple[Home, ...]] = tuple(tasks.in_editors("rooveterinaryinc.roo-cline"))
    files = (f"tasks/*/{tasks.HISTORY}",)
    resume = ()

    def detect(self, head: Head) -> bool:
        """A task by its folder, or with its facts beside it."""
        return bool(self.records(head.document)) and tasks.fork_of(head.path) == self.extension

    def sides(self, path: Path) -> Sequence[Path]:
        """Return the files of what the person saw, and of the task's facts."""
        other = tasks.SHOWN if path.name == tasks.HISTORY else tasks.HISTORY
        return [path.with_name(other), path.with_name(tasks.FACTS)]

    def merged(self, path: Path, document: Any, sides: Sequence[Any]) -> Sequence[Data]:
        """The messages and what the person saw; the sum of the facts, where no request has figures."""
        other, facts = sides
        index = [] if other else [{**dict_of(facts), "id": path.parent.name}]
        return tasks.records(document, other, index, name=path.parent.name)

    def stamps(self, session: Session) -> object:
        """Return the state of the file of the task's facts, which shows a change."""
        return state_of(session.path.with_name(tasks.FACTS))

    def beside(self, session: Session) -> Iterable[Item]:
        """The facts of the task."""
        facts = object_in(session.path.with_name(tasks.FACTS))
        yield Title(text_of(facts.get("task")), 1)
        place = facts.get("workspace") or facts.get("cwdOnTaskInitialization")
        yield Fact(workspace_root=place, created=when(facts.get("ts")), parent=facts.get("parentTaskId"))


PROVIDER = Roo()
