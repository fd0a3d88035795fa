"""Text as every search compares it: without regard to case, and to how a letter with a mark is encoded.

macOS writes `Ü` in file names as `U` and a combining mark, keyboards send one character: a person sees the same word.
"""

from __future__ import annotations

import re
from unicodedata import category, normalize

_STRETCH = re.compile(r"(?:[\x00-\x7f](?![^\x00-\x7f]))+|[\x00-\x7f]?[^\x00-\x7f]+")
"""Text that folds by itself: ASCII, and what stands between, with the letter before, to which a mark may belong."""
_RUN = re.compile(r"[A-Za-z0-9]+")


def search_key(text: str) -> str:
    """`text` folded for comparison: two texts that read alike but for case have the same key."""
    if text.isascii():
        return text.lower()
    return normalize("NFC", normalize("NFC", text).casefold())


def find_all(text: str, key: str) -> list[tuple[int, int]]:
    """Start and end in `text` of each match of `key`, which is the `search_key` of what is looked for."""
    if not key:
        return []
    folded = search_key(text)
    found: list[tuple[int, int]] = []
    at = folded.find(key)
    while at >= 0:
        found.append((at, at + len(key)))
        at = folded.find(key, at + len(key))
    return in_text(text, found)


def in_text(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places in the key of `text` as places in `text` itself."""
    if not spans or text.isascii() or _is_even(text):
        return spans
    origins = _origins(text)
    return [(origins[start][0], origins[end - 1][1]) for start, end in spans]


def _origins(text: str) -> list[tuple[int, int]]:
    """Return for each character of the key of `text` the start and end of what it was made of."""
    origins: list[tuple[int, int]] = []
    for match in _STRETCH.finditer(text):
        stretch, start = match[0], match.start()
        if stretch.isascii() or _is_even(stretch):
            origins.extend((at, at + 1) for at in range(start, match.end()))
            continue
        begin = start
        for end in range(start + 1, match.end() + 1):
            cluster = text[begin:end]
            # A mark, or a part of a Korean syllable, that joins what stands before it.
            if end < match.end() and len(search_key(text[begin : end + 1])) <= len(search_key(cluster)):
                continue
            origins.extend([(begin, end)] * len(search_key(cluster)))
            begin = end
    return origins


def _is_even(text: str) -> bool:
    """Tell whether each character folds to one, so that the key's places are the text's: folding never shortens."""
    composed = normalize("NFC", text)
    return composed == text and len(composed.casefold()) == len(text) == len(search_key(text))


def plain_runs(sought: str) -> list[str]:
    """The runs of ASCII letters and digits in what is looked for, in lower case: they stand like that, in whatever
    case, in the bytes of a file that holds it, however it writes the rest. A run ends within `ss`, which the file may
    have as `ß`.
    """
    runs = (run.lower() for run in _RUN.findall(normalize("NFC", sought)))
    return [piece for run in runs for piece in run.split("ss") if piece]


_BLOB = re.compile(r"[a-z0-9+/=]{256,}")
_BLOB_SAMPLE = re.compile(r"[a-z0-9+/=]{31}")
"""Every eighth character of such a run, which is looked for first: that is quick."""
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_MARKS = range(0x300, 0x370)
_SINGLE = re.compile(
    "[\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u30ff\u3105-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Chinese and Japanese characters and Korean syllables: each is a token, since nothing shows where a word ends."""


class _Letters(dict[int, str]):
    """The letters and digits that a character other than ASCII stands for, without case, form and accent; nothing for a
    mark that belongs to the letter before; a space for all else.
    """

    def __missing__(self, code: int) -> str:
        plain = "".join(c for c in normalize("NFKD", chr(code)).casefold() if ord(c) not in _MARKS)
        kept = (c if c.isalnum() else "" if category(c) == "Mn" else " " for c in normalize("NFC", plain))
        letters = self[code] = _SINGLE.sub(r" \g<0> ", "".join(kept)) if code not in _MARKS else ""
        return letters


_LETTERS = _Letters()


def _letters(match: re.Match[str]) -> str:
    return match[0].translate(_LETTERS)


def words_of(text: str) -> str:
    """A text as the index has it: lower case, without accents, its tokens the runs of letters and digits, a Chinese,
    Japanese or Korean character a token by itself. What is no token stays as it is where it is ASCII. A long run of
    base64 is left out.
    """
    if not text.isascii():
        text = text.replace("→", " ")  # in every line of a file as one agent shows it to the model
    if text.isascii():
        words = text.lower()
    else:
        lines = normalize("NFC", text).lower().split("\n")  # most are ASCII, which is quick to see
        words = "\n".join([line if line.isascii() else _FOREIGN.sub(_letters, line) for line in lines])
    if len(words) >= 256 and _BLOB_SAMPLE.search(words[::8]):
        words = _BLOB.sub(" ", words)
    return words


_TOKEN = re.compile(r"[^\W_]+")


def tokens_of(text: str) -> list[str]:
    """The tokens of a text, in order."""
    return _TOKEN.findall(words_of(text))
