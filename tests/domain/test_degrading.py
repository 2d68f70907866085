"""What a channel shows with what it has: the table of degradations, one line each."""

from dataclasses import replace
from typing import Any

import pytest

from upcall.channels.slack.blocks import CAPABILITIES as SLACK, form
from upcall.channels.telegram.messages import CAPABILITIES as TELEGRAM
from upcall.channels.whatsapp.messages import CAPABILITIES as WHATSAPP
from upcall.channels.words import sentences
from upcall.domain.channel.degrading import TooLong, view
from upcall.domain.channel.showing import Capabilities, Control, View
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.field_rules import RULES
from upcall.domain.inquiry.inquiry import Answer, Answered, Closing, Inquiry, Origin

WORDS = sentences("en")
PLAIN = Capabilities()
THREE_BUTTONS = Capabilities(buttons=3)
LONG = "x" * 75


def shown(can: Capabilities, link: str = "", **fields: Any) -> View:
    return view(an_inquiry(**fields), can, WORDS, link)


def an_inquiry(**fields: Any) -> Inquiry:
    asked = draft(fields if "questions" in fields else {"question": "Which?", **fields})
    origin = Origin(agent="bot", session="s", door="test", workspace="shop", run=4)
    return Inquiry(
        id="i1",
        ref="a7",
        kind=asked.kind,
        questions=asked.questions,
        context=asked.context,
        origin=origin,
        asked_at=0,
        expires_at=1,
    )


def options(count: int) -> list[str]:
    return [f"o{number}" for number in range(count)]


@pytest.mark.promise("spec/74")
@pytest.mark.parametrize(
    ("can", "fields", "control", "labels"),
    [
        (SLACK, {"options": options(2)}, Control.BUTTONS, "o0 o1"),
        (SLACK, {"options": options(5)}, Control.BUTTONS, "o0 o1 o2 o3 o4"),
        (SLACK, {"options": options(6)}, Control.RADIO, "o0 o1 o2 o3 o4 o5"),
        (SLACK, {"options": [LONG, "no"]}, Control.RADIO, f"{LONG} no"),
        (SLACK, {"options": options(3), "multiSelect": True}, Control.CHECKBOXES, "o0 o1 o2"),
        (SLACK, {"kind": "approval"}, Control.BUTTONS, "Approve Deny"),
        (SLACK, {"kind": "text"}, Control.INPUT, ""),
        (TELEGRAM, {"options": options(8)}, Control.BUTTONS, " ".join(options(8))),
        (TELEGRAM, {"options": options(9)}, Control.SELECT, " ".join(options(9))),
        (TELEGRAM, {"options": [LONG, "no"]}, Control.BUTTONS, "1 2"),
        (TELEGRAM, {"options": options(8), "multiSelect": True}, Control.CHECKBOXES, " ".join(options(8))),
        (TELEGRAM, {"kind": "approval"}, Control.BUTTONS, "Approve Deny"),
        (TELEGRAM, {"kind": "text"}, Control.WORDS, ""),
        (WHATSAPP, {"options": options(3)}, Control.BUTTONS, "o0 o1 o2"),
        (WHATSAPP, {"options": options(4)}, Control.SELECT, "o0 o1 o2 o3"),
        (WHATSAPP, {"options": [LONG, "no"]}, Control.BUTTONS, "1 2"),
        (WHATSAPP, {"options": options(2), "multiSelect": True}, Control.WORDS, "1 2"),
        (WHATSAPP, {"options": options(2), "context": "x" * 900}, Control.WORDS, "1 2 3"),
        (WHATSAPP, {"kind": "approval", "context": "x" * 900}, Control.WORDS, "1 2"),
        (THREE_BUTTONS, {"options": options(3)}, Control.BUTTONS, "o0 o1 o2"),
        (THREE_BUTTONS, {"options": options(4)}, Control.WORDS, "1 2 3 4 5"),
        (THREE_BUTTONS, {"options": [LONG, "no"]}, Control.BUTTONS, "1 2"),
        (THREE_BUTTONS, {"options": options(2), "multiSelect": True}, Control.WORDS, "1 2"),
        (THREE_BUTTONS, {"kind": "text"}, Control.WORDS, ""),
        (PLAIN, {"options": options(2)}, Control.WORDS, "1 2 3"),
        (PLAIN, {"options": options(2), "custom": False}, Control.WORDS, "1 2"),
        (PLAIN, {"kind": "approval"}, Control.WORDS, "1 2"),
    ],
)
def test_each_question_gets_the_best_that_the_channel_has(
    can: Capabilities, fields: dict[str, Any], control: Control, labels: str
) -> None:
    (question,) = shown(can, **fields).questions
    assert question.control is control
    assert " ".join(choice.label for choice in question.choices) == labels
    assert question.numbered == labels.startswith("1 2")


