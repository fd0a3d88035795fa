"""What counts as a secret, and where the secrets of a text stand.

Two sorts: tokens that are known by their look (_LOOKS: how they begin and how long they are), and values that something
beside them calls secret: a name (`API_KEY=…`), a header, an address, an option of a command.

One scan for a few hundred literals says where a pattern may match at all; what is around it decides. Marks and escapes
are no part of a secret: it may stand behind an escaped newline or quote or a diff's sign, or go on in the next line.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation


class Found(NamedTuple):
    """A secret: where it begins and ends in the UTF-8 bytes of a text, and of which kind it is."""

    start: int
    end: int
    kind: str


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# -- what a value looks like -------------------------------------------------------------------------------------------


def _entropy(text: str) -> float:
    """Shannon entropy in bits a character: 4 and more for random keys, about 3 for words."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values()) if text else 0.0


def _mixed(text: str) -> bool:
    """Whether it looks drawn at random: letters and digits, nearly no repetition."""
    return _digit_and_letter(text) and _entropy(text) >= 3.0


def _digit_and_letter(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def _scrambled(text: str) -> bool:
    """Letters whose case changes as no name's does: `eMjvqPVStNKi`, but not `myPasswordField`."""
    changes = sum(a.isupper() != b.isupper() for a, b in pairwise(text))
    return len(text) >= 8 and changes * 5 >= len(text) * 2


_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}", re.IGNORECASE)
_VOWELS = re.compile(r"[aeiouy]", re.IGNORECASE)


def _unspeakable(text: str) -> bool:
    """Whether letters make no words: `xkqjzwvhtplm`."""
    few = len(text) >= 12 and len(_VOWELS.findall(text)) * 5 < sum(c.isalpha() for c in text)
    return _scrambled(text) or few or _CONSONANTS.search(text) is not None


_PIECES = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")


def _slug(text: str) -> bool:
    """Words, short words with a number, and short numbers, put together: `user_123_profile`, `AES-256-GCM`, `gpt4o`."""
    pieces = [piece for piece in _PIECES.split(text) if piece]
    return all(
        (piece.isalpha() and not _unspeakable(piece))
        or (piece.isdigit() and len(piece) <= 8)
        or re.fullmatch(r"[A-Za-z]{1,12}\d{1,4}|\d{1,4}[A-Za-z]{1,4}|[vV]?\d+(?:[a-z]+\d*)?", piece) is not None
        for piece in pieces
    )


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_STAND_IN = re.compile(
    r"x{4,}|\*{3}|\.{3}|^[<\[{(&]|^#[0-9a-f]{3,8}$|%[sdr]\b|%\d*\.\d*f|^\$\w+$|\$[{(]|\{\{|^%\w+%?$|^@\w+@?$|your|example|placeholder|change.?(?:me|it)"
    r"|redacted|dummy|sample|_here\b",
    re.IGNORECASE,
)
# `user.password`, `get_token()`, `config["key"]`, `os.environ`: a value that is computed, not written down.
_EXPRESSION = re.compile(
    r"^[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+[!?]?$|[()\[\]{}|]|^(?:process|os|env|self|this)\b|^[!=~+]"
)
_PLACE = re.compile(r"^(?:~|\.{0,2}/)?[\w.@-]+(?:/[\w.@-]+)+/?$|^/[\w.-]+$|^[A-Za-z][\w+.-]*://|^[A-Za-z]:[\\/]")
_NO_PASSWORDS = _words(
    "pass password passwd passphrase pwd secret token test testing string text hidden required optional "
    "invalid missing incorrect boolean number none null nil undefined default false true input current- "
    "password new-password one-time-code changeit value empty unset disabled enabled unknown prompt return "
    "import object static public private bytes secretstr never always plaintext plain username user login "
    "function reset forgot confirm wrong expired"
)
"""What stands in documentation and code where a password would."""


def _no_code(text: str) -> bool:
    return not (_STAND_IN.search(text) or _EXPRESSION.search(text))


def _no_stand_in(text: str) -> bool:
    return not _STAND_IN.search(text)


# In what is drawn at random any short word may be, so here it stands by itself.
_STAND_IN_TOKEN = re.compile(
    r"x{6,}|X{6,}|\*{3}|\.{3}|EXAMPLE|(?<![A-Za-z0-9])(?i:your|example|placeholder|redacted|dummy|sample)(?![A-Za-z0-9])"
)


def _no_example(text: str) -> bool:
    return not _STAND_IN_TOKEN.search(text[3:])


def _random_key(text: str) -> bool:
    """`sk-` also begins names such as `sk-circle-3-loading-indicator`."""
    body = text[3:]
    long = re.search(r"[A-Za-z0-9]{24}", body) is not None
    return _mixed(body) and (long or any(c.isupper() for c in body)) and _no_example(text)


def _random(text: str) -> bool:
    return _mixed(text) and _no_example(text)


def _basic(text: str) -> bool:
    """Whether it is `user:password` in base64."""
    coded = re.match(r"[A-Za-z0-9+/]*", text)
    try:
        plain = base64.b64decode(coded[0] + "=" * (-len(coded[0]) % 4)) if coded else b""
    except binascii.Error:
        return False
    return b":" in plain[1:] and all(byte >= 32 for byte in plain)


# -- tokens that are known by their look -------------------------------------------------------------------------------


class _Look(NamedTuple):
    """A kind of token: a literal that stands in it, and the pattern from there.

    The secret is the whole match with what `before` matched in front of it, or the group `s`.
    """

    kind: str
    literal: bytes
    pattern: re.Pattern[bytes]
    accept: Callable[[str], bool] = _no_example
    before: re.Pattern[bytes] | None = None
    strict: bool = False
    """Whether a dash, an underscore, a dot or a slash before it makes it a part of something else."""


_CLASSES = {"w": "[A-Za-z0-9_-]", "a": "[A-Za-z0-9]", "h": "[A-Fa-f0-9]", "u": "[A-Z0-9]", "b": "[A-Za-z0-9+/=_-]"}
_RUN = re.compile(r"(?<![A-Za-z0-9\\\[?])([wahub])(\d+)(!?)(?![A-Za-z0-9])")


def _body(told: str) -> bytes:
    """A pattern in which `w20` is twenty characters or more of a class, and `h32!` exactly so many of them."""

    def run(match: re.Match[str]) -> str:
        sort = _CLASSES[match[1]]
        return f"{sort}{{{match[2]}}}(?!{sort})" if match[3] else f"{sort}{{{match[2]},}}"

    return _RUN.sub(run, told).encode()


