from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.documents import load_schema
from schemas.interchange.toolpath import KIND, KIND_1_0
from schemas.interchange.toolpath_check import validate_stream, validate_toolpath

TIME = "2026-01-01T00:00:00Z"


def step(name: str, *parents: str, **said: Any) -> dict[str, Any]:
    """A step; with `said` a turn of a session."""
    identity: dict[str, Any] = {"id": name, "actor": "agent:m", "timestamp": TIME}
    if parents:
        identity["parents"] = list(parents)
    turn = {"type": "conversation.append", "role": "assistant", "text": ""} | said
    return {"step": identity, "change": {"codex://s": {"structural": turn}} if said else {}}


def document(*steps: dict[str, Any], kind: str | None = KIND, head: str | None = None) -> dict[str, Any]:
    path: dict[str, Any] = {"path": {"id": "p", "head": head or steps[-1]["step"]["id"]}, "steps": list(steps)}
    if kind:
        path["meta"] = {"kind": kind}
    return {"graph": {"id": "g"}, "paths": [path]}


def usage(fresh: Any, output: Any = 1, **more: Any) -> dict[str, Any]:
    return {"input_tokens": fresh, "output_tokens": output} | more


GOOD = document(step("a", text="x"), step("b", "a", text="y", token_usage=usage(3)))


def errors(document: object) -> list[tuple[str, str]]:
    return [(finding.path, finding.message) for finding in validate_toolpath(document).errors]


def test_a_good_document_has_no_findings():
    assert validate_toolpath(GOOD) == ([], [])
    assert validate_toolpath({"graph": {"id": "g"}, "paths": []}) == ([], [])
    assert validate_toolpath({"graph": {"id": "g"}, "paths": [{"$ref": "https://x/y.path.json"}]}) == ([], [])


# -- the base ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "value", "path", "words"),
    [
        ("graph", ..., "", "`graph` is missing"),
        ("extra", 1, "", "`extra` does not belong here"),
        ("paths/0/path/head", ..., "/paths/0/path", "`head` is missing"),
        ("paths/0/path/parent", {}, "/paths/0/path", "it came after August 2026"),
        ("paths/0/path/base", {"uri": "file:///x", "commit": "1"}, "/paths/0/path/base", "`commit` does not belong"),
        ("paths/0/steps/0/step/timestamp", ..., "/paths/0/steps/0/step", "`timestamp` is missing"),
        ("paths/0/steps/0/step/actor", "agent:<synthetic>", "/paths/0/steps/0/step/actor", "is no actor"),
        ("paths/0/steps/0/change/a.py", {}, "/paths/0/steps/0/change/a.py", "a change needs `raw`, `structural`"),
        ("paths/0/steps/0/change/a.py", {"structural": {}}, "/paths/0/steps/0/change/a.py/structural", "`type` is m"),
        ("paths/0/meta/actors", {"nobody": {}}, "/paths/0/meta/actors/nobody", "is no actor"),
        ("paths/0/meta/signatures", [{"signer": "human:a", "key": "gpg:1", "scope": "boss", "sig": "x"}],
         "/paths/0/meta/signatures/0/scope", "`scope` must be one of"),
        ("paths/1", {"$ref": "https://x", "more": 1}, "/paths/1", "`more` does not belong here"),
    ],
)  # fmt: skip
def test_what_breaks_the_base_schema(where, value, path, words):
    changed = copy.deepcopy(GOOD)
    changed["paths"].append({"$ref": "https://x"})
    *steps, last = [int(part) if part.isdigit() else part for part in where.split("/")]
    if where.count("a.py"):
        *steps, last = ["paths", 0, "steps", 0, "change", "a.py"]
    place: Any = changed
    for part in steps:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    found = errors(changed)
    assert len(found) == 1
    assert found[0][0] == path
    assert words in found[0][1]


@pytest.mark.parametrize("tag", ["Graph", "Path", "Step"])
def test_the_older_form_is_named(tag):
    part = {"Graph": GOOD, "Path": GOOD["paths"][0], "Step": GOOD["paths"][0]["steps"][0]}[tag]
    assert errors({tag: part}) == [("", f'the older form, tagged "{tag}"; the root is a graph since 0.1.6')]