@pytest.mark.parametrize(
    ("can", "fields", "hint"),
    [
        (SLACK, {"options": options(2)}, "Or reply to this message in your own words."),
        (SLACK, {"options": options(2), "custom": False}, ""),
        (SLACK, {"kind": "approval"}, ""),
        (SLACK, {"kind": "text"}, "You can also reply to this message."),
        (PLAIN, {"kind": "approval"}, "Reply yes (1) to approve or no (2) to deny."),
        (PLAIN, {"kind": "text"}, "Reply with free text."),
        (PLAIN, {"options": options(2)}, "Reply with a number, the option text, or free text."),
        (
            PLAIN,
            {"questions": [{"question": "a"}, {"question": "b"}]},
            "Reply with one line per question: 1) … 2) …",
        ),
    ],
)
def test_people_are_told_what_else_they_can_do(can: Capabilities, fields: dict[str, Any], hint: str) -> None:
    assert shown(can, **fields).hint == hint


@pytest.mark.promise("pynchy/53")
def test_several_questions_are_a_form_where_there_are_forms() -> None:
    questions = [{"question": f"q{number}", "options": ["a", "b"]} for number in range(4)]
    assert shown(SLACK, questions=questions).form
    assert shown(TELEGRAM, questions=questions).form
    assert {each.control for each in shown(SLACK, questions=questions).questions} == {Control.RADIO}
    for can in (PLAIN, WHATSAPP):
        assert not shown(can, questions=questions).form
        assert {each.control for each in shown(can, questions=questions).questions} == {Control.WORDS}


@pytest.mark.promise("raised/39")
def test_agent_folder_and_branch_head_a_message() -> None:
    origin = Origin(
        agent="local",
        session="s",
        door="mcp-pipe",
        client="codex",
        workspace="/srv/shop",
        branch="feature/cache",
    )
    heading = view(replace(an_inquiry(), origin=origin), SLACK, WORDS).heading
    assert "codex in shop · /srv/shop · feature/cache" in heading


def test_who_asks_is_said_and_hidden_characters_are_not_shown() -> None:
    seen = shown(SLACK, question="evil\u202e\x1b[31m", options=["a\u200bb", "c"])
    assert seen.heading == "❓ Provide input · bot · shop · #4 · a7"
    assert seen.questions[0].text == "evil"
    assert seen.questions[0].choices[0].label == "ab"


@pytest.mark.promise("trust/64")
def test_a_long_text_is_cut_in_the_middle_with_a_link_to_the_whole_outside_of_it() -> None:
    context = "begin " + "line\n" * 3000 + " end"
    seen = shown(SLACK, "http://x/i/i1", context=context, options=options(2))
    assert len(seen.context) < SLACK.body
    assert seen.context.startswith("begin")
    assert seen.context.endswith("end")
    assert "http://x/i/i1" not in seen.context
    assert seen.more == WORDS["cut.link"].format(link="http://x/i/i1")


def test_an_approval_is_shown_whole_or_not_at_all_until_it_is_over() -> None:
    long = an_inquiry(kind="approval", context="x" * 16_000)
    with pytest.raises(TooLong):
        view(long, SLACK, WORDS)
    closing = Closing(by="ana", via="web", at=1)
    over = Inquiry(
        id=long.id,
        ref=long.ref,
        kind=long.kind,
        questions=long.questions,
        context=long.context,
        origin=long.origin,
        asked_at=0,
        expires_at=1,
        state=Answered(closing=closing, answer=Answer(values=(("Deny",),), text="no")),
    )
    assert view(over, SLACK, WORDS).outcome == "✓ Answered: Deny — by ana"


def test_what_cannot_be_shown_is_named_with_where_to_see_it() -> None:
    seen = shown(
        SLACK,
        "http://x/i/i1",
        options=[{"label": "Redis", "preview": "maxmemory 1gb"}, "Memcached"],
    )
    assert seen.more == "📎 Redis — http://x/i/i1"
    assert shown(SLACK, "http://x/i/i1", options=["Redis"]).more == ""


