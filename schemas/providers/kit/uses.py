"""Tool uses: each paired with its result, its status, and what it says of a subagent that it started."""

from __future__ import annotations

from schemas.clean import one_line
from schemas.message import Flag, Kind, ToolStatus
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.messages import DETAIL, RESULT, Rows
from schemas.providers.kit.talk import Talk
from schemas.providers.kit.words import Answer, Link, Say, Task, Use
from schemas.records import Record
from schemas.session import Subagent

_PENDING, _ERROR, _INTERRUPTED, _SUBAGENT = map(int, (Flag.PENDING, Flag.ERROR, Flag.INTERRUPTED, Flag.SUBAGENT))
_UNENDED, _BACKGROUND = ToolStatus.PENDING, ToolStatus.BACKGROUND
_ENDS = {ToolStatus.ERROR: _ERROR, ToolStatus.DENIED: _INTERRUPTED, ToolStatus.INTERRUPTED: _INTERRUPTED}


def _words(prompt: str) -> str:
    return " ".join(prompt.split())


class Uses:
    """The tool uses of one session."""

    def __init__(self, rows: Rows, talk: Talk, agent: Agent) -> None:
        self._rows, self._talk, self._agent, self.session = rows, talk, agent, rows.session
        self._row_of: dict[int, int] = {}
        """The message of each use, by the hash of its id: ids are long, and there are hundreds of thousands."""
        self.open: dict[int, None] = {}
        """Uses without an end, those in the background included."""
        self.judged: dict[int, ToolStatus] = {}
        """Statuses that were said apart from a result."""
        self.tasks: dict[int, Task] = {}
        self._asked: dict[str, list[int]] = {}
        """The uses in `tasks` by the words of their prompts."""
        self._led: set[int] = set()
        """The uses that are known to have started a subagent of the session."""
        self.started: dict[str, int] = {}
        """The uses that started subagents, by the subagents' ids."""
        self.leads: dict[int, str] = {}
        """The subagents to which uses lead, those that let one go on too."""
        self.answered = False
        """Whether any result was told, apart from what uses say of themselves."""
        self.links = 0
        """Grows with each thing that was learned of who started whom."""

    def __bool__(self) -> bool:
        return bool(self._row_of or self.tasks or self.started)

    def row(self, use_id: str) -> int:
        """The message of a use; -1 if there is none."""
        return self._row_of.get(hash(use_id), -1) if use_id else -1

    def use(self, record: Record, number: int, use: Use) -> bool:
        """A tool use; False where it was told before. One with the `id` of its message takes the place of that."""
        row, messages = self.row(use.use_id), self.session.messages
        if self._agent.reuses and row not in self.open:
            row = -1
        if row >= 0 and row not in self._rows.growing and not (use.id and self._rows.named.get(use.id) == row):
            return False
        if row >= 0:
            self._talk.again(row, record, number, use)
        else:
            row = self._talk.add(record, number, use)
            messages.flags[row] |= _PENDING
            self.open[row] = None
            if use.use_id:
                self._row_of[hash(use.use_id)] = row
        if use.task is not None:
            if row in self.tasks:
                self._asked[_words(self.tasks[row].prompt)].remove(row)
            self.tasks[row] = use.task
            self._asked.setdefault(_words(use.task.prompt), []).append(row)
            self.links += 1
            if row in self._led:  # its subagent spoke before the use was whole
                for subagent in self.session.subagents:
                    if subagent.tool_use == row:
                        self._describe(subagent, row)
        if use.subagent:
            self.start(use.subagent, row)
        if use.answer is not None:
            self.answer(record, number, use.answer, row)
        return True

    def answer(self, record: Record, number: int, answer: Answer, of: int = -1) -> bool | None:
        """A tool use's result, or only its status; of message `of`, where the same item holds both."""
        row, text, status = of if of >= 0 else self.row(answer.use_id), answer.text, answer.status
        session, messages = self.session, self.session.messages
        if answer.late and (row not in self.open or messages.flags[row] & _PENDING):
            return None
        if answer.beside and row >= 0:
            return self._beside(record, number, answer, row)
        if text is not None and of < 0:
            self.answered = True
        if text is None:
            if row < 0:
                return False
            self.judged[row] = status
        elif row < 0:
            self._talk.add(record, number, Say(Kind.OUTPUT, text, images=answer.images))
            return True
        elif row not in self.open and self._agent.answers == "first":
            return False
        else:
            if text or not messages.chars[row]:  # what was told beside it is shown where it says nothing
                self.session.messages.resize(row, text)
            status = self.judged.get(row, status)
            if status is not _UNENDED and status is not _BACKGROUND:
                self.open.pop(row, None)
        self._set(row, _PENDING if status is _UNENDED else _ENDS.get(status, 0), _PENDING | _ERROR | _INTERRUPTED)
        self._rows.extend(row, record, number, RESULT)
        session.touch(session.exchanges[messages.exchange[row]], self._rows.time)
        if answer.subagent:
            self.start(answer.subagent, row)
        return True

    def _beside(self, record: Record, number: int, answer: Answer, row: int) -> bool:
        """Apply an answer about a use from another record than the result."""
        messages, status = self.session.messages, answer.status
        if status in _ENDS:
            self.judged[row] = status
        if status is not _UNENDED:
            self._set(row, _ENDS.get(status, 0), _PENDING)
        if answer.text and not messages.chars[row]:
            messages.resize(row, answer.text)
        self._rows.extend(row, record, number, DETAIL)
        return True

    def _set(self, row: int, flags: int, instead: int) -> None:
        """Give a use the flags of its end in place of others, and its exchange the error, or one less."""
        messages = self.session.messages
        before = messages.flags[row]
        now = messages.flags[row] = before & ~instead | flags
        if (now ^ before) & _ERROR:
            self.session.exchanges[messages.exchange[row]].errors += 1 if now & _ERROR else -1

    def end_turn(self, failed: bool | None) -> None:
        """Close the uses that wait for a result when a turn ends: what is in the background goes on."""
        if failed is None:
            return
        flags = self.session.messages.flags
        for row in list(self.open):
            pending = flags[row] & _PENDING
            if pending or self.judged.get(row, _BACKGROUND) is not _BACKGROUND:  # of that one no result comes any more
                del self.open[row]
            if pending and failed:
                flags[row] = flags[row] & ~_PENDING | _INTERRUPTED
                self._rows.changed.add(row)

    def link(self, link: Link) -> None:
        """Note which use started a subagent."""
        if (row := self.row(link.use_id)) >= 0:
            self.start(link.agent, row)

    def start(self, agent: str, row: int) -> None:
        """Note that message `row` started a subagent."""
        self.leads[row] = agent
        if agent not in self.started:
            self.started[agent] = row
            self.links += 1
        elif any(subagent.id == agent for subagent in self.session.subagents):
            self._mark(row)

    def find(self, name: str, use_id: str, prompt: str) -> int:
        """The use that started a subagent: by its id, by what was said of it, by equal prompts; -1 if none did."""
        row = self.row(use_id)
        if row < 0:
            row = self.started.get(name, -1)
        if row < 0 and (words := _words(prompt)):
            row = next((r for r in self._asked.get(words, ()) if r not in self._led), -1)
        return row

    def any_unled(self) -> bool:
        """Return whether a use that must have started a subagent is not yet paired with it."""
        return not self._led.issuperset(self.tasks)

    def all_led(self) -> bool:
        """Return whether the subagent is known of each use that started one."""
        flags = self.session.messages.flags
        return all(flags[row] & (_SUBAGENT | _ERROR | _INTERRUPTED) for row in self.tasks)

    def attach(self, subagent: Subagent, row: int) -> None:
        """Let message `row` be the use that started a subagent."""
        if subagent not in self.session.subagents:
            self.session.subagents.append(subagent)
        subagent.tool_use = row
        self._led.add(row)
        self._describe(subagent, row)
        for use, agent in self.leads.items():
            if agent == subagent.id or use == row:
                self._mark(use)
        self._mark(row)

    def _describe(self, subagent: Subagent, row: int) -> None:
        if (task := self.tasks.get(row)) is not None:
            subagent.name = subagent.name or one_line(task.name, 80)
            subagent.description = one_line(task.description, 200) or subagent.description

    def _mark(self, row: int) -> None:
        self.session.messages.flags[row] |= _SUBAGENT
        self._rows.changed.add(row)
