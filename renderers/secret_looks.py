"""Tokens that are known by their look: how they begin and how long they are; and what random text looks like."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple


class Found(NamedTuple):
    """A secret: where it begins and ends in the UTF-8 bytes of a text, and of which kind it is."""

    start: int
    end: int
    kind: str


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


# -- what a value looks like -------------------------------------------------------------------------------------------


def entropy(text: str) -> float:
    """Shannon entropy in bits a character: 4 and more for random keys, about 3 for words."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values()) if text else 0.0


def mixed(text: str) -> bool:
    """Return whether it looks drawn at random: letters and digits, nearly no repetition."""
    return digit_and_letter(text) and entropy(text) >= 3.0


def digit_and_letter(text: str) -> bool:
    """Return whether it has both."""
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def scrambled(text: str) -> bool:
    """Letters whose case changes as no name's does: `eMjvqPVStNKi`, but not `myPasswordField`."""
    changes = sum(a.isupper() != b.isupper() for a, b in pairwise(text))
    return len(text) >= 8 and changes * 5 >= len(text) * 2 and sum(map(str.isupper, text)) * 3 > len(text)


# How often the second letter follows the first in the 140,000 names of programs that Python packages hold, in bits
# against chance, and 6: a row for each first letter. Measured in November 2026, as are the changes between small and
# capital letters and digits. Of names of 14 characters and more, two in a hundred are taken for drawn; of what is drawn
# of 16 letters and digits, two in a thousand are taken for words.
_FOLLOWS = """
    36772461514867061878553451 84548432762843741764722261 83557428607644840658621040 85469643822643730665622140
    64775552402668454887254751 75657732901733830756622140 64429357703646640775622032 92349322704454840657522050
    55766561203769751677450405 83459422634444862283834020 74559454823545552575545140 84469431803733840366642050
    86449331703574771365541340 73777683614435741378552031 55672551525779670866756321 83458335604733761867632062
    23341421400853043664933102 83559451805565840677542060 62638436705544764379634150 83548427802543750766623261
    66557550701778470878220201 94639432800364640454232540 83447446804437840864222210 54758423701473481359362462
    65656442502767590577325334 72449324802443741345412055
"""
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_IN_WORDS = {
    a + b: int(bits) - 6
    for a, row in zip(_ALPHABET, _FOLLOWS.split(), strict=True)
    for b, bits in zip(_ALPHABET, row, strict=True)
}
_CHANGES = {"aa": -0.1, "aA": -4.5, "a0": -5.5, "Aa": -1.5, "AA": -0.8, "A0": -3.9, "0a": -1.9, "0A": -2.7, "00": -0.8}
_ONE_RUN = re.compile(r"[\w.+/=~%-]+")
_SIZES = {"a": 26, "A": 26, "0": 10}
_CLASS_OF = str.maketrans(_ALPHABET + _ALPHABET.upper() + "123456789", "a" * 26 + "A" * 26 + "0" * 9)


def drawn(text: str) -> bool:
    """Return whether its letters and digits are more probable drawn at random than put together of words."""
    if not _ONE_RUN.fullmatch(text):
        return False
    classes = text.translate(_CLASS_OF)
    size = sum(number for one, number in _SIZES.items() if one in classes)
    bits, letters = 3.0 * sum(map(text.count, "_-.")), text.lower()  # names are put together with them
    for at, (a, b) in enumerate(pairwise(classes)):
        if (change := _CHANGES.get(a + b)) is not None:
            bits += change + math.log2(size / _SIZES[b])
            if b == "a" or a + b == "AA":
                bits += _IN_WORDS.get(letters[at : at + 2], 0)
    return bits < 0


_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}", re.IGNORECASE)
_VOWELS = re.compile(r"[aeiouy]", re.IGNORECASE)


def unspeakable(text: str) -> bool:
    """Return whether letters make no words: `xkqjzwvhtplm`."""
    few = len(text) >= 12 and len(_VOWELS.findall(text)) * 5 < sum(c.isalpha() for c in text)
    return scrambled(text) or few or _CONSONANTS.search(text) is not None or (len(text) >= 12 and drawn(text))


