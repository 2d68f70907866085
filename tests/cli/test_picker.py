"""The picker's mind and its keys, without a terminal."""

from typing import Any

import pytest

from upcall.cli.picker.drawing import HERE, Size, screen
from upcall.cli.picker.keys import (
    BACKSPACE,
    CLEAR,
    DOWN,
    ENTER,
    ESCAPE,
    PAGE_DOWN,
    UP,
    keys,
)
from upcall.cli.picker.picker import Decline, Leave, Picker, PickerAction, Send
from upcall.cli.render.terminal import Paint

NOW = 1_900_000_000.0
PLAIN = Paint(on=False)
SCREEN = Size(80, 24)


def a_question(
    text: str = "Which?", *labels: str, multi: bool = False, custom: bool = True
) -> dict[str, Any]:
    options = [{"label": label, "description": ""} for label in labels]
    return {"header": "", "question": text, "options": options, "multiSelect": multi, "custom": custom}


def an_inquiry(ref: str, *questions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": f"id-{ref}",
        "ref": ref,
        "kind": "ask_user_question",
        "agent": "local",
        "context": "",
        "attachments": [],
        "secret": False,
        "asked_at": "2030-03-17T17:00:00.000Z",
        "questions": list(questions) or [a_question()],
        **fields,
    }


def pressed(picker: Picker, *presses: str) -> PickerAction | None:
    deed = None
    for key in presses:
        deed = picker.press(key)
    return deed


def shown(picker: Picker, size: Size = SCREEN) -> str:
    return "\n".join(screen(picker, NOW, size, PLAIN))


CACHE = a_question("Which cache?", "Redis", "Memcached")
CHECKS = a_question("Which checks?", "lint", "tests", "types", multi=True)


@pytest.mark.parametrize(
    ("presses", "answer"),
    [
        ([ENTER], "Redis"),
        (["2"], "Memcached"),
        ([DOWN, ENTER], "Memcached"),
        (["j", ENTER], "Memcached"),
        (["j", "k", ENTER], "Redis"),
        ([UP, *"Valkey", ENTER], "Valkey"),
        ([*"Valkey", ENTER], "Valkey"),
        ([*"Va3", BACKSPACE, "l", ENTER], "Val"),
        (["V", CLEAR, *"jq", ENTER], "jq"),
        (["V", ESCAPE, ENTER], "Redis"),
        (["a\nb <up>", ENTER], "a\nb <up>"),
    ],
)
def test_one_question_is_answered_by_number_arrow_or_words(presses: list[str], answer: str) -> None:
    inquiry = an_inquiry("a7", CACHE)
    assert pressed(Picker([inquiry]), ENTER, *presses) == Send(inquiry, [[answer]])


@pytest.mark.parametrize(
    ("presses", "answer"),
    [
        ([" ", ENTER], ["lint"]),
        (["3", "1", ENTER], ["lint", "types"]),
        ([" ", " ", DOWN, " ", ENTER], ["tests"]),
        (["2", *"docs", ENTER], ["tests", "docs"]),
    ],
)
def test_several_choices_are_toggled_and_sent_in_order(presses: list[str], answer: list[str]) -> None:
    inquiry = an_inquiry("a7", CHECKS)
    assert pressed(Picker([inquiry]), ENTER, *presses) == Send(inquiry, [answer])


def test_nothing_chosen_is_not_sent() -> None:
    picker = Picker([an_inquiry("a7", CHECKS)])
    assert pressed(picker, ENTER, ENTER) is None
    assert picker.note == "Choose with space first."


def test_an_empty_text_is_not_sent() -> None:
    picker = Picker([an_inquiry("a7", a_question("Name?"))])
    assert pressed(picker, ENTER, " ", ENTER) is None
    assert picker.note == "Type an answer first."


def test_several_questions_are_asked_one_after_the_other() -> None:
    inquiry = an_inquiry("a7", CACHE, CHECKS, a_question("Port?"))
    picker = Picker([inquiry])
    assert pressed(picker, ENTER, "2") is None
    assert "question 2 of 3" in shown(picker)
    assert pressed(picker, "1", ENTER, *"8080", ENTER) == Send(inquiry, [["Memcached"], ["lint"], ["8080"]])


def test_where_only_the_choices_count_words_are_not_taken() -> None:
    picker = Picker([an_inquiry("a7", a_question("Sure?", "Approve", "Deny", custom=False), kind="approval")])
    assert pressed(picker, ENTER, "x") is None
    assert picker.note.startswith("Only these options")
    assert "Other" not in shown(picker)


def test_r_rejects_with_a_reason_and_escape_thinks_better_of_it() -> None:
    one, two = an_inquiry("a7"), an_inquiry("b8", CACHE)
    picker = Picker([one, two])
    assert pressed(picker, "r", "n", ESCAPE, DOWN, "r", *"not now", ENTER) == Decline(two, "not now")
    assert pressed(picker, ENTER, "r", ENTER) == Decline(two, "")


