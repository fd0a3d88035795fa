"""What may import what, and that no text reaches a widget as markup."""

from __future__ import annotations

import ast
import graphlib
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from schemas.providers import providers
from schemas.providers.kit.agent import Agent
from tests.viewer.machine import Machine

ROOT = Path(__file__).parents[1]
SESSION = "aaaaaaaa-0000-4000-8000-000000000001"


def _imported(stderr: str) -> set[str]:
    """Top-level packages in the report of `-X importtime`."""
    return {match[1] for match in re.finditer(r"^import time:.*\|\s+([A-Za-z_]\w*)", stderr, re.MULTILINE)}


PLAIN = [
    ["--help"],
    ["list", "--json"],
    ["usage", "--json", SESSION],
    ["search", "--json", "lamp"],
    ["cache", "--json"],
    ["compare", SESSION, SESSION, "--json"],
    ["doctor", "--json"],
]
"""What needs no table either."""
PRINTED = [
    ["list"],
    ["usage"],
    ["export", SESSION, "--to", "markdown"],
    ["export", SESSION, "--to", "html"],
    ["validate", SESSION],
    ["events", SESSION],
    ["snapshot", SESSION],
    ["usage", "--by", "model"],
    ["completion", "bash"],
    ["list", "--format", "{id}"],
    [SESSION],
]