def test_a_bare_path_or_step_is_no_root():
    assert errors(GOOD["paths"][0]) == [("", "a bare path; the root of a document is a graph")]
    assert errors(GOOD["paths"][0]["steps"][0]) == [("", "a bare step; the root of a document is a graph")]


def test_the_form_of_a_time_is_a_warning():
    changed = copy.deepcopy(GOOD)
    changed["paths"][0]["steps"][0]["step"]["timestamp"] = ""
    verdict = validate_toolpath(changed)
    assert verdict.valid
    assert [finding.path for finding in verdict.warnings] == ["/paths/0/steps/0/step/timestamp"]


# -- lineage -----------------------------------------------------------------------------------------------------------


def test_ids_are_unique_in_their_path_and_graph():
    changed = document(step("a", text="x"), step("a", text="y"))
    changed["paths"].append(copy.deepcopy(changed["paths"][0]))
    assert [path for path, _ in errors(changed)] == [
        "/paths/1/path/id",
        "/paths/0/steps/1/step/id",
        "/paths/1/steps/1/step/id",
    ]


def test_head_and_parents_are_steps_of_the_path():
    assert errors(document(step("a", "z"), head="y", kind=None)) == [
        ("/paths/0/path/head", '"y" is no step of this path'),
        ("/paths/0/steps/0/step/parents/0", '"z" is no step of this path'),
    ]


def test_a_path_without_steps_has_an_empty_head():
    empty = {"graph": {"id": "g"}, "paths": [{"path": {"id": "p", "head": ""}, "steps": []}]}
    assert validate_toolpath(empty).valid
    empty["paths"][0]["path"]["head"] = "a"
    assert not validate_toolpath(empty).valid


@pytest.mark.parametrize(
    ("steps", "named"),
    [
        ([step("a", "a")], '"a"'),
        ([step("a", "b"), step("b", "a")], '"a", "b"'),
        ([step("o"), step("a", "o", "c"), step("b", "a"), step("c", "b"), step("d", "c")], '"a", "b", "c"'),
    ],
)
def test_cycles_are_found_and_only_they(steps, named):
    at = f"/paths/0/steps/{[one['step']['id'] for one in steps].index(named[1])}/step/parents"
    assert errors(document(*steps, kind=None)) == [(at, f"steps that come before themselves: {named}")]


@given(st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=1, max_size=8))
def test_a_graph_has_a_cycle_where_a_walk_finds_one(parents):
    steps = [step(str(n), *(str(p) for p in of if p < len(parents))) for n, of in enumerate(parents)]

    def reaches(start: int) -> bool:
        seen: set[int] = set()
        waiting = [p for p in parents[start] if p < len(parents)]
        while waiting:
            at = waiting.pop()
            if at == start:
                return True
            if at not in seen:
                seen.add(at)
                waiting += [p for p in parents[at] if p < len(parents)]
        return False

    cyclic = any(reaches(n) for n in range(len(parents)))
    assert any("come before themselves" in words for _, words in errors(document(*steps, kind=None))) == cyclic


# -- the kind ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"text": None}, "`text` must be a string, not null"),
        ({"token_usage": {"input_tokens": 1}}, "`output_tokens` is missing"),
        ({"token_usage": usage(1, cache_read_tokens=None)}, "`cache_read_tokens` must be an integer, not null"),
        ({"token_usage": usage(1.5)}, "`input_tokens` must be an integer or null, not a number"),
        ({"token_usage": usage(2.0)}, "`input_tokens` must be written as an integer, not 2.0"),
        ({"tool_uses": [{"id": "t", "name": "n", "input": 1, "category": "other"}]}, "`category` must be one of"),
        ({"tool_uses": [{"id": "t", "name": "n", "input": 1}]}, "`category` is missing"),
        ({"delegations": [{"agent_id": "a"}]}, "`prompt` is missing"),
        ({"token_usage": usage(1, 5, breakdowns={"output": {"a": 3, "b": 3}})}, "add up to 6, more than the 5"),
        (
            {"token_usage": usage(3), "attributed_token_usage": usage(4)},
            "4 attributed to this step, more than the total of 3",
        ),
    ],
)
def test_what_breaks_the_kind(said, words):
    found = errors(document(step("a", **said)))
    assert len(found) == 1
    assert words in found[0][1]


