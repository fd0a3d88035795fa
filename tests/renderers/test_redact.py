from __future__ import annotations

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.redact import Redactor

# Made here, of no use anywhere; put together so that no scanner takes this file for a leak.
R = random.Random(7)


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
        ("curl -H 'authorization: Basic {}'", "dXNlcjpwYXNzd29yZDEyMw==", "authorization"),
        ("api_key = '{}'", "f3A9zQ81LmX02kWv", "key"),
        ('{{"apiKey": "{}"}}', "f3A9zQ81LmX02kWv", "key"),
        ('{{\\"client_secret\\": \\"{}\\"}}', "f3A9zQ81LmX02kWv", "secret"),
        ("export DEPLOY_TOKEN={}", "f3A9zQ81LmX02kWv", "token"),
        ("AWS_SECRET_ACCESS_KEY={}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzz", "key"),
        ("--password {} --user me", "Tr0ub4dor&3", "password"),
        ("PGPASSWORD={} psql", "s3cr3t-pass", "password"),
        ("é password: {}", "s3cr3t-pass", "password"),
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
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    redactor = Redactor()
    assert redactor.redact(text) == text
    assert redactor.count == 0


def test_names_of_members_tell_secrets() -> None:
    redactor = Redactor()
    value = {"env": {"API_KEY": "f3A9zQ81LmX02kWv", "N": 3}, "args": ["--password=s3cr3t-pass", None]}
    assert redactor.redact_value(value) == {
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


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
@pytest.mark.parametrize("place", range(3))
def test_many_texts_at_once(kind: str, secret: str, place: int) -> None:
    texts = ["key=", "plain words", "-----BEGIN nothing"]
    texts[place] = f"before {secret}\nafter"
    one, many = Redactor(), Redactor()
    assert many.redact_all(texts) == [one.redact(text) for text in texts]
    assert many.counts == one.counts == {kind: 1}


@given(
    st.lists(st.text("abk_ey=:'pwd \n\\-x9A7/@", max_size=40) | st.sampled_from([s for _, s in SECRETS]), max_size=5)
)
def test_texts_do_not_hide_each_others_secrets(texts: list[str]) -> None:
    one, many = Redactor(), Redactor()
    assert many.redact_all(texts) == [one.redact(text) for text in texts]
    assert many.counts == one.counts