@pytest.mark.promise("trust/80")
def test_a_session_of_ones_own_is_named_after_its_client_and_its_folder_in_channels() -> None:
    origin = Origin(
        agent="local", session="s", door="mcp-pipe", workspace="/home/ana/shop", client="claude-code"
    )
    heading = view(replace(an_inquiry(), origin=origin), SLACK, WORDS).heading
    assert "claude-code in shop" in heading
    assert "local" not in heading


FORM = {
    "properties": {
        "port": {"type": "integer", "default": 8080},
        "debug": {"type": "boolean"},
        "note": {"type": "string"},
    },
    "required": ["debug"],
}


@pytest.mark.promise("raised/29")
def test_a_typed_form_is_numbered_lines_where_a_channel_has_only_text() -> None:
    made = shown(PLAIN, response_schema=FORM)
    assert made.context == "Which?"
    assert [asked.text for asked in made.questions] == [
        "port (a whole number; 8080 if left out)",
        "debug",
        "note (can be left out)",
    ]
    assert [choice.full for choice in made.questions[1].choices] == ["Yes", "No"]
    assert made.hint == "Reply with one line per field: 1) … 2) … 3) … — leave out what has no answer."


RULED = {
    "properties": {
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        "share": {"type": "number", "minimum": 0.5},
        "name": {"type": "string", "minLength": 2, "maxLength": 9, "default": "shop"},
        "code": {"type": "string", "minLength": 4, "maxLength": 4},
        "mark": {"type": "string", "minLength": 1, "maxLength": 1},
        "words": {"type": "string", "minLength": 1},
        "mail": {"type": "string", "format": "email"},
        "page": {"type": "string", "format": "uri", "maxLength": 80},
        "day": {"type": "string", "format": "date"},
        "moment": {"type": "string", "format": "date-time"},
        "checks": {"type": "array", "items": {"enum": ["lint", "tests", "types"]}, "minItems": 2},
        "size": {"type": "integer", "enum": [1, 2]},
    },
    "required": ["port", "share", "code", "mark", "words", "mail", "day", "moment", "checks", "size"],
}


@pytest.mark.promise("raised/47")
def test_what_a_field_takes_is_said_before_a_person_answers() -> None:
    assert [asked.text for asked in shown(PLAIN, response_schema=RULED).questions] == [
        "port (a whole number from 1 to 65535)",
        "share (a number at least 0.5)",
        "name (from 2 to 9 characters; shop if left out)",
        "code (exactly 4 characters)",
        "mark (exactly 1 character)",
        "words",
        "mail (an e-mail address)",
        "page (an address such as https://example.org; at most 80 characters; can be left out)",
        "day (a date such as 2030-01-31)",
        "moment (a moment with its offset, such as 2030-01-31T09:00:00Z)",
        "checks (at least 2 of the choices)",
        "size",
    ]


@pytest.mark.promise("raised/47")
@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "de",
            [
                "port (eine ganze Zahl, von 1 bis 65535)",
                "name (von 2 bis 9 Zeichen; shop, wenn es wegbleibt)",
            ],
        ),
        ("es", ["port (un número entero, de 1 a 65535)", "name (de 2 a 9 caracteres; shop si se omite)"]),
        ("fr", ["port (un nombre entier, de 1 à 65535)", "name (de 2 à 9 caractères ; shop si omis)"]),
    ],
)
def test_what_a_field_takes_is_said_in_the_language_of_the_channel(language: str, texts: list[str]) -> None:
    made = view(an_inquiry(response_schema=RULED), PLAIN, sentences(language))
    assert [made.questions[index].text for index in (0, 2)] == texts


@pytest.mark.promise("raised/47")
def test_the_english_of_the_channels_and_of_the_terminal_is_the_same() -> None:
    assert {name: WORDS[name] for name in RULES} == RULES


@pytest.mark.promise("raised/29")
def test_a_typed_form_is_drawn_with_defaults_and_optional_inputs_in_slack() -> None:
    modal = form(shown(SLACK, response_schema=FORM), "C1 1", WORDS)
    inputs = [block for block in modal["blocks"] if block["type"] == "input"]
    assert [block.get("optional", False) for block in inputs] == [True, False, True]
    assert inputs[0]["element"]["initial_value"] == "8080"
    assert inputs[1]["element"]["type"] == "radio_buttons"
