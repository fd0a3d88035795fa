"""A case: a folder with what an agent wrote, and in `expected.txt` what is read of it.

All files of the folder but `expected.txt` are the input, laid out as the agent lays them out; `NAME.sql` becomes the
database `NAME`. `expected.txt` begins with lines `# …` that say why the case is there, if its name does not, and a
line `read FILE` (`read FILE#KEY` for one of many sessions in a source); the rest is made (`session_text`).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from schemas.opening import head_of, recognise
from schemas.paths import source_of
from schemas.provider import Provider
from schemas.providers import provider_of
from schemas.providers.streams import PROVIDER as STREAMS
from schemas.session import Session
from schemas.troubles import OpenError
from tests.cases.session_text import session_text
from tests.schemas.conformance import whole

ROOT = Path(__file__).parent
EXPECTED = "expected.txt"
WRITTEN = 1_790_000_000
"""When each file was written, in seconds since 1970: some agents have no other times."""


@dataclass(frozen=True)
class Case:
    """One case; `folder` is `tests/cases/AGENT/RULE`."""

    folder: Path

    @property
    def name(self) -> str:
        """`AGENT/RULE`."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def provider(self) -> Provider:
        """The agent that reads it, by the folder's name."""
        agent = self.folder.parent.name
        provider = STREAMS if agent == STREAMS.id else provider_of(agent)
        assert provider is not None, f"no agent is called {agent}"
        return provider

    @property
    def expected(self) -> str:
        """What the file says, empty where there is none yet."""
        path = self.folder / EXPECTED
        return path.read_text("utf-8") if path.exists() else ""

    @property
    def header(self) -> list[str]:
        """The lines that stand before what is made: why the case is there, and which file is read."""
        lines = self.expected.split("\n")
        why = [line for line in lines if line.startswith("#")]
        read = [line for line in lines if line.startswith("read ")][:1]
        return why + (read or [f"read {self._only_file()}"])

    @cached_property
    def files(self) -> list[Path]:
        """Its input."""
        return [path for path in sorted(self.folder.rglob("*")) if path.is_file() and path.name != EXPECTED]

    @property
    def is_one_file(self) -> bool:
        """Whether nothing lies beside what is read."""
        return len(self.files) == 1

    def _only_file(self) -> str:
        assert self.is_one_file, f"{self.name}: expected.txt must say which file is read (read FILE)"
        return self.files[0].relative_to(self.folder).as_posix().removesuffix(".sql")

    def lay_out(self, folder: Path) -> Path:
        """Write the input into an empty folder; returns the address that is read."""
        folder.mkdir(parents=True, exist_ok=True)
        for source in self.files:
            target = folder / source.relative_to(self.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.suffix == ".sql":
                target = target.with_suffix("")
                with closing(sqlite3.connect(target)) as database:
                    database.execute("PRAGMA synchronous = OFF")  # nobody waits for the disk
                    database.executescript(source.read_text("utf-8"))
            else:
                shutil.copyfile(source, target)
            os.utime(target, (WRITTEN, WRITTEN))
        return folder / self.header[-1].removeprefix("read ")

    def read(self, folder: Path) -> tuple[Session, str]:
        """The session, and the whole text that `expected.txt` must be; the input is written into `folder`."""
        address = self.lay_out(folder)
        session = whole(self.provider, address)
        told = [] if self._is_recognised(address) else ["not recognised by its content"]
        head = "".join(f"{line}\n" for line in [*self.header, *told])
        return session, head + session_text(session, folder)

    def _is_recognised(self, address: Path) -> bool:
        """Whether it is opened as this agent's wherever it lies."""
        try:
            return recognise(head_of(source_of(address)[0])).id == self.provider.id
        except OpenError:
            return False


def cases(*folders: Path) -> Iterator[Case]:
    """All cases in some folders, in order; a folder may be a case itself."""
    for folder in sorted(path for path in ROOT.glob("*/*") if path.is_dir()):
        if any(folder.is_relative_to(root) for root in folders):
            yield Case(folder)
