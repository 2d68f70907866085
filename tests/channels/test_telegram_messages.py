"""What Telegram is sent for each sort of question, as people see it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.channels.fake_telegram import problem_with
from tests.channels.looks import WORDS, seen
from tests.domain.test_degrading import an_inquiry
from upcall.channels.telegram.form_state import FormState, Pressed, button_data, pressed_in
from upcall.channels.telegram.messages import (
    CAPABILITIES,
    QUOTED,
    Content,
    TooLong,
    announcement,
    excerpt,
    line,
    message,
)
from upcall.channels.telegram.reading import Note, understood
from upcall.channels.words import LANGUAGES, sentences
from upcall.domain.channel.degrading import view
from upcall.domain.channel.showing import Given
from upcall.domain.inquiry.inquiry import Answer, Answered, Closing
from upcall.domain.text.display import units

MARKS = {"bold": "**", "pre": "```", "code": "`", "blockquote": "“"}


def drawn(content: Content) -> str:
    """A message with its entities as marks, and a line for each row of buttons."""
    places = [(each.offset, MARKS[each.kind]) for each in content.entities]
    places += [(each.offset + each.length, MARKS[each.kind]) for each in content.entities]
    text = content.text
    for offset, mark in sorted(places, reverse=True):
        text = excerpt(text, 0, offset) + mark + excerpt(text, offset, units(text) - offset)
    return "\n".join([text, *("".join(f"[{button.text}]" for button in row) for row in content.rows)])


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

```Which one?
1. Option 1
2. Option 2
3. Option 3
4. Option 4
5. Option 5
6. Option 6
7. Option 7
8. Option 8
9. Option 9```

Or reply to this message in your own words.
[1][2][3][4][5]
[6][7][8][9]""",
    "long labels": """\
❓ Provide input · claude · shop · a7

```Which one?
1. the one with persistence, replication and everything else
2. none```
[1][2]""",
    "several choices": """\
❓ Provide input · claude · shop · a7

```Which checks?```

Or reply to this message in your own words.
[☐ lint]
[☐ tests]""",
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

**1)**
```Which cache?```