_PIECES = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")


def slug(text: str) -> bool:
    """Words, short words with a number, and short numbers, put together: `user_123_profile`, `AES-256-GCM`, `gpt4o`."""
    pieces = [piece for piece in _PIECES.split(text) if piece]
    return not (len(text) >= 12 and drawn(text)) and all(
        (piece.isalpha() and not unspeakable(piece))
        or (piece.isdigit() and len(piece) <= 8)
        or re.fullmatch(r".{1,3}|[A-Za-z]{1,12}\d{1,4}|\d{1,4}[A-Za-z]{1,4}|[vV]?\d+(?:[a-z]+\d*)?", piece) is not None
        or (re.fullmatch(r"[A-Z][a-z]{2,}\d{1,4}[A-Z][a-z]{2,}", piece) is not None and not unspeakable(piece))
        for piece in pieces
    )


UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
STAND_IN = re.compile(
    # A bracket that is closed around what is not drawn at random, or is not followed by letters and digits.
    r"^(?!\W*\w*\d[a-z]\w*\d)(?:<.*>|\[.*\]|\{.*\}|\(.*\))$|^[<\[{(&](?!(?=.*\d).*[a-z])"
    r"|x{4,}|\*{3}|(?<!\.)\.{3}(?!\.)|^\.+$|^#[0-9a-f]{3,8}$|(?:(?<![a-z0-9])|^[a-z_-]+)%[sdr]\b|%\d*\.\d*f"
    # A variable has no digits on both sides of letters.
    r"|^\$(?!\w*\d[a-z]\w*\d)\w+$|\$[{(]|\{\{|^%\w+%?$|^@\w+@?$"
    r"|your|example|placeholder|change.?(?:me|it)|redacted|dummy|sample|_here\b",
    re.IGNORECASE,
)
# `user.password`, `get_token()`, `config["key"]`, `os.environ`: a value that is computed, not written down.
EXPRESSION = re.compile(
    r"^[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+[!?]?$|[()\[\]{}|]|^(?:process|os|env|self|this)\b|^[!=~+]"
    r"|^[*&][A-Za-z_][\w-]*$"  # YAML's alias and anchor
)
NO_PASSWORDS = word_set(
    "pass password passwd passphrase pwd secret token test testing string text hidden required optional "
    "invalid missing incorrect boolean number none null nil undefined default false true input current- "
    "password new-password one-time-code changeit value empty unset disabled enabled unknown prompt return "
    "import object static public private bytes secretstr never always plaintext plain username user login "
    "function reset forgot confirm wrong expired"
)
"""What stands in documentation and code where a password would."""


def no_code(text: str) -> bool:
    """Return whether it may be a value that is written down as it is."""
    return not (STAND_IN.search(text) or EXPRESSION.search(text))


def no_stand_in(text: str) -> bool:
    """Return whether nothing in it says that a value is to be put there."""
    return not STAND_IN.search(text)


def computed(sort: str, value: str) -> bool:
    """Return whether it is an expression, and nothing drawn at random that begins with, or has, a sign of one."""
    if not EXPRESSION.search(value) or re.fullmatch(r"\+[A-Za-z0-9+/]{38,}={0,2}", value):
        return False
    pieces = re.split(r"[()\[\]{}|]", value)
    return sort != "password" or len(pieces) < 2 or value[-1] in ")]}" or any(map(slug, pieces))


def may_be_password(value: str, *, written: bool) -> bool:
    """Return whether it may be what a person or a machine took as a password; `written`: it is no code."""
    pieces = value.split()
    if len(value) < (4 if written else 6):
        return False
    if len(pieces) > 1:  # labels are sentences; a passphrase is told by what is no word in it
        return len(pieces) <= 6 and any(len(piece) >= 5 and digit_and_letter(piece) for piece in pieces)
    digit, letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    sign = not re.fullmatch(r"[\w.-]+", value)
    random = scrambled(value) or (len(value) >= 12 and value.isalpha() and unspeakable(value))
    if (digit and (letter or sign)) or (letter and sign) or random:
        return entropy(value) >= 1.9 and (written or not re.match(r"[~/.][\w./-]*$", value))
    if digit and not letter:
        return written and len(value) >= 6
    return (
        written and letter and len(value) >= 5 and not re.fullmatch(r"[A-Z][a-z]+|[A-Z_]+|.*(?i:pass.?word).*", value)
    )


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
    return mixed(body) and (long or any(c.isupper() for c in body)) and _no_example(text)


