"""The picker's mind and its keys, without a terminal."""

from typing import Any

import pytest

from upcall.cli.picker.actions import Decline, Entry, Extend, Leave, Look, PickerAction, Read, Send, Undo
from upcall.cli.picker.browsing import HISTORY, RUN, RUNS
from upcall.cli.picker.drawing import HERE, Size, screen
from upcall.cli.picker.help import HELP
from upcall.cli.picker.keys import (
    BACKSPACE,
    CLEAR,
    DOWN,
    ENTER,
    ESCAPE,
    FIND_KEY,
    LEFT,
    PAGE_DOWN,
    RIGHT,
    TAB,
    UP,
    keys,
)
from upcall.cli.picker.picker import Picker
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
        (["2", ENTER], "Memcached"),
        (["2", "1", BACKSPACE, BACKSPACE, UP, UP, ENTER], "Redis"),
        ([DOWN, ENTER], "Memcached"),
        ([DOWN, UP, ENTER], "Redis"),
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
        ([" ", *"docs", ENTER], ["lint", "docs"]),
        (["2", DOWN, DOWN, *"docs", ENTER], ["tests", "docs"]),
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


FORM = (CACHE, CHECKS | {"header": "Checks"}, a_question("Port?"))


@pytest.mark.promise("desk/46")
def test_the_questions_of_a_form_are_tabs_and_a_review_shows_all_answers_before_they_are_sent() -> None:
    inquiry = an_inquiry("a7", *FORM)
    picker = Picker([inquiry])
    assert pressed(picker, ENTER, "2", ENTER) is None
    assert "1 ✓ · [2 Checks] · 3 · review" in shown(picker)
    # A number alone would tick here; at the third question it begins an answer.
    assert pressed(picker, "1", "3", ENTER, *"8080", ENTER) is None
    assert "[review]" in shown(picker)
    assert "1. Which cache?\n   Memcached\n2. Checks\n   lint, types\n3. Port?\n   8080" in shown(picker)
    assert pressed(picker, ENTER) == Send(inquiry, [["Memcached"], ["lint", "types"], ["8080"]])


@pytest.mark.promise("desk/46")
def test_a_number_in_the_review_goes_back_to_that_question() -> None:
    inquiry = an_inquiry("a7", *FORM)
    picker = Picker([inquiry])
    pressed(picker, ENTER, "2", ENTER, "1", ENTER, *"80", ENTER, "1")
    assert "[1 ✓]" in shown(picker)
    # The other two have answers already, so the review comes next.
    assert pressed(picker, "1", ENTER) is None
    assert "[review]" in shown(picker)
    assert pressed(picker, LEFT, *"80", ENTER, ENTER) == Send(inquiry, [["Redis"], ["lint"], ["8080"]])


@pytest.mark.promise("desk/46")
def test_a_form_with_a_gap_is_not_sent_and_opens_at_the_gap() -> None:
    picker = Picker([an_inquiry("a7", *FORM)])
    assert pressed(picker, ENTER, ENTER, RIGHT, *"80", ENTER) is None
    assert "[2 Checks]" in shown(picker)
    assert pressed(picker, RIGHT, RIGHT, "x") is None
    assert "2. Checks\n   (no answer yet)" in shown(picker)
    assert pressed(picker, ENTER) is None
    assert picker.note == "Question 2 has no answer yet."
    assert "[2 Checks]" in shown(picker)


def test_what_is_half_answered_is_there_again_when_the_question_is_opened_again() -> None:
    form, other = an_inquiry("a7", *FORM), an_inquiry("b8", a_question("Name?"))
    approval = an_inquiry("c9", SURE, kind="approval")
    picker = Picker([form, other, approval])
    pressed(picker, ENTER, "2", ENTER, ESCAPE, "j", ENTER, *"Ad", ESCAPE)
    assert pressed(picker, ENTER, "a", ENTER) == Send(other, [["Ada"]])
    pressed(picker, "k", ENTER)
    assert "1 ✓ · [2 Checks]" in shown(picker)
    # An approval is never half decided.
    pressed(picker, ESCAPE, "k", ENTER, "1", ESCAPE, ENTER)
    assert HERE not in shown(picker)


