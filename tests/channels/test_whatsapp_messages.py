"""What WhatsApp is sent for each sort of question, as people see it."""

from dataclasses import replace

import pytest

from tests.channels.fake_whatsapp import outside, problem_with, read
from tests.channels.looks import WORDS, seen
from tests.domain.test_degrading import an_inquiry
from upcall.channels.whatsapp.messages import CAPABILITIES, Body, Unshowable, message, pick, said
from upcall.channels.words import LANGUAGES, sentences
from upcall.domain.channel.degrading import view


def drawn(sent: Body) -> str:
    """A message with a line for each button or row."""
    if sent["type"] == "text":
        return str(sent["text"]["body"])
    interactive = sent["interactive"]
    action = interactive["action"]
    buttons = [f"[{each['reply']['title']}]" for each in action.get("buttons", [])]
    rows = [
        f"({row['title']}{' | ' + row['description'] if 'description' in row else ''})"
        for section in action.get("sections", [])
        for row in section["rows"]
    ]
    opener = [f"[{action['button']}]"] if "button" in action else []
    return "\n".join([interactive["body"]["text"], *buttons, *opener, *rows])


LOOKS = {
    "a choice": """\
❓ Provide input · claude · shop · a7

```[Cache] Which cache?
1. Redis — has pub/sub
2. Memcached```

Or reply to this message in your own words.
[Redis]
[Memcached]""",
    "many options": """\
❓ Provide input · claude · shop · a7

```Which one?```

Or reply to this message in your own words.
[Answer]
(Option 1)
(Option 2)
(Option 3)
(Option 4)
(Option 5)
(Option 6)
(Option 7)
(Option 8)
(Option 9)""",
    "long labels": """\
❓ Provide input · claude · shop · a7

```Which one?
1. the one with persistence, replication and everything else
2. none```
[1]
[2]""",
    "several choices": """\
❓ Provide input · claude · shop · a7

```Which checks?
1. lint
2. tests```

Reply with one or more numbers or option texts, separated by commas, or free text.""",
    "an approval": """\
❓ Approval needed · claude · shop · a7

```rm -rf build
make @all```

```Run it?```
[Approve]
[Deny]""",
    "text": """\
❓ Provide input · claude · shop · a7

```for the new service```

```What name?```

Reply with free text.""",
    "several questions": """\
❓ Provide input · claude · shop · a7

```1) Which cache?
1. Redis
2. Memcached```

```2) What name?```

Reply with one line per question: 1) … 2) …""",
}


@pytest.mark.parametrize("name", LOOKS)
def test_every_sort_of_question_looks_as_it_is_written_down(name: str) -> None:
    sent = message(seen(name, CAPABILITIES), WORDS)
    assert drawn(sent) == LOOKS[name]
    assert problem_with(sent) is None


@pytest.mark.promise("trust/55")
@pytest.mark.parametrize("ticks", range(12))
def test_an_approved_command_is_read_to_the_letter(ticks: int) -> None:
    command = f"{'`' * ticks}rm *.o _x_ ~y~ {'`' * ticks} *b*\n  > q\n- l{'`' * ticks}"
    for fields in (
        {"question": command},
        {"question": "Run?", "context": command},
        {"question": f"  {command}  "},
    ):
        inquiry = an_inquiry(kind="approval", **fields)
        sent = message(view(inquiry, CAPABILITIES, WORDS), WORDS)
        assert problem_with(sent) is None
        text = sent["interactive"]["body"]["text"]
        assert command in read(text)
        assert "rm" not in outside(text)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(Unshowable, match="too long for a message with buttons"):
        message(replace(seen("a choice", CAPABILITIES), more="x" * 1000), WORDS)
    with pytest.raises(Unshowable, match="too long for one message"):
        message(replace(seen("text", CAPABILITIES), more="x" * 4090), WORDS)
    assert len(said("x" * 5000)["text"]["body"]) == 4096


@pytest.mark.parametrize("reply", ["", "a", "a:", ":1", "a:x", "a:-1", "a:²"])
def test_what_is_not_a_button_of_ours_is_nothing(reply: str) -> None:
    assert pick(reply) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_stands_on_a_control_fits_there(language: str) -> None:
    words = sentences(language)
    assert all(0 < len(words[name]) <= 20 for name in ("approve", "deny", "answer"))