def _random(text: str) -> bool:
    return (mixed(text) or _letters_drawn(max(re.split("[_-]", text), key=len))) and _no_example(text)


def _letters_drawn(text: str) -> bool:
    """Return whether letters of both cases make no words put together: those have no two capitals side by side."""
    if len(text) < 20 or text.islower() or text.isupper() or entropy(text) < 3.5:
        return False
    return unspeakable(text) or re.search("[A-Z]{2}", text) is not None


def _real_password(text: str) -> bool:
    return text.lower() not in NO_PASSWORDS and no_stand_in(text)


def basic(text: str) -> bool:
    """Return whether it is `user:password` in base64."""
    coded = re.match(r"[A-Za-z0-9+/]*", text)
    try:
        plain = base64.b64decode(coded[0] + "=" * (-len(coded[0]) % 4)) if coded else b""
    except binascii.Error:
        return False
    return b":" in plain[1:] and all(byte >= 32 for byte in plain)


# -- tokens that are known by their look -------------------------------------------------------------------------------


class Look(NamedTuple):
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
#
# Why no library: detect-secrets 1.5 was measured beside this in November 2026. Of gitleaks' kinds, as built by
# tests/renderers/secrets.py, it finds 88 of 221, this all; in Python's library (Debian's, 11 MB) it takes 1.1 things a
# MB for secrets, this 0.2; and it reads 0.1 MB of that a second, this 15 to 25 on the
# same busy machine. `python -m tests.bench secrets` measures again.
_STRICT = "strict"
_STRING = r"\\*[\"']"
_BEGINNINGS: tuple[tuple[str, str, str, *tuple[str | Callable[[str], bool], ...]], ...] = (
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
    ("slack address", "hooks.slack.com/ hooks.slack-gov.com/", "[a-z]{8,9}/(?P<s>[A-Za-z0-9+/]{20,})"),
    ("teams address", ".webhook.office.com/webhookb2/", r"(?P<s>[\w@/-]{60,})"),
    ("discord address", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", r"\d+/(?P<s>w40)"),
    ("anthropic key", "sk-ant-", "w20"),
    ("openai key", "sk-", "(?!ant-)w20", _random_key, _STRICT),
    ("xai key", "xai-", "a40"),
    ("groq key", "gsk_", "a30", _random),
    ("replicate token", "r8_", "a30", _random),
    ("perplexity key", "pplx-", "a32"),
    ("nvidia key", "nvapi-", "w40"),
    ("tavily key", "tvly-", "w20", _random),
    ("pinecone key", "pcsk_", "w40"),
    ("langsmith key", "lsv2_pt_ lsv2_sk_", "h32_h10"),
    ("firecrawl key", "fc-", "h32!", _STRICT),
    ("hugging face token", "hf_ api_org_", r"a30(?!_*[A-Za-z0-9])", lambda t: _no_example(t) and entropy(t) >= 3),
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
    ("notion token", "secret_", r"a40(?!_*[A-Za-z0-9])", _random),
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
    ("airtable token", "pat", r"a14!\.h64!", _STRICT),
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
    ("sonar token", "sqp_ squ_ sqa_", "h40!"),
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
    ("password", "IDENTIFIED identified", r"(?i:\s+WITH\s+\w+)?(?i:\s+BY\s+)'(?P<s>[^'\\\n]{4,})(?=')", _real_password),
    ("password", "PASSWORD('", r"(?P<s>[^\s'\\]{4,})(?='\))", lambda text: mixed(text) and no_stand_in(text)),  # MySQL
    ("password", "BasicAuth( auth=(",
     rf"\s*{_STRING}[^\"'\\\n]+{_STRING},\s*{_STRING}(?P<s>[^\"'\\\n]{{4,}})(?={_STRING})", _real_password),
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


def all_looks() -> Iterator[Look]:
    """Every kind of token that is known by its look."""
    for kind, literals, told, *more in _BEGINNINGS:
        accept = next((one for one in more if callable(one)), _no_example)
        for literal in literals.split():
            pattern = re.compile(re.escape(literal.encode()) + _body(told))
            yield Look(kind, literal.encode(), pattern, accept, strict=_STRICT in more)
    for kind, literals, lead, told in _INSIDE:
        for literal in literals.split():
            pattern = re.compile(re.escape(literal.encode()) + _body(told))
            before = re.compile(rb"(?:" + lead.encode() + rb")\Z")
            yield Look(kind, literal.encode(), pattern, before=before)
    # Discord's begin with the bot's number in base64: of two digits, these are the first two characters.
    for literal in ("MT", "MD", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"):
        pattern = re.compile(literal.encode() + rb"[A-Za-z0-9_-]{21,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}")
        yield Look("discord token", literal.encode(), pattern, _random, strict=True)


# An escape before a token (`\n`, `\\t`, `\u0022`, `%3D`) ends in a letter or a digit, which is no part of it.
ESCAPE = re.compile(rb"(?:\\+(?:[abefnrtv0]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})|%[0-9a-fA-F]{2})\Z")
WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_JOINT = frozenset(b"_-.+=")


def begins(raw: bytes, start: int, strict: bool) -> bool:
    """Return whether a token may begin there."""
    if not start:
        return True
    before = raw[start - 1]
    if before not in WORD:
        # A diff's sign at the beginning of a line is a mark around the token.
        return not strict or before not in _JOINT or _is_mark(raw, start)
    return ESCAPE.search(raw, max(0, start - 12), start) is not None


def _is_mark(raw: bytes, start: int) -> bool:
    """Return whether the character before `start` is a diff's sign, or goes between a name and its value."""
    if raw[start - 1] in b"+-":
        line = raw[max(0, start - 8) : start - 1]
        return not line or line[-1:] in b"\n\"'" or ESCAPE.search(line) is not None
    return raw[start - 1] == 0x3D  # =


def by_look(raw: bytes, place: int, look: Look) -> Iterator[Found]:
    """The token at a literal, if there is one."""
    group = "s" if "s" in look.pattern.groupindex else 0
    if look.before is None and not group and not begins(raw, place, look.strict):
        return
    match = look.pattern.match(raw, place)
    if match is None:
        yield from filter(None, [_cut_off(raw, place, look)])
        return
    start, end = match.span(group)
    begin = start if look.before is None else _lead(raw, place, look.before)
    if begin is not None and look.accept(decoded(raw, begin, end)):
        yield Found(begin, end, look.kind)


_UNICODE = re.compile(rb"\\u[0-9a-fA-F]{4}")


def _lead(raw: bytes, place: int, before: re.Pattern[bytes]) -> int | None:
    """Return the start of the text before a token's sign."""
    lead = before.search(raw, max(0, place - 48), place)
    if lead is None:
        return None
    start = lead.start()
    if (escape := _UNICODE.search(raw, max(0, start - 5), place)) and start < escape.end():  # its digits are not ours
        start = escape.end()
        return start if before.match(raw, start, place) else None
    return start if begins(raw, start, strict=False) else None


_CUT = re.compile(rb"[A-Za-z0-9_+/=.~%-]{4,600}(?=\xe2\x80\xa6)")  # the ellipsis, with which titles are cut


def _cut_off(raw: bytes, place: int, look: Look) -> Found | None:
    """The beginning of a token, where it was cut with an ellipsis: half a token is a secret as well."""
    inside = "s" in look.pattern.groupindex  # an address, say, in which the secret follows
    if look.before is not None or len(look.literal) < 5 * inside:
        return None
    match = _CUT.match(raw, place + len(look.literal))
    if match is None or not (len(match[0]) >= 16 or any(48 <= byte <= 57 for byte in match[0])):
        return None
    return Found(match.start() if inside else place, match.end(), look.kind)


def decoded(raw: bytes, start: int, end: int) -> str:
    """A piece of a text in UTF-8."""
    return raw[start:end].decode("utf-8", "replace")
