"""Which turns of a path are rewound, while its steps come in one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.interchange.toolpath_document import Branches


def test_going_on_says_nothing_anew_of_what_was_settled():
    branches = Branches()
    for name, parents in (("a", []), ("b", ["a"]), ("c", ["a"])):
        branches.add(name, parents, range(ord(name), ord(name) + 1))
    assert dict(branches.marks()) == {97: False, 98: True, 99: False}
    branches.add("d", ["c"], range(100, 101))
    assert list(branches.marks()) == []
    branches.lead_to("b")
    assert dict(branches.marks()) == {97: False, 98: False, 99: True, 100: True}


@given(st.data())
def test_asking_in_between_changes_nothing(data):
    asked, silent = Branches(), Branches()
    told: dict[int, bool] = {}
    names: list[str] = []
    for number in range(data.draw(st.integers(1, 12))):
        if names and data.draw(st.integers(0, 4)) == 0:
            head = data.draw(st.sampled_from([*names, "later"]))
            asked.lead_to(head)
            silent.lead_to(head)
        else:
            parents = data.draw(st.lists(st.sampled_from(names), max_size=2, unique=True)) if names else []
            if data.draw(st.booleans()):
                parents = names[-1:]
            messages = range(number, number + 1) if data.draw(st.integers(0, 3)) else None
            asked.add(f"s{number}", parents, messages)
            silent.add(f"s{number}", parents, messages)
            names.append(f"s{number}")
        if data.draw(st.booleans()):
            told.update(asked.marks())
    told.update(asked.marks())
    assert {index for index, rewound in told.items() if rewound} == {
        index for index, rewound in silent.marks() if rewound
    }
