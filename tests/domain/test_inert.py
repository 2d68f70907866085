"""What is masked in an action could do nothing, and what cannot be seen is shown by its number."""

import re
import shlex
import unicodedata
from pathlib import Path
from shutil import which
from subprocess import run

import pytest
from hypothesis import example, given, strategies as st

from tests.adversary.hiding import HIDDEN_PROGRAMS, HIDING_COMMANDS, PAYLOAD, SPLIT_WORDS
from tests.conftest import require
from tests.domain.test_redaction import FINE_PRINT, SECRETS
from upcall.domain.approval import actions
from upcall.domain.run.program import Action
from upcall.domain.text.display import escaped, visible
from upcall.domain.text.invisible import is_hidden
from upcall.domain.text.redaction import INERT, redact, redact_action

SHELL_ACTS_UPON = set(" \t\n\r\v\f\"'`$\\;|&<>()[]{}*?~#!^%@,")
MASK = re.compile(r"\[redacted: [^\]]*\]")


def asked_about(command: str) -> str:
    return actions.approval(Action(tool="Bash", input={"command": command}, cwd="/repo")).questions[0].text


def masked_spans(text: str, masked: str) -> list[str]:
    """What stands in the text in place of each mask, if that can only be inert characters."""
    pattern = f"([{INERT}]+)".join(map(re.escape, MASK.split(masked)))
    found = re.fullmatch(pattern, text, re.DOTALL)
    assert found is not None, "something other than inert characters is masked"
    return list(found.groups())


@pytest.mark.promise("trust/15")
@pytest.mark.parametrize("command", HIDING_COMMANDS)
def test_a_command_that_poses_as_a_secret_is_shown_whole(command: str) -> None:
    assert PAYLOAD in asked_about(command)


@pytest.mark.promise("trust/15")
@pytest.mark.parametrize(("command", "program"), HIDDEN_PROGRAMS)
def test_a_program_that_is_run_by_a_variable_stays_visible(command: str, program: str) -> None:
    assert redact(command).count, "or this test would prove nothing"
    assert program in asked_about(command)


@pytest.mark.promise("trust/15")
@pytest.mark.parametrize("command", SPLIT_WORDS)
def test_a_word_that_a_command_takes_apart_and_runs_stays_visible(command: str) -> None:
    assert redact(command).count, "or this test would prove nothing"
    assert "PWNED" in asked_about(command)


@pytest.mark.parametrize(
    "command",
    (
        "curl -sS -H 'X-Key: {}' https://example.com/v1/a?b=c 2>&1 | jq -r '.a | .b' | sort | head -n 3",
        "cd api && TOKEN={} make deploy > /dev/null; ls",
        "python3 deploy.py --key {} --region eu",
        "node scripts/publish.js {} || true",
        "docker login -u bot -p {} registry.example.com",
    ),
)
def test_an_ordinary_command_is_shown_without_its_token(command: str) -> None:
    token = SECRETS["GitHub token"]
    assert asked_about(command.format(token)) == command.format("[redacted: GitHub token]")


def test_a_token_in_a_file_that_is_written_is_masked_beside_any_other_text() -> None:
    token = SECRETS["GitHub token"]
    write = Action(
        tool="Write", input={"file_path": "/repo/a.sh", "content": f"x={token}\necho $x | sh\n"}, cwd="/repo"
    )
    assert token not in actions.approval(write).questions[0].text


@pytest.mark.thorough
def test_the_inert_alphabet_holds_nothing_that_a_shell_acts_upon() -> None:
    alphabet = {chr(code) for code in range(0x110000) if re.fullmatch(f"[{INERT}]", chr(code))}
    assert not alphabet & SHELL_ACTS_UPON
    assert len(alphabet) == 26 * 2 + 10 + 7


PIECES = st.sampled_from(
    [
        *(*SECRETS.values(), *FINE_PRINT),
        *(
            "password=",
            "pwd=",
            "TOKEN='",
            'secret="',
            "token: ",
            "--password ",
            "Bearer ",
            "Authorization: Bearer ",
        ),
        *(
            "https://u:",
            "@host",
            "a1b2c3d4",
            "hunter22",
            "$(touch PWNED)",
            "`reboot`",
            "; reboot; ",
            "\\n",
            "\n",
            "\r\n",
        ),
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "Comment: ", "A" * 64, "+" + "b" * 64),
        *('"', "'", " ", "\t", "=", ":", "\\", "|", "&", "<", ">", "$x", "{", "}", "é", "\u00a0", "²"),
    ]
)


@pytest.mark.promise("trust/15")
@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
@example("\n".join(HIDING_COMMANDS))
@example("\n".join(SECRETS.values()))
def test_each_masked_part_of_an_action_consists_of_inert_characters(text: str) -> None:
    if MASK.search(text):
        return
    masked = redact_action(text)
    for span in masked_spans(text, masked.text):
        assert span
        assert not set(span) & SHELL_ACTS_UPON
        assert shlex.split(span, comments=True) == [span], "a shell takes it for one plain word"


