"""Secrets out of exports: keys, tokens, private key blocks, passwords.

Nearly all text holds no secret, so every pattern begins with a literal: Python then looks for it at memory speed, and
what must not stand before it is checked behind it. Git hashes, UUIDs and base64 images are no secrets.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

_MARK = "[redacted: {}]"
# No pattern goes over it, but for private key blocks, and nothing before it keeps one from matching behind it: so what
# is found in one text is found in many that are joined by it.
_BETWEEN = "\n\0\n"


def _entropy(text: str) -> float:
    """Shannon entropy in bits a character: 4 and more for random keys, about 3 for words."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values()) if text else 0.0


def _mixed(text: str) -> bool:
    """Whether it looks drawn at random: letters and digits, nearly no repetition."""
    return any(c.isdigit() for c in text) and any(c.isalpha() for c in text) and _entropy(text) >= 3.0


def _random_key(text: str) -> bool:
    """`sk-` also begins names such as `sk-circle-3-loading-indicator`."""
    body = text[3:]
    return _mixed(body) and any(c.isupper() for c in body)


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_STAND_IN = re.compile(
    r"x{4,}|\*{3}|\.{3}|…|^[<\[{%$(@&]|\$\{|\{\{|your|example|placeholder|change.?me|redacted|dummy|sample|_here\b",
    re.IGNORECASE,
)
# `user.password`, `get_token()`, `config["key"]`, `os.environ`: a value that is computed, not written down.
_EXPRESSION = re.compile(
    r"^[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)+$|[()\[\]]|^(?:process|os|env|self|this)\b"
)


def _written_down(text: str) -> bool:
    """Whether the value of `api_key = …` is a key rather than a name, an expression or a stand-in."""
    return len(text) >= 12 and _no_code(text) and _mixed(text)


def _password(text: str) -> bool:
    """Whether the value of `password = …` is one rather than a word, a type or an expression."""
    kinds = any(c.isdigit() for c in text), any(c.isalpha() for c in text), not text.replace("_", "").isalnum()
    return (sum(kinds) >= 2 or _scrambled(text)) and _no_code(text) and _entropy(text) >= 2.0


def _scrambled(text: str) -> bool:
    """Letters whose case changes as no name's does: `eMjvqPVStNKi`, but not `myPasswordField`."""
    changes = sum(a.isupper() != b.isupper() for a, b in pairwise(text))
    return len(text) >= 8 and changes * 5 >= len(text) * 2


def _no_code(text: str) -> bool:
    return not (_STAND_IN.search(text) or _EXPRESSION.search(text) or _UUID.fullmatch(text))


def _no_stand_in(text: str) -> bool:
    return not _STAND_IN.search(text)


class _Rule(NamedTuple):
    """A kind of secret that is known by its own look. The secret is the whole match, or the group `s`."""

    kind: str
    literal: str
    """Every match begins with it."""
    pattern: re.Pattern[str]
    accept: Callable[[str], bool] | None = None


def _rule(kind: str, literal: str, rest: str, accept: Callable[[str], bool] | None = None) -> _Rule:
    """A secret that begins with `literal` where no word or dash goes before it."""
    start = re.escape(literal)
    return _Rule(kind, literal, re.compile(rf"{start}(?<![A-Za-z0-9_-]{start}){rest}"), accept)


