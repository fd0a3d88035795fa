"""Search over the samples of every agent, indexed together: each hit's address leads to the message that was found."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from renderers.places import find_place
from schemas.opening import head_of, read_session, recognise
from schemas.provider import Environment
from schemas.providers import providers
from viewer.index.find import Find
from viewer.index.library import Library
from viewer.index.query import parse
from viewer.sessions.targets import Targets


@pytest.mark.parametrize("agent", sorted(providers()))
def test_the_address_of_every_hit_opens_its_message(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_module(f"tests.fixtures.{agent.replace('-', '_')}").samples(tmp_path)
    monkeypatch.chdir(tmp_path)
    env = Environment({}, tmp_path, "linux")
    library = Library(env, tmp_path / "cache" / "index.sqlite", texts=True)
    library.bring_up_to_date()
    monkeypatch.setattr("viewer.sessions.discover.environment", lambda: env)
    targets, find = Targets(), Find(library)
    *_, answer = find.groups(parse("role:you role:agent role:tool role:thinking"))
    assert answer.groups or not library.found.files
    assert answer.missing == 0
    for group in answer.groups:
        hits = find.hits(group)
        assert len(hits) == group.hits
        for hit in (hits[0], hits[-1]):
            # An id that two files have, or whose file is no discovered one, is given as a path.
            alone = [one.id for one in answer.groups].count(group.id) == 1 and group.parent is None
            found = targets.resolve(f"{group.target if alone else group.path}{hit.place}")
            recognise(head_of(found.path))  # as the screen does, before it opens anything
            session = read_session(found.path)
            place = find_place(session, found.place)
            assert place is not None and place[1] == hit.message
            message = session.message(hit.message)
            assert (message.id, message.kind) == (hit.id, hit.kind)
            session.close()
    find.close()
