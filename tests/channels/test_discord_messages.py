"""What a question looks like in Discord, to the letter."""

from typing import Any

import pytest

from tests.channels.discord_limits import problem_with, problem_with_form, read
from tests.domain.test_degrading import an_inquiry
from upcall.channels.discord import messages, reading
from upcall.channels.words import sentences
from upcall.domain.channel.degrading import view
from upcall.domain.channel.showing import Given, View

WORDS = sentences("en")


def shown(**fields: Any) -> View:
    return view(an_inquiry(**fields), messages.CAPABILITIES, WORDS, "http://x/i/i1")


def controls(seen: View) -> list[str]:
    """What can be pressed, a row to a line."""
    rows = messages.message(seen, WORDS)["components"]
    return [
        " ".join(
            f"[{each.get('label') or len(each['options'])}]({each['custom_id']})"
            for each in row["components"]
        )
        for row in rows
    ]


HEAD = r"**❓ Provide input · bot · shop · \#4 · a7**"
HINT = rf"-# {messages.escape(WORDS['hint.other'])}"


@pytest.mark.parametrize(
    ("fields", "text", "pressable"),
    [
        (
            {
                "header": "Cache",
                "question": "Which cache?",
                "context": "Two fit, @everyone: ```see``` **this**",
                "options": [{"label": "Redis", "description": "has pub/sub"}, "Memcached"],
            },
            f"""\
{HEAD}
```
Two fit, @everyone: `\u200b`\u200b`see`\u200b`\u200b` **this**
```
```
[Cache] Which cache?
1. Redis — has pub/sub
2. Memcached
```
{HINT}""",
            ["[Redis](pick:i1:0) [Memcached](pick:i1:1) [Or in your own words](own:i1)"],
        ),
        (
            {"kind": "approval", "question": "Deploy?", "context": "rm -rf build\u202e"},
            f"""\
{HEAD.replace("Provide input", "Approval needed")}
```
rm -rf build\\u202e
```
```
Deploy?
```""",
            ["[Approve](pick:i1:0) [Deny](pick:i1:1)"],
        ),
        (
            {"options": [f"o{number}" for number in range(7)], "custom": False},
            f"{HEAD}\n```\nWhich?\n```",
            [
                "[o0](pick:i1:0) [o1](pick:i1:1) [o2](pick:i1:2) [o3](pick:i1:3) [o4](pick:i1:4)",
                "[o5](pick:i1:5) [o6](pick:i1:6)",
            ],
        ),
        (
            {"options": [f"o{number}" for number in range(9)]},
            f"{HEAD}\n```\nWhich?\n```\n{HINT}",
            ["[9](list:i1)", "[Or in your own words](own:i1)"],
        ),
        (
            {"options": ["lint", "tests"], "multiSelect": True},
            f"{HEAD}\n```\nWhich?\n```\n{HINT}",
            ["[Answer](form:i1)"],
        ),
        (
            {"kind": "text"},
            f"{HEAD}\n```\nWhich?\n```\n-# {messages.escape(WORDS['hint.reply'])}",
            ["[Answer](form:i1)"],
        ),
        (
            {"questions": [{"question": "One?", "options": ["a", "b"]}, {"question": "Two?"}]},
            f"{HEAD}\n```\n1) One?\n```\n```\n2) Two?\n```",
            ["[Answer](form:i1)"],
        ),
    ],
)
def test_every_kind_of_question_as_text_that_is_not_parsed_and_controls(
    fields: dict[str, Any], text: str, pressable: list[str]
) -> None:
    seen = shown(**fields)
    assert messages.content(seen) == text
    assert controls(seen) == pressable
    assert problem_with(messages.message(seen, WORDS)) is None


@pytest.mark.promise("trust/55")
@pytest.mark.parametrize("count", range(1, 12))
def test_no_backticks_of_an_action_leave_its_fence(count: int) -> None:
    action = f"echo {'`' * count}\n@everyone <https://evil.example|x> **now**\n{'`' * count}"
    seen = shown(kind="approval", question=f"Run {'`' * count}?", context=action)
    sent = messages.message(seen, WORDS)
    assert problem_with(sent) is None
    assert action in read(sent["content"])
    assert sent["content"].count("```") == 4


def test_options_of_which_a_form_shows_only_the_beginning_are_listed_whole_in_the_message() -> None:
    begin = "🌍" * 60
    questions = [{"question": "Where?", "options": [f"{begin}A", f"{begin}B"]}, {"question": "What name?"}]
    seen = shown(questions=questions)
    content = read(messages.content(seen))
    assert f"1. {begin}A\n2. {begin}B" in content
    (field, _, _) = messages.form(seen, WORDS)["components"]
    assert [option["label"] for option in field["component"]["options"]] == ["1", "2"]
    assert problem_with(messages.message(seen, WORDS)) is None