_END = "(?![A-Za-z0-9])"
_BLOCK = r"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
_RULES = (
    # The end may be cut off: then everything that looks like key material goes. Newlines may be escaped, once or twice.
    _Rule(
        "private key",
        "-----BEGIN ",
        re.compile(rf"-----BEGIN {_BLOCK}(?:(?s:.{{0,20000}}?)-----END {_BLOCK}|(?:[A-Za-z0-9+/=\s]|\\+[nr])*)"),
    ),
    _rule("aws key", "AKIA", rf"[A-Z2-7]{{16}}{_END}"),
    _rule("aws key", "ASIA", rf"[A-Z2-7]{{16}}{_END}"),
    _Rule("github token", "gh", re.compile(r"gh[pousr]_(?<![A-Za-z0-9_-]gh[pousr]_)[A-Za-z0-9]{30,255}")),
    _rule("github token", "github_pat_", "[A-Za-z0-9_]{40,255}"),
    _rule("gitlab token", "glpat-", "[A-Za-z0-9_-]{20,}"),
    _rule("slack token", "xox", r"[abeoprs](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
    _rule("slack token", "xapp-", r"\d-[A-Za-z0-9-]{20,}"),
    _Rule("slack address", "hooks.slack.com/", re.compile(r"hooks\.slack\.com/services/(?P<s>[A-Za-z0-9/]{20,})")),
    _rule("anthropic key", "sk-", "ant-[A-Za-z0-9_-]{20,}"),
    _rule("openai key", "sk-", "(?!ant-)[A-Za-z0-9_-]{20,}", _random_key),
    _rule("digitalocean token", "do", "[oprt]_v1_[a-f0-9]{64}"),
    _rule("stripe key", "sk_live_", "[A-Za-z0-9]{16,}"),
    _rule("stripe key", "rk_live_", "[A-Za-z0-9]{16,}"),
    _rule("stripe key", "sk_test_", "[A-Za-z0-9]{16,}"),
    _rule("stripe key", "whsec_", "[A-Za-z0-9+/=]{24,}"),
    _rule("google key", "AIza", r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _rule("google key", "GOCSPX-", "[A-Za-z0-9_-]{20,}"),
    _rule("google token", "ya29.", "[A-Za-z0-9_-]{20,}"),
    _rule("npm token", "npm_", rf"[A-Za-z0-9]{{36}}{_END}"),
    _rule("pypi token", "pypi-AgE", "[A-Za-z0-9_-]{40,}"),
    _rule("hugging face token", "hf_", rf"[A-Za-z0-9]{{30,}}{_END}", _mixed),
    _rule("json web token", "eyJ", r"[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    _Rule(
        "password in a URL",
        "://",
        re.compile(r"://[^\s/:@\"'<>]{0,200}:(?P<s>[^\s/@\"'<>]{1,200})@"),
        _no_stand_in,
    ),
)  # fmt: skip


_BY_LITERAL = tuple((literal, tuple(rules)) for literal, rules in groupby(_RULES, lambda rule: rule.literal))


class _Named(NamedTuple):
    """A secret that is known by the name before it, in any case: looked for in lower-case bytes."""

    kind: str
    literal: bytes
    pattern: re.Pattern[bytes]
    accept: Callable[[str], bool]
    before: re.Pattern[bytes] | None = None
    """What the twelve bytes before the match must end with."""


# Between a name and its value: `=`, `:`, `=>`, with quotes that JSON in a string may have escaped.
_IS = rb"[\"'\\]{0,4}[ \t]{0,3}(?:=>|:=|=|:)[ \t]{0,3}[\"'\\]{0,4}"
_VALUE = rb"(?P<s>[^\s\"'`,;<>\\]{6,300})"
_NAMED = (
    _Named(
        "key",
        b"key",
        re.compile(rb"key(?:[_-]?id)?" + _IS + _VALUE),
        _written_down,
        re.compile(rb"(?:api|access|secret|auth|account|encryption|signing|[_-])[ _-]?$"),
    ),
    _Named("secret", b"secret", re.compile(rb"secret" + _IS + _VALUE), _written_down),
    _Named("token", b"token", re.compile(rb"token(?:" + _IS + rb"| {1,2}(?=[a-z0-9_-]{24}))" + _VALUE), _written_down),
    _Named(
        "password", b"pass", re.compile(rb"passw(?:or)?d(?:" + _IS + rb"|[ =](?<=--password[ =]))" + _VALUE), _password
    ),
    _Named("password", b"pass", re.compile(rb"passphrase" + _IS + _VALUE), _password),
    _Named("password", b"pwd", re.compile(rb"pwd" + _IS + _VALUE), _password, re.compile(rb"(?:^|[^a-z])$")),
    _Named("authorization", b"bearer", re.compile(rb"bearer[ \t]+(?P<s>[a-z0-9._~+/=-]{12,})"), _written_down),
    _Named(
        "authorization",
        b"authorization",
        re.compile(rb"authorization" + _IS + rb"(?:basic|token|digest)[ \t]+(?P<s>[a-z0-9._~+/=-]{12,})"),
        _written_down,
    ),
)


_NAMED_BY_LITERAL = tuple((literal, tuple(rules)) for literal, rules in groupby(_NAMED, lambda named: named.literal))


class Redactor:
    """Replaces secrets by `[redacted: github token]` and counts them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """How many of each kind."""

    @property
    def count(self) -> int:
        """How many secrets were replaced."""
        return self.counts.total()

    def redact(self, text: str) -> str:
        """`text` without its secrets."""
        if len(text) < 8:
            return text
        for literal, rules in _BY_LITERAL:
            if literal in text:
                for rule in rules:
                    if rule.pattern.search(text):
                        text = self._replace(rule, text)
        # Lower-casing bytes is ten times as fast as lower-casing a text that is not ASCII, and keeps every place.
        raw = text.encode("utf-8", "replace")
        found = sorted(_named_secrets(raw, raw.lower()))
        return self._cut(raw, found) if found else text

    def redact_all(self, texts: Sequence[str]) -> list[str]:
        """Each text without its secrets. Nearly always there is none, and all are looked through at once."""
        together, before = _BETWEEN.join(texts), dict(self.counts)
        if self.redact(together) == together:
            return list(texts)
        self.counts = Counter(before)
        return [self.redact(text) for text in texts]

    def redact_value(self, value: Any) -> Any:
        """A JSON value with every string in it redacted; a member's name may say that its value is a secret."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {self.redact(key): self._member(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.redact_value(item) for item in value]
        return value

    def _member(self, key: str, value: Any) -> Any:
        if not isinstance(value, str):
            return self.redact_value(value)
        if len(value) > 300 or len(key) > 100 or "=" in key:
            return self.redact(value)
        return self.redact(f"{key}={value}").partition("=")[2]

    def _replace(self, rule: _Rule, text: str) -> str:
        group = "s" if "s" in rule.pattern.groupindex else 0

        def replace(match: re.Match[str]) -> str:
            if rule.accept is not None and not rule.accept(match[group]):
                return match[0]
            self.counts[rule.kind] += 1
            start, end = match.start(group) - match.start(), match.end(group) - match.start()
            return match[0][:start] + _MARK.format(rule.kind) + match[0][end:]

        return rule.pattern.sub(replace, text)

    def _cut(self, raw: bytes, found: list[tuple[int, int, str]]) -> str:
        pieces: list[bytes] = []
        position = 0
        for start, end, kind in found:
            if start >= position:
                pieces += [raw[position:start], _MARK.format(kind).encode()]
                position = end
                self.counts[kind] += 1
        return b"".join((*pieces, raw[position:])).decode("utf-8", "replace")


def _named_secrets(raw: bytes, folded: bytes) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of each value that the name before it calls a secret."""
    for literal, rules in _NAMED_BY_LITERAL:
        if literal not in folded:
            continue
        for named in rules:
            for match in named.pattern.finditer(folded):
                start, end = match.span("s")
                before = folded[max(0, match.start() - 12) : match.start()]
                if named.before is not None and not named.before.search(before):
                    continue
                if named.accept(raw[start:end].decode("utf-8", "replace")):
                    yield start, end, named.kind
