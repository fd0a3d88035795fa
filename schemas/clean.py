"""The one door for text from outside.

Session files hold whatever a web page or a program printed, and Textual hands control bytes straight to the terminal
(measured: title set, screen cleared, clipboard written). So every string passes here once, where it is decoded, and
nothing behind this module has to think about escapes again. The model sees to it: whatever a reader puts into a field
of `Cleaned`, or takes out of `Session.message`, is clean, also where its provider forgot.

What goes: C0 except newline and tab, DEL, C1, every escape sequence, also unterminated ones. What is shown instead:
bidirectional controls as a visible mark, lone surrogates as U+FFFD, carriage returns and the Unicode line separators
as newlines. Colour that a tool printed (SGR) may be kept as styles beside the text, never as bytes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_ST = r"(?:\x07|\x1b\\|\x9c)"
_BODY = r"[^\x07\x1b\x9c\n]*"
# A string sequence (OSC, DCS, APC, PM, SOS) that never ends would swallow the rest of the text in a terminal. We take
# away its introducer only, so that an unterminated one hides nothing.
_SEQUENCE = re.compile(
    rf"(?:\x1b[\]P_^X]|[\x9d\x90\x9f\x9e\x98]){_BODY}{_ST}"
    rf"|\x1bk{_BODY}\x1b\\"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
    r"|\x1b"
)
_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_BREAK = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_SUSPECT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_SAFE_ASCII = bytes([9, 10, *range(32, 127)])
_MARKS = {
    0x061C: "ALM",
    0x200E: "LRM",
    0x200F: "RLM",
    0x202A: "LRE",
    0x202B: "RLE",
    0x202C: "PDF",
    0x202D: "LRO",
    0x202E: "RLO",
    0x2066: "LRI",
    0x2067: "RLI",
    0x2068: "FSI",
    0x2069: "PDI",
}
# str.translate in one pass: what is left of C0, DEL and C1 vanishes, bidi controls become words, surrogates U+FFFD.
_TABLE: dict[int, str | None] = {
    **dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), 65279)),
    **dict.fromkeys(range(55296, 57344), "�"),
    **{c: f"⟨{name}⟩" for c, name in _MARKS.items()},
}


class Sgr(NamedTuple):
    """A look set by "select graphic rendition": a colour is a palette index 0-255 or red, green, blue."""

    fg: int | tuple[int, int, int] | None = None
    bg: int | tuple[int, int, int] | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    strike: bool = False


class Run(NamedTuple):
    """Characters `start` to `end` of a cleaned text were printed in `sgr`."""

    start: int
    end: int
    sgr: Sgr


def runs_from(runs: Sequence[Run], offset: int) -> tuple[Run, ...]:
    """The colours of a text from `offset` on."""
    return tuple(Run(max(0, one.start - offset), one.end - offset, one.sgr) for one in runs if one.end > offset)


def clean(text: str) -> str:
    """`text` as it may be shown: see the module's docstring for what changes."""
    if len(text) < 80 and text.isascii() and text.isprintable():  # keys, ids, names: most of what is asked about
        return text
    try:
        # Bytes are ten times as fast to go through as characters. What is left of UTF-8 without ASCII is still UTF-8.
        rest = text.encode().translate(None, _SAFE_ASCII)
    except UnicodeEncodeError:  # a lone surrogate
        rest = b"\0"
    if not rest or not _SUSPECT.search(rest.decode()):
        return text
    if max(text) >= "\ud800":
        # Halves of one character that JSON escaped apart become it; what stays alone becomes U+FFFD.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _BREAK.sub("\n", _SEQUENCE.sub("", text)).translate(_TABLE)


def clean_styled(text: str) -> tuple[str, list[Run]]:
    """`text` as it may be shown, and the runs of it which a program coloured.

    Only for what a program printed: prose has no business with escapes.
    """
    if "\x1b[" not in text:
        return clean(text), []
    shown = ""
    runs: list[Run] = []
    state = Sgr()
    for position, piece in enumerate(_SGR.split(text)):
        if position % 2:  # between two pieces of text stand the parameters of a sequence
            state = _apply_sgr(state, piece)
        elif cleaned := clean(piece):
            if state != Sgr():
                runs.append(Run(len(shown), len(shown) + len(cleaned), state))
            shown += cleaned
    return shown, runs