@given(st.lists(PIECES, max_size=8).map("".join))
def test_an_action_that_was_masked_stays_as_it_is(text: str) -> None:
    once = redact_action(text)
    assert redact_action(once.text).text == once.text


@pytest.mark.parametrize("secret", [secret for name, secret in SECRETS.items() if name != "private key"])
def test_a_token_of_a_known_form_is_masked_in_an_action(secret: str) -> None:
    assert secret not in asked_about(f"curl -H 'X: {secret}' https://example.com | jq . > out")


@pytest.mark.parametrize(
    ("command", "shown"),
    (
        ("PGPASSWORD=hunter22 psql", "PGPASSWORD=[redacted: password] psql"),
        ("cli --auth-token a1b2c3d4e5 go", "cli --auth-token [redacted: secret] go"),
        ("psql postgres://app:hunter22@db/x | less", "psql postgres://app:[redacted: password]@db/x | less"),
        (
            "curl -H 'Authorization: Bearer abc.def.123' x | jq",
            "curl -H 'Authorization: Bearer [redacted: credential]' x | jq",
        ),
    ),
)
def test_a_value_with_the_form_of_a_token_is_masked_where_nothing_can_run_it(
    command: str, shown: str
) -> None:
    assert asked_about(command) == shown


@pytest.mark.parametrize(
    ("body", "masked"),
    (
        ("\n{}\n{}\n", "\n[redacted: private key]\n[redacted: private key]\n"),
        ("\\n{}\\n{}\\n", "\\n[redacted: private key]\\n[redacted: private key]\\n"),
        ("\n+{}\n+{}\n+", "\n+[redacted: private key]\n+[redacted: private key]\n+"),
    ),
)
def test_the_lines_of_a_private_key_are_masked_one_by_one(body: str, masked: str) -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
    text = "-----BEGIN PRIVATE KEY-----" + body.format(line, line) + "-----END PRIVATE KEY-----"
    assert redact_action(text).text == text.replace(body.format(line, line), masked)
    assert redact_action(text).count == 1


INVISIBLE = (
    *map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))),
    *map(chr, (*range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B))),
    *"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u180f\u200b\u200c\u200d\u200e\u2060\u2065\u206f\u3164\ufeff",
    *"\uffa0\ufff0\ufff9\U000e0001\U000e0041\U0001343f\U00013430\ufdd0\U0001fffe",
    *"\u00a0\u1680\u2000\u200a\u202f\u205f\u3000\u2800",
)


@pytest.mark.promise("trust/16")
@pytest.mark.parametrize("character", INVISIBLE, ids=lambda character: f"{ord(character):x}")
def test_an_invisible_character_is_shown_by_its_number(character: str) -> None:
    shown = asked_about(f"rm 'a{character}b' '❤{character}' 'می{character}خو'")
    assert character not in shown
    assert shown.count(f"{ord(character):04x}" if ord(character) > 0xFF else f"\\x{ord(character):02x}") == 3


@pytest.mark.thorough
@pytest.mark.promise("trust/16")
def test_no_character_that_is_invisible_for_the_unicode_database_stays_in_an_action() -> None:
    everything = "".join(map(chr, range(0x20, 0x110000)))
    left = escaped(everything)
    assert not [hex(ord(each)) for each in left if unicodedata.category(each) in {"Cc", "Cs", "Zl", "Zp"}]
    drawn = {"ARABIC", "SYRIAC", "KAITHI"}
    formats = [each for each in left if unicodedata.category(each) == "Cf"]
    assert {unicodedata.name(each).split()[0] for each in formats} <= drawn


@pytest.mark.promise("trust/16")
def test_the_list_of_ignorable_characters_is_that_of_another_implementation_of_unicode(
    tmp_path: Path,
) -> None:
    node = which("node")
    require(node, "node")
    assert node is not None
    script = tmp_path / "ignorable.js"
    script.write_text(
        "for (let c = 0; c < 0x110000; c++)"
        " if (/\\p{Default_Ignorable_Code_Point}/u.test(String.fromCodePoint(c))) console.log(c)"
    )
    listed = run([node, str(script)], capture_output=True, text=True, check=True).stdout.split()
    assert len(listed) > 4000
    assert not [hex(int(code)) for code in listed if not is_hidden(chr(int(code)))]


@pytest.mark.parametrize(
    "text", ("❤\ufe0f", "1\ufe0f\N{COMBINING ENCLOSING KEYCAP}", "👩\u200d💻", "می\u200cخو", "葛\ufe00")
)
def test_a_question_keeps_the_selectors_and_joiners_that_its_writing_needs(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize("text", ("a\ufe0fb", "1\ufe0f", "❤\ufe0f\ufe0f", "\ufe0f", "\u200d\ufe0f"))
def test_a_selector_that_selects_nothing_is_left_out_of_a_question(text: str) -> None:
    assert visible(text) == text.replace("\u200d", "").replace(
        "\ufe0f", "", text.count("\ufe0f") - text.startswith("❤")
    )