def test_an_event_names_its_type():
    changed = document(step("a", text="x"))
    changed["paths"][0]["steps"][0]["change"]["codex://s"]["structural"] = {"type": "conversation.event"}
    assert errors(changed) == [("/paths/0/steps/0/change/codex:~1~1s/structural", "`entry_type` is missing")]


def test_other_kinds_are_generic():
    broken = {"role": 1}
    for kind in ("https://toolpath.net/kinds/made-up/v1.0.0", KIND + "/"):
        verdict = validate_toolpath(document(step("a", **broken), kind=kind))
        assert verdict.valid
        assert [finding.path for finding in verdict.warnings] == ["/paths/0/meta/kind"]
    assert not validate_toolpath(document(step("a", **broken))).valid
    assert not validate_toolpath(document(step("a", **broken), kind=KIND_1_0)).valid


def turns(*rows: tuple[str | None, Any, Any]) -> dict[str, Any]:
    """Turns by group, total and share."""
    steps = []
    for number, (group, total, share) in enumerate(rows):
        said: dict[str, Any] = {"text": str(number)}
        said |= {"group_id": group} if group else {}
        said |= {"token_usage": usage(total)} if total is not None else {}
        said |= {"attributed_token_usage": {"input_tokens": share}} if share is not None else {}
        steps.append(step(str(number), *([str(number - 1)] if number else []), **said))
    return document(*steps)


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ([("g", None, None), ("g", 5, None)], []),
        ([("g", 5, None), ("g", None, None)], [0]),
        ([("g", 5, None), ("g", 5, None)], [0]),
        ([("g", 5, None), ("h", 5, None), ("g", 5, None)], []),
        ([(None, 5, None), (None, 5, None)], []),
        ([("g", None, 2), ("g", 5, 3)], []),
        ([("g", None, 3), ("g", 5, 3)], [1]),
        ([("g", None, 9), (None, None, None), ("g", 5, 3)], []),
    ],
)
def test_a_groups_total_stands_on_its_last_step(rows, wrong):
    found = [path.split("/")[4] for path, _ in errors(turns(*rows))]
    assert found == [str(number) for number in wrong]


def test_an_event_does_not_end_a_group():
    changed = turns(("g", 5, None), ("g", None, None))
    event = step("e", "0", text="")
    event["change"]["codex://s"]["structural"] = {"type": "conversation.event", "entry_type": "x"}
    changed["paths"][0]["steps"].insert(1, event)
    assert [path.split("/")[4] for path, _ in errors(changed)] == ["0"]


def test_version_1_0_0_may_repeat_usage():
    changed = turns(("g", 5, None), ("g", 5, None))
    changed["paths"][0]["meta"]["kind"] = KIND_1_0
    assert validate_toolpath(changed) == ([], [])


def findings(**said: Any) -> tuple[list[str], list[str]]:
    """The sentences about a document with one turn: errors and warnings."""
    verdict = validate_toolpath(document(step("a", **said)))
    return [finding.message for finding in verdict.errors], [finding.message for finding in verdict.warnings]