Or reply to this message in your own words.
[Redis]
[Memcached]
[1 / 2]""",
}


@pytest.mark.parametrize("name", LOOKS)
def test_every_sort_of_question_looks_as_it_is_written_down(name: str) -> None:
    assert drawn(message(seen(name, CAPABILITIES), WORDS)) == LOOKS[name]


@pytest.mark.promise("trust/86")
@pytest.mark.parametrize("name", LOOKS)
def test_a_message_that_is_not_on_record_yet_shows_the_question_and_nothing_to_press(name: str) -> None:
    content = announcement(seen(name, CAPABILITIES), WORDS)
    assert content.rows == ()
    assert content.text.endswith(f"\n\n{WORDS['announced']}")
    assert seen(name, CAPABILITIES).questions[0].text in content.text
    assert problem_with(sent(content)) is None


def test_the_second_question_shows_what_was_said_to_the_first() -> None:
    shown = seen("several questions", CAPABILITIES)
    state = FormState.blank(2).with_given(0, Given(words="Valkey, see @docs")).at(1)
    assert drawn(message(shown, WORDS, state)) == (
        "❓ Provide input · claude · shop · a7\n\n**1)**\n```Which cache?```\n“Valkey, see `@docs`“\n\n"
        "**2)**\n```What name?```\n\n"
        "Reply with free text.\n"
        "[← Back][2 / 2]"
    )


def test_once_it_is_over_there_is_nothing_to_press() -> None:
    content = message(seen("a choice", CAPABILITIES, answer="Redis"), WORDS)
    assert content.rows == ()
    assert content.text.endswith("\n\n✓ Answered: Redis — by ana")
    assert "your own words" not in content.text


def test_an_answer_that_is_too_long_to_be_shown_whole_is_cut_and_never_refused() -> None:
    content = message(seen("a choice", CAPABILITIES, answer="💶" * 5000), WORDS)
    assert units(content.text) <= 4096
    assert content.text.startswith("❓ Provide input · claude · shop · a7\n\n")
    assert "✓ Answered: 💶" in content.text


def test_what_does_not_fit_is_refused_while_it_can_be_answered() -> None:
    shown = replace(seen("text", CAPABILITIES), context="x" * 4100)
    with pytest.raises(TooLong):
        message(shown, WORDS)


AGENT = "💶 ask @ana or /stop #now a@b.example and $USD, see https://evil.example or evil.com, call +1 212 555 0123"


@pytest.mark.promise("trust/64")
def test_agent_text_stands_in_code_where_telegram_finds_neither_names_nor_links() -> None:
    question = {"question": AGENT, "header": "evil.com", "options": ["@ana evil.com", "b"], "context": AGENT}
    inquiry = an_inquiry(**question)
    inquiry = replace(inquiry, origin=replace(inquiry.origin, agent="evil.com @ana"))
    content = message(view(inquiry, CAPABILITIES, WORDS), WORDS)
    assert problem_with(sent(content)) is None
    closing = Closing(by="ana", via="web", at=1)
    answered = Answered(closing=closing, answer=Answer(values=((AGENT,),), text=AGENT))
    over = message(view(replace(inquiry, state=answered), CAPABILITIES, WORDS), WORDS)
    assert problem_with(sent(over)) is None
    assert problem_with(sent(line(AGENT))) is None


def test_our_own_address_can_be_followed() -> None:
    cut = replace(seen("text", CAPABILITIES), more="📎 evil.com — https://upcall.example/i/1")
    content = message(cut, WORDS)
    marked = [
        excerpt(content.text, each.offset, each.length) for each in content.entities if each.kind == "code"
    ]
    assert marked == ["evil.com"]


@pytest.mark.promise("trust/57")
@pytest.mark.parametrize("count", [9, 99, 200, 700])
def test_what_is_sent_has_never_more_entities_than_telegram_heeds(count: int) -> None:
    names = "@ana " * count
    shown = replace(seen("several questions", CAPABILITIES), heading=names[:190], progress=names[:190])
    state = FormState.blank(2).with_given(0, Given(words=names[:1900])).at(1)
    content = message(shown, WORDS, state)
    assert problem_with(sent(content)) is None
    # What was said stays a quotation, from which it is read again.
    quoted = [
        excerpt(content.text, each.offset, each.length) for each in content.entities if each.kind == QUOTED
    ]
    assert quoted == [names[:1900]]
    many = replace(shown, questions=shown.questions[1:] * min(count, 150), form=False)
    assert problem_with(sent(message(many, WORDS))) is None


def sent(content: Content) -> dict[str, Any]:
    """A message as it is on the wire."""
    entities = [
        {"type": each.kind, "offset": each.offset, "length": each.length} for each in content.entities
    ]
    rows = [[{"text": each.text, "callback_data": each.data} for each in row] for row in content.rows]
    return {
        "text": content.text,
        "entities": entities,
        "link_preview_options": {"is_disabled": True},
        "reply_markup": {"inline_keyboard": rows},
    }


@given(
    st.lists(st.sets(st.integers(0, 29)), min_size=1, max_size=4),
    st.integers(0, 3),
)
def test_what_a_button_carries_fits_and_comes_back(picks: list[set[int]], step: int) -> None:
    picked = tuple(Given(picks=tuple(sorted(each))) for each in picks)
    state = FormState(step=step if step < len(picked) else None, given=picked)
    inquiry = "0" * 26
    for current in (False, True):
        data = button_data(inquiry, state, current=current)
        assert len(data.encode()) <= 64
        assert pressed_in(data) == Pressed(inquiry=inquiry, state=state, current=current)


@pytest.mark.parametrize("data", ["", "x", "a:b:c", "a:7:1.1", "a:-1:1", "a:0:ü", "a:!:?"])
def test_what_is_not_a_button_of_ours_is_nothing(data: str) -> None:
    assert pressed_in(data) is None


def test_words_that_are_no_longer_there_are_asked_for_again() -> None:
    state = FormState(step=None, given=(Given(picks=(0,)), Given(words="a"), Given(words="b")))
    again = pressed_in(button_data("i", state), ["a"])
    assert again is not None
    assert again.state == FormState(step=2, given=(Given(picks=(0,)), Given(words="a"), Given()))


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_people_are_told_fits_into_a_toast(language: str) -> None:
    words = sentences(language)
    shown = ("unknown_person", "no_question", "unavailable", "too_long", "only_options")
    assert [name for name in shown if units(words[name]) > 200] == []


def test_telegram_says_when_words_were_written() -> None:
    said = {"message_id": 1, "date": 1700000000, "chat": {"id": 7, "type": "private"}, "from": {"id": 7}}
    note = understood({"update_id": 1, "message": said | {"text": "yes"}})
    assert isinstance(note, Note)
    assert note.inbound.at == 1700000000.0
