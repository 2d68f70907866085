"""What led to an inquiry: which steps count, how long it may be, and what is masked."""

import pytest

from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.activity import Activity, Call, ToolUse, Words, activity, asks_now
from upcall.testing.examples import an_inquiry, answering

ASK = Call(tool="mcp__upcall__ask_human", input={"question": "Which?"})


def test_the_last_words_and_the_last_three_calls_count_and_the_question_itself_does_not() -> None:
    calls = [Call(tool=f"tool{number}", input={"a": number, "b": "x"}) for number in range(5)]
    made = activity([Words(text="first"), *calls, Words(text="last"), Words(text=" "), ASK])
    assert made.message == "last"
    assert [call.tool for call in made.calls] == ["tool2", "tool3", "tool4"]
    assert made.calls[0].input == "a: 2, b: x"


def test_the_action_that_waits_for_its_approval_is_not_what_led_to_it() -> None:
    steps = [Call(tool="Bash", input={"command": "ls"}), Call(tool="Bash", input={"command": "rm -rf build"})]
    assert activity(steps, action="Bash").calls == (ToolUse(tool="Bash", input="ls"),)


@pytest.mark.promise("desk/8")
def test_secrets_are_masked_everywhere() -> None:
    secret = "password=hunter2secret"
    made = activity(
        [Words(text=secret), Call(tool="Bash", input={"command": secret})], task=secret, branch=secret
    )
    assert "hunter2secret" not in repr(made)


def test_what_is_kept_is_short_and_harmless() -> None:
    hostile = "\x1b[2J\u202e" + "word " * 100_000
    made = activity([Words(text=hostile), *[Call(tool=hostile, input={hostile: hostile})] * 9], task=hostile)
    assert len(repr(made)) < 5000
    assert not {"\x1b", "\u202e"} & set(repr(made))


def test_the_call_that_asks_is_recognised_by_its_words() -> None:
    assert asks_now([Words(text="x"), ASK], "Which?")
    assert not asks_now([ASK], "Another?")
    assert not asks_now([ASK, Words(text="x")], "Which?")
    assert not asks_now([], "Which?")
    assert asks_now([Call(tool="Bash", input={})], "ls", "Bash")


def test_it_is_added_once_and_only_while_the_inquiry_is_open() -> None:
    inquiry = an_inquiry()
    change = lifecycle.observe(inquiry, Activity(task="one"), 1.0)
    assert change is not None
    assert lifecycle.observe(change.inquiry, Activity(task="two"), 2.0) is None
    closed = answering()(inquiry)
    assert closed is not None
    assert lifecycle.observe(closed.inquiry, Activity(task="one"), 3.0) is None