def names(picker: Picker) -> list[str]:
    assert picker.browsing is not None
    return [entry.name for entry in picker.browsing.entries]


def sought(picker: Picker, *presses: str) -> PickerAction | None:
    """Press keys, with what waits and the commands for what is looked up."""
    deed = None
    for key in presses:
        deed = picker.press(key)
        if isinstance(deed, Look) and picker.browsing is not None:
            picker.browsing.take(picker.found(deed.words))
    return deed


@pytest.mark.promise("desk/46")
def test_ctrl_k_finds_a_question_or_a_command_also_while_an_answer_is_being_written() -> None:
    one, two = an_inquiry("a7", a_question("Name?")), an_inquiry("b8", a_question("Which port?"))
    picker = Picker([one, two])
    sought(picker, ENTER, *"Ad", FIND_KEY)
    assert names(picker)[:2] == ["id-a7", "id-b8"]
    assert "g r      go to runs" in shown(picker)
    sought(picker, *"PORT")
    assert names(picker) == ["id-b8"]
    assert "Find: PORT" in shown(picker)
    sought(picker, ENTER)
    assert picker.choosing is not None
    assert picker.choosing.inquiry is two
    # What was being written is kept.
    sought(picker, FIND_KEY, *"name", ENTER)
    assert pressed(picker, "a", ENTER) == Send(one, [["Ada"]])


@pytest.mark.promise("desk/46")
def test_commands_that_are_found_do_what_their_keys_do() -> None:
    inquiry = an_inquiry("a7", CACHE)
    picker = Picker([inquiry])
    assert sought(picker, FIND_KEY, *"leave", ENTER) == Leave()
    assert sought(picker, FIND_KEY, *"24 h", ENTER) == Extend(inquiry)
    assert sought(picker, FIND_KEY, *"reject", ENTER, *"no", ENTER) == Decline(inquiry, "no")
    sought(picker, FIND_KEY, *"the keys", ENTER)
    assert "Ctrl-K" in shown(picker)
    assert sought(picker, ESCAPE, FIND_KEY, *"go to runs", ENTER) == Look(RUNS)
    # What answers is not found: a person looks at the question first.
    sought(picker, FIND_KEY, *"recommended")
    assert names(picker) == []
    assert "Nothing was found." in shown(picker)
    # In the list behind it nothing was opened or decided.
    assert pressed(picker, ENTER, ESCAPE) is None
    assert (picker.browsing, picker.choosing) == (None, None)


@pytest.mark.promise("desk/46")
def test_g_goes_to_runs_and_to_the_history_and_their_rows_can_be_read() -> None:
    picker = Picker([an_inquiry("a7", CACHE)])
    assert pressed(picker, "g") is None
    assert shown(picker).endswith("i inbox · r runs · h history · Esc back")
    assert pressed(picker, "x") is None
    assert "Nothing is there" in shown(picker)
    assert pressed(picker, "g", "r") == Look(RUNS)
    assert "Nothing is here yet." in shown(picker)
    assert picker.browsing is not None
    runs = [Entry(RUN, "2", "#2 codex: ✓ Upgrade"), Entry(RUN, "1", "#1 claude: \x1b[2JPort")]
    picker.browsing.take(runs)
    assert f"{HERE} #2 codex" in shown(picker)
    assert "\x1b" not in shown(picker)
    assert pressed(picker, "j", ENTER) == Read(runs[1])
    picker.browsing.read([f"line {number}" for number in range(40)])
    assert "line 0\n" in shown(picker)
    pressed(picker, PAGE_DOWN)
    assert "line 39" in shown(picker)
    assert pressed(picker, ESCAPE, "g", "h") == Look(HISTORY)
    assert pressed(picker, "g", "i") is None
    assert "WAITING FOR INPUT (1)" in shown(picker)
    # In a question the letter begins an answer; behind Tab it goes.
    assert pressed(picker, ENTER, *"gr", ESCAPE, ESCAPE, ENTER, TAB, "g", "r") == Look(RUNS)
    assert pressed(picker, "q") == Leave()


