"""Oh My Pi: Pi's tree with titles and subagents in files of their own (formats/found-others.md 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.folders import matching
from schemas.message import Kind, Part
from schemas.provider import Format, Head
from schemas.providers.kit.bases import Data, Home
from schemas.providers.kit.words import Child, Fact, Item, Link, Say, Task
from schemas.providers.pi import PRINTED, Pi, PiStream, keeps_titles
from schemas.slices import Listing
from schemas.values import dict_of, list_of, text_of

if TYPE_CHECKING:
    from schemas.session import Session


class OhMyPi(Pi):
    """A subagent's file lies in a folder that is named as its parent's file is, under the subagent's name."""

    id = "omp"
    name = "Oh My Pi"
    verified = "genuine sessions of 18.2.3"
    counting = Pi.counting.replace("Pi", "Oh My Pi", 1) + " Requests for titles are not recorded."
    formats = (Format("Oh My Pi session, JSON lines", "Pi's records with a title before or in the header"),)
    homes = (
        Home("$PI_CODING_AGENT_DIR/sessions", "PI_CODING_AGENT_DIR"),
        Home(".omp/agent/sessions"),
    )
    listing = Listing(r"(\d+):")
    resume = ("omp", "--resume")

    def is_mine(self, head: Head) -> bool:
        """Return whether titles are kept in this agent's way."""
        return keeps_titles(head.first)

    def read(self, record: Data) -> Iterator[Item]:
        """Read the items of a record, also of those that Pi's sessions lack."""
        if record.get("type") == "session_init":
            yield Say(Kind.CONTEXT, text_of(record.get("systemPrompt")), label="System prompt")
        else:
            yield from super().read(record)

    def result(self, message: Data, text: str, images: list[Part]) -> Iterator[Item]:
        """The result of a tool use, and which subagents it started."""
        yield from super().result(message, text, images)
        for started in list_of(dict_of(message.get("details")).get("progress")):
            if agent := text_of(dict_of(started).get("id")):
                yield Link(text_of(message.get("toolCallId")), agent)

    def beside(self, session: Session) -> Iterable[Item]:
        """The subagents, and of a subagent's file whose it is."""
        path = session.path
        if path.parent.with_name(f"{path.parent.name}.jsonl").is_file():
            yield Fact(agent_id=path.stem, parent=path.parent.name.rpartition("_")[2])
        for file, _ in matching(path.with_suffix(""), "*.jsonl", []):
            yield Child(Path(file).stem, Path(file), task=Task(Path(file).stem))


class OhMyPiStream(PiStream):
    """`omp --mode json`: Pi's events; a prompt says whose it is, and there is a line of its own before the first."""

    id = OhMyPi.id
    name = OhMyPi.name
    listing = OhMyPi.listing
    formats = (Format("Oh My Pi, `--mode json`", "Pi's events, and advisor_cost_changed or a prompt's attribution"),)

    def prints(self, record: Data) -> bool:
        """Return whether a record has something that Pi's do not."""
        prompt = record.get("type") in PRINTED and "attribution" in dict_of(record.get("message"))
        return prompt or record.get("type") == "advisor_cost_changed"

    def may_print(self, record: Data) -> bool:
        """Pi's events."""
        return super().prints(record)


PROVIDER = OhMyPi()
STREAM = OhMyPiStream()
