"""Path hints: the files that a tool use names, and those that a shell command writes (formats/interchange.md 2.4)."""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import dropwhile, pairwise
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from schemas.clean import clean

_NAMES = ("file_path", "path", "filename", "old_path", "new_path", "notebook_path", "absolute_path")
_LISTS = ("paths", "files", "targets", "changes")
_PLACES = ("workdir", "working_directory", "cwd", "directory", "dir_path")
"""What shell tools call the directory that a command is to run in: Codex and OpenCode, Cursor, Gemini and Qwen."""
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_LONGEST_COMMAND = 100_000
_MOST_HINTS = 200
_HEREDOC = re.compile(r"<<(-?)\s*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_][\w-]*))")
_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+)|(?P<comment>(?<![^\s;|&()])#[^\n]*)"
    r"|(?P<redirect>&>>?|\d*>>?\|?&?|\d*<<?<?&?)|(?P<end>\|\||&&|;;|[;|&()\n])"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;|&()<>\\'\"]|['\"\\])+)",
    re.DOTALL,
)
_QUOTED = re.compile(r"\\(.)|'([^']*)'|\"((?:\\.|[^\"\\])*)\"", re.DOTALL)
# A command without any of these writes nothing that we could tell, and need not be taken apart.
_MAY_WRITE = re.compile(
    r">(?!&\d| ?/dev/null\b)|-[oO]\b|-output\b|\b(?:touch|mkdir|tee|cp|mv|ln|install|rsync|truncate|dd|sed)\b"
)
_WRAPPERS = frozenset({"sudo", "env", "command", "time", "nohup", "exec", "builtin", "nice", "npx", "uvx"})
_RUNS = (["uv", "run"], ["poetry", "run"], ["pnpm", "exec"], ["python", "-m"], ["python3", "-m"])
_ALL_ARGUMENTS = frozenset({"touch", "mkdir", "tee"})
_LAST_ARGUMENT = frozenset({"cp", "mv", "ln", "install", "rsync", "truncate"})
_IN_PLACE = frozenset({"sed", "perl", "ruby"})
_PYTHON = (".py", ".pyi")
_WEB = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".css", ".scss", ".html", ".md", ".json", ".yml", ".yaml")
_REWRITERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "black": {"": _PYTHON}, "isort": {"": _PYTHON}, "ruff": {"format": _PYTHON, "check --fix": _PYTHON},
    "prettier": {"--write": _WEB, "-w": _WEB}, "eslint": {"--fix": _WEB}, "mix": {"format": (".ex", ".exs")},
    "gofmt": {"-w": (".go",)}, "rustfmt": {"": (".rs",)}, "cargo": {"fmt": (), "add": (), "init": ()},
    "pnpm": {"add": ()},
}  # fmt: skip
"""Programs that rewrite files or make them, the words by which they do, and how the names of their files end. Where
none is named so, it may be any file.
"""
_ONLY_LOOKS = re.compile(r"-[ch]?|--(?:check.*|diff|dry-run|help|version)")
"""What lets a program of these write nothing."""
_NO_CONTENT = frozenset({"touch", "mkdir"})
_IS_ANY = re.compile(r"[$`*?{}\n]")
"""What stands for files that a command does not name."""
_WORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{"})
"""Words of the shell before a command."""
_NO_COMMAND = re.compile(r"\$?\(\((?:[^()]|\([^()]*\))*\)\)|(?<!\S)\[\[\s(?:(?!\[\[\s).)*?\s\]\]")
"""Arithmetic and conditions, in which `>` compares; none reaches beyond the beginning of the next, so that text full of
beginnings is gone through once.
"""
_GIT_ANYTHING = frozenset({"am", "apply", "checkout", "cherry-pick", "merge", "pull", "rebase", "reset", "restore"}) | {
    "revert", "stash", "switch",
}  # fmt: skip
# Commands that write nothing, or whose `-o` is no file.
_READERS = frozenset(
    """ls cat grep egrep fgrep rg find head tail ps echo printf set shopt read test [ [[ wc less more file stat du df
    pwd which type git cd export diff awk cut tr uniq jq ssh mount useradd""".split()  # noqa: SIM905
)


_VARIABLE = re.compile(r"'[^']*'|\\.|\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PLAIN = re.compile(r"[\w./@%+:,~-]+")
_SETS_OTHERWISE = frozenset({"for", "select", "read", "unset"})


class _Command(NamedTuple):
    words: list[str]
    targets: list[str]
    after: str = ""
    """What stands before it in the line."""


def input_path_hints(given: Mapping[str, Any]) -> list[str]:
    """The paths that a tool's input names outright, in the order in which the keys are listed."""
    found = [value for name in _NAMES if isinstance(value := given.get(name), str)]
    for name in _LISTS:
        value = given.get(name)
        if isinstance(value, list):
            paths = (item.get("path") if isinstance(item, dict) else item for item in value)
            found += [path for path in paths if isinstance(path, str)]
    return found


def shell_path_hints(command: str) -> list[str]:
    """The paths that a shell command writes: redirections, `-o`, and what touch, mkdir, tee, cp, mv, ln, sed -i name.

    As they are written, relative ones too; `cd` is not followed. Bodies of here-documents are text, not commands.
    """
    if not _MAY_WRITE.search(command):
        return []
    found: list[str] = []
    for simple in _commands(_without_heredocs(command[:_LONGEST_COMMAND])):
        found += _written(simple.words)
        found += simple.targets
    return [path for path in found if _is_path(path)]


def shell_changes(command: str) -> list[tuple[str, str]]:
    """The changes of files in a shell command: by what (`sed -i`, `cat >`, `git apply`), and the path as it is written,
    seen from where a `cd` before it leads; empty where the words name none. What a script does is not told.
    """
    changes: list[tuple[str, str]] = []
    place: str | None = None
    outside: list[str | None] = []
    for simple in _commands(_without_heredocs(command[:_LONGEST_COMMAND])):
        words, others = _of_others(_unwrapped(simple.words, _WORDS))
        name = words[0].rsplit("/", 1)[-1] if words else ""
        plain = [word for word in words[1:] if not word.startswith("-")]
        if simple.after == "(":
            outside.append(place)
        elif simple.after == ")" and outside:
            place = outside.pop()
        if name in ("cd", "pushd", "popd"):
            place = _joined(place, plain[0]) if plain and _is_path(plain[0]) else "$"  # not known
            continue
        found = [(f"{name} >".strip(), path) for path in simple.targets]
        how, files = _in_place(name, [*words, *["{}"] * others])
        if name in ("bash", "sh", "zsh") and words[1:2] in (["-c"], ["-lc"]) and len(words) > 2:
            found += shell_changes(words[2])
        elif how:
            found += dict.fromkeys((how, "" if others or _IS_ANY.search(path) else path) for path in files)
        elif others:
            pass  # what it does to files is not told
        elif name in ("rm", "unlink", "mv"):
            found += [(name, path) for path in plain]
        elif name == "git" and plain[:1] in (["mv"], ["rm"]):
            found += [(f"git {plain[0]}", path) for path in plain[1:]]
        elif name == "git" and plain[:1] in (["checkout"], ["restore"]) and "--" in words:
            found += [(f"git {plain[0]}", path) for path in words[words.index("--") + 1 :]]
        elif name == "patch" or (name == "git" and plain and plain[0] in _GIT_ANYTHING):
            found.append((f"git {plain[0]}" if name == "git" else name, ""))
        elif name not in _NO_CONTENT:
            found += [(name, path) for path in _written(words)]
        for how, path in found:
            if not path or _is_path(path):
                seen = path and _joined(place, path)
                changes.append((how, seen if _is_path(seen) else ""))
    return changes


def rewrites(how: str) -> bool:
    """Tell whether what changed a file left its lines in it, but for some."""
    name, _, words = how.partition(" ")
    return words == "-i" or words in _REWRITERS.get(name, {})


def shell_directory(given: Mapping[str, Any], cwd: str | None) -> str | None:
    """Return the directory of a shell tool's command: in the directory that its input names, seen from `cwd`, or in
    `cwd`.
    """
    place = next((value for key in _PLACES if isinstance(value := given.get(key), str) and value), None)
    if place is None:
        return cwd
    return _joined(cwd, local_path(place))


def local_path(place: str) -> str:
    """A path that may be written as an address, as newer Codex does: `file:///a%20b` is `/a b`."""
    if not place.startswith("file://"):
        return place
    path = unquote(urlsplit(place).path)
    return path[1:] if _WINDOWS.match(path, 1) else path


def resolve_hints(paths: list[str], cwd: str | None, root: str | None) -> list[str]:
    """The paths as seen from the workspace, each once: relative ones begin in `cwd`, by default in `root`; those below
    `root` lose it, and `root` itself is `.`. An address of anything but a file is none.
    """
    hints: dict[str, None] = {}
    for path in map(local_path, paths):
        if not path or "\n" in path or "://" in path or len(path) > 4096:
            continue
        hints[clean(_seen_from(root, path, cwd or root))] = None
        if len(hints) >= _MOST_HINTS:
            break
    return list(hints)


def _seen_from(root: str | None, path: str, cwd: str | None) -> str:
    path = _joined(cwd, path)
    flavour = _flavour(path)
    path = flavour.normpath(path)
    if not root:
        return path
    base = flavour.normpath(root)
    if flavour.normcase(path) == flavour.normcase(base):
        return "."
    base = base.rstrip(flavour.sep) + flavour.sep
    return path[len(base) :] if flavour.normcase(path).startswith(flavour.normcase(base)) else path


def _joined(place: str | None, path: str) -> str:
    """A path as seen from a directory; one that begins elsewhere is left as it is."""
    if not place or path.startswith(("/", "~")):
        return path
    joined: str = _flavour(path, place).join(place, path)
    return joined


def _flavour(*paths: str) -> ModuleType:
    """The rules for paths of the machine that these are from, which need not be this one."""
    return ntpath if any(map(_WINDOWS.match, paths)) else posixpath


def _without_heredocs(command: str) -> str:
    if "<<" not in command:
        return command
    kept: list[str] = []
    ends: list[tuple[str, bool]] = []
    for line in command.split("\n"):
        if ends:
            word, tabs = ends[0]
            if (line.lstrip("\t") if tabs else line).rstrip("\r") == word:
                ends.pop(0)
            continue
        kept.append(line)
        ends = [
            (match[2] or match[3] or match[4], bool(match[1]))
            for match in _HEREDOC.finditer(line)
            if line[match.start() - 1 : match.start()] != "<" and line[match.start() + 2 : match.start() + 3] != "<"
        ]
    return "\n".join(kept)


def _commands(text: str) -> Iterator[_Command]:
    """The simple commands of a line, as words without their quotes, and what they are redirected to. A variable is
    what the line sets it to, where that is one thing.
    """
    values: dict[str, str] = {}
    words: list[str] = []
    targets: list[str] = []
    pending = after = ""
    for match in _TOKEN.finditer(_NO_COMMAND.sub("", text)):
        kind = match.lastgroup
        if kind == "word":
            given = _VARIABLE.sub(lambda m: values.get(m[1] or m[2]) or m[0], match[0]) if values else match[0]
            word = _QUOTED.sub(lambda m: m[1] or m[2] or re.sub(r"\\(.)", r"\1", m[3] or ""), given)
            if not pending:
                words.append(word)
            elif ">" in pending and not pending.endswith("&"):
                targets.append(word)
            pending = ""
        elif kind == "redirect":
            pending = match[0]
        elif kind == "end":
            yield _Command(words, targets, after)
            _set(values, words)
            words, targets, pending, after = [], [], "", match[0]
    yield _Command(words, targets, after)


def _set(values: dict[str, str], words: list[str]) -> None:
    """Note the values that a command gives to variables; empty where one is not plain or has been another."""
    words = list(dropwhile(lambda word: word in _WORDS or word == "export", words))
    if words[:1] and words[0] in _SETS_OTHERWISE:
        values.update(dict.fromkeys(words[1:], ""))
    elif all(found := [_ASSIGNMENT.fullmatch(word) for word in words]):
        for match in filter(None, found):
            name, value = match.groups()
            values[name] = value if _PLAIN.fullmatch(value) and values.get(name, value) == value else ""


def _written(words: list[str]) -> list[str]:
    """The files that a command without redirections writes."""
    words = _unwrapped(words)
    if not words:
        return []
    name, arguments = words[0].rsplit("/", 1)[-1], words[1:]
    plain = [word for word in arguments if not word.startswith("-")]
    if name in _ALL_ARGUMENTS:
        return plain
    if name in _LAST_ARGUMENT:
        return plain[-1:] if len(plain) > 1 else []
    if name == "sed":
        return _edited(arguments)
    if name == "dd":
        return [word[3:] for word in arguments if word.startswith("of=")]
    if name in _READERS:
        return []
    option = ("-O", "--output-document") if name == "wget" else ("-o", "--output")
    return [arguments[i + 1] for i, word in enumerate(arguments[:-1]) if word in option]


def _unwrapped(words: list[str], more: frozenset[str] = frozenset()) -> list[str]:
    """A command without what stands before its name: variables, `sudo`, `timeout 5`, and the words in `more`."""
    while words:
        if words[0] == "timeout":
            words = list(dropwhile(lambda word: word[:1] in "-0123456789", words[1:]))
        elif words[:2] in _RUNS:
            words = words[2:]
        elif words[0] in _WRAPPERS or words[0] in more or re.match(r"[A-Za-z_]\w*=", words[0]):
            words = words[1:]
        else:
            break
    return words


def _of_others(words: list[str]) -> tuple[list[str], bool]:
    """The command that `find -exec` or `xargs` runs on files that it does not name, and whether it is one."""
    if words[:1] == ["find"]:
        at = next((words.index(option) for option in ("-exec", "-execdir") if option in words), None)
        return (words, False) if at is None else (words[at + 1 :], True)
    if words[:1] == ["xargs"]:
        command = _unwrapped(list(dropwhile(lambda word: word == "xargs" or word[:1] in "-0123456789{%\\", words)))
        return (command if command and (command[0] in _IN_PLACE or command[0] in _REWRITERS) else words), True
    return words, False


def _in_place(name: str, words: list[str]) -> tuple[str, list[str]]:
    """Return how a command changes files in place, and what names them; nothing where it does not."""
    if name in _IN_PLACE:
        files = _edited(words[1:])
        return (f"{name} -i", files) if files else ("", [])
    plain = [word for word in words[1:] if not word.startswith("-")]
    for needed, ends in _REWRITERS.get(name, {}).items():
        told = needed.split()
        first = [word for word in told if not word.startswith("-")]
        if not plain or plain[: len(first)] != first or any(map(_ONLY_LOOKS.fullmatch, words)):
            continue
        if set(told) <= set(words):
            # Behind an option stands its value.
            free = [word for before, word in pairwise(words) if before[:2] != "--" or before in (*told, "--")]
            files = [word for word in free if word.endswith(ends) or _IS_ANY.search(word)]
            return f"{name} {needed}".strip(), files or ["*"]
    return "", []


def _edited(arguments: list[str]) -> list[str]:
    """The files that `sed -i` or `perl -i` changes: what is no option, no expression and no empty suffix (macOS)."""
    if not any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in arguments):
        return []
    files: list[str] = []
    scripted = False
    skip = False
    for word in arguments:
        if skip:
            skip = False
        elif word in ("-e", "-f", "--expression", "--file"):
            scripted = skip = True
        elif word and not word.startswith("-"):
            files.append(word)
    return files if scripted else files[1:]


def _is_path(word: str) -> bool:
    return bool(word) and not word.startswith(("&", "/dev/", "-")) and not _IS_ANY.search(word) and "://" not in word