@pytest.mark.parametrize("key", ["q", ESCAPE])
def test_leaving_goes_back_to_the_list_first(key: str) -> None:
    picker = Picker([an_inquiry("a7", CACHE)])
    assert pressed(picker, ENTER, key) is None
    assert pressed(picker, key) == Leave()


def test_the_cursor_stays_on_its_question_when_others_come_and_go() -> None:
    one, two, three = an_inquiry("a7"), an_inquiry("b8"), an_inquiry("c9")
    picker = Picker([one, two, three])
    pressed(picker, DOWN)
    picker.refresh([two, three])
    assert picker.inquiries[picker.cursor] is two
    picker.refresh([])
    assert pressed(picker, ENTER, DOWN, "r") is None
    assert "Nothing is waiting." in shown(picker)


def test_words_that_are_being_typed_survive_news() -> None:
    one = an_inquiry("a7", a_question("Name?"))
    picker = Picker([one])
    pressed(picker, ENTER, *"Ad")
    picker.refresh([one, an_inquiry("b8")])
    assert pressed(picker, "a", ENTER) == Send(one, [["Ada"]])


@pytest.mark.promise("trust/6")
@pytest.mark.parametrize("begun", [[ENTER], ["r"], [ENTER, "r"]])
def test_letters_typed_into_a_question_that_closed_act_on_no_other(begun: list[str]) -> None:
    one, two = an_inquiry("a7", CACHE), an_inquiry("b8", CACHE)
    picker = Picker([one, two])
    pressed(picker, *begun, *"use ")
    picker.refresh([two])
    for key in [*"the first runner1jq", ENTER, UP, ENTER]:
        assert picker.press(key) is None
    lines = shown(picker)
    assert "#a7 was settled meanwhile." in lines
    assert "Not sent:\nuse" in lines
    assert "Esc back to the list" in lines
    assert pressed(picker, ESCAPE) is None
    assert (picker.closed, picker.choosing, picker.declining) == (None, None, None)


def test_a_secret_that_was_being_typed_is_not_shown_when_its_question_closes() -> None:
    picker = Picker([an_inquiry("a7", a_question("Key?"), secret=True)])
    pressed(picker, ENTER, *"hunter2")
    picker.refresh([])
    assert "hunter2" not in shown(picker)


@pytest.mark.promise("trust/6")
def test_a_cursor_that_lost_its_question_is_on_no_other_until_it_is_moved() -> None:
    clock = [0.0]
    one, two, three = an_inquiry("a7"), an_inquiry("b8"), an_inquiry("c9")
    picker = Picker([one, two, three], lambda: clock[0])
    pressed(picker, DOWN)
    picker.refresh([one, three])
    clock[0] = 60.0
    for key in ("r", ENTER, "1", ENTER):
        assert picker.press(key) is None
        assert (picker.choosing, picker.declining) == (None, None)
    assert HERE not in shown(picker)
    assert pressed(picker, "j", "r", ENTER) == Decline(one, "")


def test_after_ones_own_answer_the_next_question_is_at_hand() -> None:
    clock = [0.0]
    one, two, three = an_inquiry("a7", CACHE), an_inquiry("b8", CACHE), an_inquiry("c9", CACHE)
    picker = Picker([one, two, three], lambda: clock[0])
    assert pressed(picker, ENTER, "2") == Send(one, [["Memcached"]])
    picker.refresh([two, three], done="id-a7")
    assert pressed(picker, ENTER, "2") == Send(two, [["Memcached"]])


@pytest.mark.promise("trust/4")
@pytest.mark.parametrize("key", [ENTER, "r"])
def test_for_800_ms_after_others_changed_the_list_no_key_opens_or_rejects(key: str) -> None:
    clock = [0.0]
    one = an_inquiry("a7")
    picker = Picker([one], lambda: clock[0])
    picker.refresh([one, an_inquiry("b8")])
    clock[0] = 0.79
    pressed(picker, key)
    assert (picker.choosing, picker.declining) == (None, None)
    assert "changed just now" in shown(picker)
    clock[0] = 0.8
    pressed(picker, key)
    assert (picker.choosing, picker.declining) != (None, None)


SURE = a_question("terraform apply", "Approve", "Deny", custom=False)


@pytest.mark.promise("trust/7")
def test_the_cursor_of_an_approval_starts_on_neither_choice() -> None:
    approval = an_inquiry("a7", SURE, kind="approval")
    for moves, answer in (([DOWN], "Approve"), (["j"], "Approve"), ([UP], "Deny"), (["k"], "Deny")):
        picker = Picker([approval])
        pressed(picker, ENTER)
        assert HERE not in shown(picker)
        assert pressed(picker, ENTER, ENTER) is None
        assert picker.note.startswith("Choose first")
        assert pressed(picker, *moves, ENTER) == Send(approval, [[answer]])