def test_no_textual_where_no_screen_opens(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.session(SESSION, ["Fix the lamp", "done"])
    code = (
        "import json, sys\n"
        "from viewer.start import _start\n"
        "for args in json.loads(sys.argv[1]):\n"
        "    _start(args)\n"
        "    print(json.dumps([args, sorted({'click', 'rich', 'textual'} & sys.modules.keys())]), file=sys.stderr)"
    )
    call = [sys.executable, "-c", code, json.dumps(PLAIN + PRINTED)]
    done = subprocess.run(call, capture_output=True, text=True, env=machine.env, cwd=machine.home)
    told = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[[")]
    assert [args for args, _ in told] == PLAIN + PRINTED, done.stderr
    for args, there in told:
        assert (args, set(there) - {"rich"}) == (args, {"click"})
        assert args not in PLAIN or "rich" not in there, args


def test_help_imports_no_command_and_no_parser(tmp_path: Path) -> None:
    stderr = Machine(tmp_path).run("--help", PYTHONPROFILEIMPORTTIME="1").err
    assert not re.search(r"\|\s+(viewer\.commands|schemas\.providers|orjson|sqlite3)", stderr)


def test_a_list_that_is_up_to_date_starts_no_machinery(tmp_path: Path) -> None:
    stderr = Machine(tmp_path).run("list", "--json", PYTHONPROFILEIMPORTTIME="1").err
    assert _imported(stderr).isdisjoint({"multiprocessing", "jsonschema", "watchfiles", "pygments", "markdown_it"})


def test_a_list_that_is_up_to_date_brings_no_model_of_a_session(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.session(SESSION, ["Fix the lamp", "done"])
    machine.run("list", "--json")
    stderr = machine.run("list", "--json", PYTHONPROFILEIMPORTTIME="1").err
    assert re.search(r"\|\s+schemas\.providers\.codex\.locate\b", stderr), "it looked for sessions"
    # Agents speak in the words of messages; sessions, and what makes them, wait for a reader.
    heavy = r"schemas\.(session|costs|reading|opening|providers\.kit\.reader)|viewer\.index\.(summary|worker)"
    assert not re.search(rf"\|\s+({heavy})\b", stderr)


def _modules(package: str) -> list[str]:
    files = sorted((ROOT / package).rglob("*.py"))
    return [_module(path) for path in files]


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


LAYERS = ("viewer", "renderers", "schemas")


@cache
def _nodes() -> dict[Path, list[ast.AST]]:
    """What stands in each file of the source, at any depth."""
    files = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
    return {path: list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in files}


@pytest.mark.parametrize(("package", "forbidden"), [("schemas", "textual rich"), ("renderers", "textual")])
def test_a_layer_does_not_know_those_above(package: str, forbidden: str) -> None:
    code = (
        "import importlib, sys\n"
        f"for name in {_modules(package)!r}: importlib.import_module(name)\n"
        f"print([name for name in {forbidden.split()!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_import_contracts() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    if not lint.exists() and not shutil.which("lint-imports"):
        pytest.skip("import-linter is not installed")
    done = subprocess.run([str(lint), "--no-cache"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_circle_of_imports_and_no_arrow_up() -> None:
    # Every import counts: inside functions and for types too.
    graph: dict[str, set[str]] = {_module(path): set() for path in _nodes()}
    for path, nodes in _nodes().items():
        name = _module(path)
        for node in nodes:
            if isinstance(node, ast.Import):
                asked = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                asked = [one if one in graph else node.module for one in inner]
            else:
                continue
            graph[name].update(one for one in asked if one in graph and one != name)
    assert sum(map(len, graph.values())) > 1000, "the imports are found"
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
    ranks = {layer: rank for rank, layer in enumerate(LAYERS)}
    up = [(a, b) for a in graph for b in graph[a] if ranks[b.split(".")[0]] < ranks[a.split(".")[0]]]
    assert not up


_WORDS = {"cursor", "messages", "streams"}
"""Agents' ids that mean something else as well."""


def test_agents_names_stand_in_their_own_files() -> None:
    agents = list(providers().values())
    published = [agent.published for agent in agents if isinstance(agent, Agent)]
    called = {name for one in published for name in (*one.names, one.seller)}
    names = ({name for agent in agents for name in (agent.id, agent.name)} | called) - _WORDS - {""}
    assert {"claude", "Claude Code", "claude-code", "codex-cli", "github-copilot"} <= names
    found = []
    for path, nodes in _nodes().items():
        if path.is_relative_to(ROOT / "schemas/providers"):
            continue
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}")
    assert not found, "an agent says in its own file what is true of it (schemas/published.py)"


def test_textual_is_imported_by_the_screens_only() -> None:
    allowed = re.compile(r"viewer/(screens|widgets|transcript)/")
    for path, nodes in _nodes().items():
        name = path.relative_to(ROOT).as_posix()
        names = [
            alias.name if isinstance(node, ast.Import) else node.module or ""
            for node in nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        ]
        if any(module.split(".")[0] == "textual" for module in names):
            assert allowed.match(name), f"{name} imports textual"


# -- markup --------------------------------------------------------------------------------------------------------
# Widgets and calls that read their text as markup unless they are told not to (Textual 8).
_MARKUP = {"Static", "Label", "Button", "Checkbox", "RadioButton", "Collapsible", "OptionList", "SelectionList", "Link"}
_MARKUP_CALLS = {"notify", "from_markup", "Tooltip"}


def _subclasses() -> set[str]:
    """Our own widgets that are one of those, at any depth."""
    names = set(_MARKUP)
    while True:
        more = {
            node.name
            for nodes in _nodes().values()
            for node in nodes
            if isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and b.id in names for b in node.bases)
        }
        if more <= names:
            return names - _MARKUP
        names |= more


def _takes_markup(call: ast.Call, own: set[str]) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "from_markup":
        return True
    if name not in _MARKUP and name not in _MARKUP_CALLS and name not in own:
        return False
    for keyword in call.keywords:
        if keyword.arg == "markup":
            return not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
    # No text, or text that is Content or a constant without a bracket, holds no markup.
    return not all(_is_safe(value) for value in [*call.args, *(k.value for k in call.keywords if k.arg not in _PLAIN)])


_PLAIN = {"id", "classes", "disabled", "name", "severity", "timeout", "variant", "expand", "shrink", "value", "compact"}


def _is_safe(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return not isinstance(value.value, str) or "[" not in value.value
    if isinstance(value, ast.Call):
        name = ast.unparse(value.func)
        return name.split(".")[0] in {"Content", "Text"} and not name.endswith("from_markup")
    return False


def test_no_text_is_read_as_markup() -> None:
    own = _subclasses()
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)[:80]}"
        for path, nodes in _nodes().items()
        if path.is_relative_to(ROOT / "viewer")
        for node in nodes
        if isinstance(node, ast.Call) and _takes_markup(node, own)
    ]
    assert not found, "pass markup=False or Content:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("code", "markup"),
    [
        ("Static(text)", True),
        ("Static(f'{text}')", True),
        ("Static('[b]x[/b]')", True),
        ("Label(text, markup=True)", True),
        ("self.notify(text)", True),
        ("Content.from_markup(text)", True),
        ("Mine(text)", True),
        ("Static(text, markup=False)", False),
        ("Static(Content(text))", False),
        ("Static()", False),
        ("Static('plain', id='x')", False),
        ("Static(id=name)", False),
        ("self.notify(text, markup=False)", False),
    ],
)
def test_the_markup_check_sees_what_it_should(code: str, markup: bool) -> None:
    tree = ast.parse(code)
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    assert _takes_markup(call, {"Mine"}) is markup