def test_the_keys_are_shown_also_from_a_question_and_every_line_of_them_can_be_read() -> None:
    picker = Picker([an_inquiry("a7", CACHE)])
    pressed(picker, ENTER, TAB, "?")
    seen = ""
    for _ in range(5):
        seen += shown(picker)
        pressed(picker, PAGE_DOWN)
    assert all(line in seen for line in HELP.splitlines())
    pressed(picker, ESCAPE)
    assert "Which cache?" in shown(picker)


@pytest.mark.promise("trust/6")
def test_a_question_that_closes_behind_the_finder_keeps_what_was_written() -> None:
    one, two = an_inquiry("a7", a_question("Name?")), an_inquiry("b8", CACHE)
    picker = Picker([one, two])
    sought(picker, ENTER, *"Ad", FIND_KEY, "w")
    picker.refresh([two])
    assert "Not sent:\nAd" in shown(picker)
    for key in [*"hich", ENTER, "1", ENTER]:
        assert picker.press(key) is None


def test_where_only_the_choices_count_words_are_not_taken() -> None:
    picker = Picker([an_inquiry("a7", a_question("Sure?", "Approve", "Deny", custom=False), kind="approval")])
    assert pressed(picker, ENTER, "x") is None
    assert picker.note.startswith("Only these options")
    assert "Other" not in shown(picker)


def test_tab_r_rejects_with_a_reason_and_escape_thinks_better_of_it() -> None:
    one, two = an_inquiry("a7"), an_inquiry("b8", CACHE)
    picker = Picker([one, two])
    assert pressed(picker, TAB, "r", "n", ESCAPE, DOWN, TAB, "r", *"not now", ENTER) == Decline(
        two, "not now"
    )
    assert pressed(picker, ENTER, TAB, "r", ENTER) == Decline(two, "")


@pytest.mark.promise("trust/88")
@pytest.mark.parametrize(
    "words", ["redis", "quick", "always", "yes", "jq", "kafka", "/tmp", "?", "3 replicas", "12", "2nd"]
)
def test_no_word_that_answers_a_question_is_a_shortcut(words: str) -> None:
    # Where several can be chosen, digits alone tick.
    for question in (CACHE,) if words == "12" else (CACHE, CHECKS):
        inquiry = an_inquiry(
            "a7", question | {"options": [*question["options"], {"label": "x", "description": ""}]}
        )
        assert pressed(Picker([inquiry]), ENTER, *words, ENTER) == Send(inquiry, [[words]])


@pytest.mark.promise("trust/88")
@pytest.mark.parametrize("words", ["redis", "really?", "always", "yes", "every one", "/etc"])
def test_words_typed_where_none_are_taken_decide_nothing(words: str) -> None:
    action = {"remember": ["exact", "prefix"], "prefix": "git push"}
    approval = an_inquiry("a7", SURE, kind="approval", action=action)
    picker = Picker([approval])
    for begun in ([], [ENTER]):
        pressed(picker, *begun)
        shown(picker)
        for key in words:
            assert picker.press(key) is None
        assert picker.declining is None
        assert picker.choosing is None or picker.choosing.remember == ""
        pressed(picker, ESCAPE)


@pytest.mark.promise("trust/88")
def test_tab_shows_the_actions_and_takes_one_letter() -> None:
    best = CACHE | {
        "options": [*CACHE["options"], {"label": "Valkey", "description": "", "recommended": True}]
    }
    inquiry = an_inquiry("a7", best)
    picker = Picker([inquiry])
    pressed(picker, TAB)
    assert shown(picker).endswith("r reject · e 24 h more · Esc back")
    assert pressed(picker, "x") is None
    assert "No action has that key" in shown(picker)
    assert pressed(picker, ESCAPE, ENTER, TAB, "e") == Extend(inquiry)
    pressed(picker, *"Va", TAB)
    assert "y recommended" in shown(picker)
    assert pressed(picker, "y") == Send(inquiry, [["Valkey"]], quick=True)


