"""Secrets are masked visibly; what only looks like one is left alone."""

import pytest
from hypothesis import given, strategies as st

from upcall.domain.text.redaction import redact

# Put together here, so that no scanner takes this file for a leak.
LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2dE3f"
SECRETS = {
    "AWS access key": "AKIA" + "IOSFODNN7EXAMPLE",
    "GitHub token": "ghp_" + LETTERS[:36],
    "GitLab token": "glpat-" + LETTERS[:20],
    "Slack token": "xoxb-" + "1234567890-abcdefghij",
    "Slack webhook": "hooks.slack.com/services/" + "T00000000/B00000000/" + LETTERS[:24],
    "Anthropic key": "sk-ant-" + "api03-" + LETTERS,
    "OpenAI key": "sk-proj-" + LETTERS,
    "API key": "sk-or-v1-" + "0123456789abcdef" * 4,
    "Stripe key": "sk_live_" + LETTERS[:24],
    "Google API key": "AIza" + LETTERS[:35],
    "Google token": "ya29." + LETTERS,
    "npm token": "npm_" + LETTERS[:36],
    "PyPI token": "pypi-AgE" + LETTERS * 2,
    "Hugging Face token": "hf_" + LETTERS[:34],
    "SendGrid key": "SG." + LETTERS[:22] + "." + (LETTERS * 2)[:43],
    "Telegram token": "123456789:AA" + LETTERS[:33],
    "Docker token": "dckr_pat_" + LETTERS[:27],
    "JWT": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NSJ9" + "." + LETTERS,
    "private key": "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----",
}
FINE_PRINT = (
    "github_pat_" + LETTERS,
    "sk-" + LETTERS,
    "whsec_" + LETTERS,
    "xapp-1-" + LETTERS,
    "GOCSPX-" + LETTERS[:28],
)


@pytest.mark.parametrize(("name", "secret"), SECRETS.items())
def test_a_secret_of_a_known_form_is_masked_visibly(name: str, secret: str) -> None:
    masked = redact(f"Use `{secret}` for the deployment?")
    assert masked.text == f"Use `[redacted: {name}]` for the deployment?"
    assert masked.count == 1


@pytest.mark.parametrize("secret", FINE_PRINT)
def test_the_other_forms_of_the_same_secrets_are_masked_too(secret: str) -> None:
    assert redact(f"({secret})").text.startswith("([redacted: ")


@pytest.mark.parametrize(
    ("text", "masked"),
    (
        ("password=hunter2", "password=[redacted: password]"),
        ("PGPASSWORD=swordfish psql", "PGPASSWORD=[redacted: password] psql"),
        ('DB_PASSWORD="it\'s me"', 'DB_PASSWORD="[redacted: password]"'),
        ('password = "correct horse"', 'password = "[redacted: password]"'),
        ("password: hunter2 please", "password: [redacted: password] please"),
        ('{"password": "swordfish"}', '{"password": "[redacted: password]"}'),
        ('{\\"password\\": \\"swordfish\\"}', '{\\"password\\": \\"[redacted: password]\\"}'),
        ("Server=db;Password=abc123;Port=1", "Server=db;Password=[redacted: password];Port=1"),
        ("?user=a&password=b4cd&x=1", "?user=a&password=[redacted: password]&x=1"),
        ("mysql --password hunter2 db", "mysql --password [redacted: password] db"),
        ("api_key = a1b2c3d4e5f6", "api_key = [redacted: secret]"),
        ('"apiKey": "a1b2c3d4e5f6"', '"apiKey": "[redacted: secret]"'),
        ("aws_secret_access_key=wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key=[redacted: secret]"),
        ("X-Api-Key: a1b2c3d4e5", "X-Api-Key: [redacted: secret]"),
        ("client_secret=a1b2c3d4e5", "client_secret=[redacted: secret]"),
        ("cli --auth-token a1b2c3d4e5", "cli --auth-token [redacted: secret]"),
        ("Authorization: Bearer abc.def.123", "Authorization: Bearer [redacted: credential]"),
        ("authorization: basic dXNlcjpwYXNz", "authorization: basic [redacted: credential]"),
        ("send 'bearer a1b2c3d4e5f6g7'", "send 'bearer [redacted: credential]'"),
        ("postgres://app:hunter2@db:5432/x", "postgres://app:[redacted: password]@db:5432/x"),
        ("redis://:hunter2@cache", "redis://:[redacted: password]@cache"),
        (f"https://{LETTERS}@github.com/a/b", "https://[redacted: credential]@github.com/a/b"),
    ),
)
def test_a_secret_is_masked_where_its_name_gives_it_away(text: str, masked: str) -> None:
    assert redact(text).text == masked
    assert redact(text).count == 1


