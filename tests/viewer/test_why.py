"""`turnlog why`: lines of a repository, traced to the edits of sessions through all that became of it."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.bench.history import START, judge, make
from tests.viewer.machine import Machine
from viewer.edits.history import GitError, Repository, repository_of


@pytest.mark.parametrize("seed", [3, 6])
def test_no_line_is_traced_wrong(seed: int, tmp_path: Path) -> None:
    """In a repository with rebases, squashed commits, renames, a formatter, moves, and edits of people in between."""
    counts: Counter[str] = judge(make(tmp_path, 40, seed))
    assert not counts["wrong"]
    assert counts["right"] > 3 * counts["untraced"] > 0


def edit(machine: Machine, number: int, at: float, path: Path, old: str, new: str, prompt: str) -> None:
    """A session of one edit, as Claude Code writes it."""
    session = f"{number:08d}-0000-4000-8000-000000000000"
    file = machine.session(session, [prompt, "Done."], cwd=str(path.parent))
    given = {"file_path": str(path), "old_string": old, "new_string": new}
    use = {"type": "tool_use", "id": "t", "name": "Edit", "input": given}
    done = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    lines = file.read_text("utf-8").splitlines()
    for kind, block in (("assistant", use), ("user", done)):
        record = json.loads(lines[0])
        record |= {"type": kind, "uuid": f"{session}-{kind}", "parentUuid": json.loads(lines[-1])["uuid"]}
        record["message"] = {"role": kind, "content": [block], "id": f"{session}-{kind}"}
        lines.append(json.dumps(record))
    moment = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    records = [json.loads(line) | {"timestamp": moment} for line in lines]
    file.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def commit(folder: Path, at: int, message: str) -> None:
    """Commit all."""
    env = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
           (("NAME", "Dev"), ("EMAIL", "dev@example.com"), ("DATE", f"{at} +0000"))}  # fmt: skip
    for arguments in (["add", "-A"], ["commit", "-q", "-m", message]):
        subprocess.run(["git", *arguments], cwd=folder, env=env | {"PATH": Machine(folder).env["PATH"]}, check=True)


@pytest.fixture
def shop(tmp_path: Path) -> tuple[Machine, Path]:
    """A machine, and a file in a repository on it that two sessions and a person changed."""
    machine, folder = Machine(tmp_path / "home"), tmp_path / "shop"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    file = folder / "cart.py"
    file.write_text("def total(items):\n    return 0\n", "utf-8")
    commit(folder, START, "Begin")
    edit(machine, 1, START + 50, file, "    return 0", "    return sum(item.price for item in items)", "sum the prices")
    file.write_text("def total(items):\n    return sum(item.price for item in items)\n", "utf-8")
    commit(folder, START + 99, "Sum")
    subprocess.run(["git", "mv", "cart.py", "basket.py"], cwd=folder, check=True)
    commit(folder, START + 199, "Rename")
    file = folder / "basket.py"
    new = "def count(items):\n    return len(items)  # all of them"
    edit(machine, 2, START + 250, file, "def total(items):", new + "\ndef total(items):", "count them too")
    file.write_text(new + "\ndef total(items):\n        return sum(item.price for item in items)\n# by hand\n", "utf-8")
    return machine, file


def test_a_line_and_a_file(shop: tuple[Machine, Path]) -> None:
    machine, file = shop
    told = machine.run("why", f"{file}:4", "--json")
    assert told.code == 0
    answer = told.json
    assert (answer["state"], answer["commit"]["summary"], answer["file"]) == ("traced", "Sum", "basket.py")
    (origin,) = answer["origins"]
    assert (origin["prompt"], origin["place"], origin["verb"]) == ("sum the prices", "#1.3", "Edit")
    lines = machine.run("why", file, "--json").json
    assert [line["state"] for line in lines] == ["traced", "traced", "untraced", "traced", "untraced"]
    assert [line["commit"] and line["commit"]["summary"] for line in lines] == [None, None, "Begin", "Sum", None]
    assert lines[0]["origins"][0]["prompt"] == "count them too"
    shown = machine.run("why", "basket.py", cwd=file.parent)
    assert "sum the prices" in shown.out
    assert shown.out.endswith("3 of 5 lines traced\n")
    assert machine.run("why", "basket.py:5", cwd=file.parent).code == 1
    assert "untraced" in machine.run("why", "basket.py:5", cwd=file.parent).out


def test_a_merged_branch_is_committed_and_a_name_may_hold_anything(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "home")
    folder = tmp_path / "shop"
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    file = folder / "new\nline.txt"
    lines = [f"line number {number}" for number in range(5)]

    def write(at: int, text: str, moment: int, message: str) -> None:
        lines[at] = text
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        commit(folder, moment, message)

    git = ["git", "-C", str(folder)]
    write(0, "the first line", START, "Begin")
    subprocess.run([*git, "switch", "-q", "-c", "side"], check=True)
    write(1, "from the side", START + 10, "Side")
    subprocess.run([*git, "switch", "-q", "main"], check=True)
    lines[1] = "line number 1"
    write(4, "from the main branch", START + 20, "Main")
    merge = [*git, "-c", "user.name=Dev", "-c", "user.email=dev@example.com", "merge", "-q", "--no-edit", "side"]
    subprocess.run(merge, check=True)
    answer = machine.run("why", file, "--json", cwd=folder).json
    assert [line["commit"]["summary"] for line in answer] == ["Begin", "Side", "Begin", "Begin", "Main"]


def test_a_working_tree_that_is_gone(shop: tuple[Machine, Path]) -> None:
    """A session in one below the repository counts, one in a project of another name does not."""
    machine, file = shop
    text = "def average(items):\n    return total(items) / count(items)"
    for number, folder in enumerate((file.parent / ".trees/x", Path("/gone/shop-2"), Path("/gone/shop")), 7):
        edit(machine, number, START + 400 + number, folder / "basket.py", "# by hand", text, f"in {folder.name}")
    file.write_text(file.read_text("utf-8").replace("# by hand", text), "utf-8")
    answer = machine.run("why", f"{file}:6", "--json").json
    assert [origin["prompt"] for origin in answer["origins"]] == ["in x", "in shop"]
    assert answer["state"] == "several"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("basket.py:9", "no line 9"),
        ("nothing.py:1", "no such file"),
        ("..:1", "a directory"),
        ("basket.py:1-3", "one line is traced"),
    ],
)
def test_what_is_not_there(shop: tuple[Machine, Path], place: str, said: str) -> None:
    machine, file = shop
    told = machine.run("why", place, cwd=file.parent)
    assert told.code == 2
    assert said in told.err


def test_a_file_that_is_in_no_repository_and_one_that_is_not_committed(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "home")
    file = tmp_path / "alone.py"
    file.write_text("new = 1\n", "utf-8")
    told = machine.run("why", file, cwd=tmp_path)
    assert (told.code, "not a git repository" in told.err) == (2, True)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    edit(machine, 1, START, file, "old = 1", "new_and_longer = 123456789", "renew it")
    file.write_text("new_and_longer = 123456789\n", "utf-8")
    assert machine.run("why", "alone.py:1", "--json", cwd=tmp_path).json["origins"][0]["prompt"] == "renew it"
    text = file.read_text("utf-8")
    commit(tmp_path, START + 50, "Add it")
    file.unlink()
    commit(tmp_path, START + 60, "Delete it")
    file.write_text(text, "utf-8")
    again = machine.run("why", "alone.py:1", "--json", cwd=tmp_path).json
    assert (again["commit"], again["state"]) == (None, "untraced")  # the edit's line went with the file


def test_git_runs_nothing_of_the_repository(shop: tuple[Machine, Path], tmp_path: Path) -> None:
    """Neither its hooks, pagers and filters, nor what its attributes name; and it writes nothing."""
    _, file = shop
    mark = tmp_path / "ran"
    for setting in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.x.textconv",
        "filter.x.clean",
        "filter.x.smudge",
    ):
        subprocess.run(["git", "config", setting, f"touch {mark};cat"], cwd=file.parent, check=True)
    for setting in ("diff.interHunkContext=9", "log.showRoot=false", "diff.noprefix=true", "core.abbrev=40"):
        subprocess.run(["git", "config", *setting.split("=")], cwd=file.parent, check=True)
    (file.parent / ".git/info/attributes").write_text("*.py diff=x filter=x\n", "utf-8")
    before = {path: path.stat().st_mtime_ns for path in file.parent.rglob("*")}
    repository = repository_of(file)
    commits = repository.versions("basket.py")
    assert [commit.summary for commit in commits] == ["Begin", "Sum", "Rename"]
    assert [[len(change.new) for change in commit.hunks] for commit in commits] == [[2], [1], []]
    assert [len(lines) for lines in repository.contents(commits)] == [2, 2, 2]
    assert len(repository.blame("basket.py")) == 2
    assert repository.worktrees() == [repository.root]
    assert not mark.exists()
    assert before == {path: path.stat().st_mtime_ns for path in file.parent.rglob("*")}


def test_git_fails_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(GitError, match=r"\A.+\Z"):
        Repository(tmp_path).blame("nothing")