@pytest.mark.parametrize(
    ("count", "fields"),
    [
        (1, ["0:select:3", "w0:text"]),
        (2, ["0:select:3", "w0:text", "1:select:3", "w1:text"]),
        (3, ["0:select:3", "1:select:3", "2:select:3"]),
        (4, ["0:select:3", "1:select:3", "2:select:3", "3:select:3"]),
    ],
)
def test_a_form_has_a_list_for_each_question_and_words_of_ones_own_where_they_fit(
    count: int, fields: list[str]
) -> None:
    questions = [
        {"question": f"Which of them, {number}" + "x" * 60, "options": ["a", "b", "c"], "multiSelect": True}
        for number in range(count)
    ]
    form = messages.form(shown(questions=questions), WORDS)
    kinds = {3: "select", 4: "text"}
    made = [each["component"] for each in form["components"]]
    said = [
        f"{each['custom_id']}:{kinds[each['type']]}" + (f":{each['max_values']}" if "options" in each else "")
        for each in made
    ]
    assert said == fields
    assert problem_with_form(form) is None


def test_a_field_that_may_be_left_out_can_be_left_out_and_begins_with_its_default() -> None:
    properties = {
        "name": {"type": "string"},
        "note": {"type": "string"},
        "port": {"type": "integer", "default": 8080},
        "days": {"type": "array", "items": {"enum": ["Mon", "Tue", "Wed"]}, "default": ["Tue", "Wed"]},
    }
    schema = {"type": "object", "properties": properties, "required": ["name"]}
    form = messages.form(shown(response_schema=schema), WORDS)
    name, note, port, days = [each["component"] for each in form["components"]]
    assert [each["required"] for each in (name, note, port, days)] == [True, False, False, False]
    assert [each.get("value") for each in (name, note, port)] == [None, None, "8080"]
    assert [option["label"] for option in days["options"] if option.get("default")] == ["Tue", "Wed"]
    assert problem_with_form(form) is None


@pytest.mark.promise("raised/26")
def test_a_typed_form_has_its_defaults_and_what_can_be_left_out_is_not_required() -> None:
    properties = {
        "port": {"type": "integer", "default": 8080},
        "debug": {"type": "boolean"},
        "size": {"enum": ["S", "L"], "default": "L"},
        "note": {"type": "string"},
    }
    seen = shown(response_schema={"properties": properties, "required": ["debug"]})
    form = messages.form(seen, WORDS)
    port, debug, size, note = (each["component"] for each in form["components"])
    assert [each["required"] for each in (port, debug, size, note)] == [False, True, False, False]
    assert (port["value"], "value" in note) == ("8080", False)
    assert [option.get("default") for option in size["options"]] == [None, True]
    assert size["min_values"] == 0
    assert problem_with_form(form) is None
    assert "port (a whole number; 8080 if left out)" in messages.content(seen)


def test_what_is_sent_back_is_read_and_what_makes_no_sense_is_not() -> None:
    fields = [
        {"type": 18, "component": {"custom_id": "0", "values": ["1", "x"]}},
        {"type": 1, "components": [{"custom_id": "w1", "value": "words"}]},
    ]
    sent = reading.submitted({"custom_id": "send:i1:2", "components": fields})
    assert sent == reading.Pressed(inquiry="i1", given=(Given(picks=(1,)), Given(words="words")))
    assert reading.submitted({"custom_id": "other:i1:2"}) is None
    assert reading.submitted({"custom_id": "send:i1:x"}) is None
    assert reading.pressed({"custom_id": "pick:i1:x"}) is None
    assert reading.pressed({"custom_id": "another bot's"}) is None
    assert reading.pressed({"custom_id": "list:i1", "values": ["4"]}) == reading.Pressed(
        inquiry="i1", given=(Given(picks=(4,)),)
    )


@pytest.mark.parametrize("language", ["en", "zh-CN", "es", "de", "fr", "ja"])
def test_what_stands_on_a_control_fits_there(language: str) -> None:
    words = sentences(language)
    assert all(len(words[name]) <= 80 for name in ("approve", "deny", "answer", "own_words"))
    assert len(words["own_words"]) <= 45


def test_a_form_with_more_fields_than_discord_has_is_none_of_ours() -> None:
    assert reading.submitted({"custom_id": "send:i1:99999999999"}) is None