@pytest.mark.parametrize(
    "text",
    (
        "",
        "Should I use Redis or Memcached?",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "id 550e8400-e29b-41d4-a716-446655440000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "Which password: long or short?",
        "Password: required",
        'label: {"password": "Please enter your password"}',
        "max_tokens=100000 token_count: 4096 secret_name=prod-db-01",
        "password=$DB_PASSWORD password=${DB} password=<yours> password={x} password=***",
        "password=None, password=str, password: Optional",
        "connect(user=user, password=password, token=self.token)",
        "password = get_password() token = new_token_2()",
        "Authorization: Bearer $TOKEN",
        "uses bearer authentication",
        "PWD=/home/ana/project",
        "https://example.com:8443/a@b and git@github.com:a/b.git",
        "https://user:$PASSWORD@example.com",
        "postgres://app:[redacted: password]@db",
        "look for -----BEGIN PRIVATE KEY----- in the files",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "sk-cube-grid-with-a-very-long-class-name",
        "risk-assessment-0123456789abcdef0123456789abcdef",
    ),
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert redact(text).text == text
    assert redact(text).count == 0


def test_a_private_key_that_was_cut_off_is_masked_as_far_as_it_goes() -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
    text = f"-----BEGIN PRIVATE KEY-----\n{body}\n{body}\n\nand then?"
    assert redact(text).text == "[redacted: private key]\n\nand then?"


def test_every_secret_is_counted() -> None:
    assert redact("\n".join(SECRETS.values())).count == len(SECRETS)


pieces = st.sampled_from(
    [
        *(*SECRETS.values(), *FINE_PRINT),
        *(
            "password=",
            "token: ",
            "Bearer ",
            "--password ",
            "Authorization: ",
            "hunter2",
            "://",
            "[redacted: JWT]",
        ),
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"),
        *('"', "'", " ", "-", "_", "@", ":", "=", "[", "\\", "\n"),
    ]
)


@given(st.lists(pieces | st.text(max_size=3), max_size=10).map("".join))
def test_what_was_redacted_stays_as_it_is(text: str) -> None:
    once = redact(text)
    again = redact(once.text)
    assert again.text == once.text
    assert again.count == 0


@given(st.text(st.characters(exclude_characters="=:-_.@")))
def test_text_without_secrets_is_unchanged(text: str) -> None:
    assert redact(text).text == text


@given(st.sampled_from(sorted(SECRETS.values())), st.text(max_size=20), st.text(max_size=20))
def test_a_secret_among_other_words_is_never_left(secret: str, before: str, after: str) -> None:
    assert secret not in redact(f"{before} {secret} {after}").text


@pytest.mark.thorough
@pytest.mark.parametrize(
    "piece",
    (
        *(
            "-----BEGIN PRIVATE KEY-----",
            "-----BEGIN " + "A" * 20,
            "eyJ",
            "eyJaaaaaaaaaa.",
            "ghp_",
            "xox",
            "sk-",
            "A1b2",
        ),
        *("password=", 'password="', "password=\\", "password='\\\"", "token: ", "--token ", "Bearer "),
        *("://", "://a:", "a", "-", "a-", "my_"),
    ),
)
def test_very_long_text_is_redacted_without_hanging(piece: str) -> None:
    # Anything worse than linear would run into the time limit of every test.
    text = piece * (500_000 // len(piece))
    assert redact(text).text
    assert redact(f"password: {text}").text