@pytest.mark.promise("desk/1")
def test_what_was_decided_with_one_key_is_undone_behind_tab_as_long_as_that_can_be() -> None:
    clock = [0.0]
    decided, other = an_inquiry("a7"), an_inquiry("b8")
    picker = Picker([other], lambda: clock[0])
    picker.hold(decided, 4)
    # A word that begins with that letter undoes nothing.
    assert pressed(picker, "u") is None
    assert pressed(picker, TAB, "u") == Undo(decided)
    picker.hold(decided, 4)
    # While the list has just changed, that is the only action: the others would be for a question that moved.
    picker.refresh([other, an_inquiry("c9")])
    pressed(picker, TAB)
    assert shown(picker).endswith("u undo #a7 · Esc back")
    assert pressed(picker, "r", ESCAPE) is None
    assert picker.declining is None
    picker.refresh([])
    assert shown(picker).startswith("Nothing is waiting.")
    pressed(picker, TAB)
    assert shown(picker).endswith("u undo #a7 · Esc back")
    assert pressed(picker, "r") is None
    clock[0] += 4
    assert pressed(picker, "u") is None
    assert pressed(picker, ESCAPE, TAB) is None
    assert "undo" not in shown(picker)


@pytest.mark.promise("trust/88")
def test_an_action_that_was_begun_acts_on_no_question_that_came_since() -> None:
    one, two = an_inquiry("a7"), an_inquiry("b8")
    picker = Picker([one, two])
    pressed(picker, TAB)
    picker.refresh([two])
    assert pressed(picker, "r", "e", ENTER) is None
    assert picker.declining is None


def test_a_search_narrows_the_list_and_escape_shows_all_again() -> None:
    one, two = an_inquiry("a7", a_question("Which cache?")), an_inquiry("b8", a_question("Which port?"))
    picker = Picker([one, two])
    pressed(picker, "/", *"POR")
    assert "WAITING FOR INPUT (1 of 2)" in shown(picker)
    assert "cache" not in shown(picker)
    # The first Enter ends the search and opens nothing.
    pressed(picker, "t", ENTER)
    assert picker.choosing is None
    pressed(picker, ENTER)
    assert picker.choosing is not None
    assert picker.choosing.inquiry is two
    pressed(picker, ESCAPE, ESCAPE)
    assert "cache" in shown(picker)
    assert "Nothing of the 2 that wait was found." in (pressed(picker, "/", "x"), shown(picker))[1]
    pressed(picker, ESCAPE, "?")
    assert "Tab, then a letter" in shown(picker)


def test_leaving_goes_back_to_the_list_first() -> None:
    picker = Picker([an_inquiry("a7", CACHE)])
    assert pressed(picker, ENTER, ESCAPE) is None
    assert pressed(picker, ESCAPE) == Leave()
    assert pressed(picker, "q") == Leave()


def test_the_cursor_stays_on_its_question_when_others_come_and_go() -> None:
    one, two, three = an_inquiry("a7"), an_inquiry("b8"), an_inquiry("c9")
    picker = Picker([one, two, three])
    pressed(picker, DOWN)
    picker.refresh([two, three])
    assert picker.inquiries[picker.cursor] is two
    picker.refresh([])
    assert pressed(picker, ENTER, DOWN, TAB, "r") is None
    assert "Nothing is waiting." in shown(picker)


def test_words_that_are_being_typed_survive_news() -> None:
    one = an_inquiry("a7", a_question("Name?"))
    picker = Picker([one])
    pressed(picker, ENTER, *"Ad")
    picker.refresh([one, an_inquiry("b8")])
    assert pressed(picker, "a", ENTER) == Send(one, [["Ada"]])


