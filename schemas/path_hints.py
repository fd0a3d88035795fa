"""Path hints: the files that a tool use names, and those that a shell command writes (formats/interchange.md 2.4)."""

from __future__ import annotations

import ntpath
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile, pairwise, takewhile
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from schemas.clean import clean

_NAMES = ("file_path", "path", "filename", "old_path", "new_path", "notebook_path", "absolute_path")
_LISTS = ("paths", "files", "targets", "changes")
_PLACES = ("workdir", "working_directory", "cwd", "directory", "dir_path")
"""What shell tools call the directory that a command is to run in: Codex and OpenCode, Cursor, Gemini and Qwen."""
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_SHELL = re.compile(r"(?:^|[/\\])(?:bash|sh|zsh|dash|ksh|fish|pwsh|powershell|cmd)(?:\.exe)?\Z", re.IGNORECASE)
_SHELL_FLAGS = re.compile(r"^(?:-[a-z]*c|-Command|/[cC])$")
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
    r">(?!&\d| ?/dev/null\b)|\s-[#\w]*[oO]|-(?:out|remote-name)"
    r"|\b(?:touch|mkdir|tee|cp|mv|ln|install|rsync|truncate|dd|sed|wget)\b"
)
_WRAPPERS = {
    "sudo": "CDghpRrTtUu", "env": "CSu", "exec": "a", "nice": "n", "npx": "cp", "time": "fo", "timeout": "ks",
}  # fmt: skip
"""Programs that run the command behind them, and the letters of their options that a value follows."""
_RUNS = (["uv", "run"], ["poetry", "run"], ["pnpm", "exec"], ["python", "-m"], ["python3", "-m"])
_OUTPUT = r"-o|--output(?:-file)?(?:=|$)"
_OUTPUTS: Mapping[str, str] = {
    **dict.fromkeys(
        """cc gcc c++ g++ clang clang++ ld as nasm rustc ghc ocamlopt swiftc protoc bison flex dot pandoc xsltproc zstd
        strace rsvg-convert repomix uglifyjs terser xmllint asciidoctor strip patch pip-compile eslint""".split(),  # noqa: SIM905
        _OUTPUT,
    ),
    **dict.fromkeys(("git archive", "uv pip", "uv export", "poetry export"), _OUTPUT),
    **dict.fromkeys(("go build", "go test"), "-o(?:=|$)"),
    "curl": r"-[#0-46afgGijkIlLnNOpqRsSv]*o|--output(?:=|$)",
    "wget": r"-[bcdNnqSvx46]*[oO]|--output-(?:document|file)(?:=|$)",
    "gpg": r"-[abcdeqstv]*o|--output(?:=|$)",
    "sort": r"-[bcdfghiMmnRrsuVz]*o|--output(?:=|$)",
    "openssl": r"-out$",
}
"""The options by which programs name a file that they write, for those that are known to: `-o` of others is a format or
anything else.
"""
_BY_ADDRESS = {
    "curl": re.compile(r" (?:-[#0-46afgGijkIlLnNOpqRsSv]*O|--remote-name)"),
    "wget": re.compile(r"^(?!.* (?:-[bcdNnqSvx46]*[Oimr]|--(?:output-doc|spider|input|mirror|recursive)))", re.DOTALL),
}
"""The arguments with which these call a file as its address does."""
_ALL_ARGUMENTS = {"touch": ("-d", "-r", "-t"), "mkdir": ("-m",), "tee": (), "truncate": ("-r", "-s", "--size")}
"""Programs that write all files which they name, and their options that a value follows."""
_LAST_ARGUMENT = frozenset({"cp", "mv", "ln", "install", "rsync"})
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
_IS_ANY = re.compile(r"[$`*?{}\n]")
"""What stands for files that a command does not name."""
_NO_FILE = re.compile(r"|[&-].*|.*://.*|/dev/(?:null|tty|std\w+|fd/.*)|(?i:\$null|nul)", re.DOTALL)
"""Where nothing is written that stays: addresses, devices, `$null` of PowerShell; `>&2` and options are no names."""
_TEMPORARY = re.compile(r"/(?:private/)?(?:(?:var/)?tmp|var/folders)/")
_MKTEMP = re.compile(r"\$\(mktemp\b[^()]*\)|`mktemp\b[^`]*`|\$TMPDIR\b|\$\{TMPDIR\b[^{}]*\}")
_MADE = re.compile(r"/tmp/tmp\.\$")
"""What stands in place of a name that `mktemp` makes."""
_WORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "export", "local"}) | {
    "readonly", "command", "builtin", "nohup", "uvx",
}  # fmt: skip
"""Words before a command, none of which has options."""
_NO_COMMAND = re.compile(r"\$?\(\((?:[^()]|\([^()]*\))*\)\)|(?<!\S)\[\[\s(?:(?!\[\[\s).)*?\s\]\]")
"""Arithmetic and conditions, in which `>` compares; none reaches beyond the beginning of the next, so that text full of
beginnings is gone through once.
"""
_GIT_KEEPS: Mapping[str, str] = {
    **dict.fromkeys(("am", "cherry-pick", "merge", "pull", "rebase", "revert"), " --dry-run"),
    "apply": " --(?:check|stat|numstat|summary|cached)",
    "checkout": r" -[bB] \S+$",
    "clean": r" (?:-\w*n|--dry-run)",
    "mv": " (?:-n|--dry-run)",
    "reset": "^(?!.* --(?:hard|merge|keep))",
    "restore": r"^(?!.* (?:-\w*W|--worktree)).* (?:-\w*S|--staged)",
    "rm": " (?:--cached|-n|--dry-run)",
    "stash": "^ (?:list|show|drop|clear|create|store)",
    "switch": r" (?:-[cC]|--create) \S+$",
}
"""What Git does to files of the working tree, and the arguments with which it leaves them as they are."""
_VARIABLE = re.compile(r"'[^']*'|\\.|\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PLAIN = re.compile(r"[\w./@%+:,~-]+")
_SETS_OTHERWISE = frozenset({"for", "select", "read", "unset"})


class _Command(NamedTuple):
    words: list[str]
    targets: list[str] = []
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
    """The paths that a shell command writes: redirections, what programs name as their output, and what touch, mkdir,
    tee, cp, mv, ln, sed -i name.

    As they are written, relative ones too; `cd` is not followed. Bodies of here-documents are text, not commands.
    """
    if not _MAY_WRITE.search(command):
        return []
    found: list[str] = []
    for simple in _commands(command[:_LONGEST_COMMAND]):
        found += _written(simple.words)
        found += simple.targets
    return [path for path in found if not _NO_FILE.fullmatch(path) and not _IS_ANY.search(path)]


def shell_changes(command: str, start: str | None = None) -> list[tuple[str, str]]:
    """The changes of files in a shell command that runs in `start`: by what (`sed -i`, `cat >`, `git apply`), and the
    path as it is written, seen from where a `cd` before it leads, each once; empty where the words name none, but for
    temporary files outside of `start`. What a script does is not told.
    """
    changes: list[tuple[str, str]] = []
    place = start
    outside: list[str | None] = []
    foreign = _MADE if _TEMPORARY.match(f"{start}/") else _TEMPORARY
    for words, targets, after in _commands(command[:_LONGEST_COMMAND]):
        name = _name(words)
        if after == "(":
            outside.append(place)
        elif after == ")" and outside:
            place = outside.pop()
        if name in ("cd", "pushd", "popd"):
            place = _from(place, next(iter(_free(words[1:])), "$"))
            continue
        how, files = _changed(name, words)
        found = [*((f"{name} >".strip(), path) for path in targets), *((how, path) for path in files)]
        seen = [(how, _from(place, path)) for how, path in found if not _NO_FILE.fullmatch(path)]
        known = [one for one in seen if not (_IS_ANY.search(one[1]) and foreign.match(one[1]))]
        changes += [(how, "" if _IS_ANY.search(path) else path) for how, path in known]
    return list(dict.fromkeys(changes))


def rewrites(how: str) -> bool:
    """Tell whether what changed a file left its lines in it, but for some."""
    name, _, words = how.partition(" ")
    return words == "-i" or words in _REWRITERS.get(name, {})


def shell_directory(given: Mapping[str, Any], cwd: str | None) -> str | None:
    """Return the directory of a shell tool's command: the one that its input names, seen from `cwd`, or `cwd`."""
    place = next((value for key in _PLACES if isinstance(value := given.get(key), str) and value), None)
    if place is None:
        return cwd
    return _joined(cwd, local_path(place))


def shell_text(command: object) -> str:
    """The command a person would have typed: `ls` for `["bash", "-lc", "ls"]`, quoted where the list needs it."""
    if isinstance(command, str):
        return command
    if not isinstance(command, Sequence) or not all(isinstance(word, str) for word in command):
        return ""
    words: list[str] = list(command)
    if len(words) >= 3 and _SHELL.search(words[0]) and _SHELL_FLAGS.match(words[-2]):
        return words[-1]
    return shlex.join(words)


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


def _from(place: str | None, path: str) -> str:
    """The same for words of a shell: what begins with a variable may begin anywhere."""
    return path if path.startswith(("$", "`")) else _joined(place, path)


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
    text = _MKTEMP.sub("/tmp/tmp.$", _NO_COMMAND.sub("", _without_heredocs(text)))
    values: dict[str, str] = {}
    words: list[str] = []
    targets: list[str] = []
    pending = after = ""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "word":
            given = _VARIABLE.sub(lambda m: values.get(m[1] or m[2]) or m[0], match[0]) if values else match[0]
            word = _QUOTED.sub(lambda m: m[1] or m[2] or re.sub(r"\\(.)", r"\1", m[3] or ""), given)
            if not pending:
                words.append(word)
            elif ">" in pending and not (pending.endswith("&") and re.match(r"[\d$-]", word)):
                targets.append(word)
            pending = ""
        elif kind == "redirect":
            pending = match[0]
        elif kind == "end":
            yield from _run(words, targets, after)
            _set(values, words)
            words, targets, pending, after = [], [], "", match[0]
    yield from _run(words, targets, after)


def _run(words: list[str], targets: list[str], after: str = "", depth: int = 2) -> Iterator[_Command]:
    """A simple command, and those that it runs: what `sh -c`, `xargs` and `find -exec` do, on `{}` where they name no
    files; `git -C` is Git in another directory.
    """
    words = _unwrapped(words)
    name = _name(words)
    inner: list[_Command] = []
    if name == "git":
        options, command = _behind(words, "Cc")
        words, inner = ["git"], [*(_Command(["cd", place]) for place in _values("-C", options))]
        inner.append(_Command(["git", *command]))
    elif name in ("bash", "sh", "zsh", "dash"):
        options, command = _behind(words, "oO")
        if command and any(re.fullmatch(r"-\w*c", option) for option in options):
            inner += _commands(command[0])
    elif name == "xargs" and depth:
        options, command = _behind(words, "adEILnPs")
        for own in filter(None, _values("-I", options)):
            command = [word.replace(own, "{}") for word in command]
        inner += _run([*command, "{}"], [], depth=depth - 1)
    elif name == "find" and depth:
        rest = iter(words)
        for _ in filter(re.compile("-exec(dir)?|-ok").fullmatch, rest):
            inner += _run(list(takewhile(lambda word: word not in (";", "+"), rest)), [], depth=depth - 1)
    yield _Command(words, targets, after)
    if inner:
        yield from (_Command([], after="("), *inner, _Command([], after=")"))


def _set(values: dict[str, str], words: list[str]) -> None:
    """Note the values that a command gives to variables; empty where one is not plain or has been another."""
    words = list(dropwhile(lambda word: word in _WORDS, words))
    if words[:1] and words[0] in _SETS_OTHERWISE:
        values.update(dict.fromkeys(words[1:], ""))
    elif all(found := [_ASSIGNMENT.fullmatch(word) for word in words]):
        for match in filter(None, found):
            name, value = match.groups()
            known = _PLAIN.fullmatch(value) or _TEMPORARY.match(value)
            values[name] = value if known and values.get(name, value) == value else ""


def _changed(name: str, words: list[str]) -> tuple[str, list[str]]:
    """Return how a command without redirections changes files, and the words that name them: `*` where none does."""
    how, files = _in_place(name, words)
    if how:
        return how, files
    if name == "git":
        return " ".join(["git", *words[1:2]]), _changed_by_git(words[1:]) or _written(words)
    if name in ("rm", "unlink", "mv"):
        return name, _free(words[1:])
    if name == "find":
        return "find -delete", ["*"] * ("-delete" in words)
    if name in ("touch", "mkdir") or (name == "patch" and "--dry-run" in words):
        return name, []
    return name, _written(words) or ["*"] * (name == "patch")


def _changed_by_git(words: list[str]) -> list[str]:
    command, arguments = "".join(words[:1]), words[1:]
    if command not in _GIT_KEEPS or re.search(_GIT_KEEPS[command], "".join(f" {word}" for word in arguments)):
        return []
    files = ["*"]
    if "--" in arguments and command != "apply":
        files = arguments[arguments.index("--") + 1 :]
    elif command in ("mv", "restore", "rm"):
        files = _free(arguments, ("-s", "--source")) or ["*"]
    return ["*" if word in (".", ":/") else word for word in files]


def _written(words: list[str]) -> list[str]:
    """The files that a command without redirections writes."""
    name, arguments = _name(words), words[1:]
    if name in _ALL_ARGUMENTS:
        return _free(arguments, _ALL_ARGUMENTS[name])
    if name in _LAST_ARGUMENT:
        last = _free(arguments)[1:][-1:]
        return [] if name == "rsync" and ":" in "".join(last) else last
    if name == "sed":
        return _edited(arguments)
    if name == "dd":
        return [word[3:] for word in arguments if word.startswith("of=")]
    option = _OUTPUTS.get(name) or _OUTPUTS.get(" ".join([name, *words[1:2]]))
    return (_values(option, arguments) if option else []) + _fetched(name, arguments)


def _fetched(name: str, arguments: list[str]) -> list[str]:
    """The files that `wget` and `curl -O` call as the last part of an address."""
    if name not in _BY_ADDRESS or not _BY_ADDRESS[name].search("".join(f" {word}" for word in arguments)):
        return []
    place = next(iter(_values("-P|--(?:directory-prefix|output-dir)(?:=|$)", arguments)), None)
    addresses = [word for word in arguments if "://" in word] or [word for word in arguments if _IS_ANY.search(word)]
    names = [re.sub(r"^\w+://[^/]*/?|[?#].*", "", address).rsplit("/", 1)[-1] for address in addresses]
    return [_from(place, last or "index.html") for last in names if last or name == "wget"]


def _name(words: list[str]) -> str:
    return words[0].rsplit("/", 1)[-1] if words else ""


def _free(arguments: list[str], valued: tuple[str, ...] = ()) -> list[str]:
    """The words that are no options, and no values of those in `valued`."""
    words = pairwise(["", *arguments])
    return [word for before, word in words if word and word[0] != "-" and before not in valued]


def _values(option: str, arguments: list[str]) -> list[str]:
    """The values of an option, joined to it or behind it."""
    found = [(at, match[1]) for at, word in enumerate(arguments) if (match := re.fullmatch(f"(?:{option})(.*)", word))]
    return [joined or "".join(arguments[at + 1 : at + 2]) for at, joined in found]


def _behind(words: list[str], valued: str) -> tuple[list[str], list[str]]:
    """A command's options, and what stands behind them; a value follows those of the letters in `valued`."""
    at = 1
    while at < len(words) and re.match("-.", words[at]):
        at += 2 if re.fullmatch(rf"-\w*[{valued}]", words[at]) else 1
    return words[1:at], words[at:]


def _unwrapped(words: list[str]) -> list[str]:
    """A command without what stands before its name: words of the shell, variables, `sudo`, `timeout 5`."""
    while words:
        if words[0] in _WRAPPERS:
            words = _behind(words, _WRAPPERS[words[0]])[1][words[0] == "timeout" :]
        elif words[:2] in _RUNS:
            words = words[2:]
        elif words[0] in _WORDS or re.match(r"[A-Za-z_]\w*=", words[0]):
            words = words[1:]
        else:
            break
    return words


def _in_place(name: str, words: list[str]) -> tuple[str, list[str]]:
    """Return how a command changes files in place, and what names them; nothing where it does not."""
    if name in _IN_PLACE:
        files = _edited(words[1:])
        return (f"{name} -i", files) if files else ("", [])
    plain = _free(words[1:])
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
    scripts = ("-e", "-f", "--expression", "--file")
    return _free(arguments, scripts)[not set(scripts) & set(arguments) :]
