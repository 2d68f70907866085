"""A question with a schema in the terminal: what each field takes, defaults, what may be left out, and answers that do not fit."""

from typing import Any

import pytest

from tests.browser.test_typed import SCHEMA
from tests.cli.conftest import Program
from tests.cli.test_picker import a_question, an_inquiry, pressed, shown
from tests.cli.test_terminal import Terminal, home
from upcall.cli.client import ASKER, Client
from upcall.cli.picker.actions import Send
from upcall.cli.picker.keys import BACKSPACE, DOWN, ENTER, RIGHT
from upcall.cli.picker.picker import Picker
from upcall.cli.render.fields import expected
from upcall.home.files import Home

__all__ = ["home"]


def a_field(
    text: str, *labels: str, required: bool = False, default: str = "", **schema: Any
) -> dict[str, Any]:
    field = {
        "required": required,
        "default": [default] if default else [],
        "schema": {"type": "string", **schema},
    }
    return a_question(text, *labels, custom=not labels) | {"field": field}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, "a whole number from 1 to 9"),
        ({"type": "number", "minimum": 0}, "a number at least 0"),
        (
            {"type": "string", "format": "date", "maxLength": 10},
            "a date such as 2030-01-31; at most 10 characters",
        ),
        ({"type": "boolean"}, ""),
    ],
)
def test_a_field_says_what_it_takes(schema: dict[str, Any], said: str) -> None:
    assert expected(a_field("Port?", required=True, **schema)) == said
    assert expected(a_field("Port?", default="8080")) == "8080 if left out"
    assert expected(a_field("Port?")) == "can be left out"
    assert expected(a_question("Port?")) == ""


@pytest.mark.promise("raised/26")
def test_a_form_begins_with_its_defaults_and_what_may_be_left_out_is() -> None:
    form = an_inquiry(
        "a7",
        a_field("Port?", default="8080"),
        a_field("Where?", "here", "there"),
        a_field("Sure?", "Yes", "No", required=True),
        a_field("Note?"),
    )
    picker = Picker([form])
    pressed(picker, ENTER, ENTER)
    assert "8080 if left out" not in shown(picker)
    # Chosen, and left out after all.
    pressed(picker, DOWN, BACKSPACE, ENTER, RIGHT, ENTER, RIGHT, RIGHT)
    assert "(left out)" in shown(picker)
    assert pressed(picker, ENTER) is None
    assert "Sure?" in shown(picker)
    assert pressed(picker, "1", ENTER, ENTER) == Send(form, [["8080"], [], ["Yes"], []])


@pytest.mark.promise("raised/38")
def test_the_preview_of_the_option_under_the_cursor_is_shown() -> None:
    question = a_question("Layout?", "Tabs", "Page")
    question["options"][1]["preview"] = "General\n  [name]"
    picker = Picker([an_inquiry("a7", question)])
    pressed(picker, ENTER)
    assert "│" not in shown(picker)
    pressed(picker, DOWN)
    assert "Page:\n│ General\n│   [name]" in shown(picker)


@pytest.mark.promise("raised/30")
def test_on_a_terminal_an_answer_that_does_not_fit_comes_back_with_all_that_was_typed(home: Program) -> None:
    agent = Client(ASKER, Home(home.home))
    ref = agent.post("/v1/inquiries", {"question": "How do we deploy?", "response_schema": SCHEMA})["ref"]
    agent.hang_up()
    with Terminal(home, "answer", ref) as terminal:
        terminal.until("2. production")
        terminal.type("2\r")
        terminal.until("a whole number from 1 to 9; 2 if left out")
        # After the default, this is 22.
        terminal.type("2\r")
        terminal.until("Tell the team")
        terminal.type("2\r\r\r")
        terminal.until("(left out)")
        terminal.type("\r")
        terminal.until("at most 9")
        # The review is back; a number leads to that field.
        terminal.type("2")
        terminal.until("22")
        terminal.type("\x7f\r\r")
        terminal.until(f"Answered {ref}")
        terminal.type("q")
        assert terminal.end() == 0
    content = {"env": "production", "replicas": 2, "notify": False}
    assert home.json("show", ref)["answer"]["content"] == content