@pytest.mark.promise("trust/5")
def test_an_approval_that_was_never_on_the_screen_is_not_approved() -> None:
    approval = an_inquiry("a7", SURE, kind="approval")
    picker = Picker([approval])
    assert pressed(picker, ENTER, "1") is None
    assert pressed(picker, DOWN, ENTER) is None
    shown(picker)
    assert pressed(picker, ENTER) == Send(approval, [["Approve"]])


@pytest.mark.promise("trust/8")
def test_approve_is_possible_only_after_the_end_of_the_action_was_shown() -> None:
    steps = "\n".join(f"step {number}" for number in range(50))
    approval = an_inquiry("a7", SURE | {"question": steps}, kind="approval")
    small = Size(80, 24)
    picker = Picker([approval])
    pressed(picker, ENTER)
    while "step 49" not in shown(picker, small):
        assert pressed(picker, "1") is None
        assert "PgDn" in picker.note
        picker.press(PAGE_DOWN)
    assert pressed(picker, "1") == Send(approval, [["Approve"]])
    # A no needs no reading.
    assert pressed(Picker([approval]), ENTER, "2") == Send(approval, [["Deny"]])


@pytest.mark.parametrize(
    ("data", "names", "rest"),
    [
        (b"aj\r", ["a", "j", ENTER], b""),
        (b"\x1b[A\x1bOB", [UP, DOWN], b""),
        (b"\x1b", [ESCAPE], b""),
        (b"\x1b[", [], b"\x1b["),
        (b"\x1b[1;5C", [], b""),
        ("é漢🙂".encode(), ["é", "漢", "🙂"], b""),
        ("漢".encode()[:2], [], "漢".encode()[:2]),
        (b"\x1b[200~two\r\nlines\x1b[201~x", ["two\nlines", "x"], b""),
        (b"\x1b[200~half", [], b"\x1b[200~half"),
        (b"\x1b[200~\x1b[31mred\x1b[201~", ["[31mred"], b""),
        (b"\x01\x7f\x15", [BACKSPACE, CLEAR], b""),
        (b"\xff", ["\N{REPLACEMENT CHARACTER}"], b""),
    ],
)
def test_bytes_become_keys(data: bytes, names: list[str], rest: bytes) -> None:
    assert keys(data) == (names, rest)


@pytest.mark.parametrize("columns", [20, 40, 80])
@pytest.mark.parametrize("rows", [8, 24])
def test_the_screen_never_outgrows_the_terminal(columns: int, rows: int) -> None:
    words = "日本語 and English words " * 30
    inquiry = an_inquiry(
        "a7", a_question(words, *[f"option {n} {words}"[:75] for n in range(4)]), context=words
    )
    picker = Picker([inquiry] * 30)
    for key in (DOWN, ENTER, PAGE_DOWN, PAGE_DOWN, "x", ESCAPE, "r"):
        lines = screen(picker, NOW, Size(columns, rows), PLAIN)
        assert len(lines) <= rows
        assert max(map(len, lines)) <= columns
        picker.press(key)


def test_an_approval_is_remembered_by_the_rule_that_was_chosen() -> None:
    action = {"remember": ["exact", "prefix"], "prefix": "git push"}
    sure = a_question("Sure?", "Approve", "Deny", custom=False)
    picker = Picker([an_inquiry("a7", sure, kind="approval", action=action)])
    pressed(picker, ENTER)
    assert "Approve counts for this time only." in shown(picker)
    pressed(picker, "a", "a")
    assert "Approve is remembered for everything that begins with git push" in shown(picker)
    deed = pressed(picker, "1")
    assert isinstance(deed, Send)
    assert (deed.answers, deed.remember) == ([["Approve"]], "prefix")
    for presses, remembered in ((("a", "a", "a", "1"), ""), (("a", "2"), "")):
        pressed(picker, ENTER)
        shown(picker)
        sent = pressed(picker, *presses)
        assert isinstance(sent, Send)
        assert sent.remember == remembered


def test_every_line_of_a_long_approval_can_be_scrolled_to() -> None:
    text = "\n".join(f"step {number}" for number in range(50))
    approve = a_question(text, "Approve", "Deny", custom=False)
    picker = Picker([an_inquiry("a7", approve, kind="approval")])
    pressed(picker, ENTER)
    seen = ""
    for _ in range(20):
        seen += shown(picker, Size(80, 12)) + "\n"
        picker.press(PAGE_DOWN)
    assert all(f"step {number}\n" in seen for number in range(50))
    assert "the end" in shown(picker, Size(80, 12))


def test_what_an_agent_wrote_cannot_move_the_cursor() -> None:
    picker = Picker([an_inquiry("a7", a_question("\x1b[2Jgone?\u202e", "\x1b[31mred"), agent="\x07bell")])
    everything = shown(picker)
    pressed(picker, ENTER)
    everything += shown(picker)
    assert not {"\x1b", "\x07", "\u202e"} & set(everything)


def test_a_secret_is_not_readable_while_it_is_typed() -> None:
    picker = Picker([an_inquiry("a7", a_question("Key?"), secret=True)])
    pressed(picker, ENTER, *"hunter2")
    assert "hunter2" not in shown(picker)
