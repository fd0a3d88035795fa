"""The kinds of secrets, and the search for them in a text.

Two sorts: tokens that are known by their look (secret_looks.py), and values that something
beside them calls secret: a name (`API_KEY=…`), a header, an address, an option of a command.

One scan for a few hundred literals says where a pattern may match at all; what is around it decides. Marks and escapes
are no part of a secret: it may stand behind an escaped newline or quote or a diff's sign, or go on in the next line.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

from ahocorasick_rs import BytesAhoCorasick, Implementation

from renderers.secret_joints import MARKS, over_joints, without_marks
from renderers.secret_looks import (
    ESCAPE,
    NO_PASSWORDS,
    STAND_IN,
    UUID,
    WORD,
    Found,
    Look,
    all_looks,
    basic,
    begins,
    by_look,
    computed,
    decoded,
    drawn,
    may_be_password,
    mixed,
    no_code,
    no_stand_in,
    scrambled,
    slug,
    unspeakable,
    word_set,
)

# -- private keys ------------------------------------------------------------------------------------------------------

_BLOCK = rb"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
# Between two lines of a key: a newline, which may be escaped, and what stands around lines: a diff's or a quotation's
# sign, a line's number, quotes and commas of an array of strings.
_BETWEEN = rb"(?:[\s\"',+>|#*-]|\\+[nrt\"]|\d{1,5}(?:\xe2\x86\x92|[:\t-]))"
_KEY_LINES = (
    rb"(?:" + _BETWEEN + rb"*(?:[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]+))*"
    rb"(?:(?:\n|\\+n)[ \t+|>#*-]*[A-Za-z0-9+/]{1,76}={0,2}(?![\w ]))?"
)
_BEGINNING_OF_KEY = re.compile(rb"-----BEGIN " + _BLOCK)
_LINES_OF_KEY = re.compile(_KEY_LINES)
_END_OF_KEY = re.compile(rb"-----END " + _BLOCK)
_LAST_LINES = re.compile(rb"(?:[A-Za-z0-9+/=]{16,}" + _BETWEEN + rb"+)*[A-Za-z0-9+/]{2,76}={0,2}" + _BETWEEN + rb"+\Z")
# What is left of one that was cut with an ellipsis, of which the line ends may have become spaces; no words.
_CUT_KEY = re.compile(
    rb"(?=[\s\\n]*(?![A-Z]?[a-z]+\b)[A-Za-z0-9+/=]{4})(?:(?:"
    + _BETWEEN
    + rb"|[:,])*+[A-Za-z0-9+/=]++)++[ -]{0,6}(?=\xe2\x80\xa6)"
)
_PUTTY = re.compile(rb"Private-Lines: \d+(?P<s>(?:" + _BETWEEN + rb"+[A-Za-z0-9+/=]{16,})+)")
_LONGEST_KEY = 20_000
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
        if (first := _BEGINNING_OF_KEY.match(raw, place)) is None:
            return
        following = raw.find(literal, first.end(), place + _LONGEST_KEY)
        at = raw.find(b"-----END ", first.end(), following if following >= 0 else place + _LONGEST_KEY)
        last = _END_OF_KEY.match(raw, at) if at >= 0 else _LINES_OF_KEY.match(raw, first.end(), place + _LONGEST_KEY)
        if (at < 0 or not last) and (cut := _CUT_KEY.match(raw, first.end(), place + 1000)):
            yield Found(place, cut.end(), "private key")
        # Not where only the marks are spoken of.
        elif last and re.compile(rb"[A-Za-z0-9+/=]{16}").search(raw, first.end(), last.end()):
            yield Found(place, last.end(), "private key")
    elif last := _END_OF_KEY.match(raw, place):
        first_line = raw.rfind(b"-----", max(0, place - 4000), place)  # of another key
        begin = first_line + 5 if first_line >= 0 else max(0, place - 4000)
        if lines := _LAST_LINES.search(raw, begin, place):
            yield Found(lines.start(), last.end(), "private key")


# -- addresses, headers, commands --------------------------------------------------------------------------------------

# The password goes to the last `@` before a host, so that it may have `@` and `/` in it; a quote or a backslash only
# between letters or digits, where it ends nothing and is no newline. Go's MySQL driver has `tcp(…)`, sockets no host.
_ADDRESS = re.compile(
    rb"://(?P<user>[^\s/:\"'<>\\]{0,200}):(?P<s>(?:[^\s\"'<>\\`]|(?<=\w)(?:\\*\"|\\+(?![nrtu]))(?=\w)){1,200})@"
    rb"(?=[A-Za-z0-9\[%$_-][\w.\-:\[\]%${}]*(?:[/?#\s\"'<>,;()\\`*|!&\x80-\xff]|\Z)|/[\w.-]*\?)"
)
_SERVES_LOGINS = re.compile(
    rb"\b(?:postgres|postgresql|mysql|mariadb|mongodb|rediss?|amqps?|smtps?|imaps?|ldaps?|mssql|sqlserver|clickhouse|s?ftp)"
    rb"(?:\+\w+)?\Z"
)
"""Schemes before which `name:4711/…@host` is a login and not a host with its port."""
_ADDRESS_CUT = re.compile(
    rb"://(?P<user>[\w.+-]{1,100}):(?P<s>(?!\d{1,5}[/\xe2])[^\s\"'<>\\`\xe2]{1,200})(?=\xe2\x80\xa6)"
)
# Without a password; those before the host of a Sentry are made public by design.
_TOKEN_AS_USER = re.compile(
    rb"://(?P<s>[A-Za-z0-9_.~-]{20,200})(?::(?:x-oauth-basic)?)?@(?=[A-Za-z0-9\[$][\w.-]*[.:/])(?![\w.-]*\bsentry\b)"
)
_STOCK = word_set("pass password passwd pwd secret test token user username changeme postgres root admin guest")


def _address(raw: bytes, place: int) -> Iterator[Found]:
    if named := _TOKEN_AS_USER.match(raw, place):
        user = decoded(raw, *named.span("s"))
        if no_stand_in(user) and (mixed(user) or drawn(user)) and not slug(user) and not UUID.fullmatch(user):
            yield Found(*named.span("s"), "token in a URL")
            return
    match, cut = _ADDRESS.match(raw, place), _ADDRESS_CUT.match(raw, place)
    if match is None or (cut and not slug(decoded(raw, match.end(), cut.end()))):  # its `@` may be in the password
        match = cut
    if match is None:
        return
    user, password = decoded(raw, *match.span("user")), decoded(raw, *match.span("s"))
    port = re.match(r"\d{1,5}(?:[/?#\"\\|]|$)", password)
    if port and not re.fullmatch(r"\d+(?:/\w*\?.*)?", password) and re.fullmatch(r"\w+", user):
        port = None if _SERVES_LOGINS.search(raw, max(0, place - 20), place) else port
    if match is cut and "/" in password and slug(password):
        return  # `ssh://host:team/repo…`
    if "/" in password and ("@" in user or raw[match.end() : match.end() + 1] == b"/"):
        return  # `ssh://git@host:team/repo@v1`
    if not port and password.lower() not in _STOCK and password != user and no_stand_in(password):
        yield Found(*match.span("s"), "password in a URL")


# A quote as it may be written, also in JSON, HTML and addresses.
_QUOTE = rb"(?:\\*[\"'`]|&quot;|&#3[49];|\\+u002[27]|%2[27])"
_AUTHORIZATION = re.compile(
    rb"uthorization(?:" + _QUOTE + rb"|\])*[ \t]{0,3}(?:[:=,]|\\+u003[ad]|%3[ad])[ \t]{0,3}" + _QUOTE + rb"?"
    rb"(?:(?P<scheme>[a-z][a-z0-9-]{2,20})[ \t]+)?(?P<s>[^\s\"'`,;<>\\&\xe2()\[\]{}]{6,4000})", re.IGNORECASE
)  # fmt: skip
_SCHEMED = re.compile(rb"(?P<scheme>earer|asic)[ \t]+(?P<s>[A-Za-z0-9._~+/=-]{8,4000})")


def _header(raw: bytes, place: int, literal: bytes) -> Iterator[Found]:
    """Return the secret behind `Authorization:`, `Bearer`, `Basic`."""
    match = (_SCHEMED if literal in (b"earer ", b"asic ") else _AUTHORIZATION).match(raw, place)
    if match is None or not begins(raw, max(0, place - 1), strict=False):
        return
    scheme, value = (match["scheme"] or b"").decode().lower(), decoded(raw, *match.span("s"))
    cut = raw.startswith(b"\xe2\x80\xa6", match.end())
    if scheme in ("basic", "asic"):
        good = basic(value) or (cut and len(value) >= 8)
    elif scheme:
        # In the header itself a value with dots and digits is a token, and no attribute of an object.
        written = no_code(value) or (scheme == "bearer" and no_stand_in(value) and re.fullmatch(r"[\w.~+/=-]+", value))
        good = bool(written) and (mixed(value) or unspeakable(value)) and (len(value) >= 12 or cut)
    else:
        good = no_code(value) and len(value) >= 12 and mixed(value) and not slug(value) and "://" not in value
    if good:
        yield Found(*match.span("s"), "authorization")


_COOKIES = re.compile(
    rb"ookies?(?:"
    + _QUOTE
    + rb"|\])*[ \t]{0,3}[:=,][ \t]{0,3}\[?[ \t]{0,3}"
    + _QUOTE
    + rb"?(?P<all>[\w.-]+=[^\n\"'`\\<>]{4,8000})"
)
_COOKIE_OPTION = re.compile(rb"(?:-b|--cookie)(?:[\s\"',=]|\\+[n\"])+(?P<all>[\w.-]+=[^\n\"'`\\<>]{4,8000})")
_PAIR = re.compile(rb"(?:^|;[ \t]*)(?P<name>[\w.$-]+)=(?P<s>[^;\s,]{6,4000})")


def _cookies(raw: bytes, all_: tuple[int, int]) -> Iterator[Found]:
    """The values of `Cookie: a=…; b=…` that are no plain words."""
    start, end = all_
    for pair in _PAIR.finditer(raw[start:end]):
        yield from _told_cookie(pair, start)


def _told_cookie(pair: re.Match[bytes], at: int) -> Iterator[Found]:
    value = decoded(pair["s"], 0, len(pair["s"]))
    told = re.search(rb"sess|sid|token|auth|jwt|csrf|login", pair["name"], re.IGNORECASE) is not None
    if no_stand_in(value) and (told or len(value) >= 16 or mixed(value)) and not slug(value.replace("%", "")):
        yield Found(at + pair.start("s"), at + pair.end("s"), "cookie")


def _cookie(raw: bytes, place: int) -> Iterator[Found]:
    again = raw.find(b"ookie", place + 5, place + 8000)
    if match := _COOKIES.match(raw, place, again if again >= 0 else len(raw)):
        yield from _cookies(raw, match.span("all"))


# Up to the line's end, over lines that are continued; the words of an argument list may be strings of their own.
_ARGUMENTS = re.compile(rb"(?:[^\n\\]|\\[\s\S]|(?<=[\"'],)\n){0,2000}")
_GAP = rb"(?:[\s\"',]|\\+[n\"'])"
# Before a value that a shell's quotes stand around, so that it may have spaces in it.
_TO_QUOTE = rb"[ =]{0,8}(?=\\*[\"'][^\s,\"'\\])"
_WORD_OF_ARGUMENTS = rb"(?:'(?P<q>[^'\n]+)'|\\*\"(?P<d>[^\"\n\\]+)|(?P<s>[^\s\"',\\;|&]+))"
_GIVEN = {
    **dict.fromkeys(("sshpass",), rb"-p(?:" + _TO_QUOTE + rb"|" + _GAP + rb"{0,8})"),
    **dict.fromkeys(("mysql", "mariadb"), rb"-p(?=[\"']?[^\s\-\"',\\])"),
    **dict.fromkeys(("redis-cli",), rb"(?:-a|--pass)" + _GAP + rb"{1,8}"),
    **dict.fromkeys(
        ("docker login", "podman login", "mongo", "twine", "az login", "helm registry login"),
        rb"-p(?:=|" + _GAP + rb"{1,8})",
    ),
    "gh secret set": rb"(?:-b|--body)(?:=|" + _GAP + rb"{1,8})",
    "ssh-keygen": rb"-[NP]" + _GAP + rb"{1,8}(?!-)",
    "vault login": rb"(?<=login )(?=[\w.-]{10})(?=[\w.-]*[0-9])",
    # The file, if the password is not only printed, the user, the password.
    "htpasswd": rb"-(?:[a-mo-zA-Z]*b[a-mo-zA-Z]*"
    + _GAP
    + rb"+[^\s\"',]+|[a-zA-Z]*(?:bn|nb)[a-zA-Z]*)"
    + _GAP
    + rb"+[^\s\"',]+"
    + _GAP
    + rb"+",
    **dict.fromkeys(("ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami", "ldapdelete"), rb"-w" + _GAP + rb"{0,8}"),
    **dict.fromkeys(("sqlcmd ", "zip "), rb"-P" + _GAP + rb"{1,8}"),
    **dict.fromkeys(("7z", "7za"), rb"-p(?=[\"']?[^\s\-\"',\\])"),
    **dict.fromkeys(
        ("curl", "wget"),
        rb"(?:-[A-Za-z]{0,8}[uU]|--user|--proxy-user)(?:" + _GAP + rb"|=){0,8}(?P<user>[^\s:\"'\\]{1,100}):",
    ),
    **dict.fromkeys(
        ("http ", "https ", "xh "), rb"(?:-a|--auth)(?:" + _GAP + rb"|=){1,8}(?P<user>[^\s:\"'\\]{1,100}):"
    ),
    "lftp": rb"-u" + _GAP + rb"{0,8}(?P<user>[^\s,:\"'\\]{1,100}),",
    "configure set": rb"[\w.-]{0,60}(?:secret_access_key|session_token)" + _GAP + rb"{1,8}",
    # `-k` has another meaning for curl, which may come behind a pipe.
    **dict.fromkeys(
        ("openssl enc", "openssl aes", "openssl des"),
        rb"(?:-k" + _GAP + rb"{1,8}(?!-|https?:)|-pass" + _GAP + rb"{1,8}pass:)",
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
    if place and raw[place - 1] in WORD and not ESCAPE.search(raw, max(0, place - 12), place):
        return
    again = raw.find(literal, place + len(literal), place + 2000)
    arguments = _ARGUMENTS.match(raw, place + len(literal), again if again >= 0 else len(raw))
    if arguments is None:
        return
    if literal == b"curl":
        for cookies in _COOKIE_OPTION.finditer(raw, arguments.start(), arguments.end()):
            yield from _cookies(raw, cookies.span("all"))
    for match in _option(literal.decode()).finditer(raw, arguments.start(), arguments.end()):
        yield from _password(raw, match)


def _password(raw: bytes, match: re.Match[bytes]) -> Iterator[Found]:
    """The word that a command is given, if it may be a password."""
    group = next(name for name in ("s", "q", "d") if match.groupdict().get(name) is not None)
    value = decoded(raw, *match.span(group))
    user = decoded(raw, *match.span("user")) if "user" in match.groupdict() else ""
    plain = value.lower() in _STOCK | NO_PASSWORDS or value.isdigit() or value == user
    if len(value) >= 4 and not plain and no_stand_in(value):
        yield Found(*match.span(group), "password")


# What is written into a program that reads a password.
_PIPED = re.compile(
    rb"\b(?:echo|printf)[ \t]+(?:-\w+[ \t]+)?(?:\\*[\"']%s(?:\\+n)?\\*[\"'][ \t]+)?"
    + _WORD_OF_ARGUMENTS
    + rb"\\*[\"']?"
    rb"[ \t]*\|[^|;&\n]{0,200}\Z"
)


def _piped(raw: bytes, place: int) -> Iterator[Found]:
    if match := _PIPED.search(raw, max(0, place - 400), place):
        yield from _password(raw, match)


# A line of a cookie jar of Netscape's form, as curl writes it.
_TAB = rb"(?:\t|\\+t)"
_JAR = re.compile(
    rb"(?:TRUE|FALSE)" + _TAB + rb"/[^\s\\]*" + _TAB + rb"(?:TRUE|FALSE)" + _TAB + rb"\d{1,20}" + _TAB
    + rb"(?P<name>[^\s\\]+?)" + _TAB + rb"(?P<s>[^\s\\\"']{6,4000})"
)  # fmt: skip


def _cookie_jar(raw: bytes, place: int) -> Iterator[Found]:
    if match := _JAR.match(raw, place):
        yield from _told_cookie(match, 0)


_ENTRIES = rb"(?:" + _BETWEEN + rb"+[\w.-]+:[ ]*[\"']?[A-Za-z0-9+/_=.~!@#$%^&*-]{4,}[\"']?)+"
_KUBERNETES = re.compile(rb"(?<!meta)(?:data|stringData):" + _ENTRIES)
_ENTRY = re.compile(rb"[\w.-]+:[ ]*[\"']?(?P<s>[A-Za-z0-9+/_=.~!@#$%^&*-]{4,})")


def _kubernetes(raw: bytes, place: int) -> Iterator[Found]:
    """The data of a `kind: Secret`, whatever its entries are called."""
    first = max(raw.rfind(sign, max(0, place - 4000), place) for sign in (b"---", b"kind:"))
    last = min((at for sign in (b"---", b"kind:") if (at := raw.find(sign, place + 5, place + 4000)) >= 0), default=-1)
    for match in _KUBERNETES.finditer(raw, max(first, place - 4000, 0), last if last >= 0 else place + 4000):
        for entry in _ENTRY.finditer(raw, match.start() + 5, match.end()):
            value = decoded(raw, *entry.span("s"))
            if no_stand_in(value) and (not value.isalpha() or scrambled(value)):
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
_IS_NOT = word_set(
    "limit limits count counts size length len max min num number total url uri endpoint path file filename "
    "dir directory folder name names type types id ids field fields column header headers label hint help "
    "policy expires expiry expiration expire ttl age usage used budget window hash hashed digest checksum "
    "fingerprint algorithm alg format prefix suffix pattern regex regexp env var variable provider manager "
    "store service index map list code version encoding charset kind class error message text title "
    "description placeholder icon color style status state valid required enabled ref reference arn region "
    "rotation generator strength rules rule page event listener handler"
)
"""Words behind `token`, `key` and the like which say that the value is something about it."""
_NO_KEYS = word_set(
    "public pub primary foreign cache sort partition index object group unique idempotency registry hot map "
    "dict row column field sequence natural schema translation i18n query event parent child react storage s3 "
    "redis bucket file path name shortcut tag tags tab arrow enter turkey monkey donkey don hokey turn sub data dedupe "
    "mon tur whis joc hoc build lookup hash range composite surrogate business alternate candidate search filter order "
    "routing message item json config setting feature flag trace run job task metric label state props style theme "
    "locale lang icon color menu nav gpg pgp"  # the last two: a fingerprint, as Docker's images have it
)
_NO_TOKENS = word_set(
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

_OPERATOR = rb"(?:=>|:=|!=|\?=|={1,3}|:|,|\xe2\x86\x92|\\+u2192|\\+u003[dDaA]|%3[DdAa])"
_TYPE = rb"\??:[ \t]*&?[A-Za-z][\w.\[\]|<>? ]{0,40}=(?!=)"  # `password: str = "…"`, `password?: string = "…"`
_ASSIGNED = re.compile(
    rb"(?P<closed>(?:" + _QUOTE + rb"|\]|\*\*)*)(?P<space>[ \t]{0,8})(?P<op>" + _TYPE + rb"|" + _OPERATOR + rb")"
    rb"(?:\*\*)?(?P<space2>(?:[ \t]|\\+t){0,8})\[?(?:[bfru@$](?=[\"'`]))?(?P<quote>" + _QUOTE + rb")?"
)
_PAIR_ENDS = re.compile(_QUOTE + rb"\s{0,3}[)\]}]")
_FLAG = re.compile(rb"(?:" + _GAP + rb"){1,8}")
_ELEMENT = re.compile(rb">(?=[^<\s]{4,1000}</)")
_PLIST = re.compile(rb"</key>" + _BETWEEN + rb"*<string>(?=[^<\s]{4,1000}</)")
_SAID = re.compile(rb"[ \t]+(?:is|was):?[ \t]+(?P<quote>" + _QUOTE + rb")?")
_BARE = re.compile(rb"[ ]{1,2}(?=[A-Za-z0-9_-]{24})")
_NETRC = re.compile(_BETWEEN + rb"+")
_LOGIN = re.compile(
    rb"(?:machine" + _BETWEEN + rb"+[^\s\\]{1,200}|default)"
    rb"(?:" + _BETWEEN + rb"+(?:login|account)" + _BETWEEN + rb"+[^\s\\]{1,200})*" + _BETWEEN + rb"+\Z"
)
# `{"name": "API_KEY", "value": …}`, in this order or the other; also of YAML, XML and Terraform.
_CALLED = re.compile(rb"\b(?:[nN]ame|[kK]ey|[hH]eader)" + _QUOTE + rb"?[ \t]{0,3}[:=][ \t]{0,3}" + _QUOTE + rb"?\Z")
_VALUE = rb"\b[vV]alue" + _QUOTE + rb"?[ \t]{0,3}[:=][ \t]{0,3}(?P<quote>" + _QUOTE + rb")?"
_VALUE_BEHIND = re.compile(_QUOTE + rb"?(?=[\s,\\])[^{}<>]{0,200}?" + _VALUE)
_VALUE_BEFORE = re.compile(
    _VALUE + rb"(?P<s>[^\s\"'`\\{}<>]{4,1000})" + _QUOTE + rb"?(?:[\s,-]|\\+[nt])[^{}<>]{0,100}\Z"
)
_PLAIN = re.compile(rb"(?:(?!&[\w.-]{1,30}=|&quot;|&#3[49];|&amp;|%2[267]|\xe2\x80\xa6)[^\s\"'`,;<>\\]){1,300}")
_QUOTED = {
    sign: re.compile(rb"(?:(?!\xe2\x80\xa6)[^" + sign + rb"\\\n]|\\+[^" + sign + rb"\\\n]){1,300}")
    for sign in (b'"', b"'", b"`")
}
_TELLING = 300
"""Characters of a value, which tell as much as all."""
_NAME_SIGNS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-"
_REST = re.compile(_MORE)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Between two cells of a Markdown table, of which the first is a name and nothing else.
_IN_CELL = re.compile(rb"\|[ \t]*`?\Z")
_NEXT_CELL = re.compile(rb"`?[ \t]*\|[ \t]*`?(?P<s>[^\s|`]{4,1000})`?[ \t]*\|")
_NEXT_LINE = re.compile(
    rb"(?:\\*[\"'])?:[ \t]*(?:[|>]-?[ \t]*)?(?:\n|\\+n)[ \t]*(?:[+|>-]|\d{1,6}\xe2\x86\x92)?[ \t]+(?P<quote>\\*[\"'])?"
    rb"(?=[^\s:\"'\\]{8,1000}(?:\\*[\"'])?,?[ \t]*(?:\n|\\|\Z|\"))"
)
_OR = re.compile(rb"(?:" + _QUOTE + rb"?[)\]])?[ \t]*(?:\|\||\?\?|\?:|\bor\b)[ \t]*(?P<quote>" + _QUOTE + rb")")
_SETS = re.compile(
    rb"(?:(?:\b|(?<=\\n))(?:ENV|setx(?:[ \t]+/[mM])?|setenv|set[ \t]+-[a-zA-Z]{1,4}|config[ \t]+set)"
    rb"|#[ \t]*define)[ \t]+\Z"
)
_REGISTRY = re.compile(rb"(?://[\w.:/-]{1,100})?:\Z")  # before a setting of npm's
_BLANK = re.compile(rb"[ \t]+(?P<quote>" + _QUOTE + rb")?")
_SQL = re.compile(rb"[ \t]+(?P<quote>')(?=[^'\s]{4,1000}')")
_KEY_OF = re.compile(rb"(?i:api|access|secret|auth|account|encryption|signing|private|license)[ ]\Z")
_PASS_GOES_ON = re.compile(r"(?:[_-]?(?:\d+|live|prod|production|test|dev|stage|staging|old|new|main))*", re.IGNORECASE)
_PASS_OF = re.compile(r"(?:^|[_.$\d-]|db|user|smtp|my|root|ftp|mail|ssh|admin|pg|redis|store|keystore)$", re.IGNORECASE)


def _names_secret(sort: str, lead: str, word: str, rest: re.Match[bytes]) -> bool:
    """Return whether a name says that its value is a secret: `lead` goes before the telling word, `rest` behind it."""
    tail = rest[0].decode()
    bare = word.lower() in ("pass", "pwd") and not re.match("w|phrase|code", tail, re.IGNORECASE)
    if bare and not (_PASS_GOES_ON.fullmatch(tail) and (word == "Pass" or _PASS_OF.search(lead))):
        return False  # `PassThrough`, `pass_zero`, `bypass`
    before = [part.lower() for part in _WORDS.findall(lead)]
    if any(part.lower() in _IS_NOT for part in _WORDS.findall(rest["more"].decode())):
        return False
    if sort == "key":
        return bool(before) and before[-1] not in _NO_KEYS
    if sort == "token":
        return not _NO_TOKENS.intersection(before)
    return sort != "id" or _VENDORS.search(lead) is not None


def _is_secret(sort: str, name: str, value: str, *, written: bool, env: bool, cut: bool) -> bool:
    """Return whether what stands behind such a name is the secret itself, and no stand-in for it, no word, no
    expression.

    `written`: it is quoted, or else cannot be code; `env`: as environments are written, `NAME=value`; `cut`: its end is
    not there.
    """
    if STAND_IN.search(value) or value.lower() in NO_PASSWORDS or (not written and computed(sort, value)):
        return False
    if cut:
        return len(value) >= 3
    if sort == "password":
        if name.lower() in ("pwd", "oldpwd") and _PATH.match(value):
            return False  # where a shell is
        return may_be_password(value, written=written)
    if " " in value or re.match(r"[A-Za-z][\w+.-]*://|[A-Za-z]:\\", value):
        return False
    vendor = _VENDORS.search(name) is not None
    if vendor and value.isdigit():
        return len(value) >= 14
    if UUID.fullmatch(value):
        return vendor or sort in ("key", "secret") or "api" in name.lower() or name.endswith("_authToken")  # npm's
    if sort == "auth":
        return basic(value) or (len(value) >= 16 and mixed(value) and not slug(value))
    if len(value) < (10 if written else 12) - 2 * (sort == "secret" and written):
        return False
    if any(c.isdigit() for c in value):
        return mixed(value) and not slug(value)
    plain = not re.search(r"[^\w.+/=~-]", value) and not re.fullmatch(r"[A-Z]*_[A-Z_]*", value)
    of_one_case = len(value) >= 16 and (value.islower() or value.isupper())  # no name of a program's
    random = unspeakable(value) if written or of_one_case else scrambled(value) or (len(value) >= 16 and drawn(value))
    return (plain and random) or (sort == "secret" and env and value.isascii())


def _named(raw: bytes, place: int, literal: bytes, sort: str) -> Iterator[Found]:
    """The value that a name calls secret, in whatever way the two are put together."""
    behind = raw[place + len(literal) : place + len(literal) + 3]
    if behind[:1] in _ENDS_NOTHING and behind != b"**:" and behind[:2] not in (b"?:", b"?="):
        return  # as `keys()` and `passes(` mostly do
    lead_at = _name_start(raw, place)
    lead, word = decoded(raw, lead_at, place), literal.decode()
    literal_end = place + len(literal)
    if word[-1] in "=:\"'\\":  # the sign belongs to what follows
        literal_end -= 1
        word = word[:-1]
    rest = _REST.match(raw, literal_end)
    assert rest is not None  # it may be empty
    if raw[lead_at - 2 : lead_at] == b"::":  # a type, as in `AWS::IAM::AccessKey`
        return
    if raw[lead_at - 1 : lead_at] == b":" and _ARN.search(raw, max(0, lead_at - 100), lead_at):
        return
    spaced = sort == "key" and not lead and _KEY_OF.search(raw, max(0, place - 12), place)
    if spaced:
        lead_at = spaced.start()
    elif not _names_secret(sort, lead, word, rest):
        return
    name = f"{lead}{word}{rest[0].decode()}"
    for start, end, written, env in _values(raw, rest.end(), lead_at, name, sort):
        cut = raw.startswith(b"\xe2\x80\xa6", end)
        value = decoded(raw, start, end)
        if _is_secret(sort, name, value, written=written, env=env, cut=cut):
            go_on = _QUOTED.get(raw[start - 1 : start], _PLAIN)
            while end - start >= _TELLING and end - start < _LONGEST_KEY and (more := go_on.match(raw, end)):
                end = more.end()
            yield Found(start, end, _KIND_OF.get(sort, sort))
            return


_PATH = re.compile(r"[/~]|[A-Za-z]:(?:[\\/]|$)")
_ARN = re.compile(rb"\barn:[\w:-]*\Z")
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
    if match := _NEXT_LINE.match(raw, at):
        yield *_value(raw, match.end(), match["quote"]), False, False
    elif match := _ASSIGNED.match(raw, at):
        quote, op = match["quote"], match["op"]
        closed = bool(match["closed"])
        if op == b",":  # a pair of strings: `("API_KEY", "…")`; in a list of words it says nothing
            start, end = _value(raw, match.end(), quote)
            if name.startswith("-") and quote:  # an option among the words of a command
                yield start, end, True, False
            elif closed and quote and any(48 <= byte <= 57 for byte in raw[start:end]) and _PAIR_ENDS.match(raw, end):
                yield start, end, False, False
        elif name != "PASS" or op == b"=":  # what tests print
            close = not (match["space"] or match["space2"])
            env = op == b"=" and name.upper() == name and close
            start, end = _value(raw, match.end(), quote)
            alone = (op == b":" or close) and not quote and _is_alone(raw, lead_at, start, end)
            yield start, end, (bool(quote) and op[-2:] not in (b"==", b"!=")) or env or alone, env
    elif match := _element(raw, lead_at, at):
        yield *_value(raw, match.end(), None), True, False
    elif name.startswith("-") and (match := _FLAG.match(raw, at)):
        quoted = match[0].strip(b" \n\r\t,")
        start, end = _value(raw, match.end(), None)
        if raw[start : start + 1] != b"-":
            yield start, end, bool(quoted) or _is_alone(raw, lead_at, start, end), False
    elif match := _SAID.match(raw, at):
        start, end = _value(raw, match.end(), match["quote"])
        if match["quote"] or not slug(decoded(raw, start, end)):
            yield start, end, False, False
    elif (match := _NEXT_CELL.match(raw, at)) and _IN_CELL.search(raw, max(0, lead_at - 8), lead_at):
        if not slug(decoded(raw, *match.span("s"))):  # `| password | VARCHAR2 |`
            yield *match.span("s"), False, False
    elif match := _OR.match(raw, at):
        start, end = _value(raw, match.end(), match["quote"])
        if not slug(decoded(raw, start, end)):
            yield start, end, False, False
    elif (match := _BLANK.match(raw, at)) and _is_set(raw, lead_at):
        yield *_value(raw, match.end(), match["quote"]), True, True
    elif name.lower() == "password" and (match := _SQL.match(raw, at)):
        yield *_value(raw, match.end(), match["quote"]), False, False
    elif sort == "token" and (match := _BARE.match(raw, at)):
        yield *_value(raw, match.end(), None), False, False
    elif (
        name.lower() == "password"
        and (match := _NETRC.match(raw, at))
        and _LOGIN.search(raw, max(0, lead_at - 250), lead_at)
    ):
        yield *_value(raw, match.end(), None), True, False
    if called := _CALLED.search(raw, max(0, lead_at - 20), lead_at):
        if match := _VALUE_BEHIND.match(raw, at):
            yield *_value(raw, match.end(), match["quote"]), True, False
        elif match := _VALUE_BEFORE.search(raw, max(0, called.start() - 1200), called.start()):
            yield *match.span("s"), True, False


def _element(raw: bytes, lead_at: int, at: int) -> re.Match[bytes] | None:
    """Return the text between a name in XML and its value: `<password>…`, `<key>API_KEY</key><string>…`."""
    if raw[max(0, lead_at - 5) : lead_at] == b"<key>":
        return _PLIST.match(raw, at)
    return _ELEMENT.match(raw, at) if raw[lead_at - 1 : lead_at] == b"<" else None


def _is_set(raw: bytes, lead_at: int) -> bool:
    """Return whether a command, or a line of a Dockerfile or of C, gives the name that begins there its value."""
    if raw[lead_at - 1 : lead_at] == b":" and (registry := _REGISTRY.search(raw, max(0, lead_at - 110), lead_at)):
        lead_at = registry.start()
    return _SETS.search(raw, max(0, lead_at - 16), lead_at) is not None


_LINE_BEGINS = re.compile(rb"(?:\A|\n|\\n)" + MARKS + rb"(?:-[ ])?(?:export[ ])?\*{0,2}\Z")
_LINE_ENDS = re.compile(rb"[ \t]*(?:[\n\r\"']|\\|\Z)")
_WORD_ENDS = re.compile(rb"[ \t]*(?:[\n\r\"'|&;]|\\|\Z|-)")


def _is_alone(raw: bytes, lead_at: int, start: int, end: int) -> bool:
    """Return whether a name and its value, a word or a number, are a line, or an option of a command: no code."""
    value = raw[start:end]
    of_one_case = value.isalpha() and (value.islower() or value.isupper()) and len(value) >= 8
    if not of_one_case and not (value.isdigit() and len(value) >= 6):
        return False
    option = raw.startswith(b"-", lead_at)
    begins_line = option or _LINE_BEGINS.search(raw, max(0, lead_at - 40), lead_at)
    return bool(begins_line and (_WORD_ENDS if option else _LINE_ENDS).match(raw, end))


def _value(raw: bytes, at: int, quote: bytes | None) -> tuple[int, int]:
    """Return the beginning and end of a value: at its closing quote, or where no word goes on."""
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
        if not _names_secret(sort, decoded(raw, _name_start(raw, place), place), literal, rest):
            continue
        if _is_secret(sort, name, value, written=True, env=name.upper() == name, cut=value.endswith("…")):
            return _KIND_OF.get(sort, sort)
    return None


# -- the scan ----------------------------------------------------------------------------------------------------------

_Finder = Callable[[bytes, int], Iterable[Found]]


def _airtable(raw: bytes, place: int, look: Look) -> Iterable[Found]:
    # Its beginning is that of every `path`, so its dot is looked at first.
    return by_look(raw, place, look) if raw[place + 17 : place + 18] == b"." else ()


def _finders() -> Iterator[tuple[bytes, _Finder]]:
    for look in all_looks():
        yield look.literal, partial(_airtable if look.literal == b"pat" else by_look, look=look)
    for literal in (b"-----BEGIN ", b"-----END ", b"Private-Lines: ", b"LS0tLS1CRUdJTi"):
        yield literal, partial(_private_key, literal=literal)
    for literal in (b"uthorization", b"UTHORIZATION", b"earer ", b"asic "):
        yield literal, partial(_header, literal=literal)
    for literal in (b"ookie", b"OOKIE"):
        yield literal, _cookie
    for literal in (b"kind: Secret", b'kind: "Secret'):
        yield literal, _kubernetes
    yield b"://", _address
    for literal in (b"--password-stdin", b"sudo -S"):
        yield literal, _piped
    for literal in (b"TRUE\t", b"FALSE\t", b"TRUE\\", b"FALSE\\"):
        yield literal, _cookie_jar
    for program in map(str.encode, _GIVEN):
        yield program, partial(_command, literal=program)
    for sort, names in _NAMES.items():
        for name in map(str.encode, names):
            yield name, partial(_named, literal=name, sort=sort)


_ALL = tuple(_finders())
_LITERALS = tuple(dict.fromkeys(literal for literal, _ in _ALL))
_BY_LITERAL = tuple(tuple(finder for one, finder in _ALL if one == literal) for literal in _LITERALS)
_LOOKS = frozenset(look.literal for look in all_looks())
_OF_LOOKS = frozenset(index for index, literal in enumerate(_LITERALS) if literal in _LOOKS)
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
    if not hits and raw.isascii() and b"\n" not in raw and b"\\n" not in raw:
        return []  # no line end to look over: most texts are a few words
    known = _merged(_looked_at(raw, hits)) if hits else []
    places = sorted({place for _, place, _ in hits})
    looks = sorted({place for index, place, _ in hits if index in _OF_LOOKS})
    more = [*over_joints(raw, places, looks, known, _look, _GENERAL), *without_marks(raw, find)]
    return _merged([*known, *more]) if more else known


def _look(raw: bytes) -> list[Found]:
    return _merged(_looked_at(raw, _SCAN.find_matches_as_indexes(raw, overlapping=True)))


def _looked_at(raw: bytes, hits: list[tuple[int, int, int]]) -> list[Found]:
    return [one for index, place, _ in hits for finder in _BY_LITERAL[index] for one in finder(raw, place)]


def _merged(found: list[Found]) -> list[Found]:
    """Merge secrets that overlap into one, of the kind that says most: a name says less than a look."""
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


_GENERAL = frozenset({*_NAMES, "authorization", "cookie", "signature", "password in a URL", "token in a URL"})
