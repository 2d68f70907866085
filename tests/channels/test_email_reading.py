"""What a person wrote, out of what their mail program sent."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from upcall.channels.email.letters import Tag, reply_address, tag_in
from upcall.channels.email.quoting import Written, written
from upcall.channels.email.reading import letter_in

OWN = "upcall@example.test"
TAG = Tag(inquiry="01m7h9761j5wgsmbzk91mxee4n", stamp="abcdefghij234567")
QUOTED = "> ❓ Provide input · builder · a7\n>\n> │ Which cache?\n> │   1. Redis\n"
REPLIES = {
    "nothing quoted": ("2", "2"),
    "gmail": (f"2\n\nOn Sun, 15 Nov 2026 at 18:00, Upcall <{OWN}> wrote:\n\n{QUOTED}", "2"),
    "gmail, two lines": (f"2\n\nOn Sun, Nov 15, 2026 at 6:00 PM Upcall\n<{OWN}> wrote:\n\n{QUOTED}", "2"),
    "apple": (
        f"Redis\n\nSent from my iPhone\n\n> On 15 Nov 2026, at 18:00, Upcall <{OWN}> wrote:\n{QUOTED}",
        "Redis",
    ),
    "outlook": (
        (
            f"yes\n\n________________________________\nFrom: Upcall <{OWN}>\nSent: Sunday, November 15, 2026\n"
            "To: Ana\nSubject: Q\n\nWhich cache?\n1. Redis\n"
        ),
        "yes",
    ),
    "outlook without an address": (
        "yes\n\nFrom: Upcall\nSent: Sunday, November 15, 2026 6:00 PM\nTo: Ana\nSubject: Q\n\nWhich cache?\n",
        "yes",
    ),
    "outlook, German": (
        f"ja\n\n-----Ursprüngliche Nachricht-----\nVon: Upcall <{OWN}>\nGesendet: Sonntag\nAn: Ana\n\nWhich?\n",
        "ja",
    ),
    "German": (f"ja\n\nAm So., 15. Nov. 2026 um 18:00 Uhr schrieb Upcall <{OWN}>:\n\n{QUOTED}", "ja"),
    "Spanish": (f"sí\n\nEl dom, 15 nov 2026 a las 18:00, Upcall (<{OWN}>) escribió:\n\n{QUOTED}", "sí"),
    "French": (f"oui\n\nLe dim. 15 nov. 2026 à 18:00, Upcall <{OWN}> a écrit :\n\n{QUOTED}", "oui"),
    "Japanese": (f"はい\n\n2026年11月15日(日) 18:00 Upcall <{OWN}>:\n\n{QUOTED}", "はい"),
    "Chinese": (f"是\n\nUpcall <{OWN}> 于2026年11月15日周日 18:00写道：\n\n{QUOTED}", "是"),  # noqa: RUF001 - that is how it is written
    "reply address quoted": (
        f"2\n\n{reply_address(OWN, TAG)} wrote on Sunday:\n{QUOTED}",
        "2",
    ),
    "below": (f"On Sun, 15 Nov 2026 at 18:00, Upcall <{OWN}> wrote:\n{QUOTED}\n2\n", "2"),
    "signature": ("2\n\n-- \nAna Example\nACME", "2"),
    "several lines": ("1) Redis\n2) lint, tests\n3) billing\n", "1) Redis\n2) lint, tests\n3) billing"),
    "indented code": ("def f():\n    return 1\n\nthat is all", "def f():\n    return 1\n\nthat is all"),
    "a list": ("Both:\n\n- one\n- two\n", "Both:\n\n- one\n- two"),
    "headers as words": ("From: the start\nto the end", "From: the start\nto the end"),
    "windows": ("yes\r\n\r\nreally\r\n", "yes\n\nreally"),
    "nothing": ("", ""),
    "only a quotation": (QUOTED, ""),
}


@pytest.mark.parametrize(("text", "wanted"), REPLIES.values(), ids=REPLIES.keys())
def test_what_was_written_is_read_and_nothing_else(text: str, wanted: str) -> None:
    assert written(text, OWN).words == wanted


LETTERS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("letters.toml").read_text())["letter"]
LANGUAGES = {"en", "de", "fr", "es", "zh-CN", "ja"}
ORIGINAL = "❓ Provide input · builder · a7\n\n│ Which cache?\n│   1. Redis\n│   2. Memcached\n\nOr answer here: http://x/i/1"


def introduced(letter: dict[str, Any]) -> str:
    """The introduction and the quotation of a letter."""
    introduction = letter["introduction"].format(own=OWN)
    marked = "\n".join(f"> {line}".rstrip() for line in ORIGINAL.split("\n"))
    if letter.get("inside"):
        return "\n".join(f"> {line}" for line in introduction.split("\n")) + f"\n>\n{marked}"
    gap = "\n" * letter.get("gap", 0)
    return f"{introduction}\n{gap}{marked if letter.get('marked', True) else ORIGINAL}"


def signed(letter: dict[str, Any], words: str) -> str:
    """Words with the signature of a letter below them."""
    return f"{words}\n\n{letter['signature']}" if "signature" in letter else words


@pytest.mark.promise("trust/45")
@pytest.mark.parametrize("words", ["1", "yes", "No, use Redis:\n\n  redis://cache\n\nplease", "好的", "はい"])
@pytest.mark.parametrize("letter", LETTERS, ids=lambda letter: f"{letter['client']} ({letter['language']})")
def test_a_reply_above_or_below_the_quotation_is_its_words_alone(letter: dict[str, Any], words: str) -> None:
    assert written(f"{signed(letter, words)}\n\n{introduced(letter)}\n", OWN) == Written(words=words)
    # The cursor of some programs stands directly above the introduction.
    assert written(f"{words}\n{introduced(letter)}\n", OWN) == Written(words=words)
    if letter.get("marked", True):
        assert written(f"{introduced(letter)}\n\n{signed(letter, words)}\n", OWN) == Written(words=words)
        assert written(f"{introduced(letter)}\n{words}\n", OWN) == Written(words=words)


@pytest.mark.parametrize("letter", LETTERS, ids=lambda letter: f"{letter['client']} ({letter['language']})")
def test_a_letter_without_words_has_none(letter: dict[str, Any]) -> None:
    assert written(introduced(letter), OWN) == Written(words="")
    assert written(signed(letter, "\n") + "\n\n" + introduced(letter), OWN) == Written(words="")


def test_every_program_is_in_the_corpus_in_every_language() -> None:
    for client in ("Thunderbird", "Gmail", "Outlook", "Apple Mail", "Proton", "mutt"):
        found = {letter["language"] for letter in LETTERS if letter["client"] == client}
        assert found == LANGUAGES, client


@pytest.mark.promise("trust/45")
def test_words_between_quoted_lines_are_all_read() -> None:
    text = "On 15/11/2026 18:00, Upcall wrote:\n> 1) Which cache?\n1) Redis\n> 2) Which checks?\n\n2) lint\n"
    assert written(text, OWN) == Written(words="1) Redis\n2) lint")


def test_text_below_the_quotation_of_a_reply_above_is_kept_apart() -> None:
    text = f"yes\n\nOn 15/11/2026 18:00, Upcall wrote:\n{QUOTED}\nbut not today\n"
    assert written(text, OWN) == Written(words="yes", rest="but not today")


@pytest.mark.parametrize(
    "words",
    [
        "On Monday we use Redis",
        "From: the start\nto the end",
        "Get Redis",
        "Use Outlook on Android",
        "-- no cache --all",
        "El Capitan",
        "2026-11-15: that is the date",
    ],
)
def test_words_that_resemble_what_programs_write_are_kept(words: str) -> None:
    assert written(f"{words}\n\nOn 15/11/2026 18:00, Upcall wrote:\n{QUOTED}", OWN).words == words
    assert written(f"On 15/11/2026 18:00, Upcall wrote:\n{QUOTED}\n{words}\n", OWN).words == words


@pytest.mark.parametrize(
    "text",
    [
        "On " * 100_000 + "\n> x",
        "On 1 wrote\n> x\n" * 8_000,
        "-" * 100_000,
        f"{OWN} " * 4_000,
        "From: x\n" * 10_000,
    ],
)
def test_the_longest_letter_is_read(text: str) -> None:
    assert len(written(text, OWN).words) <= len(text)


def test_an_html_reply_below_its_quotation_is_its_words_alone() -> None:
    raw = (
        "From: ana@example.test\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
        '<div class="moz-cite-prefix">Le 15/11/2026 à 18:00, Upcall a écrit&nbsp;:<br></div>'
        '<blockquote type="cite"><p>Which cache?</p><blockquote>x</blockquote></blockquote><p>1</p>'
    )
    assert letter_in(raw.encode(), OWN, "1").words == "1"


ALTERNATIVES = "Content-Type: multipart/alternative; boundary=y\r\n\r\n--y\r\nContent-Type: text/html\r\n\r\n<p>no!</p>\r\n"
ATTACHED = "Content-Type: message/rfc822\r\n\r\nFrom: bo@example.test\r\n\r\nyes\r\n"
FOOTER = "Content-Type: text/plain\r\n\r\nScanned for viruses.\r\n"
NOTES = "Content-Type: text/plain\r\nContent-Disposition: attachment\r\n\r\nyes\r\n"


@pytest.mark.parametrize("added", [ATTACHED, FOOTER, NOTES])
@pytest.mark.parametrize(
    "reply",
    [
        "Content-Type: text/html\r\n\r\n<p>no</p>\r\n",
        "Content-Type: text/plain\r\n\r\nno\r\n",
        f"{ALTERNATIVES}--y\r\nContent-Type: text/plain\r\n\r\nno\r\n--y--\r\n",
    ],
)
def test_what_is_attached_or_added_below_a_reply_is_not_taken_for_it(reply: str, added: str) -> None:
    raw = "From: ana@example.test\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n"
    raw += f"--x\r\n{reply}--x\r\n{added}--x--\r\n"
    assert letter_in(raw.encode(), OWN, "1").words == "no"


def test_html_alone_is_read_without_its_markup_and_quotation() -> None:
    raw = (
        f"From: Ana <Ana@Example.test>\r\nTo: {reply_address(OWN, TAG).upper()}\r\nMessage-ID: <1@x>\r\n"
        "Content-Type: text/html; charset=utf-8\r\n\r\n"
        "<html><head><style>p { color: red }</style></head><body><div>Redis &amp; co</div><p>please</p>"
        "<blockquote>1. Memcached</blockquote><script>x</script></body></html>"
    )
    letter = letter_in(raw.encode(), OWN, "1")
    assert (letter.sender, letter.tag, letter.automatic) == ("ana@example.test", TAG, False)
    assert letter.words == "Redis & co\n\nplease"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00\xff\xfe",
        b"From: \r\nTo: <<>>,,;\r\n\r\nx",
        b"From: a@b@c\r\nSubject: =?nonsense?q?x?=\r\nContent-Type: text/plain; charset=nonsense\r\n\r\n\xff",
        b"From: =?utf-8?b?!!!?= <ana@example.test>\r\nContent-Type: multipart/mixed\r\n\r\nx",
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: multipart/mixed\r\n\r\n",
        b"From: " + b"(" * 5000 + b"\r\n\r\nx",
        b"From: a@b.c\r\nSubject: =?utf-8?b?a?=\r\n\r\nx",
        b"Content-Type: text/plain; charset=idna\r\n\r\n\xff",
        b"Content-Type: text/plain; charset=undefined\r\n\r\nx",
        b"Content-Type: text/plain; charset=punycode\r\n\r\n\xff-\xff",
        b'Content-Type: text/plain; charset="a\x00b"\r\n\r\nx',
        b"Content-Type: text/plain\r\nContent-Disposition: inline; filename*=idna''%ff\r\n\r\nx",
        b"Content-Type: text/html\r\n\r\nyes <![foo",
    ],
)
def test_what_is_hardly_a_letter_does_no_harm(raw: bytes) -> None:
    assert letter_in(raw, OWN, "1").tag is None


def test_a_section_that_no_standard_knows_hides_no_word_around_it() -> None:
    raw = b"From: a@b.c\r\nContent-Type: text/html\r\n\r\nyes<![foo bar]>, Redis"
    assert letter_in(raw, OWN, "1").words == "yes, Redis"


def test_the_same_letter_has_the_same_name_and_another_senders_has_not() -> None:
    raw = "From: {}\r\nTo: x\r\nMessage-ID: <1@x>\r\n\r\n1"
    names = [
        letter_in(raw.format(who).encode(), OWN, uid).name
        for who, uid in (("a@x", "1"), ("a@x", "2"), ("b@x", "1"))
    ]
    assert names[0] == names[1] != names[2]
    bare = [letter_in(b"From: a@x\r\n\r\n1", OWN, uid).name for uid in ("1", "2")]
    assert bare[0] != bare[1]


def test_a_tag_is_read_from_our_own_addresses_alone() -> None:
    address = reply_address(OWN, TAG)
    assert (len(address.partition("@")[0]) <= 64, tag_in(address, OWN)) == (True, TAG)
    for other in (
        "upcall@example.test",
        "eve+x@example.test",
        address.replace("example", "evil"),
        f"{address}x",
        "",
    ):
        assert tag_in(other, OWN) is None
