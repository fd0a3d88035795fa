"""Which files a tool use names, and which a shell command writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.path_hints import (
    input_path_hints,
    resolve_hints,
    shell_changes,
    shell_directory,
    shell_path_hints,
)

GOLDENS = Path(__file__).parents[2] / "../shared/goldens/specstory/cases/TestExtractShellPathHints.json"


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("make > build.log 2>&1", ["build.log"]),
        ("cat <<'EOF' > a.sh\necho x > not.txt\nEOF\ntouch b", ["a.sh", "b"]),
        ("cat <<-END | tee c\n\tx > y\n\tEND\n", ["c"]),
        ("FOO=1 sudo touch 'a b'", ["a b"]),
        ("git log > /dev/null; echo > $OUT", []),
        ("grep -o x y; cc -o z y.c", ["z"]),
        ("cp -r a b c/", ["c/"]),
        ("if true; then touch x; fi; mkdir -m 755 d", ["x", "d"]),
        (
            "kubectl get pods -o yaml; pytest -o a=b; bash -o pipefail -c 'echo x > in.txt'; find . -exec touch {} +",
            ["in.txt"],
        ),
        ("curl -so f http://h/x; wget -P d http://h/a/g.tgz", ["f", "d/g.tgz"]),
        ("# touch x\ntouch y # touch z", ["y"]),
        ("echo 'a > b' \"c > d\"", []),
        ("sed -i.bak -e s/a/b/ f g", ["f", "g"]),
    ],
)
def test_what_a_command_writes(command: str, paths: list[str]) -> None:
    assert shell_path_hints(command) == paths


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("cat <<'EOF' > a.sh\nrm b\nEOF", [("cat >", "a.sh")]),
        (
            "cd src && sed -i s/a/b/ f g; perl -pi -e 's/a/b/' h",
            [("sed -i", "src/f"), ("sed -i", "src/g"), ("perl -i", "src/h")],
        ),
        ("sudo rm -rf build && mv a b", [("rm", "build"), ("mv", "a"), ("mv", "b")]),
        ("echo x | tee -a log >> all", [("tee >", "all"), ("tee", "log")]),
        (
            "git mv a b; git apply fix.patch; patch -p1 < c.diff",
            [("git mv", "a"), ("git mv", "b"), ("git apply", ""), ("patch", "")],
        ),
        ("git diff > x.patch", [("git >", "x.patch")]),
        ("echo $((3 > 2)) $(( (a) >> 2 )); [[ a > b ]]; (( x > y )) && echo z > w", [("echo >", "w")]),
        ("if true; then sed -i s/a/b/ f; fi; for x in a; do echo > g; done", [("sed -i", "f"), ("echo >", "g")]),
        ("timeout -k 1 5 sed -i s/a/b/ f; pushd sub; echo a > g", [("sed -i", "f"), ("echo >", "sub/g")]),
        ("for f in *.py; do sed -i s/a/b/ $f; done; sed -i s/a/b/ *.py", [("sed -i", "")]),
        (
            "find . -name '*.py' -exec sed -i s/a/b/ {} +; grep -l x | xargs -d '\\n' -I % sed -i s/a/b/ %",
            [("sed -i", "")],
        ),
        ("find . -exec sed s/a/b/ {} +; xargs sed -n 3p; xargs wc > n; xargs", [("xargs >", "n")]),
        ("bash -c 'echo x > f'; cd d && sh -c 'rm g'", [("echo >", "f"), ("rm", "d/g")]),
        ("bash -c 'git apply p; sed -i s/a/b/ $f'", [("git apply", ""), ("sed -i", "")]),
        ("git checkout -- f g; git restore f", [("git checkout", "f"), ("git checkout", "g"), ("git restore", "f")]),
        ("grep rm a; echo 'sed -i s/a/b/ c'; pytest 2>&1; mkdir d; touch e", []),
        ("sed -n 1,20p a; sed s/a/b/ c; rm $FILE *.o", [("rm", "")]),
        # Variables that the command sets itself, to one plain value.
        (
            "F=a.txt; echo x > $F; D='b/c'\ncat <<E > \"$D/$F\"\nE\nexport G=g; echo y >> ${G}; sed -i s/a/b/ ${F}.bak",
            [("echo >", "a.txt"), ("cat >", "b/c/a.txt"), ("echo >", "g"), ("sed -i", "a.txt.bak")],
        ),
        (
            "D=src && cd $D && rm $D/a; F=$(mktemp); echo > $F; F=b make > $F; echo > ${G:-a}",
            [("rm", "src/src/a"), ("echo >", "")],
        ),
        (
            "F=a; if x; then F=b; fi; echo > $F; G=a; for G in b c; do rm $G; done; H=h; read H; rm $H",
            [("echo >", ""), ("rm", "")],
        ),
        (
            "F=a; echo '$F' > b; rm '$F' \\$F; bash -c 'rm $F; F=c; rm $F'",
            [("echo >", "b"), ("rm", ""), ("rm", "c")],
        ),
        # What rewrites files, by its words.
        (
            "black -q a.py b/c; uv run ruff check --fix --config x.py d.py; ruff format .; npx prettier --write e.ts",
            [
                *(("black", "a.py"), ("ruff check --fix", "d.py")),
                *(("ruff format", ""), ("prettier --write", "e.ts")),
            ],
        ),
        (
            "cargo fmt -- src/a.rs; mix format; gofmt -s -w a.go; cd web && npx eslint --fix 'src/*.ts' a.ts",
            [
                ("cargo fmt", ""),
                ("mix format", ""),
                ("gofmt -w", "a.go"),
                ("eslint --fix", ""),
                ("eslint --fix", "web/a.ts"),
            ],
        ),
        (
            "git ls-files | xargs -n 9 npx prettier --write; find . -exec gofmt -w {} +",
            [("prettier --write", ""), ("gofmt -w", "")],
        ),
        ("black --check a.py; ruff check a.py; gofmt -l a.go; cargo run -- fmt; prettier a.ts; xargs grep black", []),
        ("cargo fmt --check; mix format --check-formatted a.ex; python -m black --diff a.py; eslint a.ts", []),
        ("black - < a.py; rustfmt < a.rs; cat a.py | ruff format -", []),
        # Where a command runs.
        (
            "(cd web && rm a); rm b; x=$(cd web; pwd); rm c; (cd d; (cd e; rm f); rm g)",
            [
                *(("rm", "web/a"), ("rm", "b"), ("rm", "c"), ("rm", "d/e/f"), ("rm", "d/g")),
            ],
        ),
        (
            "cd $X && rm a /b; cd /c; rm d; cd -; sed -i s/a/b/ e",
            [("rm", ""), ("rm", "/b"), ("rm", "/c/d"), ("sed -i", "")],
        ),
        ("dd if=a of=b; wget -qc -O c http://x/y; truncate -s 0 d", [("dd", "b"), ("wget", "c"), ("truncate", "d")]),
    ],
)
def test_what_a_command_changes(command: str, changes: list[tuple[str, str]]) -> None:
    assert shell_changes(command) == changes


ANY_FILE = [
    ("rm *.log", "rm"),
    ('rm -f "$TMP"', "rm"),
    ("echo x > $OUT", "echo >"),
    ('cat <<E > "$DIR/a.txt"\nE', "cat >"),
    ('tee "$LOG" < a', "tee"),
    ('dd of="$OUT"', "dd"),
    ('cp a "$DEST"', "cp"),
    ("mv $A $B", "mv"),
    ('while read f; do rm "$f"; done', "rm"),
    ("echo x > a{1,2}.txt", "echo >"),
    ("find . -name '*.pyc' -delete", "find -delete"),
    ("find . -exec rm {} +", "rm"),
    ("ls | xargs -0 -n 1 rm -f", "rm"),
    ("xargs -I % sh -c 'rm %'", "rm"),
    ("find . -exec sh -c 'rm $1' _ {} \\;", "rm"),
    ("git -C $D mv a b", "git mv"),
    ("git stash", "git stash"),
    ("git checkout -- .", "git checkout"),
    ("git checkout -b x origin/x", "git checkout"),
    ("git reset --hard", "git reset"),
    ("git restore -p", "git restore"),
    ("git clean -fd", "git clean"),
    ("git apply --index a.patch", "git apply"),
    ("patch -p1 < a.patch", "patch"),
    ("wget $URL", "wget"),
    ("cd /tmp; rm $F", "rm"),
]


@pytest.mark.parametrize(("command", "how"), ANY_FILE)
def test_what_may_change_any_file(command: str, how: str) -> None:
    assert shell_changes(command, "/p") == [(how, "")]


NO_FILE = [
    "kubectl get pods -o yaml",
    "aws ec2 describe-instances --output json",
    "az vm list -o table",
    "gh api x -o json",
    "lsblk -o NAME,SIZE",
    "scp -o StrictHostKeyChecking=no h:a b",
    "pytest -o log_cli=true",
    "go list -o x",
    "rsync -a a host:b",
    "curl -so /dev/null -w '%{http_code}' http://h/a",
    "wget -qO- http://h/a",
    "wget --spider http://h/a",
    "openssl req -outform PEM",
    "make > /dev/null 2>&1 >&2",
    "dir 2>$null > NUL",
    "tee /dev/stderr",
    "command -v rm mv",
    # Temporary files that the words do not name.
    "T=$(mktemp -d); rm -rf $T; echo > $T/a",
    "T=`mktemp`; rm $T",
    'rm "${TMPDIR:-/tmp}/a" $TMPDIR/b',
    "rm /tmp/a-*.log",
    "L=/tmp/a.$$; make > $L",
    'cd "$(mktemp -d)" && echo > a',
    "cd /tmp/a && rm *.log",
    # Git, where it leaves the working tree as it is.
    "git stash list",
    "git stash show -p",
    "git stash drop",
    "git apply --check a",
    "git apply --stat a",
    "git reset",
    "git checkout -b x",
    "git -C a switch -c x",
    "git reset --soft HEAD~1",
    "git reset --mixed",
    "git restore --staged f",
    "git rm --cached f",
    "git mv -n a b",
    "git clean -nd",
    "patch --dry-run -p1 < a",
    "git",
    "git -C a",
]


@pytest.mark.parametrize("command", NO_FILE)
def test_what_changes_no_file(command: str) -> None:
    assert shell_changes(command, "/p") == []


NAMED = [
    ("curl -so f http://h/a", "curl f"),
    ("curl --output=f http://h/a", "curl f"),
    ("curl -of http://h/a", "curl f"),
    ("curl -fsSLO http://h/a/f.tgz?x=1", "curl f.tgz"),
    ("wget -qO f http://h/a", "wget f"),
    ("wget --output-document=f http://h/a", "wget f"),
    ("wget -P d http://h/a/f", "wget d/f"),
    ("wget $BASE/f", "wget f"),
    ("wget http://h", "wget index.html"),
    ("gcc -c a.c -of.o", "gcc f.o"),
    ("go build -o=f ./...", "go f"),
    ("sort -uo f a", "sort f"),
    ("git archive -o f HEAD", "git archive f"),
    ("openssl genrsa -out f 2048", "openssl f"),
    ("git -C d -c a.b=c mv f g", "git mv d/f, git mv d/g"),
    ("git -C d diff > f", "git > f"),
    ("git -c a.b=c checkout -- f", "git checkout f"),
    ("git restore -s HEAD~1 -SW f", "git restore f"),
    ("sudo -u bob rm f", "rm f"),
    ("env -u A B=c nice -n 5 rm f", "rm f"),
    ("make >& f", "make > f"),
    ("make >&f 2>&1", "make > f"),
    ("bash -euo pipefail -c 'echo x > f' > g", "bash > g, echo > f"),
    ("cd /q && touch a && echo > ../f", "echo > /q/../f"),
    ("sudo tee /etc/hosts", "tee /etc/hosts"),
    ("echo > /tmp/f; echo > /dev/shm/g", "echo > /tmp/f, echo > /dev/shm/g"),
    ("truncate -s0 f", "truncate f"),
    ("find . -exec rm {} \\; -exec cp {} f \\;", "rm , cp f"),
]


@pytest.mark.parametrize(("command", "changed"), NAMED)
def test_which_file_a_command_names(command: str, changed: str) -> None:
    assert ", ".join(" ".join(change) for change in shell_changes(command)) == changed


def test_where_a_command_begins() -> None:
    command = "rm a; cd b; rm c; cd /d; rm e; rm /tmp/*.log"
    assert shell_changes(command, "/p") == [("rm", "/p/a"), ("rm", "/p/b/c"), ("rm", "/d/e")]
    # In a directory of temporary files a pattern may stand for files of the session.
    assert shell_changes("rm /tmp/p/*.log; T=$(mktemp -d); echo > $T/a; rm -r $T", "/tmp/p") == [("rm", "")]


@pytest.mark.parametrize("word", ["xargs ", "find -exec ", "sudo ", "git -C a ", "bash -c ", "xargs bash -c "])
def test_commands_that_run_commands_without_end(word: str) -> None:
    shell_changes(word * 8_000 + "rm x")


def test_names_in_an_input() -> None:
    given_input = {"file_path": "a", "paths": ["b", 3], "path": 7, "files": "no", "notebook_path": "n.ipynb"}
    assert input_path_hints(given_input) == ["a", "n.ipynb", "b"]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/p/a", "a"),
        ("b", "src/b"),
        ("./b/../c/", "src/c"),
        ("../c", "c"),
        ("/p2/d", "/p2/d"),
        ("~/e", "~/e"),
        ("/p", "."),
        ("/p/", "."),
        ("..", "."),
        ("C:\\f", "C:\\f"),
    ],
)
def test_as_seen_from_the_workspace(path: str, hint: str) -> None:
    assert resolve_hints([path], "/p/src", "/p/") == [hint]


def test_each_hint_once_and_no_nonsense() -> None:
    assert resolve_hints(["/p/a", "a", "", "x\ny", "./a", "/p/a"], None, "/p") == ["a"]


def test_an_address_is_a_path_where_it_is_a_file_s() -> None:
    assert resolve_hints(["file:///p/a%20b", "https://host/a", "postgres://u:p/w@db/x"], None, "/p") == ["a b"]


def test_without_a_workspace_paths_are_still_tidied() -> None:
    assert resolve_hints(["./a", "a", "b//c", "/d/../e", "../f"], None, None) == ["a", "b/c", "/e", "../f"]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("a/b.txt", "src\\a\\b.txt"),
        ("..\\c.txt", "c.txt"),
        ("c:/P/d.txt", "d.txt"),
        ("C:\\p", "."),
        ("D:\\e", "D:\\e"),
        ("/c/p/f", "/c/p/f"),
    ],
)
def test_paths_of_windows_go_by_its_rules(path: str, hint: str) -> None:
    assert resolve_hints([path], "C:\\p\\src", "C:\\p") == [hint]


@pytest.mark.parametrize(
    ("given_input", "place"),
    [
        ({}, "/p/src"),
        ({"workdir": ""}, "/p/src"),
        ({"workdir": "../lib"}, "/p/src/../lib"),
        ({"working_directory": "/q"}, "/q"),
        ({"directory": "web", "command": "ls"}, "/p/src/web"),
        ({"cwd": "file:///a%20b"}, "/a b"),
        ({"cwd": "file:///C:/a"}, "C:/a"),
        ({"workdir": 5}, "/p/src"),
    ],
)
def test_where_a_command_runs(given_input: dict[str, object], place: str) -> None:
    assert shell_directory(given_input, "/p/src") == place


@pytest.mark.skipif(not GOLDENS.is_file(), reason="the goldens are not here")
def test_the_cases_of_the_reference() -> None:
    for case in json.loads(GOLDENS.read_text()):
        hints = resolve_hints(shell_path_hints(case["command"]), case["cwd"], case["workspaceRoot"])
        assert hints == (case["wantPaths"] or []), case["name"]


@given(st.text(alphabet="ab '\"\\<>|&;#$()\n-o", max_size=60))
def test_any_command_is_read(command: str) -> None:
    assert all(path and "\n" not in path for path in shell_path_hints(command))
    assert all(how and "\n" not in path for how, path in shell_changes(command))