@pytest.mark.parametrize(
    ("said", "errors", "warnings"),
    [
        ({"token_usage": usage(-5)}, [], ["`input_tokens` is -5; nobody spends less than nothing"]),
        ({"token_usage": usage(5), "attributed_token_usage": usage(-3)}, [], ["`input_tokens` is -3; nobody spends"]),
        ({"token_usage": usage(1, -4, breakdowns={"output": {}})}, [], ["`output_tokens` is -4; nobody spends"]),
        ({"token_usage": usage(-5), "attributed_token_usage": usage(3)},
         ["`input_tokens`: 3 attributed to this step, more than the total of -5"], ["`input_tokens` is -5;"]),
        ({"attributed_token_usage": usage(3)}, [], ["tokens attributed, but this step has no total"]),
        ({"attributed_token_usage": {}}, [], []),
        ({"token_usage": usage(3), "attributed_token_usage": usage(1, cache_read_tokens=4)}, [],
         ["`cache_read_tokens`: 4 attributed to this step, whose total does not say"]),
        ({"token_usage": usage(3, None, breakdowns={"output": {"r": 3}})}, [],
         ["parts of `output_tokens`, which is not said itself"]),
        # What the schema rejects is not said once more.
        ({"token_usage": usage("5"), "attributed_token_usage": usage(3)},
         ["`input_tokens` must be an integer or null, not a string"], []),
        ({"token_usage": {"input_tokens": 1}, "attributed_token_usage": usage(1)}, ["`output_tokens` is missing"], []),
        ({"token_usage": None, "attributed_token_usage": usage(3)}, ["`token_usage` must be an object, not null"], []),
        ({"tool_uses": [{"id": "t", "name": "n", "input": 1, "category": "1"}]},
         ['`category` must be one of file_read, file_write, file_search, shell, network, delegation, null, not "1"'],
         []),
        ({"tool_uses": [{"id": "t", "name": "n", "input": 1, "category": 1}]},
         ["`category` must be one of file_read, file_write, file_search, shell, network, delegation, null, not 1"], []),
    ],
)  # fmt: skip
def test_one_fault_is_one_sentence(said, errors, warnings):
    for found, wanted in zip(findings(**said), (errors, warnings), strict=True):
        assert len(found) == len(wanted)
        assert all(words in message for message, words in zip(found, wanted, strict=True))


def test_what_both_schemas_reject_is_said_once():
    wrong = {"path": {"id": "p", "head": ""}, "steps": 1, "meta": {"kind": KIND, "source": 4}}
    assert errors({"graph": {"id": "g"}, "paths": [wrong, 5]}) == [
        ("/paths/0/meta/source", "`source` must be a string, not an integer"),
        ("/paths/0/steps", "`steps` must be an array, not an integer"),
        ("/paths/1", "an item of `paths` must be an object, not an integer"),
    ]


def test_a_round_that_a_person_interrupts_has_its_total_at_its_end():
    changed = turns(("g", None, 2), (None, None, None), ("g", 5, 3))
    assert validate_toolpath(changed) == ([], [])


# -- what a newline at the end hides -----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["step", "meta"])
def test_an_actor_ends_with_its_name(place):
    changed = document(step("a", text="x"))
    path = changed["paths"][0]
    if place == "step":
        path["steps"][0]["step"]["actor"] = "agent:a\n"
    else:
        path["meta"]["actors"] = {"agent:a\n": {}}
    ((_, message),) = errors(changed)
    assert message.startswith('"agent:a\\n" is no actor')