# Beginnings and lengths are facts that gitleaks (MIT) and the vendors publish; lengths are lower bounds where a vendor
# may lengthen its tokens. "strict" is for beginnings that names and base64 have as well.
_STRICT = "strict"
_BEGINNINGS: tuple[tuple[str, str, str] | tuple[str, str, str, str | Callable[[str], bool]], ...] = (
    ("aws key", "AKIA ASIA ABIA ACCA", "u16!", _STRICT),
    ("aws key", "A3T", "u17!", _STRICT),
    ("aws key", "ABSK", "b100", _STRICT),
    ("github token", "ghp_ gho_ ghu_ ghs_ ghr_", "a30"),
    ("github token", "github_pat_", "w40"),
    ("gitlab token", "glpat- gldt- glrt- glrtr- glptt- glcbt- glft- glffct- glimt- glagent-", r"[\w.-]{20,}"),
    ("gitlab token", "gloas- glsoat-", r"[\w.-]{20,}"),
    ("gitlab token", "GR1348941 _gitlab_session=", "w20"),
    ("slack token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs-", "[A-Za-z0-9%+/=_-]{10,}"),
    ("slack token", "xoxe.xoxb- xoxe.xoxp-", "[A-Za-z0-9%+/=_-]{10,}"),
    ("slack token", "xapp-", r"\d-w20"),
    ("slack address", "hooks.slack.com/", "(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/]{20,})"),
    ("teams address", ".webhook.office.com/webhookb2/", r"(?P<s>[\w@/-]{60,})"),
    ("discord address", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", r"\d+/(?P<s>w40)"),
    ("anthropic key", "sk-ant-", "w20"),
    ("openai key", "sk-", "(?!ant-)w20", _random_key),
    ("xai key", "xai-", "a40"),
    ("groq key", "gsk_", "a30", _random),
    ("replicate token", "r8_", "a30", _random),
    ("perplexity key", "pplx-", "a32"),
    ("nvidia key", "nvapi-", "w40"),
    ("tavily key", "tvly-", "w20", _random),
    ("pinecone key", "pcsk_", "w40"),
    ("langsmith key", "lsv2_pt_ lsv2_sk_", "h32_h10"),
    ("firecrawl key", "fc-", "h32!", _STRICT),
    ("hugging face token", "hf_ api_org_", r"a30(?!\w)", lambda text: _no_example(text) and _entropy(text) >= 3),
    ("stripe key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", "a10", _random),
    ("stripe key", "whsec_", "b24"),
    ("google key", "AIza", "w35!", _STRICT),
    ("google key", "GOCSPX-", "w20"),
    ("google token", "ya29.", r"[\w.-]{20,}", _STRICT),
    ("google token", "1//0", "w40", _STRICT),
    ("npm token", "npm_", "a36!"),
    ("pypi token", "pypi-AgE", "w40"),
    ("rubygems key", "rubygems_", "h40"),
    ("crates.io token", "cio", "a32!", _STRICT),
    ("nuget key", "oy2", "[a-z0-9]{43}(?![A-Za-z0-9])", _STRICT),
    ("clojars token", "CLOJARS_", "a50"),
    ("docker token", "dckr_pat_ dckr_oat_", "w20"),
    ("digitalocean token", "doo_v1_ dop_v1_ dor_v1_", "h40"),
    ("databricks token", "dapi", r"h32(?:-\d)?(?![A-Za-z0-9])", _STRICT),
    ("vault token", "hvs. hvb. hvr.", "w24", _STRICT),
    ("linear key", "lin_api_ lin_oauth_", "a32"),
    ("notion token", "secret_", r"a40(?!\w)", _random),
    ("notion token", "ntn_", "a40"),
    ("age key", "AGE-SECRET-KEY-1", "u50"),
    ("new relic key", "NRAK- NRII- NRJS- NRRA-", "w19"),
    ("supabase token", "sbp_", "h40"),
    ("supabase key", "sb_secret_", "w20"),
    ("grafana token", "glsa_", "a32_h8"),
    ("grafana token", "glc_", "[A-Za-z0-9+/]{32,}={0,3}", _random),
    ("fly.io token", "fm1r_ fm1a_ fm2_", r"[A-Za-z0-9+/=,]{40,}"),
    ("fly.io token", "fo1_", "w43"),
    ("sendgrid key", "SG.", r"[\w=.-]{50,}", _STRICT),
    ("mailgun key", "key- pubkey-", "h32!", _STRICT),
    ("brevo key", "xkeysib- xsmtpsib-", "h60-a16"),
    ("shopify token", "shpat_ shpca_ shppa_ shpss_", "h32"),
    ("square token", "EAAA", "(?:w60!|(?<!/EAAA)[A-Za-z0-9_-]{22,59}(?![A-Za-z0-9_+/=-]))", _STRICT),
    ("square token", "sq0atp- sq0csp-", "w22"),
    ("facebook token", "EAAM EAAC", "a100", _STRICT),
    ("twilio key", "SK", "h32!", _STRICT),
    ("telegram token", "bot", r"(?P<s>\d{5,16}:A[\w-]{34})(?![\w-])"),
    ("1password key", "A3-", "u6-(?:u11|u6-u5)-u5-u5-u5"),
    ("1password token", "ops_eyJ", "[A-Za-z0-9+/=]{100,}"),
    ("adobe secret", "p8e-", "a32"),
    ("alibaba key", "LTAI", "a12", _STRICT),
    ("artifactory key", "AKCp", "a60", _STRICT),
    ("artifactory token", "cmVmd", "a59!", _STRICT),
    ("atlassian token", "ATATT3 ATCTT3", "[A-Za-z0-9_=-]{60,}"),
    ("bitbucket password", "ATBB", "a28", _STRICT),
    ("clickhouse key", "4b1d", "a38!", _STRICT),
    ("cloudflare key", "v1.0-", "h24-h100"),
    ("contentful token", "CFPAT-", "w40"),
    ("doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[\w.]{40,}", _STRICT),
    ("defined networking token", "dnkey-", "w60"),
    ("dropbox token", "sl.", "[A-Za-z0-9_=-]{100,}", _STRICT),
    ("duffel token", "duffel_test_ duffel_live_", "[A-Za-z0-9_=-]{40,}"),
    ("dynatrace token", "dt0c01. dt0s01.", r"a24\.a60"),
    ("easypost key", "EZAK EZTK", "a54", _STRICT),
    ("figma token", "figd_", "w40"),
    ("flutterwave key", "FLWSECK_TEST- FLWSECK- FLWPUBK_TEST-", "a12"),
    ("frame.io token", "fio-u-", "[A-Za-z0-9_=-]{60,}"),
    ("harness token", "pat. sat.", r"w22\.a24\.a20", _STRICT),
    ("heroku key", "HRKU-AA", "w50"),
    ("hubspot token", "pat-na1- pat-eu1- pat-na2-", r"[0-9a-f-]{36}"),
    ("infracost key", "ico-", "a32!", _STRICT),
    ("intra42 secret", "s-s4t2ud- s-s4t2af-", "h60"),
    ("lob key", "live_ test_", "(?:h35!|pub_h31!)", _STRICT),
    ("gocardless token", "live_", "[A-Za-z0-9_=-]{40}(?![A-Za-z0-9_=-])", _random),
    ("mapbox token", "pk. sk. tk.", r"a50\.w22", _STRICT),
    ("netlify token", "nfp_", "a36"),
    ("octopus key", "API-", "u26!", _STRICT),
    ("openshift token", "sha256~", "w43!"),
    ("plaid token", "access-sandbox- access-development- access-production-", "[0-9a-f-]{36}"),
    ("planetscale token", "pscale_tkn_ pscale_oauth_ pscale_pw_", r"[\w=.-]{30,}"),
    ("postman key", "PMAK-", "h24-h34"),
    ("prefect key", "pnu_ pnb_", "a36"),
    ("pulumi token", "pul-", "h40!", _STRICT),
    ("readme key", "rdme_", "a60"),
    ("resend key", "re_", "a8_a20", _random),
    ("scalingo token", "tk-us-", "w48"),
    ("sentry token", "sntrys_", "[A-Za-z0-9+/=_]{40,}"),
    ("sentry token", "sntryu_", "h60"),
    ("settlemint token", "sm_aat_ sm_pat_ sm_sat_", "a16"),
    ("shippo token", "shippo_live_ shippo_test_", "h40"),
    ("sidekiq password", "CONTRIBSYS__COM", r"[\"'\s:=]{1,6}(?P<s>h8!:h8!)"),
    ("sourcegraph token", "sgp_", "(?:[a-fA-F0-9]{16}_|local_|)h40"),
    ("tailscale key", "tskey-", "w20"),
    ("typeform token", "tfp_", r"[\w=.-]{40,}"),
    ("yandex token", "t1.", r"[\w-]{4,}={0,2}\.[\w-]{86}={0,2}", _STRICT),
    ("yandex key", "AQVN", "w35", _STRICT),
    ("grafana key", "eyJrIjoi", "a60", _STRICT),
    ("json web token", "eyJ", r"w8(?:\.[A-Za-z0-9_=-]{8,}){2,4}"),
    ("json web token", "ZXlK", r"[A-Za-z0-9+/_-]{60,}={0,2}", _STRICT),
    ("signature", "?sig= &sig= ;sig= u0026sig=", "(?P<s>[A-Za-z0-9%+/_-]{20,}=*)"),
    ("signature", "X-Amz-Signature= X-Goog-Signature= Signature=", "(?P<s>h40)"),
    ("cookie", "PHPSESSID= JSESSIONID=", r"(?P<s>[\w.-]{16,})"),
    ("cookie", "connect.sid=", r"(?P<s>s(?:%3A|:)[\w.%+/-]{20,})"),
    ("password", ":5432:", r"[^:\s]{1,60}:[^:\s]{1,60}:(?P<s>[^\s\"'\\]{4,})"),  # .pgpass
    ("password", "-passin -passout", r"(?:[\s\"',]|\\+n)+pass:(?P<s>[^\s\"'\\]{4,})"),  # openssl
)  # fmt: skip
# Tokens whose sign stands inside: the sign, what goes before it, what follows.
_INSIDE = (
    ("terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}", r"[\w=-]{60,}"),
    ("telegram token", ":A", r"\d{8,16}", r"[\w-]{34}(?![\w-])"),
    ("maxmind key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}", r"(?![\w-])"),
    ("azure secret", "Q~", r"[\w~.]{3}\d", r"[\w~.-]{31,34}"),
    ("mailchimp key", "-us", r"[a-f0-9]{32}", r"\d\d?(?!\w)"),
    ("authress key", ".acc_ .acc-", r"(?:sc|ext|scauth|authress)_\w{5,30}\.\w{4,6}", r"[\w-]{10,32}\.[\w+/=-]{30,}"),
)  # fmt: skip


def _looks() -> Iterator[_Look]:
    for kind, literals, told, *more in _BEGINNINGS:
        accept = next((one for one in more if callable(one)), _no_example)
        for literal in literals.split():
            pattern = re.compile(re.escape(literal.encode()) + _body(told))
            yield _Look(kind, literal.encode(), pattern, accept, strict=_STRICT in more)
    for kind, literals, lead, told in _INSIDE:
        for literal in literals.split():
            pattern = re.compile(re.escape(literal.encode()) + _body(told))
            before = re.compile(rb"(?:" + lead.encode() + rb")\Z")
            yield _Look(kind, literal.encode(), pattern, before=before)
    # Discord's begin with the bot's number in base64: of two digits, these are the first two characters.
    for literal in ("MT", "MD", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"):
        pattern = re.compile(literal.encode() + rb"[A-Za-z0-9_-]{21,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}")
        yield _Look("discord token", literal.encode(), pattern, _random, strict=True)


# An escape before a token (`\n`, `\\t`, `\u0022`, `%3D`) ends in a letter or a digit, which is no part of it.
_ESCAPE = re.compile(rb"(?:\\+(?:[abefnrtv0]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})|%[0-9a-fA-F]{2})\Z")
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_JOINT = frozenset(b"_-.+=")


def _begins(raw: bytes, start: int, strict: bool) -> bool:
    """Whether a token may begin there."""
    if not start:
        return True
    before = raw[start - 1]
    if before not in _WORD:
        # A diff's sign at the beginning of a line is a mark around the token.
        return not strict or before not in _JOINT or _is_mark(raw, start)
    return _ESCAPE.search(raw, max(0, start - 12), start) is not None


def _is_mark(raw: bytes, start: int) -> bool:
    """Whether the character before `start` is a diff's sign, or goes between a name and its value."""
    if raw[start - 1] in b"+-":
        line = raw[max(0, start - 8) : start - 1]
        return not line or line[-1:] in b"\n\"'" or _ESCAPE.search(line) is not None
    return raw[start - 1] == 0x3D  # =


def _by_look(raw: bytes, place: int, look: _Look) -> Iterator[Found]:
    if (one := _token(raw, place, look)) is not None:
        yield one


def _token(raw: bytes, place: int, look: _Look) -> Found | None:
    match = look.pattern.match(raw, place)
    if match is None:
        return _cut_off(raw, place, look)
    start, end = match.span("s" if "s" in look.pattern.groupindex else 0)
    if look.before is not None:
        begin = _lead(raw, place, look.before)
        if begin is None:
            return None
        start = begin
    elif "s" not in look.pattern.groupindex and not _begins(raw, place, look.strict):
        return None
    return Found(start, end, look.kind) if look.accept(_text(raw, start, end)) else None


_UNICODE = re.compile(rb"\\u[0-9a-fA-F]{4}")


def _lead(raw: bytes, place: int, before: re.Pattern[bytes]) -> int | None:
    """Where what stands before a token's sign begins."""
    lead = before.search(raw, max(0, place - 48), place)
    if lead is None:
        return None
    start = lead.start()
    if (escape := _UNICODE.search(raw, max(0, start - 5), place)) and start < escape.end():  # its digits are not ours
        start = escape.end()
        return start if before.match(raw, start, place) else None
    return start if _begins(raw, start, strict=False) else None


_CUT = re.compile(rb"[A-Za-z0-9_+/=.~%-]{4,}(?=\xe2\x80\xa6)")  # the ellipsis, with which titles are cut


def _cut_off(raw: bytes, place: int, look: _Look) -> Found | None:
    """The beginning of a token, where it was cut with an ellipsis: half a token is a secret as well."""
    inside = "s" in look.pattern.groupindex  # an address, say, in which the secret follows
    if look.before is not None or len(look.literal) < 5 * inside or not (inside or _begins(raw, place, look.strict)):
        return None
    match = _CUT.match(raw, place + len(look.literal))
    if match is None or not (len(match[0]) >= 16 or any(48 <= byte <= 57 for byte in match[0])):
        return None
    return Found(match.start() if inside else place, match.end(), look.kind)


def _text(raw: bytes, start: int, end: int) -> str:
    return raw[start:end].decode("utf-8", "replace")


# -- private keys ------------------------------------------------------------------------------------------------------

_BLOCK = rb"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
# Between two lines of a key: a newline, which may be escaped, and what stands around lines: a diff's or a quotation's
# sign, a line's number, quotes and commas of an array of strings.
_BETWEEN = rb"(?:[\s\"',+>|#*-]|\\+[nrt\"]|\d{1,5}(?:\xe2\x86\x92|[:\t-]))"
_KEY_LINES = (
    rb"(?:" + _BETWEEN + rb"*(?:[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]+))*"
    rb"(?:(?:\n|\\+n)[ \t+|>#*-]*[A-Za-z0-9+/]{1,76}={0,2}(?![\w ]))?"
)
_WHOLE_KEY = re.compile(
    rb"-----BEGIN " + _BLOCK + rb"(?:(?s:.{0,20000}?)-----END " + _BLOCK + rb"|" + _KEY_LINES + rb")"
)
_END_OF_KEY = re.compile(rb"-----END " + _BLOCK)
_LAST_LINES = re.compile(rb"(?:[A-Za-z0-9+/=]{16,}" + _BETWEEN + rb"+)*[A-Za-z0-9+/]{2,76}={0,2}" + _BETWEEN + rb"+\Z")
_PUTTY = re.compile(rb"Private-Lines: \d+(?P<s>(?:" + _BETWEEN + rb"+[A-Za-z0-9+/=]{16,})+)")
_IN_BASE64 = re.compile(rb"LS0tLS1CRUdJTi[A-Za-z0-9+/=]{40,}")


def _private_key(raw: bytes, place: int, literal: bytes) -> Iterator[Found]:
    """A block of key material; also one whose end, or whose beginning, is not there."""
    if literal == b"Private-Lines: ":
        if putty := _PUTTY.match(raw, place):
            yield Found(*putty.span("s"), "private key")
    elif literal == b"LS0tLS1CRUdJTi":
        if (coded := _IN_BASE64.match(raw, place)) and b"PRIVATE KEY" in base64.b64decode(coded[0][:40]):
            yield Found(*coded.span(), "private key")
    elif literal == b"-----BEGIN ":
        if block := _WHOLE_KEY.match(raw, place):
            yield Found(*block.span(), "private key")
    elif (last := _END_OF_KEY.match(raw, place)) and (lines := _LAST_LINES.search(raw, max(0, place - 4000), place)):
        yield Found(lines.start(), last.end(), "private key")


# -- addresses, headers, commands --------------------------------------------------------------------------------------

# The password goes to the last `@` before a host, so that it may have `@` and `/` in it.
_ADDRESS = re.compile(
    rb"://(?P<user>[^\s/:@\"'<>\\]{0,200}):(?P<s>[^\s\"'<>\\`]{1,200})@(?=[A-Za-z0-9\[%$_-][\w.\-:\[\]%${}]*(?:[/?#\s\"'<>,;)\\`]|\Z))"
)
_ADDRESS_CUT = re.compile(
    rb"://(?P<user>[\w.+-]{1,100}):(?P<s>(?!\d{1,5}[/\xe2])[^\s\"'<>\\`/@]{1,200})(?=\xe2\x80\xa6)"
)
_STOCK = _words("pass password passwd pwd secret test token user username changeme postgres root admin guest")


def _address(raw: bytes, place: int) -> Iterator[Found]:
    match = _ADDRESS.match(raw, place) or _ADDRESS_CUT.match(raw, place)
    if match is None:
        return
    user, password = _text(raw, *match.span("user")), _text(raw, *match.span("s"))
    port = re.match(r"\d{1,5}(?:[/?#]|$)", password)
    if not port and password.lower() not in _STOCK and password != user and _no_stand_in(password):
        yield Found(*match.span("s"), "password in a URL")


# A quote as it may be written, also in JSON, HTML and addresses.
_QUOTE = rb"(?:\\*[\"'`]|&quot;|&#3[49];|\\+u002[27]|%2[27])"
_AUTHORIZATION = re.compile(
    rb"uthorization(?:" + _QUOTE + rb"|\])*[ \t]{0,3}(?:[:=,]|\\+u003[ad]|%3[ad])[ \t]{0,3}" + _QUOTE + rb"?"
    rb"(?:(?P<scheme>[a-z][a-z0-9-]{2,20})[ \t]+)?(?P<s>[^\s\"'`,;<>\\&\xe2()\[\]{}]{6,4000})", re.IGNORECASE
)  # fmt: skip
_SCHEMED = re.compile(rb"(?P<scheme>earer|asic)[ \t]+(?P<s>[A-Za-z0-9._~+/=-]{8,4000})")


def _header(raw: bytes, place: int, literal: bytes) -> Iterator[Found]:
    """What goes behind `Authorization:`, `Bearer`, `Basic`."""
    match = (_SCHEMED if literal in (b"earer ", b"asic ") else _AUTHORIZATION).match(raw, place)
    if match is None:
        return
    scheme, value = (match["scheme"] or b"").decode().lower(), _text(raw, *match.span("s"))
    cut = raw.startswith(b"\xe2\x80\xa6", match.end())
    if scheme in ("basic", "asic"):
        good = _basic(value) or (cut and len(value) >= 8)
    elif scheme:
        good = _no_code(value) and (_mixed(value) or _unspeakable(value)) and (len(value) >= 12 or cut)
    else:
        good = _no_code(value) and len(value) >= 16 and _mixed(value)
    if good:
        yield Found(*match.span("s"), "authorization")


_COOKIES = re.compile(
    rb"ookies?(?:" + _QUOTE + rb"|\])*[ \t]{0,3}[:=,][ \t]{0,3}" + _QUOTE + rb"?(?P<all>[\w.-]+=[^\n\"'`\\<>]{4,8000})"
)
_COOKIE_OPTION = re.compile(rb"(?:-b|--cookie)(?:[\s\"',=]|\\+[n\"])+(?P<all>[\w.-]+=[^\n\"'`\\<>]{4,8000})")
_PAIR = re.compile(rb"(?:^|;[ \t]*)(?P<name>[\w.$-]+)=(?P<s>[^;\s,]{6,4000})")


def _cookies(raw: bytes, all_: tuple[int, int]) -> Iterator[Found]:
    """The values of `Cookie: a=…; b=…` that are no plain words."""
    start, end = all_
    for pair in _PAIR.finditer(raw[start:end]):
        value = _text(pair["s"], 0, len(pair["s"]))
        told = re.search(rb"sess|sid|token|auth|jwt|csrf|login", pair["name"], re.IGNORECASE) is not None
        if _no_stand_in(value) and (told or len(value) >= 16 or _mixed(value)) and not _slug(value.replace("%", "")):
            yield Found(start + pair.start("s"), start + pair.end("s"), "cookie")


def _cookie(raw: bytes, place: int) -> Iterator[Found]:
    if match := _COOKIES.match(raw, place):
        yield from _cookies(raw, match.span("all"))


# Up to the line's end, over lines that are continued; the words of an argument list may be strings of their own.
_ARGUMENTS = re.compile(rb"(?:[^\n\\]|\\[\s\S]|(?<=[\"'],)\n){0,2000}")
_GAP = rb"(?:[\s\"',]|\\+[n\"'])"
_WORD_OF_ARGUMENTS = rb"(?:'(?P<q>[^'\n]+)'|\\*\"(?P<d>[^\"\n\\]+)|(?P<s>[^\s\"',\\;|&]+))"
_GIVEN = {
    **dict.fromkeys(("sshpass",), rb"-p" + _GAP + rb"{0,8}"),
    **dict.fromkeys(("mysql", "mariadb"), rb"-p(?=[\"']?[^\s\-\"',\\])"),
    **dict.fromkeys(("redis-cli",), rb"(?:-a|--pass)" + _GAP + rb"{1,8}"),
    **dict.fromkeys(
        ("docker login", "podman login", "mongo", "twine", "az login", "helm registry login"),
        rb"(?:-p)" + _GAP + rb"{1,8}",
    ),
    **dict.fromkeys(("ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami", "ldapdelete"), rb"-w" + _GAP + rb"{0,8}"),
    **dict.fromkeys(("sqlcmd ", "zip "), rb"-P" + _GAP + rb"{1,8}"),
    **dict.fromkeys(("7z", "7za"), rb"-p(?=[\"']?[^\s\-\"',\\])"),
    **dict.fromkeys(
        ("curl", "wget"), rb"(?:-u|--user|-U|--proxy-user)(?:" + _GAP + rb"|=){0,8}(?P<user>[^\s:\"'\\]{1,100}):"
    ),
    **dict.fromkeys(
        ("http ", "https ", "xh "), rb"(?:-a|--auth)(?:" + _GAP + rb"|=){1,8}(?P<user>[^\s:\"'\\]{1,100}):"
    ),
    **dict.fromkeys(("smbclient",), rb"-U(?:" + _GAP + rb"|=){0,8}(?P<user>[^\s%\"'\\]{1,100})%"),
}
"""By program: the option that is given a password, or a user with one."""


@cache
def _option(program: str) -> re.Pattern[bytes]:
    value = rb"(?P<s>[^\s\"'\\]+)" if rb"(?P<user>" in _GIVEN[program] else _WORD_OF_ARGUMENTS
    return re.compile(rb"(?:(?<=[\s\"'])|(?<=\\n))" + _GIVEN[program] + value)


def _command(raw: bytes, place: int, literal: bytes) -> Iterator[Found]:
    """A password that a command is given: `curl -u me:…`, `mysql -p…`, `sshpass -p …`."""
    if place and raw[place - 1] in _WORD and not _ESCAPE.search(raw, max(0, place - 12), place):
        return
    arguments = _ARGUMENTS.match(raw, place + len(literal))
    if arguments is None:
        return
    if literal == b"curl":
        for cookies in _COOKIE_OPTION.finditer(raw, arguments.start(), arguments.end()):
            yield from _cookies(raw, cookies.span("all"))
    for match in _option(literal.decode()).finditer(raw, arguments.start(), arguments.end()):
        group = next(name for name in ("s", "q", "d") if match.groupdict().get(name) is not None)
        value = _text(raw, *match.span(group))
        user = _text(raw, *match.span("user")) if "user" in match.groupdict() else ""
        plain = value.lower() in _STOCK | _NO_PASSWORDS or value.isdigit() or value == user
        if len(value) >= 4 and not plain and _no_stand_in(value):
            yield Found(*match.span(group), "password")


_ENTRIES = rb"(?:" + _BETWEEN + rb"+[\w.-]+:[ ]*[\"']?[A-Za-z0-9+/_=.~!@#$%^&*-]{4,}[\"']?)+"
_KUBERNETES = re.compile(rb"(?<!meta)(?:data|stringData):" + _ENTRIES)
_ENTRY = re.compile(rb"[\w.-]+:[ ]*[\"']?(?P<s>[A-Za-z0-9+/_=.~!@#$%^&*-]{4,})")


def _kubernetes(raw: bytes, place: int) -> Iterator[Found]:
    """The data of a `kind: Secret`, whatever its entries are called."""
    first, last = raw.rfind(b"---", max(0, place - 4000), place), raw.find(b"---", place, place + 4000)
    for match in _KUBERNETES.finditer(raw, max(first, place - 4000, 0), last if last >= 0 else place + 4000):
        for entry in _ENTRY.finditer(raw, match.start() + 5, match.end()):
            value = _text(raw, *entry.span("s"))
            if _no_stand_in(value) and (not value.isalpha() or _scrambled(value)):
                yield Found(*entry.span("s"), "secret")


# -- values that a name calls secret -----------------------------------------------------------------------------------

_NAMES = {
    "password": ("pass", "Pass", "PASS", "pwd", "Pwd", "PWD", "_pw=", "_PW=", "_psw", "_PSW"),
    "secret": ("secret", "Secret", "SECRET", "credential", "Credential", "CREDENTIAL", "creds", "CREDS"),
    "token": ("token", "Token", "TOKEN", "jwt", "JWT", "_pat=", "_PAT="),
    "key": ("key", "Key", "KEY"),
    "auth": ('auth"', "auth\\", "_auth", "_AUTH", "auth:", "auth=", "auth'"),
    "id": ("client_id", "ClientId", "clientId", "CLIENT_ID", "access_id", "ACCESS_ID", "accessId"),
}
_MORE = (
    rb"(?:(?i:w(?:or)?d|wd|phrase|code)(?![a-z]))?s?"
    rb"(?P<more>(?:[_.-]?\d{1,4}(?![A-Za-z0-9])|[_.-][A-Za-z0-9]{1,24}|[A-Z][a-z0-9]{1,24}){0,6})"
)
_IS_NOT = _words(
    "limit limits count counts size length len max min num number total url uri endpoint path file filename "
    "dir directory folder name names type types id ids field fields column header headers label hint help "
    "policy expires expiry expiration expire ttl age usage used budget window hash hashed digest checksum "
    "fingerprint algorithm alg format prefix suffix pattern regex regexp env var variable provider manager "
    "store service index map list code version encoding charset kind class error message text title "
    "description placeholder icon color style status state valid required enabled ref reference arn region "
    "rotation generator strength rules rule page event listener handler"
)
"""Words behind `token`, `key` and the like which say that the value is something about it."""
_NO_KEYS = _words(
    "public pub primary foreign cache sort partition index object group unique idempotency registry hot map "
    "dict row column field sequence natural schema translation i18n query event parent child react storage s3 "
    "redis bucket file path name shortcut tab arrow enter turkey monkey donkey don hokey turn sub data dedupe "
    "lookup hash range composite surrogate business alternate candidate search filter order routing message "
    "item json config setting feature flag trace run job task metric label state props style theme locale lang "
    "icon color menu nav"
)
_NO_TOKENS = _words(
    "max min num total input output prompt completion cached cache reasoning csrf xsrf next page continuation "
    "sync eos bos pad unk sep cls mask stop start end special css design lex syntax keyword string punctuation "
    "number text first last current prev previous each per new old public tool thinking cost price"
)
_VENDORS = re.compile(
    "adafruit|adobe|airtable|algolia|alibaba|asana|atlassian|confluence|jira|beamer|bitbucket|bittrex|meraki|cloudflare"
    "|codecov|cohere|coinbase|confluent|contentful|datadog|discord|drone_?ci|dropbox|etsy|facebook|fastly|finicity"
    "|finnhub|flickr|freshbooks|gitter|gocardless|heroku|hubspot|intercom|jfrog|artifactory|bintray|xray|kraken|kucoin"
    "|launchdarkly|linear|linked[_-]?in|lob|mailchimp|mailgun|mapbox|mattermost|message[_-]?bird|netlify|new[_-]?relic"
    "|nytimes|okta|plaid|private[_-]?ai|rapidapi|sendbird|sentry|snyk|sonar|sourcegraph|square|sumo|telegr|travis|twitch"
    "|twitter|yandex|zendesk", re.IGNORECASE
)  # fmt: skip
"""Vendors (gitleaks') whose keys may be UUIDs or plain numbers."""

_OPERATOR = rb"(?:=>|:=|!=|={1,3}|:|,|\\+u003[dDaA]|%3[DdAa])"
_TYPE = rb":[ \t]*[A-Za-z][\w.\[\]|<>? ]{0,40}=(?!=)"  # `password: str = "…"`
_ASSIGNED = re.compile(
    rb"(?P<closed>(?:" + _QUOTE + rb"|\])*)(?P<space>[ \t]{0,8})(?P<op>" + _TYPE + rb"|" + _OPERATOR + rb")"
    rb"(?P<space2>(?:[ \t]|\\+t){0,8})\[?(?:[bfru@$](?=[\"'`]))?(?P<quote>" + _QUOTE + rb")?"
)
_PAIR_ENDS = re.compile(_QUOTE + rb"\s{0,3}[)\]}]")
_FLAG = re.compile(rb"(?:" + _GAP + rb"){1,8}")
_ELEMENT = re.compile(rb">(?=[^<\s]{4,1000}</)")
_SAID = re.compile(rb"[ \t]+(?:is|was):?[ \t]+(?P<quote>" + _QUOTE + rb")?")
_BARE = re.compile(rb"[ ]{1,2}(?=[A-Za-z0-9_-]{24})")
_NETRC = re.compile(_BETWEEN + rb"+")
_LOGIN = re.compile(rb"(?:machine|default|login|account)" + _BETWEEN + rb"+[^\s\\]{1,200}" + _BETWEEN + rb"+\Z")
# `{"name": "API_KEY", "value": …}`, in this order or the other; also of YAML, XML and Terraform.
_CALLED = re.compile(rb"\b(?:[nN]ame|[kK]ey|[hH]eader)" + _QUOTE + rb"?[ \t]{0,3}[:=][ \t]{0,3}" + _QUOTE + rb"?\Z")
_VALUE = rb"\b[vV]alue" + _QUOTE + rb"?[ \t]{0,3}[:=][ \t]{0,3}(?P<quote>" + _QUOTE + rb")?"
_VALUE_BEHIND = re.compile(_QUOTE + rb"?(?=[\s,\\])[^{}<>]{0,200}?" + _VALUE)
_VALUE_BEFORE = re.compile(
    _VALUE + rb"(?P<s>[^\s\"'`\\{}<>]{4,1000})" + _QUOTE + rb"?(?:[\s,-]|\\+[nt])[^{}<>]{0,100}\Z"
)
_PLAIN = re.compile(rb"(?:(?!&[\w.-]{1,30}=|&quot;|&#3[49];|&amp;|%2[267]|\xe2\x80\xa6)[^\s\"'`,;<>\\]){1,10000}")
_QUOTED = {
    sign: re.compile(rb"(?:(?!\xe2\x80\xa6)[^" + sign + rb"\\\n]|\\+[^" + sign + rb"\\\n]){1,10000}")
    for sign in (b'"', b"'", b"`")
}
_NAME_SIGNS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-"
_REST = re.compile(_MORE)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_KEY_OF = re.compile(rb"(?i:api|access|secret|auth|account|encryption|signing|private|license)[ ]\Z")
_PASS_OF = re.compile(r"(?:^|[_.$\d-]|db|user|smtp|my|root|ftp|mail|ssh|admin|pg|redis|store|keystore)$", re.IGNORECASE)


def _names_secret(sort: str, lead: str, literal: str, more: str) -> bool:
    """Whether a name says that its value is a secret: `lead` goes before the telling word, `more` behind it."""
    before = [word.lower() for word in _WORDS.findall(lead)]
    if any(word.lower() in _IS_NOT for word in _WORDS.findall(more)):
        return False
    if sort == "key":
        return bool(before) and before[-1] not in _NO_KEYS
    if sort == "token":
        return not _NO_TOKENS.intersection(before)
    if sort == "id":
        return _VENDORS.search(lead) is not None
    return True


def _is_secret(sort: str, name: str, value: str, *, written: bool, env: bool, cut: bool) -> bool:
    """Whether what stands behind such a name is the secret itself, and no stand-in for it, no word, no expression.

    `written`: it is quoted, or else cannot be code; `env`: as environments are written, `NAME=value`; `cut`: its end is
    not there.
    """
    if _STAND_IN.search(value) or value.lower() in _NO_PASSWORDS or (not written and _EXPRESSION.search(value)):
        return False
    if cut:
        return len(value) >= 3
    if sort == "password":
        return _is_password(value, written=written)
    if " " in value or re.match(r"[A-Za-z][\w+.-]*://|[A-Za-z]:\\", value):
        return False
    vendor = _VENDORS.search(name) is not None
    if vendor and value.isdigit():
        return len(value) >= 14
    if _UUID.fullmatch(value):
        return vendor or sort in ("key", "secret") or "api" in name.lower()
    if sort == "auth":
        return _basic(value) or (len(value) >= 16 and _mixed(value) and not _slug(value))
    if len(value) < (10 if written else 12) - 2 * (sort == "secret" and written):
        return False
    if any(c.isdigit() for c in value):
        return _mixed(value) and not _slug(value)
    plain = value.isalpha() or not re.search(r"[^\w.+/=~-]", value)
    looks = _unspeakable(value) if written else _scrambled(value)
    return (plain and looks) or (sort == "secret" and env and value.isascii())


def _is_password(value: str, *, written: bool) -> bool:
    if len(value) < (4 if written else 6):
        return False
    pieces = value.split()
    if len(pieces) > 1:  # labels are sentences; a passphrase is told by what is no word in it
        return len(pieces) <= 6 and any(len(piece) >= 5 and _digit_and_letter(piece) for piece in pieces)
    digit, letter, sign = (
        any(map(str.isdigit, value)),
        any(map(str.isalpha, value)),
        not re.fullmatch(r"[\w.-]+", value),
    )
    if (digit and (letter or sign)) or (letter and sign) or _scrambled(value):
        return _entropy(value) >= 1.9 and (written or not re.match(r"[~/.][\w./-]*$", value))
    return written and letter and len(value) >= 5 and not re.fullmatch(r"[A-Z][a-z]+|[A-Z_]+|.*pass.*word.*", value)


def _named(raw: bytes, place: int, literal: bytes, sort: str) -> Iterator[Found]:
    """The value that a name calls secret, in whatever way the two are put together."""
    if raw[place + len(literal) : place + len(literal) + 1] in _ENDS_NOTHING:
        return  # as `keys()` and `passes(` mostly do
    lead_at = _name_start(raw, place)
    lead, word = _text(raw, lead_at, place), literal.decode()
    literal_end = place + len(literal)
    if word[-1] in "=:\"'\\":  # the sign belongs to what follows
        literal_end -= 1
        word = word[:-1]
    rest = _REST.match(raw, literal_end)
    assert rest is not None  # it may be empty
    tail = _text(raw, *rest.span())
    if word.lower() == "pass" and tail[:1].lower() != "w" and not tail.lower().startswith(("phrase", "code")):
        if word != "Pass" and not _PASS_OF.search(lead):
            return
    elif word.lower() == "pwd" and not _PASS_OF.search(lead):
        return
    spaced = sort == "key" and not lead and _KEY_OF.search(raw, max(0, place - 12), place)
    if not spaced and not _names_secret(sort, lead, word, _text(raw, *rest.span("more"))):
        return
    name = f"{lead}{word}{tail}"
    for start, end, written, env in _values(raw, rest.end(), lead_at, name, sort):
        cut = raw.startswith(b"\xe2\x80\xa6", end)
        value = _text(raw, start, end)
        if _is_secret(sort, name, value, written=written, env=env, cut=cut):
            yield Found(start, end, _KIND_OF.get(sort, sort))
            return


_ENDS_NOTHING = frozenset(bytes([byte]) for byte in b"().;{}[/?*#^~")
_KIND_OF = {"auth": "authorization", "id": "key"}


def _name_start(raw: bytes, place: int) -> int:
    first = max(0, place - 60)
    start = first + len(raw[first:place].rstrip(_NAME_SIGNS))
    if start and raw[start - 1] == 0x5C and start < place:  # the letter of an escape, as in `\nAPI_KEY`
        escape = re.compile(rb"[abefnrtv0]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}").match(raw, start, place)
        start = escape.end() if escape else start
    return start


def _values(raw: bytes, at: int, lead_at: int, name: str, sort: str) -> Iterator[tuple[int, int, bool, bool]]:
    """Start and end of what may be the value of a name that ends at `at`, whether it is written down for sure, and
    whether as in an environment.
    """
    if match := _ASSIGNED.match(raw, at):
        quote, op = match["quote"], match["op"]
        closed = bool(match["closed"])
        if op == b",":  # a pair of strings: `("API_KEY", "…")`; in a list of words it says nothing
            start, end = _value(raw, match.end(), quote)
            if closed and quote and any(48 <= byte <= 57 for byte in raw[start:end]) and _PAIR_ENDS.match(raw, end):
                yield start, end, False, False
        elif name != "PASS" or op == b"=":  # what tests print
            env = op == b"=" and name.upper() == name and not (match["space"] or match["space2"])
            yield *_value(raw, match.end(), quote), bool(quote) or env, env
    elif raw[lead_at - 1 : lead_at] == b"<" and (match := _ELEMENT.match(raw, at)):
        yield *_value(raw, match.end(), None), True, False
    elif name.startswith("-") and (match := _FLAG.match(raw, at)):
        quoted = match[0].strip(b" \n\r\t,")
        start, end = _value(raw, match.end(), None)
        if raw[start : start + 1] != b"-":
            yield start, end, bool(quoted), False
    elif match := _SAID.match(raw, at):
        start, end = _value(raw, match.end(), match["quote"])
        if match["quote"] or not _slug(_text(raw, start, end)):
            yield start, end, False, False
    elif sort == "token" and (match := _BARE.match(raw, at)):
        yield *_value(raw, match.end(), None), False, False
    elif sort == "password" and (match := _NETRC.match(raw, at)) and _LOGIN.search(raw, max(0, lead_at - 250), lead_at):
        yield *_value(raw, match.end(), None), True, False
    if called := _CALLED.search(raw, max(0, lead_at - 20), lead_at):
        if match := _VALUE_BEHIND.match(raw, at):
            yield *_value(raw, match.end(), match["quote"]), True, False
        elif match := _VALUE_BEFORE.search(raw, max(0, called.start() - 1200), called.start()):
            yield *match.span("s"), True, False


def _value(raw: bytes, at: int, quote: bytes | None) -> tuple[int, int]:
    """Where a value begins and ends: at its closing quote, or where no word goes on."""
    sign = quote[-1:] if quote else b""
    match = _QUOTED.get(sign, _PLAIN).match(raw, at)
    if match is None:
        return at, at
    end = match.end()
    if sign not in _QUOTED:
        while end > at and (raw[end - 1] in b".:" or (raw[end - 1] in b")]}" and not re.search(rb"[(\[{]", match[0]))):
            end -= 1
    return at, end


def names_a_secret(name: str, value: str) -> str | None:
    """The kind of secret that a JSON member's value is by the member's name; None if it is none."""
    raw = name.encode("utf-8", "replace")
    for index, place, end in _NAME_SCAN.find_matches_as_indexes(raw, overlapping=True):
        sort, literal = _NAME_LITERALS[index]
        rest = _REST.match(raw, end)
        if rest is None or rest.end() != len(raw):
            continue
        lead_at = _name_start(raw, place)
        lead, tail = _text(raw, lead_at, place), _text(raw, *rest.span())
        if literal.lower() in ("pass", "pwd") and tail[:1].lower() not in ("w", "p", "c") and not _PASS_OF.search(lead):
            continue
        if not _names_secret(sort, lead, literal, _text(raw, *rest.span("more"))):
            continue
        if _is_secret(sort, name, value, written=True, env=name.upper() == name, cut=value.endswith("…")):
            return _KIND_OF.get(sort, sort)
    return None


# -- the scan ----------------------------------------------------------------------------------------------------------

_Finder = Callable[[bytes, int], Iterable[Found]]


def _finders() -> Iterator[tuple[bytes, _Finder]]:
    for look in _looks():
        yield look.literal, partial(_by_look, look=look)
    for literal in (b"-----BEGIN ", b"-----END ", b"Private-Lines: ", b"LS0tLS1CRUdJTi"):
        yield literal, partial(_private_key, literal=literal)
    for literal in (b"uthorization", b"UTHORIZATION", b"earer ", b"asic "):
        yield literal, partial(_header, literal=literal)
    for literal in (b"ookie", b"OOKIE"):
        yield literal, _cookie
    for literal in (b"kind: Secret", b'kind: "Secret'):
        yield literal, _kubernetes
    yield b"://", _address
    for program in map(str.encode, _GIVEN):
        yield program, partial(_command, literal=program)
    for sort, names in _NAMES.items():
        for name in map(str.encode, names):
            yield name, partial(_named, literal=name, sort=sort)


_ALL = tuple(_finders())
_LITERALS = tuple(dict.fromkeys(literal for literal, _ in _ALL))
_BY_LITERAL = tuple(tuple(finder for one, finder in _ALL if one == literal) for literal in _LITERALS)
_SCAN = BytesAhoCorasick(_LITERALS, implementation=Implementation.DFA)  # three times as fast as the default
_NAME_LITERALS = tuple(
    (sort, literal) for sort, literals in _NAMES.items() for literal in literals if literal.isidentifier()
)
_NAME_SCAN = BytesAhoCorasick([literal.encode() for _, literal in _NAME_LITERALS])


def find_in_arguments(words: list[bytes]) -> list[Found]:
    """The secrets of a command's words, by their places in the words joined by one character."""
    return _merged([*find(b"\n".join(words)), *find(b" ".join(words))])


def find(raw: bytes) -> list[Found]:
    """The secrets of a text in UTF-8, in order; none touches another."""
    hits = _SCAN.find_matches_as_indexes(raw, overlapping=True)
    found = _looked_at(raw, hits)
    found += _over_lines(raw, {place for _, place, _ in hits}, found)
    return _merged(found) if len(found) > 1 else found


def _looked_at(raw: bytes, hits: list[tuple[int, int, int]]) -> list[Found]:
    return [one for index, place, _ in hits for finder in _BY_LITERAL[index] for one in finder(raw, place)]


def _merged(found: list[Found]) -> list[Found]:
    """What overlaps becomes one, of the kind that says most: a name says less than a look."""
    merged: list[Found] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if merged and one.start < merged[-1].end:
            last = merged[-1]
            nearer = one.kind not in _GENERAL or (one.start, one.end) == (last.start, last.end)
            kind = one.kind if last.kind in _GENERAL and nearer else last.kind
            merged[-1] = Found(last.start, max(last.end, one.end), kind)
        else:
            merged.append(one)
    return merged


_GENERAL = frozenset({*_NAMES, "authorization", "cookie", "signature", "password in a URL"})

# -- tokens that go on in the next line --------------------------------------------------------------------------------

_TOKEN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=%~"
_SIDE = rb"[A-Za-z0-9_./+=%~-]"
_MARKS = rb"[ \t]*+(?:\\+t)*+(?:[+|>#*-]|//|\xe2\x94\x82|\d{1,6}\xe2\x86\x92)?[ \t]*+"
# A line's end: as it is, where a shell takes two lines together, escaped, and between two strings of an array.
_LINE_END = re.compile(rb"(?:\\?\n|\\{1,2}n|\\*\",\s*\\*\")" + _MARKS + rb"(?=" + _SIDE + rb")")
# Behind it stands the better part of a token whose beginning was cut in two.
_BODY_BEHIND = re.compile(rb"\n[ \t+|>#*-]*+(?:\d{1,6}\xe2\x86\x92)?" + _SIDE + rb"{16}")
_BODY_BEHIND_ESCAPED = re.compile(rb"\\n" + _MARKS + _SIDE + rb"{16}")
_SHORTEST_LINE = 40
"""Of a text that was wrapped."""
_SHORTEST_TOKEN = 20
"""That is looked for over two lines."""
_NO_TOKEN_ENDS = frozenset((b"(", b":", b"[", b"{", b"@"))


def _over_lines(raw: bytes, places: set[int], known: list[Found]) -> Iterator[Found]:
    """Tokens that a line's end goes through, as where text was wrapped at 64, 76 or 80 columns and quoted. `places` are
    those of literals.
    """
    if len(raw) < _SHORTEST_LINE:
        return
    reach = 0
    for start, end in sorted(_line_ends(raw, places)):
        if start < reach:
            continue  # looked at with one before it
        # A dash at a line's beginning is a diff's sign or a part of the token.
        for dashes in (False, True) if raw[end - 1] == 0x2D else (False,):
            if window := _window(raw, start, end - dashes, dashes=dashes):
                reach = max(reach, window[-1][0])
                yield from _in_window(raw, window, known)


def _in_window(raw: bytes, window: list[tuple[int, int]], known: list[Found]) -> Iterator[Found]:
    for one in _found_joined(raw, window):
        start, last, pieces = _in_text(window, one)
        if pieces > 2 and not _goes_on(_text(raw, window[pieces - 1][0], last)):
            # A word that begins the line behind a token is mostly no part of it.
            shorter = _found_joined(raw, window[: pieces - 1])
            start, last, pieces = next(
                (_in_text(window, other) for other in shorter if other.start == one.start), (start, last, pieces)
            )
        before = next((old for old in known if old.start <= start < old.end), None)
        # The same, if the token is whole without it.
        if pieces > 1 and (before is None or (last > before.end and _goes_on(_text(raw, window[pieces - 1][0], last)))):
            yield Found(start, last, one.kind)


def _found_joined(raw: bytes, window: list[tuple[int, int]]) -> list[Found]:
    joined = b"".join(raw[first:last] for first, last in window)
    return _merged(_looked_at(joined, _SCAN.find_matches_as_indexes(joined, overlapping=True)))


def _line_ends(raw: bytes, places: set[int]) -> set[tuple[int, int]]:
    """The ends of long lines at which a token may be, each up to where the next line begins behind its marks."""
    ends = {end.span() for place in places for end in _near_line_ends(raw, place)}
    signs = ((b"\n", _BODY_BEHIND), (b"\\n", _BODY_BEHIND_ESCAPED)) if b"\\n" in raw else ((b"\n", _BODY_BEHIND),)
    for sign, body in signs:
        last = 0
        for match in body.finditer(raw):
            at = match.start()
            long, last = at - max(last, raw.rfind(sign, last, at)) > _SHORTEST_LINE, at
            if long and raw[at - 1] in _TOKEN and (end := _LINE_END.match(raw, at)):
                ends.add(end.span())
    return ends


def _near_line_ends(raw: bytes, place: int) -> Iterator[re.Match[bytes]]:
    """The ends of lines before and behind a literal."""
    signs = (b"\n", b"\\n", b'",')
    behind = sorted(at for sign in signs if (at := raw.find(sign, place, place + 400)) >= 0)[:2]
    before = max(raw.rfind(sign, max(0, place - 48), place) for sign in signs)
    for at in (*behind, before) if before >= 0 else behind:
        while at > 0 and raw[at - 1] == 0x5C:
            at -= 1
        if at > 0 and raw[at - 1] in _TOKEN and (match := _LINE_END.match(raw, at)):
            yield match


def _goes_on(more: str) -> bool:
    run = re.sub(r"[^A-Za-z0-9]", "", more)
    mixed = len(run) >= 10 and not (run.islower() or run.isupper() or run.istitle())
    return mixed or _digit_and_letter(run) or _unspeakable(run)


def _window(raw: bytes, start: int, end: int, *, dashes: bool) -> list[tuple[int, int]]:
    """The pieces of text around a line's end, and around those that follow, which may be one token without them. None,
    if they can't.
    """
    left = raw[max(0, start - 400) : start]
    line = len(left) - max(left.rfind(b"\n") + 1, left.rfind(b"\\n") + 2)
    before = len(left) - len(left.rstrip(_TOKEN))
    if line < _SHORTEST_LINE or not before:
        return []
    window = [(start - min(before + 80, line), start)]
    length = before
    while True:
        right = raw[end : end + 400]
        behind = len(right) - len(right.lstrip(_TOKEN))
        follows = right[behind : behind + 2]
        if b"=" in right[:behind].rstrip(b"=") or follows[:1] in _NO_TOKEN_ENDS or follows == b'":':
            break  # the next line has a name of its own
        length += behind
        more = _LINE_END.match(raw, end + behind) if behind >= _SHORTEST_LINE - 10 else None  # which fills its line
        window.append((end, end + behind + (more is None)))
        if more is None:
            break
        end = more.end() - (dashes and raw[more.end() - 1] == 0x2D)
    return window if len(window) > 1 and length >= _SHORTEST_TOKEN else []


def _in_text(window: list[tuple[int, int]], one: Found) -> tuple[int, int, int]:
    """Where a secret of the joined pieces stands in the text, and over how many pieces it goes."""
    start = end = -1
    pieces, at = 0, 0
    for first, last in window:
        length = last - first
        if start < 0 and one.start < at + length:
            start = first + one.start - at
        if start >= 0:
            pieces += 1
        if one.end <= at + length:
            end = first + one.end - at
            break
        at += length
    return start, end, pieces
