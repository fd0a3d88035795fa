"""Keys as Textual binds them, from the one table in viewer/screens/keys.py and the person's config file.

The config file is `config.toml` in the user's config directory for turnlog:

    theme = "turnlog-light"

    [keys]              # in the transcript
    fold = "enter, v"
    [keys.list]         # in the list of sessions, where plain letters go to the filter
    export = "ctrl+o"
    [keys.find]         # in the search over all sessions, where they go to what is looked for; also outline and words
                        # (what is looked for in a transcript), where they do, too; watch, diff, why

Nothing is ever written to it. What is wrong in it is said in one line (`ConfigError`) instead of being passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.keys import Keys, _character_to_key

from schemas.clean import one_line
from viewer.output import CallError
from viewer.screens.keys import BROWSER, DIFF, FIND, OUTLINE, TRANSCRIPT, WATCH, WHY, WORDS, Key

TABLES: dict[str, tuple[Key, ...]] = {
    "list": BROWSER, "find": FIND, "transcript": TRANSCRIPT, "outline": OUTLINE, "words": WORDS, "watch": WATCH,
    "diff": DIFF, "why": WHY,
}  # fmt: skip
"""The tables by the name of their screen, or of a part of one that takes what is typed; a binding's id is
`screen.action`.
"""
_TYPED = ("list", "find", "outline", "words")
"""Those where letters are typed."""

_NAMES = {
    "question_mark": "?",
    "colon": ":",
    "number_sign": "#",
    "exclamation_mark": "!",
    "slash": "/",
    "comma": ",",
    "full_stop": ".",
    "apostrophe": "'",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "escape": "esc",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}
_MODIFIERS = {"ctrl", "shift", "alt", "super", "meta", "hyper"}
_KNOWN = {str(key.value) for key in Keys} | set(_NAMES)


class ConfigError(CallError):
    """Something in the config file cannot be meant; the text is one line, for a person."""


class Config(NamedTuple):
    """The config file's content. `keymap` maps a binding's id to Textual's comma-separated keys."""

    theme: str | None = None
    keymap: Mapping[str, str] = {}


def bindings(screen: str) -> list[Binding]:
    """A screen's bindings; `screen` is a name in `TABLES`."""
    return [
        Binding(
            ",".join(key.keys),
            key.call,
            key.label,
            show=bool(key.footer),
            tooltip=key.help,
            id=f"{screen}.{key.action}",
            # So that the line to type in is there before the next key is given out.
            priority=key.action == "search",
        )
        for key in TABLES[screen]
    ]


class Keyed:
    """A screen, or a part of one, with the keys of a table. What an action does is said by its help there, and in a
    docstring only where that does not say all of it.
    """

    TABLE: ClassVar[str]
    """A name in `TABLES`."""
    BINDINGS: ClassVar[list[BindingType]]

    def __init_subclass__(cls, **options: Any) -> None:
        if "TABLE" in vars(cls):
            cls.BINDINGS = [*bindings(cls.TABLE)]
        super().__init_subclass__(**options)


def effective(screen: str, keymap: Mapping[str, str]) -> tuple[Key, ...]:
    """A screen's table with the person's own keys in it: what footer and help show."""
    return tuple(
        key._replace(keys=tuple(own.split(","))) if (own := keymap.get(f"{screen}.{key.action}")) else key
        for key in TABLES[screen]
    )


def actions_by_key(screen: str, keymap: Mapping[str, str]) -> dict[str, str]:
    """The actions of a screen's table by the names that Textual gives the keys in events."""
    return {canonical(name): key.action for key in effective(screen, keymap) for name in key.keys}


def key_name(key: str, *, short: bool = False) -> str:
    """A key as a person calls it: `?`, `pgdn`, `ctrl+f`, and `^f` where there is little room."""
    *modifiers, last = key.split("+")
    last = _NAMES.get(last, last)
    if short and modifiers == ["ctrl"]:
        return f"^{last}"
    return "+".join([*modifiers, last])


def config_path() -> Path:
    """The config file's path."""
    from platformdirs import user_config_path

    return user_config_path("turnlog", appauthor=False) / "config.toml"


def read_config(path: Path) -> Config:
    """The config file's content; an empty one if there is no such file.

    Raises ConfigError for a file that cannot be read or says something that cannot be meant.
    """
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    import tomllib  # most people have no config file, and their first picture need not wait for it

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(path, error) from error
    try:
        return _config(data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {one_line(str(error))}") from error


def _unreadable(path: Path, error: OSError | ValueError) -> ConfigError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ConfigError(f"{path}: {one_line(reason)}")


def _config(data: dict[str, Any]) -> Config:
    for name in data.keys() - {"theme", "keys"}:
        raise ConfigError(f"there is no setting {name!r}; there are theme and [keys]")
    theme = data.get("theme")
    if theme is not None and not isinstance(theme, str):
        raise ConfigError("theme must be a name in quotes")
    keys = data.get("keys", {})
    if not isinstance(keys, dict):
        raise ConfigError("keys must be a table: [keys]")
    keymap: dict[str, str] = {}
    tables = {name: keys.pop(name, {}) for name in TABLES if name != "transcript"} | {"transcript": keys}
    for name, own in tables.items():
        if not isinstance(own, dict):
            raise ConfigError(f"keys.{name} must be a table: [keys.{name}]")
        keymap |= _keymap(name, own)
        _refuse_clashes(name, keymap)
    return Config(theme, keymap)


def _keymap(screen: str, own: dict[str, Any]) -> dict[str, str]:
    actions = {key.action for key in TABLES[screen]}
    where = "keys" if screen == "transcript" else f"keys.{screen}"
    keymap: dict[str, str] = {}
    for action, value in own.items():
        if action not in actions and isinstance(value, dict):
            known = ", ".join(name for name in TABLES if name != "transcript")
            raise ConfigError(
                f"[{where}.{action}]: there is no such screen; there are {known}; [keys] is a transcript's"
            )
        if action not in actions:
            raise ConfigError(f"{where}.{action}: there is no such action; there are {', '.join(sorted(actions))}")
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f'{where}.{action} must be keys in quotes, like "x, ctrl+x"')
        names = [part.strip() for part in value.split(",")]
        for name in names:
            if not _is_key(name):
                raise ConfigError(f"{where}.{action}: {name!r} is not the name of a key")
            if screen in _TYPED and len(name) == 1:
                raise ConfigError(f"{where}.{action}: {name!r} would be typed; take one with ctrl+")
        keymap[f"{screen}.{action}"] = ",".join(names)
    return keymap


def canonical(name: str) -> str:
    """One name for a key that has two: `?` is `question_mark` for Textual."""
    return _character_to_key(name) if len(name) == 1 else name


def _is_key(name: str) -> bool:
    *modifiers, last = name.split("+") if name != "+" else [name]
    return set(modifiers) <= _MODIFIERS and (len(last) == 1 or last in _KNOWN)


def _refuse_clashes(screen: str, keymap: Mapping[str, str]) -> None:
    """Two actions on one key would leave one of them without a key and say nothing about it."""
    taken: dict[str, str] = {}
    for key in effective(screen, keymap):
        for name in map(canonical, key.keys):
            if taken.setdefault(name, key.action) != key.action:
                raise ConfigError(f"the key {name!r} would do both {taken[name]} and {key.action}")
