from __future__ import annotations

import base64
import json
import os
import random
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.redact import Redactor, _hidden
from renderers.secret_kinds import find
from tests.renderers.secrets import KINDS, LOOKS, build

# Made here, of no use anywhere; put together so that no scanner takes this file for a leak.
R = random.Random(7)


def redact(text: str) -> tuple[str, int]:
    redactor = Redactor()
    return redactor.redact(text), redactor.count


def made(length: int, alphabet: str = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789") -> str:
    return "".join(R.choice(alphabet) for _ in range(length - 2)) + "7a"


KEY_BODY = "\n".join(base64.b64encode(R.randbytes(48)).decode() for _ in range(6))
BLOCK = f"-----BEGIN RSA PRIVATE {'KEY'}-----\n{KEY_BODY}\n-----END RSA PRIVATE {'KEY'}-----"
SECRETS = [
    ("aws key", "AKIA" + "Q7" * 8),
    ("github token", "ghp_" + made(36)),
    ("github token", "github_pat_" + made(60)),
    ("gitlab token", "glpat-" + made(20)),
    ("slack token", "xoxb-" + "123456789012-" + made(24)),
    ("anthropic key", "sk-ant-api03-" + made(60)),
    ("openai key", "sk-proj-" + made(48)),
    ("stripe key", "sk_live_" + made(24)),
    ("google key", "AIza" + made(35)),
    ("npm token", "npm_" + made(36)),
    ("pypi token", "pypi-AgE" + made(60)),
    ("json web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + made(43)),
    ("private key", BLOCK),
    ("private key", BLOCK.replace("\n", "\\n")),
    ("private key", BLOCK.replace("\n", "\\\\n")),
    ("private key", BLOCK[:200]),
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_known_secrets(kind: str, secret: str) -> None:
    redactor = Redactor()
    assert redactor.redact(f'before "{secret}" after') == f'before "[redacted: {kind}]" after'
    assert redactor.counts == {kind: 1}
    assert redactor.count == 1


@pytest.mark.parametrize(
    ("text", "secret", "kind"),
    [
        ("postgres://app:{}@db.example/shop", "hunter2x", "password in a URL"),
        ("Authorization: Bearer {}", "abcDEF123456ghiJKL", "authorization"),
        ("Authorization: Bearer {}", "mytoken.secret12", "authorization"),
        ("Authorization: Bearer {}", "abcdefghijklmnop.qrstuvwxyz012345", "authorization"),
        ("curl -H 'authorization: Basic {}'", "dXNlcjpwYXNzd29yZDEyMw==", "authorization"),
        ("api_key = '{}'", "f3A9zQ81LmX02kWv", "key"),
        ('{{"apiKey": "{}"}}', "f3A9zQ81LmX02kWv", "key"),
        ('{{\\"client_secret\\": \\"{}\\"}}', "f3A9zQ81LmX02kWv", "secret"),
        ("export DEPLOY_TOKEN={}", "f3A9zQ81LmX02kWv", "token"),
        ("AWS_SECRET_ACCESS_KEY={}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzz", "key"),
        ("--password {} --user me", "Tr0ub4dor&3", "password"),
        ("PGPASSWORD={} psql", "s3cr3t-pass", "password"),
        ("é password: {}", "s3cr3t-pass", "password"),
        ("**Password:** {}", "s3cr3t-pass", "password"),
        ("- **API key:** `{}`", "f3A9zQ81LmX02kWv", "key"),
    ],
)
def test_named_secrets(text: str, secret: str, kind: str) -> None:
    redactor = Redactor()
    assert redactor.redact(text.format(secret)) == text.format(f"[redacted: {kind}]")
    assert redactor.counts == {kind: 1}


@pytest.mark.parametrize(
    "text",
    [
        "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "id: 3f2a9c1d-5b7e-4d2a-9c1d-3f2a9c1d5b7e, session_token: 3f2a9c1d-5b7e-4d2a-9c1d-3f2a9c1d5b7e",
        "data:image/png;base64," + base64.b64encode(R.randbytes(600)).decode(),
        '"input_tokens": 123456, "max_tokens": 4096',
        "token = self.get_token(request)",
        "api_key=os.environ['API_KEY']",
        "password: str | None = None",
        "password = getpass.getpass()",
        "PASSWORD=${DB_PASSWORD}",
        "API_KEY=your-api-key-goes-here-123",
        "task-sk-circle-3-loading-indicator-wide",
        "https://example.org/a@b and mailto:me@example.org",
        "git@github.com:me/repo.git",
        "npm_config_registry=https://registry.example",
        "cache_key: lamp-shop-main",
        "the keys: alpha, beta; a secret: nobody knows",
        "TOKEN_LIMIT_PROD=200000 MAX_TOKENS=8192 API_KEY_ROTATION=30days2",
        "postgres://user:pass@localhost/db and https://user:password@example.org, amqp://guest:guest@mq",
        "https://localhost:8080/@vite/client and http://127.0.0.1:3000/a@b and npm:pkg@1.2.3",
        "curl -u user:pass x; curl -u $USER:$PASS x; docker run -u 1000:1000 lamp; mysql -p -u root; sshpass -p $P ssh",
        "--- PASS: TestTheLampGoesOn_Again (0.00s)",
        "const keywords = ['pass', 'print', 'token', 'symbol2label', 'raise'];",
        'password: "Password", placeholder: "Enter your password", type: "password", autocomplete: "new-password"',
        "Authorization: Bearer <token>; authorization: Bearer ${TOKEN}; Cookie: theme=dark; lang=en",
        "Authorization: Bearer example.token; Authorization: Bearer settings.token",
        "function setToken(token: string, secret: Uint8Array, key: CryptoKey): Promise<void>",
        "public_key: ssh-ed25519-2024, sort_key = 'user_123_profile', nextPageToken: 'CAUQ1b2c3d4e5f6g7'",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "Fix the login form password validation please; the login page password field is too small",
        "account settings password change flow; use the default admin password everywhere",
        "monkey=abc123def456ghi turkey: 12abc34def56 build_key=build-2024-11-05-a1b2c3d",
        '"access_key": "AccessKey123Field"',
        "whiskey=abc123def456ghi hockey: ab12cd34ef56gh jockey=a1b2c3d4e5f6g7",
        "postgres://host:5432/db?user=a@b.corp and `http://localhost:8080|a@b.c`; sk_test_thisIsAnOrdinaryNameOfSome",
        "x = a or password or 'default1'; | password_hash | bcrypt12abc34 |; | password | VARCHAR2 |",
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf",
        "arn:aws:secretsmanager:a:1:secret:prod/db1-A1b2C3",
        "default: &x\n  password: *default_pw1",
        "user:pass@example.com http://host:8080/a@b ssh://git@host.corp:22/a@b docker://reg:5000/a@sha256:ab",
        'http://localhost:5173/@/src/main.ts?t=1 "http://localhost:8080"and me@host.corp',
        'password = "$PASSWORD" or "${DB_PASSWORD}"; password = "<password>"; password = "%s"; password = "{{ x }}"',
        "password = get(user1, b2); password = b64decode(user1); password: $Password1",
        "| password | string | | DB_PASSWORD | required | | API_KEY | the-key-of-2024 |",
        "password:\n  secretKeyRef:\n    name: db1-secret\n",
        "process.env.API_KEY || 'development'; ENV DB_PASSWORD $DB_PASSWORD; curl -sSu user:pass x",
        "sk_live_aaaaaaaaaaaaaaaaaaaaaaaa gsk_loading_indicator re_matching_everythingthereisinit",
        "the path pathological_name.abcdef, IDENTIFIED BY 'password', HTTPBasicAuth('user', 'pass')",
        "openssl rand -hex 32; lftp -u user,pass x",
        "class A:\n    password: SecretBytes\n    token: fromPackageJsonFile\n\npassword: required\nPassword: optional",
        "connect(\n    password=wordofuser,\n    token=extractJWTSubject\n) # --password prompts; --password asks you",
        "openssl enc -d | curl -k https://a1b2.example; openssl version | curl -k --data1",
        "AKIAIOSFODNN7EXAMPLE",
        "API_KEY ?= $(shell cat key) #define TOKEN_PASTE a1b2 password?: string; token?: string = undefined; KEY → 12",
        "ssh-keygen -N '' -f k1; vault login -method=userpass username=bob1; npm config "
        "set registry https://r1.corp; echo $PASSWORD | sudo -S ls; echo a b | docker login --password-stdin",
        "Authorization: required2; authorization: AuthConfig2; .corp TRUE\t/\tTRUE\t0\ttheme\tdark-mode",
        "SHELL=/bin/bash\nPWD=/home/dev/src/shop2\nOLDPWD=/root\nexport PWD=/srv/app-7\npwd: ~/src/x1 PWD='C:\\a1\\b2'",
        "ENV GPG_KEY=" + "A035C8C19219BA82" * 2 + "1ECEA86B",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    redactor = Redactor()
    assert redactor.redact(text) == text
    assert redactor.count == 0


def written(redactor: Redactor, value: object) -> object:
    """The value as a document has it that is written with the redactor."""
    return json.loads(redactor.finish(json.dumps(redactor.hide(value), ensure_ascii=False)))


def test_names_of_members_tell_secrets() -> None:
    redactor = Redactor()
    value = {"env": {"API_KEY": "f3A9zQ81LmX02kWv", "N": 3}, "args": ["--password=s3cr3t-pass", None]}
    assert written(redactor, value) == {
        "env": {"API_KEY": "[redacted: key]", "N": 3},
        "args": ["--password=[redacted: password]", None],
    }
    assert redactor.count == 2


def test_several_in_one_text() -> None:
    redactor = Redactor()
    text = f"{SECRETS[1][1]} and {SECRETS[0][1]}, password=s3cr3t-pass"
    assert redactor.redact(text) == "[redacted: github token] and [redacted: aws key], password=[redacted: password]"
    assert redactor.count == 3


@given(st.text(max_size=200))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = Redactor().redact(f"api_key=f3A9zQ81LmX02kWv {text} password: s3cr3t-pass {SECRETS[1][1]} {text}")
    again = Redactor()
    assert again.redact(once) == once
    assert again.count == 0


# -- every kind --------------------------------------------------------------------------------------------------------


def halves(text: str) -> list[str]:
    return [text] if len(text) < 12 else [text[i : i + 12] for i in range(0, len(text) - 11, 6)]


def test_every_kind_is_taken_out_and_counted_once() -> None:
    assert len(KINDS) > 300
    for kind in KINDS:
        text, count = redact(f"before\n{kind.text}\nafter")
        assert not [half for half in halves(kind.secret) if half in text], kind.name
        assert count == 1, kind.name
        assert text.startswith("before\n") and text.endswith("after"), kind.name


# Each form with a password or a key in it; the rest of the text stays.
PASSWORD, RANDOM_KEY = build("z1 a9 d1 s1"), build("z1 a30 d1")
FORMS = [
    "**postgres://u:{p}@db.corp**",
    "|postgres://u:{p}@db.corp|x|",
    'DB_PASSWORD="({p})"',
    "SET PASSWORD FOR bob = PASSWORD('{p}')",
    "aws --profile x configure set aws_secret_access_key {k}",
    'setx /M DB_PASSWORD "{p}"',
    "|API_KEY|{k}|",
    "| password | {p} |",
    '"api_token":\n  "{k}"',
    "postgres://u:{p}@db.corp! Then",
    "在 postgres://u:{p}@db.corp。",
    "postgres://u:{p}@db.corp… goes on",
    "postgres://u:{p}@db.corp&x=1",
    "postgres://u:{p}@db.corp🎉",
    "smtp://bob@corp.io:{p}@smtp.corp.io:587",
    "postgres://u:{p}@/db?host=/tmp",
    "mysql://u:{p}@tcp(h:3306)/db",
    "postgres://u:4711#{p}@db/x",
    "postgres://u:4711/{p}@db/x",
    'DSN=postgres://u:Zq"{p}@db/x',
    "postgres://u:Zq\\W{p}@db/x",
    'DB_PASSWORD="({p}"',
    'DB_PASSWORD="[{p}"',
    'DB_PASSWORD="<{p}"',
    'DB_PASSWORD="&{p}"',
    "DB_PASSWORD='$Zq7k{p}'",
    'DB_PASSWORD="Zq7k%d!{p}"',
    'DB_PASSWORD="{p}...."',
    "password: Zq7k(W9{p}",
    "AccountName=a;AccountKey=+{k}/{k}==;EndpointSuffix=core",
    "AccountName=a;AccountKey=/{k}/{k}==;EndpointSuffix=core",
    "aws_secret_access_key = +{k}{p}",
    "aws_secret_access_key = /{k}/{p}",
    "curl -sSLu bob:{p} https://a.corp",
    "curl -vu bob:{p} https://a.corp",
    "sshpass -p'Zq {p} rest' ssh a",
    'sshpass -p "Zq {p} rest" ssh a',
    "aws configure set aws_secret_access_key {k}",
    "ALTER USER bob WITH PASSWORD '{p}';",
    "CREATE USER bob IDENTIFIED BY '{p}';",
    "openssl enc -aes-256-cbc -k {p} -in a",
    "FROM a\nENV DB_PASSWORD {p}\nRUN b",
    "setx DB_PASSWORD {p}",
    "lftp -u bob,{p} sftp://a.corp",
    "| API_KEY | {k} |",
    "| `DB_PASSWORD` | `{p}` |",
    "API_TOKEN:\n  {k}\n",
    'process.env.API_KEY || "{k}"',
    'os.environ.get("API_KEY") or "{k}"',
    'HTTPBasicAuth("bob","{p}")',
    'requests.get(u, auth=("bob", "{p}"))',
    "**API key**: {k}",
    "| API key | {k} |",
    "setenv API_KEY {k}",
    "set -x API_KEY {k}",
    "set -gx DB_PASSWORD {p}",
    "API_KEY ?= {k}",
    "API_KEY → {k}",
    '#define API_KEY "{k}"',
    'password?: string = "{p}"',
    'let token: &str = "{k}";',
    "getenv('DB_PASSWORD') ?: '{p}'",
    "<key>API_KEY</key><string>{k}</string>",
    "<key>API_KEY</key>\n\t<string>{k}</string>",
    ".a.corp\tTRUE\t/\tFALSE\t1799999999\tsession\t{k}",
    '"Set-Cookie": ["sid={k}; Path=/"]',
    "gh secret set API_TOKEN -b {k}",
    'gh secret set API_TOKEN --body "{k}"',
    "npm config set //registry.a.corp/:_authToken {k}",
    "npm config set _authToken {k}",
    "docker login -u=bob -p={p} ghcr.io",
    "echo {p} | docker login -u bob --password-stdin ghcr.io",
    "echo '{p}' | sudo -S ls",
    "printf '%s' '{p}' | docker login --password-stdin",
    "vault login {k}",
    "htpasswd -b f bob {p}",
    "htpasswd -nb bob {p}",
    "ssh-keygen -t rsa -N {p} -f k",
    "Authorization: {p}",
    '"authorization": "{p}"',
    '["deploy", "--api-key", "{k}", "--now"]',
]


def test_forms_in_which_a_secret_stands() -> None:
    for form in FORMS:
        text, count = redact(form.replace("{p}", PASSWORD).replace("{k}", RANDOM_KEY))
        assert PASSWORD not in text and RANDOM_KEY not in text
        assert count == 1, form
        # What the mark stands for goes from the nearest sign to the nearest.
        before, _, after = text.partition("[redacted: ")
        assert form.startswith(before), form
        assert form.endswith(after.partition("]")[2]), form


@pytest.mark.parametrize(
    ("form", "values"),
    [
        ("db:\n  password: {}\n", "swordfishes 40719926 s20"),
        ("+password={}\n", "swordfishes 40719926 s20"),
        ("- **Password**: {}", "swordfishes 40719926"),
        ("run --password {} --user me", "swordfishes 40719926"),
        ("run --password={} | cat", "swordfishes"),
        ('{"password": "{}"}', "swordfishes 40719926"),
        ("DB_PASSWORD={}", "swordfishes 40719926"),
        ("api_key: {}", "s32"),
        ("use token={}&page=2", "s32"),
        ("deploy --api-key {} now", "s32"),
    ],
)
def test_named_secrets_of_letters_or_of_digits_alone(form: str, values: str) -> None:
    for value in map(build, values.split()):
        text, count = redact(form.replace("{}", value))
        assert (text.partition("[redacted: ")[0], count) == (form.partition("{}")[0], 1)
        assert value not in text


@pytest.mark.parametrize(
    ("form", "length"),
    [
        ("API_KEY={}", 16),
        ("API_KEY={}", 20),
        ("apiKey = {}", 20),
        ("curl -H 'PRIVATE-TOKEN: {}' https://a.corp", 20),
        ("password: {}", 12),
        ("JWT_SECRET={}", 24),
        ('{"name":"API_KEY","value":"{}"}', 24),
        ("Cookie: theme=dark; sessionid={}", 32),
        ('"client_secret":"{}"', 32),
        ("GET /v1/x?access_token={}&page=2", 32),
    ],
)
def test_what_is_drawn_at_random_passes_for_words_one_time_in_a_thousand(form: str, length: int) -> None:
    """Also where it happens to have few digits, or none."""
    signs, drawing = string.ascii_letters + string.digits, random.Random(3)
    values = ["".join(drawing.choices(signs, k=length)) for _ in range(1000)]
    assert len([value for value in values if value in redact(form.replace("{}", value))[0]]) <= 1


def test_forms_in_json_in_diffs_and_quoted() -> None:
    for form in FORMS:
        text = form.replace("{p}", PASSWORD).replace("{k}", RANDOM_KEY)
        coded = json.dumps(text)
        marked = ["\n".join(mark + line for line in text.split("\n")) for mark in ("+", "> ", "  12→")]
        for around in (coded, json.dumps(coded), *marked):
            redacted, count = redact(around)
            assert PASSWORD not in redacted and RANDOM_KEY not in redacted
            assert count == 1, around


@pytest.mark.parametrize(
    ("told", "form"),
    [
        ("sk_live_ z24", "{}"),
        ("gsk_ z52", "{}"),
        ("re_ z8 _ z24", "{}"),
        ("pat a14 . h64", "{}"),
        ("sqp_ h40", "{}"),
        ("squ_ h40", "{}"),
        ("sqa_ h40", "{}"),
        ("hf_ z34", "__{}__"),
        ("u9 / u11 / a24", "https://hooks.slack-gov.com/services/T{}"),
        ("h8 - h4 - h4 - h4 - h12", "//registry.npmjs.org/:_authToken={}"),
    ],
)
def test_tokens_of_more_kinds(told: str, form: str) -> None:
    for _ in range(5):
        token = build(told)
        text, count = redact(form.replace("{}", token))
        assert (token, token[6:] in text, count) == (token, False, 1)


# What stands around a secret: what goes before it, and what stands between its lines.
AROUND = {
    "an escaped newline": "log:\\n{}\\nend",
    "an escaped tab": "a\\t{}\\tb",
    "an escaped quote": "\\u0022{}\\u0022",
    "twice escaped": "\\\\n{}\\\\n",
    "JSON in JSON": '{"a": "{\\"b\\": \\"{}\\"}"}',
    "an added line": "@@ -1 +1 @@\n+{}",
    "a removed line": "@@ -1 +1 @@\n-{}",
    "an address": "https://x.example/a?b=1&t={}&c=2",
    "an escaped address": "t%3D{}%26c",
    "a path": "/tmp/{}/a",
    "HTML": "<b>{}</b> &quot;{}&quot;",
    "a table": "| a | {} |",
    "invisible marks": "a\u200b{}\ufeffb",
    "Markdown": "**{}** `{}`",
}


@pytest.mark.parametrize("around", AROUND)
def test_marks_and_escapes_around_a_token_are_no_part_of_it(around: str) -> None:
    for name, told in LOOKS.items():
        token, form = build(told), AROUND[around]
        text, count = redact(form.replace("{}", token))
        assert (name, [half for half in halves(token) if half in text]) == (name, [])
        assert (name, count) == (name, form.count("{}"))


@pytest.mark.parametrize("width", [64, 77])
@pytest.mark.parametrize("before", ["", "    ", "> ", "+", "-", "# ", " 12→"])
@pytest.mark.parametrize("newline", ["\n", "\\n"])
def test_tokens_that_go_on_in_the_next_line(width: int, before: str, newline: str) -> None:
    lead = "The worker wrote down what it had been given for the deployment: "
    for shift, (kind, told) in enumerate(LOOKS.items()):
        token = build(told)
        if len(token) < 30 or "=" in token:
            continue
        line = f"{lead[shift % 40 :]}{token} and then it went on as before."
        pieces = [line[i : i + width] for i in range(0, len(line), width)]
        text, _ = redact(newline.join(before + piece for piece in pieces))
        flat = text.replace(newline, "").replace(before, "") if before else text.replace(newline, "")
        assert (kind, [half for half in halves(token) if half in flat]) == (kind, [])
        assert flat.endswith(" and then it went on as before.")


@pytest.mark.parametrize("told", ["ghp_ a36", "glpat- a20", "AKIA u16", "gsk_ a52"])
@pytest.mark.parametrize("gap", ["\n", "\r\n", "\\\n", " "])
def test_a_token_that_one_gap_goes_through_in_a_short_line(told: str, gap: str) -> None:
    """As in a title, which is a prompt whose line ends are spaces."""
    token, looked = build(told), 0
    for at in range(8, len(token) - 4):
        rest = token[at:]
        if redact(token[:at])[1]:
            break  # what stands before the gap is a token by itself
        if any(map(str.isdigit, rest)) and any(map(str.isalpha, rest)):  # else it may be any word
            assert redact(f"use {token[:at]}{gap}{rest}") == (f"use {redact(token)[0]}", 1)
            looked += 1
    assert looked > 3


# What tells a secret, and how it is drawn; each is broken once, or at every so many characters.
BROKEN = [
    ("see {} there", "hf_ z34"),
    ("see {} there", "d10 :AA w33"),
    ("see {} there", "sk-or-v1- h64"),
    ("see {} there", "xoxb- d12 - d13 - a24"),
    ("see {} there", "sk-ant-api03- w93 AA"),
    ("see {} there", "AKIA u16"),
    ("see {} there", "dapi h32"),
    ("API_KEY_2={}", "a24"),
    ("aws_secret_access_key = {}", "b40"),
    ("Authorization: Bearer {}", "a40"),
    ("postgres://app:{}@db.example.net:5432/shop", "a16"),
]
JOINTS = {
    "a line's end": ("", "\n"),
    "an indented line": ("    ", "\n    "),
    "a shell's": ("", "\\\n"),
    "an added line": ("+", "\n+"),
    "a removed line": ("-", "\n-"),
    "a diff's context": (" ", "\n "),
    "a quotation": ("> ", "\n> "),
    "a table": ("│ ", " │\n│ "),
    "numbered lines": ("     1→", "\n     2→"),
    "an escaped one": ("", "\\n"),
    "one escaped twice": ("", "\\\\n"),
    "a sign of direction": ("", "⟨RLO⟩"),
}


@pytest.mark.parametrize("joint", JOINTS)
def test_what_joins_two_lines_is_no_part_of_a_secret(joint: str) -> None:
    before, between = JOINTS[joint]
    for form, told in BROKEN:
        secret = build(told)
        for at in (len(secret) // 2, len(secret) * 2 // 3):
            text = f"a\n{before}{form.replace('{}', f'{secret[:at]}{between}{secret[at:]}')}\nz"
            redacted, count = redact(text)
            assert [half for half in halves(secret[:at]) + halves(secret[at:]) if half in redacted] == [], form
            assert (count, redacted[-2:]) == (1, "\nz"), form
        if len(secret) > 44 and "postgres" not in form:
            broken = between.join(secret[i : i + 20] for i in range(0, len(secret), 20))
            assert redact(f"a\n{before}{form.replace('{}', broken)}\nz")[1] == 1, form


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("token: ghp_{a36}\n{h40}", "github token"),
        ("API_KEY={a24}\n{h64}\n", "key"),
        ("API_KEY={a24}\n3f2a9c1d-5b7e-4d2a-9c1d-3f2a9c1d5b7e", "key"),
        ("password: {a12}\nuser2name: x1", "password"),
        ("DB_PASSWORD={a12}\nhost2\n", "password"),
        ("API_KEY={a24}\nSIZE_2X=a1b2c3d4e5", "key"),
        ('["--api-key", "{a24}", "x7Qm9k2Lw8"]', "key"),
    ],
)
def test_what_stands_in_the_line_behind_a_secret_stays(text: str, mark: str) -> None:
    secret = next(told for told in ("a36", "a24", "a12") if f"{{{told}}}" in text)
    text = text.replace("{h40}", build("h40")).replace("{h64}", build("h64"))
    begin = "ghp_" if "ghp_" in text else ""
    assert redact(text.replace(f"{{{secret}}}", build(secret)))[0] == text.replace(
        f"{begin}{{{secret}}}", f"[redacted: {mark}]"
    )


@pytest.mark.parametrize("between", ["\n", "\\n", "\n+", "\n    "])
def test_two_secrets_in_adjacent_lines_are_two(between: str) -> None:
    for number, kind in enumerate(KINDS):
        for other in (kind, KINDS[number * 7 % len(KINDS)]):
            assert (kind.name, other.name, redact(f"x\n{kind.text}{between}{other.text}\ny")[1]) == (
                kind.name,
                other.name,
                2,
            )


def test_wrapped_base64_hashes_and_code_do_not_join_into_tokens() -> None:
    drawing = random.Random(5)
    image = base64.encodebytes(drawing.randbytes(200_000)).decode()
    hashes = "\n".join(f"{drawing.randbytes(20).hex()}  src/token_{number}.py" for number in range(2000))
    code = Path(json.__file__).with_name("decoder.py").read_text().replace("\n", "\n+    ")
    for text in (image, image.replace("\n", "\\n"), hashes, "port: http://localhost:8080\nfoo1@bar.com", code):
        assert redact(text)[1] == 0


@pytest.mark.parametrize("mark", ["\u00ad", "\u200b", "\u2060"])
def test_marks_that_cannot_be_seen_are_no_end_of_a_token(mark: str) -> None:
    for kind in KINDS:
        broken = mark.join(kind.secret[at : at + 7] for at in range(0, len(kind.secret), 7))
        text, count = redact(f"{mark}before {mark}\n{kind.form.replace('{}', broken)}\n{mark}after{mark}")
        assert (kind.name, [half for half in halves(kind.secret) if half in text.replace(mark, "")]) == (kind.name, [])
        assert (kind.name, count) == (kind.name, 1)
        assert text.startswith(f"{mark}before {mark}\n") and text.endswith(f"\n{mark}after{mark}")


@pytest.mark.parametrize("text", ["ghp_ is what 36 of them begin with", "AKIA 2026 was", "the hf_ prefix 3.11.4 has"])
def test_what_only_begins_like_a_token_and_has_a_number_behind_it_stays(text: str) -> None:
    assert redact(text) == (text, 0)


def test_what_is_whole_at_a_lines_end_is_not_prolonged() -> None:
    token = "ghp_" + made(36)
    text = f"Then it took the token that the person had given: {token}\nwonderful as it was"
    assert redact(text) == (text.replace(token, "[redacted: github token]"), 1)


@pytest.mark.parametrize(("told", "least"), [("ghp_ a36", 8), ("sk-ant-api03- w93 AA", 14), ("eyJ a30 . a60 . a43", 9)])
def test_half_a_token_before_an_ellipsis_is_one(told: str, least: int) -> None:
    token = build(told)
    for length in range(least, len(token) - 1, 3):
        assert redact(f"Use {token[:length]}…")[1] == 1


@pytest.mark.parametrize(
    "form",
    [
        "use postgres://app:{z4}/{a9}…",
        "use postgres://app:{z4}@{a9}…",
        "use https://app:{z4}/{a9}…",
        "-----BEGIN RSA PRIVATE {KEY}----- MIIE{z3}CAQ…",
        "-----BEGIN OPENSSH PRIVATE {KEY}----- {b64} {b64} {b9}…",
        "-----BEGIN PRIVATE {KEY}----- {b64} {b3}…",
        "-----BEGIN RSA PRIVATE {KEY}-----\n{b64}\n{b9}…",
        "-----BEGIN RSA PRIVATE {KEY}----- {b24} {b20} -----END RSA PRI…",
        "-----BEGIN RSA PRIVATE {KEY}----- {b64} {b9} -----END RSA PRIVATE {KEY}-----…",
    ],
)
def test_what_was_cut_is_secret_up_to_the_ellipsis(form: str) -> None:
    text = form.replace("{KEY}", "KEY")
    for told in ("z3", "z4", "a9", "b3", "b9", "b20", "b24", "b64"):
        text = text.replace(f"{{{told}}}", build(told))
    before = "" if "BEGIN" in form else form[: form.index(":{") + 1]
    kind = "private key" if "BEGIN" in form else "password in a URL"
    assert redact(f"{text} and more") == (f"{before}[redacted: {kind}]… and more", 1)


@pytest.mark.parametrize(
    "text",
    [
        "a -----BEGIN RSA PRIVATE {KEY}----- is how a key begins…",
        "a -----BEGIN RSA PRIVATE {KEY}-----…",
        "see http://localhost:8080/path/to1/thing2… and ssh://host:team/repo2/a… and postgres://app:4711…",
        "https://my-very-long-organization-name@dev.azure.com/x https://3f2a9c1d5b7e4d2a9c1d@o12.ingest.sentry.io/3",
        "https://3f2a9c1d-5b7e-4d2a-9c1d-3f2a9c1d5b7e@dev.corp/x",
    ],
)
def test_what_was_cut_and_is_no_secret_stays(text: str) -> None:
    text = text.replace("{KEY}", "KEY")
    assert redact(text) == (text, 0)


@pytest.mark.parametrize("told", ["a32", "z20", "h40", "l24"])
def test_what_is_drawn_at_random_and_stands_for_a_user_is_a_token(told: str) -> None:
    for form in (
        "git clone https://{}@git.corp/x.git",
        "https://{}:x-oauth-basic@git.corp/x.git",
        "a https://{}:@h.corp/",
    ):
        assert redact(form.replace("{}", build(told))) == (form.replace("{}", "[redacted: token in a URL]"), 1)


def test_ordinary_files_have_hardly_any() -> None:
    """Python's own library, of which a few examples are passwords indeed."""
    found = [one for path in sorted(Path(os.__file__).parent.glob("*.py")) for one in find(path.read_bytes())]
    assert len(found) <= 3


def test_long_values_go_as_a_whole() -> None:
    for length in (299, 300, 301, 2400, 5000):
        value = build(f"a{length}")
        assert redact(f'client_secret: "{value}", more') == ('client_secret: "[redacted: secret]", more', 1)
        assert redact(f"API_KEY={value} more") == ("API_KEY=[redacted: key] more", 1)


def test_the_end_of_a_key_without_its_beginning() -> None:
    assert redact(f"{BLOCK.partition(KEY_BODY[:64])[2].strip()}\nafter") == ("[redacted: private key]\nafter", 1)


# -- JSON values -------------------------------------------------------------------------------------------------------

LINES = BLOCK.split("\n")
EMPTY = len(LINES) - 1
TOKEN = "ghp_" + made(36)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({TOKEN: 1}, {"[redacted: github token]": 1}),
        ({TOKEN: 1, f"{TOKEN}b": 2}, {"[redacted: github token]": 1, "[redacted: github token] 2": 2}),
        ({"name": "API_KEY", "value": "f3A9zQ81LmX02kWv"}, {"name": "API_KEY", "value": "[redacted: key]"}),
        ({"value": "f3A9zQ81LmX02kWv", "name": "API_KEY"}, {"value": "[redacted: key]", "name": "API_KEY"}),
        ({"name": "SIZE", "value": "f3A9zQ81LmX02kWv"}, {"name": "SIZE", "value": "f3A9zQ81LmX02kWv"}),
        ({"password": "hunter2 and lamps"}, {"password": "[redacted: password]"}),
        ({"api_keys": ["f3A9zQ81LmX02kWv"]}, {"api_keys": ["[redacted: key]"]}),
        (["sshpass", "-p", "s3cr3t-pass", "ssh"], ["sshpass", "-p", "[redacted: password]", "ssh"]),
        (["deploy", "--token", "f3A9zQ81LmX02kWv"], ["deploy", "--token", "[redacted: token]"]),
        (["a", *(f"+{line}" for line in LINES), " b"], ["a", "+[redacted: private key]", *["+"] * EMPTY, " b"]),
        (["a", *(f"-{line}" for line in LINES), " b"], ["a", "-[redacted: private key]", *["-"] * EMPTY, " b"]),
        ([f"+{TOKEN}", f"-{TOKEN}"], ["+[redacted: github token]", "-[redacted: github token]"]),
        ({"usage": {"input_tokens": 123456789012}}, {"usage": {"input_tokens": 123456789012}}),
    ],
)  # fmt: skip
def test_values(value: object, expected: object) -> None:
    assert written(Redactor(), value) == expected


@given(
    st.recursive(
        st.text("ab=:'pwd \n\\-x9A7/@", max_size=30) | st.sampled_from([kind.text for kind in KINDS]),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["name", "value", "token", "a", "text"]), inner, max_size=4)
        ),
        max_leaves=6,
    )
)
def test_values_are_looked_through_at_once_as_one_by_one(value: object) -> None:
    assert Redactor().hide(value) == _hidden(value)


def test_what_is_cut_is_counted_as_it_is_written() -> None:
    redactor = Redactor()
    hidden = redactor.hide(f"{TOKEN} and {TOKEN}")
    assert redactor.finish(hidden) == "[redacted: github token] and [redacted: github token]"
    assert redactor.finish(hidden[:33]) == "[redacted: github token] and [r"
    assert redactor.count == 3
