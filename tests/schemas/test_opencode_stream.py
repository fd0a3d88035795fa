"""`opencode run --format json`: text before the first event (formats/streams.md 6)."""

from __future__ import annotations

import json
from pathlib import Path

from schemas.providers.streams import PROVIDER
from schemas.session import Op
from tests.fixtures.streams import opencode_lines, saved
from tests.schemas.printed import read


def test_text_before_the_first_event_is_shown_at_once_and_stays(tmp_path: Path) -> None:
    path = saved(tmp_path / "stream.jsonl", ["building the lamp"])
    reading = PROVIDER.open(path)
    reading.step()
    assert reading.session.message(0).text == "building the lamp"
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in opencode_lines())
    assert all(change.op is not Op.RESTARTED for change in reading.step())
    assert reading.session.provider == "opencode"
    assert reading.session.message(0).text == "building the lamp"
    assert reading.session.usage() == read(tmp_path, opencode_lines()).usage()
