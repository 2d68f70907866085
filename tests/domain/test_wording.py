"""What people and models read, and that nothing in it can move, hide or imitate."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.inquiry import (
    Answer,
    Answered,
    Attachment,
    Cancelled,
    Closing,
    Expired,
    Failed,
    Inquiry,
    Kind,
    Option,
    Origin,
    Question,
    Rejected,
    State,
)
from upcall.domain.inquiry.wording import (
    answer_text,
    choices,
    duration,
    one_line,
    prompt_text,
    resolution_text,
    visible,
)
from upcall.domain.text.display import escaped
from upcall.domain.text.times import span

STAGING = Option(label="staging", description="push to staging.example.com")
PRODUCTION = Option(label="production", description="push to www.example.com")
TARGET = Question(text="What's the deployment target?", options=(STAGING, PRODUCTION))
BY_ANA = Closing(by="Ana", via="web", at=5.0)
BY_POLICY = Closing(by="policy", via="default", at=5.0, reason="ttl")


def an_inquiry(*questions: Question, kind: Kind = Kind.CHOICE, context: str = "") -> Inquiry:
    return Inquiry(
        id="01j",
        ref="a7",
        kind=kind,
        questions=questions or (TARGET,),
        origin=Origin(agent="bot", session="s", door="http"),
        asked_at=0.0,
        expires_at=9.0,
        context=context,
    )


def answered(*values: tuple[str, ...], closing: Closing = BY_ANA) -> Answered:
    return Answered(closing=closing, answer=Answer(values=values, text="1"))


def test_a_choice_is_worded_exactly_as_the_seed_shows_it() -> None:
    assert prompt_text(an_inquiry()) == (
        "❓ Provide input:\n"
        "What's the deployment target?\n"
        "  1. staging — push to staging.example.com\n"
        "  2. production — push to www.example.com\n"
        "Reply with a number, the option text, or free text."
    )


@pytest.mark.parametrize(
    ("question", "hint"),
    (
        (replace(TARGET, custom=False), "Reply with a number or the option text."),
        (
            replace(TARGET, multi=True, custom=False),
            "one or more numbers or option texts, separated by commas.",
        ),
        (replace(TARGET, multi=True), "separated by commas, or free text."),
        (replace(TARGET, options=()), "Reply with free text."),
    ),
)
def test_the_last_line_says_what_can_be_replied(question: Question, hint: str) -> None:
    assert prompt_text(an_inquiry(question)).splitlines()[-1].endswith(hint)


def test_several_questions_are_numbered_the_way_they_are_answered() -> None:
    cache = Question(text="Which cache?", options=(Option(label="Redis"), Option(label="Memcached")))
    assert prompt_text(an_inquiry(cache, Question(text="Which name?"))) == (
        "❓ Provide input:\n"
        "1) Which cache?\n"
        "  1. Redis\n"
        "  2. Memcached\n"
        "2) Which name?\n"
        "Reply with one line per question: 1) … 2) …"
    )


def test_an_approval_numbers_approve_before_deny_in_every_case() -> None:
    question = Question(text="Delete the branch?", options=(Option(label="Deny"), Option(label="Approve")))
    assert prompt_text(an_inquiry(question, kind=Kind.APPROVAL)) == (
        "❓ Approval needed:\n"
        "Delete the branch?\n"
        "  1. Approve\n"
        "  2. Deny\n"
        "Reply yes (1) to approve or no (2) to deny."
    )


def test_what_is_to_be_approved_shows_odd_characters_instead_of_leaving_them_out() -> None:
    question = Question(text="Run rm -rf \u202etmp\u200b\x1b[8m?")
    shown = prompt_text(an_inquiry(question, kind=Kind.APPROVAL, context="cat\r\x00"))
    assert r"Run rm -rf \u202etmp\u200b\x1b[8m?" in shown
    assert r"cat\x0d\x00" in shown


def test_context_header_recommendation_preview_and_attachments_are_shown() -> None:
    redis = Option(label="Redis", recommended=True, preview="GET a\nSET a")
    other = Option(label="Other (recommended)", recommended=True)
    question = Question(text="Which?", header="Cache", options=(redis, other))
    file = Attachment(name="plan.diff", media_type="text/plain", size=1, digest="0")
    inquiry = replace(an_inquiry(question, context="Both are available.\n"), attachments=(file,))
    assert prompt_text(inquiry) == (
        "❓ Provide input:\n"
        "Both are available.\n"
        "\n"
        "[Cache] Which?\n"
        "  1. Redis (recommended)\n"
        "     │ GET a\n"
        "     │ SET a\n"
        "  2. Other (recommended)\n"
        "Attached: plan.diff\n"
        "Reply with a number, the option text, or free text."
    )


def test_a_description_cannot_pretend_to_be_another_option() -> None:
    trick = Option(label="yes\n  2. no", description="a\n  3. maybe")
    assert prompt_text(an_inquiry(Question(text="?", options=(trick,)))).splitlines()[2:-1] == [
        "  1. yes 2. no — a 3. maybe"
    ]


def test_choices_are_one_numbered_line() -> None:
    assert choices(TARGET) == "1. staging, 2. production"


@pytest.mark.parametrize(
    ("state", "text"),
    (
        (answered(("staging",)), "✓ Answered: staging — by Ana"),
        (answered(("lint", "docs"), ("eu",)), "✓ Answered: lint, docs; eu — by Ana"),
        (answered(("two\nlines\x1b[2J",)), "✓ Answered: two lines — by Ana"),
        (answered(("staging",), closing=BY_POLICY), "✓ Answered: staging — by policy"),
        (Rejected(closing=BY_ANA), "✗ Declined — by Ana"),
        (Rejected(closing=replace(BY_ANA, reason="not mine")), "✗ Declined — by Ana: not mine"),
        (Cancelled(closing=replace(BY_ANA, by="bot", reason="turn over")), "✗ Cancelled — by bot: turn over"),
        (Expired(closing=BY_POLICY), "✗ Expired: no answer came in time"),
        (Failed(closing=replace(BY_POLICY, reason="no route")), "✗ Failed: no route"),
        (Failed(closing=replace(BY_POLICY, reason=None)), "✗ Failed"),
    ),
)
def test_an_ending_is_one_line(state: State, text: str) -> None:
    assert resolution_text(replace(an_inquiry(), state=state)) == text


def test_an_ending_can_leave_out_who_it_was() -> None:
    assert (
        resolution_text(replace(an_inquiry(), state=answered(("staging",))), by=False)
        == "✓ Answered: staging"
    )


def test_an_open_inquiry_is_waiting() -> None:
    assert resolution_text(an_inquiry()) == "… Waiting for an answer"


def test_a_secret_answer_is_told_to_the_model_only() -> None:
    inquiry = replace(an_inquiry(), secret=True, state=answered(("hunter2",)))
    assert resolution_text(inquiry) == "✓ Answered — by Ana"
    assert answer_text(inquiry) == "The user answered: hunter2"


def test_the_model_is_told_the_answer_as_given() -> None:
    assert answer_text(replace(an_inquiry(), state=answered(("Redis",)))) == "The user answered: Redis"
    assert answer_text(replace(an_inquiry(), state=answered(("a", "b")))) == "The user answered: a, b"
    assert answer_text(replace(an_inquiry(), state=answered(("a\nb",)))) == "The user answered: a\nb"


def test_the_model_is_told_several_answers_line_by_line() -> None:
    inquiry = an_inquiry(Question(text="Which\ncache?"), Question(text="Why?"))
    given = answered(("Redis",), ("fast\nWhich cache? → None",))
    assert answer_text(replace(inquiry, state=given)) == (
        "Which cache? → Redis\nWhy? → fast\n    Which cache? → None"
    )


def test_the_model_is_told_when_a_policy_answered_instead_of_a_person() -> None:
    by_policy = answered(("Deny",), closing=BY_POLICY)
    assert answer_text(replace(an_inquiry(), state=by_policy)) == (
        "No answer came in time; by policy the answer is: Deny"
    )
    both = replace(an_inquiry(TARGET, TARGET), state=answered(("a",), ("a",), closing=BY_POLICY))
    assert answer_text(both).splitlines()[0] == "No answer came in time; by policy the answers are:"


def test_without_an_answer_the_model_is_told_how_it_ended() -> None:
    assert answer_text(replace(an_inquiry(), state=Expired(closing=BY_POLICY))).startswith("✗ Expired")


@pytest.mark.parametrize(
    ("seconds", "text"),
    (
        (0, "0s"),
        (-5, "0s"),
        (math.nan, "0s"),
        (59.9, "59s"),
        (60, "1 min"),
        (12 * 60 + 5, "12 min"),
        (3600, "1h"),
        (2 * 3600 + 1, "2h"),
        (47 * 3600, "47h"),
        (3 * 86400, "3d"),
    ),
)
def test_a_length_of_time_is_rough_and_short(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.promise("spec/166")
@pytest.mark.parametrize(
    ("value", "seconds"),
    (
        ("90s", 90),
        ("10m", 600),
        ("24h", 86400),
        ("2d", 172800),
        ("45", 45),
        (" 1.5h ", 5400),
        (0.5, 0.5),
        (30, 30),
    ),
)
def test_a_duration_is_a_number_of_seconds_or_has_a_unit(value: str | float, seconds: float) -> None:
    assert duration(value) == seconds


@pytest.mark.parametrize(
    "value",
    (
        *(
            "",
            "soon",
            "-1s",
            "0",
            "0s",
            "1w",
            "1h30m",
            "1e3",
            "²s",
            "inf",
            "nan",
            "366d",
            "9" * 5000,
            "s",
            "1 000",
        ),
        *(0, -1, math.inf, -math.inf, math.nan, 400 * 86400, 10**400, True),
    ),
    ids=lambda value: repr(value)[:12],
)
def test_anything_else_is_no_duration(value: str | float) -> None:
    with pytest.raises(InvalidRequest) as caught:
        duration(value)
    assert "10m" in (caught.value.hint or "")
    assert len(caught.value.message) < 100


@pytest.mark.promise("spec/137")
@pytest.mark.parametrize(
    ("text", "shown"),
    (
        ("plain", "plain"),
        ("tab\tand\nnewline", "tab\tand\nnewline"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]never ends", "never ends"),
        ("\x1bPstring\x1b\\text", "text"),
        ("a\x1b", "a"),
        ("bell\x07 null\x00 delete\x7f", "bell null delete"),
        ("\u202eevil\u202c \u2066x\u2069 \u200fy", "evil x y"),
        ("zero\u200bwidth\u2060\ufeff", "zerowidth"),
        ("pay\u200dpal", "paypal"),
        ("a\u200c\u200db", "ab"),
        ("\u0645\u06cc\u200c\u062e\u0648", "\u0645\u06cc\u200c\u062e\u0648"),
        ("👩\u200d💻 ❤\ufe0f\u200d🔥", "👩\u200d💻 ❤\ufe0f\u200d🔥"),
        ("👩\u200d\u200d💻", "👩💻"),
        ("hidden\U000e0041\U000e0042", "hidden"),
        ("half\ud800", "half\N{REPLACEMENT CHARACTER}"),
        ("line\u2028end", "line\nend"),
        ("日本語 é ß", "日本語 é ß"),
    ),
)
def test_only_what_can_be_seen_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


fragments = st.lists(
    st.text(max_size=4)
    | st.sampled_from(["\x1b", "[", "]", "\x9b", "\x07", "\u200d", "\u200c", "\u202e", "é", "👩", "\r"]),
    max_size=12,
).map("".join)


@given(fragments)
def test_what_is_visible_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    assert not set(shown) & {"\x1b", "\x9b", "\x00", "\r", "\u202e", "\u200b", "\ufeff"}
    shown.encode()


@given(fragments)
def test_what_is_escaped_has_nothing_left_to_hide(text: str) -> None:
    assert escaped(escaped(text)) == escaped(text)
    assert visible(escaped(text)) == escaped(text)


@pytest.mark.parametrize(
    ("text", "width", "line"),
    (
        ("short", 10, "short"),
        ("exactly", 7, "exactly"),
        ("too long by far", 8, "too lon…"),
        ("cut at space", 5, "cut…"),
        ("two\n  lines", 20, "two lines"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\N{COMBINING ACUTE ACCENT}" * 5, 5, "e\N{COMBINING ACUTE ACCENT}" * 5),
        ("ab", 1, "…"),
        ("ab", 0, ""),
        ("\u200b" * 9999 + "far away", 5, "…"),
        ("", 5, ""),
    ),
)
def test_one_line_fits_the_width(text: str, width: int, line: str) -> None:
    assert one_line(text, width) == line


@given(fragments, st.integers(-1, 20))
def test_one_line_is_never_two_and_never_wider(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line.splitlines()) <= 1
    assert sum(character.isascii() for character in line) <= max(width, 0)


@pytest.mark.thorough
@pytest.mark.parametrize("piece", ("\x1b[", "\x1b]", "\x1bP", "\x9b0", "\u200d", "\r", "\x1b[0", "é\u200d"))
def test_very_long_text_is_shown_without_hanging(piece: str) -> None:
    # Anything worse than linear would run into the time limit of every test.
    text = piece * (1_000_000 // len(piece))
    assert "\x1b" not in visible(text)
    assert "\x1b" not in escaped(text)
    assert len(one_line(text, 80)) <= 160