@pytest.mark.promise("trust/6")
@pytest.mark.parametrize("begun", [[ENTER], [TAB, "r"], [ENTER, TAB, "r"]])
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
    for key in (TAB, "r", ENTER, "1", ENTER):
        assert picker.press(key) is None
        assert (picker.choosing, picker.declining) == (None, None)
    assert HERE not in shown(picker)
    assert pressed(picker, "j", TAB, "r", ENTER) == Decline(one, "")


def test_after_ones_own_answer_the_next_question_is_at_hand() -> None:
    clock = [0.0]
    one, two, three = an_inquiry("a7", CACHE), an_inquiry("b8", CACHE), an_inquiry("c9", CACHE)
    picker = Picker([one, two, three], lambda: clock[0])
    assert pressed(picker, ENTER, "2", ENTER) == Send(one, [["Memcached"]])
    picker.refresh([two, three], done="id-a7")
    assert pressed(picker, ENTER, "2", ENTER) == Send(two, [["Memcached"]])


@pytest.mark.promise("trust/4")
@pytest.mark.parametrize("key", [ENTER, TAB])
def test_for_800_ms_after_others_changed_the_list_no_key_opens_or_acts(key: str) -> None:
    clock = [0.0]
    one = an_inquiry("a7")
    picker = Picker([one], lambda: clock[0])
    picker.refresh([one, an_inquiry("b8")])
    clock[0] = 0.79
    pressed(picker, key)
    assert (picker.choosing, picker.acting) == (None, False)
    assert "changed just now" in shown(picker)
    clock[0] = 0.8
    pressed(picker, key)
    assert (picker.choosing, picker.acting) != (None, False)


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
    assert pressed(picker, ENTER, "1", ENTER) is None
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
        assert pressed(picker, "1", ENTER) is None
        assert "PgDn" in picker.note
        picker.press(PAGE_DOWN)
    assert pressed(picker, "1", ENTER) == Send(approval, [["Approve"]])
    # A no needs no reading.
    assert pressed(Picker([approval]), ENTER, "2", ENTER) == Send(approval, [["Deny"]])


@pytest.mark.parametrize(
    ("data", "names", "rest"),
    [
        (b"aj\r", ["a", "j", ENTER], b""),
        (b"\x1b[A\x1bOB", [UP, DOWN], b""),
        (b"\x1b", [ESCAPE], b""),
        (b"\x1b[", [], b"\x1b["),
        (b"\x1b[1;5C", [], b""),
        (b"\x0b\x1b[C\x1bOD", [FIND_KEY, RIGHT, LEFT], b""),
        ("é漢🙂".encode(), ["é", "漢", "🙂"], b""),
        ("漢".encode()[:2], [], "漢".encode()[:2]),
        (b"\x1b[200~two\r\nlines\x1b[201~x", ["two\nlines", "x"], b""),
        (b"\x1b[200~half", [], b"\x1b[200~half"),
        (b"\x1b[200~\x1b[31mred\x1b[201~", ["[31mred"], b""),
        (b"\x01\x7f\x15\t", [BACKSPACE, CLEAR, TAB], b""),
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
    for key in (
        DOWN,
        "/",
        "a",
        ENTER,
        ENTER,
        PAGE_DOWN,
        PAGE_DOWN,
        "x",
        ESCAPE,
        TAB,
        "r",
        ESCAPE,
        ESCAPE,
        "?",
        ESCAPE,
        FIND_KEY,
        DOWN,
        ESCAPE,
        "g",
        "h",
    ):
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
    pressed(picker, TAB, "a", "a", ESCAPE)
    assert "Approve is remembered for everything that begins with git push" in shown(picker)
    deed = pressed(picker, "1", ENTER)
    assert isinstance(deed, Send)
    assert (deed.answers, deed.remember) == ([["Approve"]], "prefix")
    for rules, number in ("aaa", "1"), ("a", "2"):
        pressed(picker, ENTER)
        shown(picker)
        sent = pressed(picker, TAB, *rules, ESCAPE, number, ENTER)
        assert isinstance(sent, Send)
        assert sent.remember == ""


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