@pytest.mark.parametrize("name", ["toolpath", "snapshot", "session-data", "events", "agent-response"])
def test_no_pattern_of_a_schema_lets_a_newline_pass(name):
    waiting: list[Any] = [load_schema(name)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
            if isinstance(pattern := value.get("pattern"), str) and pattern.endswith("$"):
                raise AssertionError(f"{pattern}: in Python $ also matches before a last newline")
        elif isinstance(value, list):
            waiting += value


def test_a_time_and_a_kind_end_too():
    changed = document(step("a", text="x"), kind=KIND + "\n")
    changed["paths"][0]["steps"][0]["step"]["timestamp"] = TIME + "\n"
    assert validate_toolpath(changed).warnings == [
        ("/paths/0/steps/0/step/timestamp", '"2026-01-01T00:00:00Z\\n" is no ISO 8601 time with an offset'),
        ("/paths/0/meta/kind", f'"{KIND}\\n" is no kind known here; checked as plain Toolpath'),
    ]


def test_an_artifact_has_an_address():
    changed = document(step("a", text="x"))
    changed["paths"][0]["steps"][0]["change"][""] = {"raw": "d"}
    assert validate_toolpath(changed) == ([], [("/paths/0/steps/0/change/", "an artifact without an address")])


def test_a_reference_leads_to_a_document():
    value = {"graph": {"id": "g"}, "paths": [{"$ref": "https://x/a.path.jsonl"}, {"$ref": "https://x/a.path.json"}]}
    assert [path for path, _ in errors(value)] == ["/paths/0/$ref"]


def test_an_index_counts_what_is_no_string_too():
    changed = document(step("a", text="x"))
    changed["paths"][0]["steps"][0]["step"]["parents"] = [1, "z"]
    assert [path for path, _ in errors(changed)] == [f"/paths/0/steps/0/step/parents/{n}" for n in (0, 1)]


# -- streams -----------------------------------------------------------------------------------------------------------

OPEN = {"PathOpen": {"version": "1", "id": "p"}}
A, B = {"Step": step("a")}, {"Step": step("b", "a")}


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


@pytest.mark.parametrize(
    "good",
    [
        lines(OPEN, A),
        lines(OPEN, A, B),
        lines(OPEN, A, B, {"Head": {"step_id": "a"}}, {"Head": {"step_id": "b"}}, {"PathClose": {}}),
        lines(OPEN, {"ActorDef": {"actor": "agent:m", "definition": {"name": "m"}}}, A),
        lines(OPEN, {"PathMeta": {"patch": {"title": "t"}}}, A),
        lines(OPEN, A).rstrip(),
        lines(OPEN, A, {"Signature": {"target": "step:a", "signature": {
            "signer": "human:a", "key": "gpg:1", "scope": "author", "sig": "x"}}}),
    ],
)  # fmt: skip
def test_good_streams(good):
    assert validate_stream(good) == ([], [])


@pytest.mark.parametrize(
    ("bad", "path", "words"),
    [
        (lines(A), "line 1", "a stream begins with PathOpen, not with `Step`"),
        (lines(OPEN, OPEN, A), "line 2: /PathOpen", "this is another"),
        (lines(OPEN) + b'{"Step":', "line 2", "not JSON: it breaks off at column 9"),
        (lines(OPEN) + b"  \n" + lines(A), "line 2", "not JSON: there is nothing in it"),
        (lines(OPEN, [1]), "line 2", "not an object"),
        (lines(OPEN, OPEN | A), "line 2", "2 keys"),
        (lines(OPEN, {}), "line 2", "0 keys"),
        (lines({"PathOpen": OPEN["PathOpen"] | {"meta": 1}}, A), "line 1: /PathOpen/meta", "must be an object"),
        (lines(OPEN, {"Step": 1}), "line 2: /Step", "must be an object"),
        (lines(OPEN, {"Step": {"step": {}, "change": {}}}), "line 2: /Step/step", "`id` is missing"),
        (
            lines(OPEN, {"Step": A["Step"] | {"step": A["Step"]["step"] | {"id": 1}}}),
            "line 2: /Step/step/id",
            "a string",
        ),
        (lines(OPEN, A, {"Head": {}}), "line 3: /Head", "`step_id` is missing"),
        (
            lines(OPEN, {"Signature": {"target": "step:z", "signature": {}}}, A),
            "line 2: /Signature/target",
            "no step bef",
        ),
        (lines(OPEN), "line 1", "ends without a Head, and has no step"),
        (lines(OPEN, A, {"Step": step("b")}), "line 3", "2 steps that none follows"),
        (lines(OPEN, A, {"PathClose": {}}, A), "line 4", "after PathClose"),
        (b"\n", "", "an empty stream"),
    ],
)
def test_what_ends_the_reading_of_a_stream(bad, path, words):
    found = validate_stream(bad).errors
    assert len(found) == 1
    assert found[0].path == path
    assert words in found[0].message


def test_what_follows_a_line_that_ends_the_reading_is_checked_too():
    bad = lines(OPEN, A, OPEN, {"Step": step("a")}, {"Head": {"step_id": "q"}}, {"PathClose": {}}, A)
    assert [finding.path for finding in validate_stream(bad).errors] == [
        "line 3: /PathOpen", "line 7", "line 4: /Step/step/id", "line 5: /Head/step_id",
    ]  # fmt: skip
    torn = lines(OPEN) + b'{"Step":\n' + lines({"Step": {"step": {}, "change": {}}}) + b"[]\n"
    assert [finding.path for finding in validate_stream(torn).errors] == ["line 2", "line 3: /Step/step", "line 4"]


def test_what_a_stream_may_hold_all_the_same():
    verdict = validate_stream(
        b"\n".join([lines({"PathOpen": {"version": "9", "id": "p"}}), lines({"Checkpoint": {}}), lines(A)])
    )
    assert verdict.valid
    assert [finding.path for finding in verdict.warnings] == ["line 1: /PathOpen/version", "line 2", "line 3", "line 4"]


def test_what_a_line_does_not_know_is_passed_over_and_said():
    opening = OPEN["PathOpen"] | {"later": 1, "parent": {}, "base": None}
    verdict = validate_stream(lines({"PathOpen": opening}, A, {"Head": {"step_id": "a", "x/y": 1}}))
    assert verdict.valid
    assert verdict.warnings == [
        ("line 1: /PathOpen/later", "`later` does not belong here; passed over"),
        ("line 1: /PathOpen/parent", "`parent` came after August 2026; passed over"),
        ("line 1: /PathOpen/base", "`base` is null; it should be left out"),
        ("line 3: /Head/x~1y", "`x/y` does not belong here; passed over"),
    ]


def test_lines_may_end_as_on_windows():
    assert validate_stream(lines(OPEN, A).replace(b"\n", b"\r\n")) == ([], [])


def test_places_in_a_streams_path_are_lines():
    bad = step("b", "z")
    bad["step"]["actor"] = "nobody"
    head = {"Head": {"step_id": "y"}}
    found = validate_stream(lines(OPEN, A, {"PathMeta": {"patch": {}}}, {"Step": bad}, head)).errors
    assert [finding.path for finding in found] == [
        "line 4: /Step/step/actor",
        "line 5: /Head/step_id",
        "line 4: /Step/step/parents/0",
    ]


def test_what_lines_add_to_the_path_is_found_in_them():
    signature = {"signer": "human:a", "key": "gpg:1", "scope": "boss", "sig": "x"}
    found = validate_stream(
        lines(
            {"PathOpen": OPEN["PathOpen"] | {"base": {}, "meta": {"title": 1, "source": 2}}},
            A,
            {"ActorDef": {"actor": "agent:m", "definition": {"model": 1}}},
            {"Signature": {"target": "step:a", "signature": signature}},
            {"Signature": {"target": "path", "signature": signature}},
            {"PathMeta": {"patch": {"title": 3, "actors": 4}}},
        )
    )
    assert sorted(finding.path for finding in found.errors) == [
        "line 1: /PathOpen/base",
        "line 1: /PathOpen/meta/source",
        "line 3: /ActorDef/definition/model",
        "line 4: /Signature/signature/scope",
        "line 5: /Signature/signature/scope",
        "line 6: /PathMeta/patch/title",
    ]
    assert [finding.path for finding in found.warnings] == ["line 6: /PathMeta/patch/actors"]


def test_a_repeated_id_is_named_with_the_line_of_the_first_one():
    said = [("line 4: /Step/step/id", '"b" is already the id at line 3: /Step/step/id')]
    again = {"Step": step("b")}
    assert validate_stream(lines(OPEN, A, B, again, {"Head": {"step_id": "b"}})).errors == said
    # Without a Head it is not the only thing wrong.
    assert validate_stream(lines(OPEN, A, {"Step": step("b")}, again)).errors == [
        ("line 4", "the stream ends without a Head, and has 2 steps that none follows"),
        *said,
    ]


def test_a_repeated_id_makes_no_step_come_before_itself():
    found = validate_stream(lines(OPEN, A, B, {"Step": step("a", "b")}, {"Head": {"step_id": "b"}})).errors
    assert [finding.message.split(" at ")[0] for finding in found] == ['"a" is already the id']


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(
            ["graph", "paths", "path", "steps", "step", "id", "head", "parents", "change", "structural", "type", "meta",
             "kind", "token_usage", "breakdowns", "group_id", "actor", "timestamp", "a"]), inner, max_size=4),
        max_leaves=25,
    )
)  # fmt: skip
def test_whatever_a_document_is_there_is_a_verdict(value):
    for document_ in (value, {"graph": {"id": "g"}, "paths": value}, {"graph": {"id": "g"}, "paths": [value]}):
        validate_toolpath(document_)
    validate_stream(json.dumps(value, default=str).encode())