_SETS: dict[int, dict[str, Any]] = {
    0: Sgr()._asdict(),
    1: {"bold": True}, 2: {"dim": True}, 3: {"italic": True}, 4: {"underline": True}, 7: {"reverse": True},
    9: {"strike": True}, 22: {"bold": False, "dim": False}, 23: {"italic": False}, 24: {"underline": False},
    27: {"reverse": False}, 29: {"strike": False},
    **{first + colour: {"fg": colour} for first, bright in ((30, 0), (82, 8)) for colour in range(bright, bright + 8)},
    **{first + colour: {"bg": colour} for first, bright in ((40, 0), (92, 8)) for colour in range(bright, bright + 8)},
    39: {"fg": None}, 49: {"bg": None},
}  # fmt: skip
"""What each parameter sets, but for 38 and 48, behind which a colour follows."""


def _apply_sgr(state: Sgr, params: str) -> Sgr:
    """The state after one SGR sequence; parameters nobody knows are passed over."""
    codes = [int(p) if p.isdigit() and len(p) < 4 else 0 for p in re.split("[;:]", params)]
    while codes:
        code = codes.pop(0)
        if code in (38, 48):
            colour, used = _extended_colour(codes)
            del codes[:used]
            state = state._replace(fg=colour) if code == 38 else state._replace(bg=colour)
        else:
            state = state._replace(**_SETS.get(code, {}))
    return state


def _extended_colour(rest: list[int]) -> tuple[int | tuple[int, int, int] | None, int]:
    """The colour behind a 38 or 48, and how many parameters it took."""
    if rest[:1] == [5] and len(rest) >= 2:
        return min(rest[1], 255), 2
    if rest[:1] == [2] and len(rest) >= 4:
        red, green, blue = (min(c, 255) for c in rest[1:4])
        return (red, green, blue), 4
    return None, len(rest)


class Cleaned:
    """A class whose fields hold clean text only: a string is cleaned when it is assigned."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, clean(value) if type(value) is str else value)


set_number = object.__setattr__
"""Sets a number of a `Cleaned` that nearly every record sets: asking whether it is text takes a twentieth of a scan."""


class CleanDict(dict[str, Any]):
    """Facts by their names: both are clean text, or the value is no text."""

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(clean(key), clean(value) if type(value) is str else value)


class CleanCounter(Counter[str]):
    """Counts by clean names, whatever is counted."""

    def __missing__(self, key: str) -> int:
        return self.get(clean(key), 0)

    def __setitem__(self, key: str, count: int) -> None:
        dict.__setitem__(self, key if key in self else clean(key), count)


def clean_value(value: Any, depth: int = 0) -> Any:
    """A JSON value with every string in it cleaned, keys included.

    What is nested deeper than 200 levels becomes its type's name, so that nobody's recursion ends in an error.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        if depth > 200:
            return "(nested too deeply)"
        return {clean(str(k)): clean_value(v, depth + 1) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return "(nested too deeply)" if depth > 200 else [clean_value(v, depth + 1) for v in value]
    return value


def as_json(value: Any, *, indent: bool = False) -> str:
    """A value as JSON for people to read, clean. Not by orjson, which refuses integers beyond 64 bits, lone surrogates
    and deep nesting, all of which session files hold.
    """
    return json.dumps(clean_value(value), ensure_ascii=False, default=str, indent=2 if indent else None)


def one_line(text: str, limit: int = 200) -> str:
    """`text` cleaned, its white space collapsed, cut at `limit` characters with an ellipsis: for titles."""
    # A title is taken from the start of what may be megabytes, so only so much of it is looked at: mostly twice its
    # length is enough, for where nothing needs cleaning, what follows cannot change the words before it.
    head = text[: limit * 2]
    if len(head) < len(text) and clean(head) == head and len(line := " ".join(head.split())) > limit:
        return _cut(line, limit)
    line = " ".join(clean(text[: limit * 20]).split())
    return line if len(line) <= limit else _cut(line, limit)


def _cut(line: str, limit: int) -> str:
    cut = line[: limit - 1]
    # A joiner or a variation selector at the cut would pull the ellipsis into the character before it.
    return cut.rstrip("\u200d\ufe0f\ufe0e ") + "…"
