"""Antigravity: the transcript in JSON lines beside stores that nobody else can read (others.md 14). Unverified."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from schemas.message import Kind, Lack
from schemas.provider import Format, Head
from schemas.providers.kit.bases import Data, Home, Lines
from schemas.providers.kit.words import Fact, Item, Say, Skip
from schemas.records import read_record
from schemas.values import dict_of, text_of, when

_METADATA = re.compile(r"<ADDITIONAL_METADATA>(.*?)</ADDITIONAL_METADATA>", re.DOTALL)
_ASIDE = re.compile(r"<(ADDITIONAL_METADATA|USER_SETTINGS_CHANGE)>.*?</\1>", re.DOTALL)
_REQUEST = re.compile(r"</?USER_REQUEST>")
_FIELDS = {"source", "created_at", "content"}


class Antigravity(Lines):
    """Antigravity's transcripts."""

    id = "antigravity"
    name = "Antigravity"
    counting = "Antigravity's transcripts have no tokens."
    marks: ClassVar[tuple[bytes, ...]] = (b'"source"',)
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Antigravity transcript, JSON lines", "records with source, created_at and content"),
    )
    homes = tuple(
        Home(f".gemini/{name}/brain") for name in ("antigravity", "antigravity-cli", "antigravity-ide")
    )  # fmt: skip
    files = ("*/.system_generated/logs/transcript.jsonl",)
    lacks = frozenset({Lack.TOKENS, Lack.RESULTS})

    def detect(self, head: Head) -> bool:
        """Return whether a record has a source in capitals, a time and a text."""
        return any(record.keys() >= _FIELDS and text_of(record["source"]).isupper() for record in head.first)

    def id_of(self, path: Path) -> str:
        """The conversation's folder."""
        return path.parents[2].name if len(path.parents) > 2 and path.name == "transcript.jsonl" else path.stem

    def time(self, record: Data) -> float | None:
        """Return the time of a record."""
        return when(record.get("created_at"))

    def type(self, record: Data) -> str:
        """Return the source of a record, which serves as its type."""
        return text_of(record.get("source")) or "(no source)"

    def read(self, record: Data) -> Iterator[Item]:
        text, source = text_of(record.get("content")), self.type(record)
        if not text.strip():
            yield Skip(source)
        elif source == "MODEL":
            yield Say(Kind.TEXT, text)
        elif source.startswith("USER"):
            for about in _METADATA.findall(text):
                yield Fact(workspace_root=dict_of(read_record(about.encode("utf-8", "replace"))).get("cwd"))
            typed = _REQUEST.sub("", _ASIDE.sub("", text)).strip()
            yield Say(Kind.PROMPT, typed) if typed else Skip(source)
        else:
            yield Say(Kind.CONTEXT, text, label=source.replace("_", " ").capitalize())


PROVIDER = Antigravity()
