"""SPEC 4 and the paragraph "Reading" of SPEC 13, row by row and edge by edge."""

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from upcall.domain.answer.reading import ReadingRules, choose, read, strip_quoted, take
from upcall.domain.answer.verdicts import AFFIRMATIVE, NEGATIVE
from upcall.domain.errors import EmptyAnswer, InvalidRequest, UnreadableAnswer
from upcall.domain.inquiry.inquiry import APPROVE, DENY, Inquiry, Kind, Option, Origin, Question

POSITION = ReadingRules(numbers="position")
REASK = ReadingRules(unknown_approval="reask")


def a_question(*labels: str, multi: bool = False, custom: bool = True) -> Question:
    options = tuple(Option(label=label) for label in labels)
    return Question(text="Which one?", options=options, multi=multi, custom=custom)


def an_inquiry(*questions: Question, kind: Kind = Kind.CHOICE) -> Inquiry:
    origin = Origin(agent="bot", session="s", door="http")
    return Inquiry(
        id="01", ref="a7", kind=kind, questions=questions, origin=origin, asked_at=0.0, expires_at=1.0
    )


TEXT = an_inquiry(a_question(), kind=Kind.TEXT)
APPROVAL = an_inquiry(a_question(APPROVE, DENY), kind=Kind.APPROVAL)
TARGET = an_inquiry(a_question("staging", "production"))
STRICT = an_inquiry(a_question("staging", "production", custom=False))
CHECKS = an_inquiry(a_question("lint", "tests", "docs", multi=True))
STRICT_CHECKS = an_inquiry(a_question("lint", "tests", "docs", multi=True, custom=False))
PORTS = an_inquiry(a_question("3", "1", "8080"))
MANY_PORTS = an_inquiry(a_question("3", "1", "8080", multi=True))
CASES = an_inquiry(a_question("Main", "main", "MAIN"))
COMMAS = an_inquiry(a_question("a, b", "c", "a", multi=True))
SPELLED = an_inquiry(a_question("`npm test`", "my_var", "don't", "Café", "run  it"))
NO_OPTIONS = an_inquiry(a_question(custom=False))
TWO = an_inquiry(a_question("Redis", "Memcached"), a_question("eu", "us", multi=True))
TWO_STRICT = an_inquiry(a_question("Redis", "Memcached", custom=False), a_question())
THREE = an_inquiry(a_question("a", "b"), a_question("a", "b"), a_question())

ONE_VALUE = (
    # text: the raw text, only outer white space goes
    (TEXT, "use Redis", "use Redis"),
    (TEXT, "  1 \n", "1"),
    (TEXT, '"quoted"', '"quoted"'),
    (TEXT, "**bold**", "**bold**"),
    (TEXT, "first\n\n  second", "first\n\n  second"),
    (TEXT, "1) one 2) two", "1) one 2) two"),
    (TEXT, "a\x00b", "a\x00b"),
    # approval: anything that is not plainly a yes is a no
    (APPROVAL, "YES", APPROVE),
    (APPROVAL, " ok\n", APPROVE),
    (APPROVAL, "**yes**", APPROVE),
    (APPROVAL, "_yes_", APPROVE),
    (APPROVAL, "`yes`", APPROVE),
    (APPROVAL, '"yes"', APPROVE),
    (APPROVAL, "“Yes”", APPROVE),
    (APPROVAL, "„ja“", DENY),
    (APPROVAL, "1.", APPROVE),
    (APPROVAL, "1)", APPROVE),
    (APPROVAL, "2)", DENY),
    (APPROVAL, "01", DENY),
    (APPROVAL, "¹", DENY),
    (APPROVAL, "3", DENY),
    (APPROVAL, "yes please", DENY),
    (APPROVAL, "yes, but not on main", DENY),
    (APPROVAL, "yes no", DENY),
    (APPROVAL, "not ok", DENY),
    (APPROVAL, "o\N{KELVIN SIGN}", DENY),
    (APPROVAL, "\N{FULLWIDTH LATIN SMALL LETTER Y}", DENY),
    (APPROVAL, "👍", DENY),
    # one question: a bare number is a position, of ASCII digits only
    (TARGET, "1", "staging"),
    (TARGET, " 2 ", "production"),
    (TARGET, "2.", "production"),
    (TARGET, "2)", "production"),
    (TARGET, "**2**", "production"),
    (TARGET, "3", "3"),
    (TARGET, "0", "0"),
    (TARGET, "-1", "-1"),
    (TARGET, "+1", "+1"),
    (TARGET, "1.0", "1.0"),
    (TARGET, "²", "²"),
    (TARGET, "\N{ARABIC-INDIC DIGIT ONE}", "\N{ARABIC-INDIC DIGIT ONE}"),
    (TARGET, "1" * 5000, "1" * 5000),
    (TARGET, "1,2", "1,2"),
    (TARGET, "1 2", "1 2"),
    (TARGET, "1) staging", "1) staging"),
    # one question: a label, ignoring case, spacing and marks around it
    (TARGET, "staging", "staging"),
    (TARGET, "PRODUCTION", "production"),
    (TARGET, "«Staging»", "staging"),
    (TARGET, "**_staging_**", "staging"),
    (SPELLED, "npm test", "`npm test`"),
    (SPELLED, "_my_var_", "my_var"),
    (SPELLED, "'don't'", "don't"),
    (SPELLED, "cafe\N{COMBINING ACUTE ACCENT}", "Café"),
    (SPELLED, "Run it", "run  it"),
    (CASES, "main", "main"),
    (CASES, "MAIN", "MAIN"),
    (CASES, "mAIN", "Main"),
    # one question: a label that is itself a number
    (PORTS, "1", "1"),
    (PORTS, "1.", "1"),
    (PORTS, "2", "1"),
    (PORTS, "3", "3"),
    (PORTS, "8080", "8080"),
    # one question: anything else is the person's own words
    (TARGET, "staging, then production", "staging, then production"),
    (TARGET, "first\nsecond", "first\nsecond"),
    (TARGET, '"my own words"', "my own words"),
    (TARGET, '"a" or "b"', '"a" or "b"'),
    (TARGET, "**my own words**", "my own words"),
    (TARGET, "__init__", "__init__"),
    (TARGET, "*.py", "*.py"),
    (TARGET, "*.py*", "*.py*"),
    (TARGET, "```\ncode\n```", "```\ncode\n```"),
    (TARGET, "> staging", "> staging"),
    (TARGET, "\ud83d\ude00 \ud800", "😀 \N{REPLACEMENT CHARACTER}"),
    (NO_OPTIONS, "anything", "anything"),
    (NO_OPTIONS, '"anything"', '"anything"'),
)


@pytest.mark.promise("spec/43", "spec/48")
@pytest.mark.parametrize(("inquiry", "reply", "value"), ONE_VALUE)
def test_a_reply_is_read_as_the_specification_says(inquiry: Inquiry, reply: str, value: str) -> None:
    assert read(inquiry, reply).values == ((value,),)


@pytest.mark.parametrize("word", sorted(AFFIRMATIVE))
def test_each_affirmative_word_approves(word: str) -> None:
    assert read(APPROVAL, word).values == ((APPROVE,),)


@pytest.mark.parametrize("word", sorted(NEGATIVE))
def test_each_negative_word_denies_even_when_unknown_words_are_asked_again(word: str) -> None:
    assert read(APPROVAL, word, REASK).values == ((DENY,),)


@pytest.mark.promise("spec/44")
def test_the_words_for_yes_and_no_are_those_of_the_seed() -> None:
    assert " ".join(sorted(AFFIRMATIVE)) == "1 allow approve approved ok y yes"
    assert " ".join(sorted(NEGATIVE)) == "2 denied deny n no reject"


@pytest.mark.promise("spec/46")
@pytest.mark.parametrize(
    ("inquiry", "reply", "values"),
    (
        (CHECKS, "1", ("lint",)),
        (CHECKS, "1,3", ("lint", "docs")),
        (CHECKS, "3, 1", ("lint", "docs")),
        (CHECKS, "3 1 3", ("lint", "docs")),
        (CHECKS, "1\n2", ("lint", "tests")),
        (CHECKS, "1.\n2.", ("lint", "tests")),
        (CHECKS, "1\N{IDEOGRAPHIC COMMA}2\N{FULLWIDTH COMMA}3", ("lint", "tests", "docs")),
        (CHECKS, "**1, 2**", ("lint", "tests")),
        (CHECKS, "1,2,", ("lint", "tests")),
        (CHECKS, "1,9", ("1,9",)),
        (CHECKS, "1,²", ("1,²",)),
        (CHECKS, "1-3", ("1-3",)),
        (CHECKS, ",", (",",)),
        (CHECKS, "Tests", ("tests",)),
        (CHECKS, "lint, tests", ("lint", "tests")),
        (CHECKS, "docs,LINT", ("lint", "docs")),
        (CHECKS, '"docs", "lint"', ("lint", "docs")),
        (CHECKS, "“docs, lint”", ("lint", "docs")),
        (CHECKS, "lint\ntests", ("lint", "tests")),
        (CHECKS, "1, docs", ("lint", "docs")),
        (CHECKS, "lint, coverage", ("lint, coverage",)),
        (CHECKS, "lint tests", ("lint tests",)),
        (COMMAS, "a, b", ("a, b",)),
        (COMMAS, "c, a, b", ("a, b", "c")),
        (COMMAS, "a, c", ("c", "a")),
        (MANY_PORTS, "1, 2", ("1",)),
        (MANY_PORTS, "8080 3", ("3", "8080")),
    ),
)
def test_several_choices_come_back_in_option_order_each_once(
    inquiry: Inquiry, reply: str, values: tuple[str, ...]
) -> None:
    assert read(inquiry, reply).values == (values,)


@pytest.mark.promise("spec/186")
@pytest.mark.parametrize(("reply", "value"), (("1", "3"), ("2.", "1"), ("3", "8080"), ("8080", "8080")))
def test_by_position_a_number_is_a_position_even_if_a_label_looks_like_it(reply: str, value: str) -> None:
    assert read(PORTS, reply, POSITION).values == ((value,),)


@pytest.mark.promise("spec/47")
@pytest.mark.parametrize(
    ("inquiry", "reply", "values"),
    (
        (TWO, "1) Redis\n2) eu", (("Redis",), ("eu",))),
        (TWO, "1. 2\n2. 1,2", (("Memcached",), ("eu", "us"))),
        (TWO, "1: redis\n2: us, eu", (("Redis",), ("eu", "us"))),
        (TWO, "1:2\n2:1", (("Memcached",), ("eu",))),
        (TWO, "1)2\r\n2)1\r\n", (("Memcached",), ("eu",))),
        (TWO, "2) us\n1) own words", (("own words",), ("us",))),
        (TWO, "1) Redis 2) us", (("Redis",), ("us",))),
        (TWO, "1. Redis 2. us", (("Redis",), ("us",))),
        (TWO, "1: Redis 2: us", (("Redis",), ("us",))),
        (TWO, '"1) Redis 2) us"', (("Redis",), ("us",))),
        (TWO, "1) v 2. is fine 2) us", (("v 2. is fine",), ("us",))),
        (TWO, "1) first\n  and more\n2) us", (("first\n  and more",), ("us",))),
        (TWO, "1) Redis 2.0\n2) us", (("Redis 2.0",), ("us",))),
        (THREE, "1) a 2) b\n3) c", (("a",), ("b",), ("c",))),
    ),
)
def test_several_questions_are_answered_part_by_part(
    inquiry: Inquiry, reply: str, values: tuple[tuple[str, ...], ...]
) -> None:
    assert read(inquiry, reply).values == values


@pytest.mark.promise("spec/47")
@pytest.mark.parametrize(
    "reply",
    (
        "1",
        "Redis",
        "1) Redis",
        "1) Redis\n2)",
        "2) us",
        "1) Redis\n2) us\n3) more",
        "1) Redis 1) Memcached 2) us",
        "2) us 1) Redis",
        "Sure!\n1) Redis\n2) us",
        "1.5 GB and 2.5 GB",
        "1:30 or\n2:30",
        "Redis, us",
    ),
)
def test_anything_incomplete_is_the_raw_text_for_each_of_several_questions(reply: str) -> None:
    assert read(TWO, reply).values == ((reply,), (reply,))


@pytest.mark.promise("spec/50")
@pytest.mark.parametrize(
    ("inquiry", "reply", "hint"),
    (
        (STRICT, "something else", "1. staging, 2. production"),
        (STRICT, "3", "1. staging, 2. production"),
        (STRICT, "1,2", "1. staging, 2. production"),
        (STRICT_CHECKS, "1,9", "1. lint, 2. tests, 3. docs"),
        (TWO_STRICT, "1) Valkey 2) fine", "1. Redis, 2. Memcached"),
        (TWO_STRICT, "Redis", "1. Redis, 2. Memcached"),
    ),
)
def test_an_unreadable_reply_is_no_answer_where_only_choices_count(
    inquiry: Inquiry, reply: str, hint: str
) -> None:
    with pytest.raises(UnreadableAnswer) as caught:
        read(inquiry, reply)
    assert hint in (caught.value.hint or "")


@pytest.mark.promise("spec/44")
@pytest.mark.parametrize("reply", ("maybe", "yes please", "3", "👍"))
def test_an_unknown_word_is_asked_again_where_the_rule_says_so(reply: str) -> None:
    with pytest.raises(UnreadableAnswer) as caught:
        read(APPROVAL, reply, REASK)
    assert caught.value.hint == "reply 1. Approve or 2. Deny"


@pytest.mark.promise("spec/39")
@pytest.mark.parametrize("inquiry", (TEXT, APPROVAL, TARGET, STRICT, CHECKS, TWO))
@pytest.mark.parametrize("reply", ("", " \t\r\n", "\u00a0\u3000", "\u200b\ufeff", "\x00"))
def test_an_empty_answer_is_refused(inquiry: Inquiry, reply: str) -> None:
    with pytest.raises(EmptyAnswer):
        read(inquiry, reply)
    with pytest.raises(EmptyAnswer):
        take(inquiry, [[reply] for _ in inquiry.questions])
    with pytest.raises(EmptyAnswer):
        choose(inquiry, [reply for _ in inquiry.questions])


def test_quotation_marks_around_nothing_are_an_empty_answer() -> None:
    with pytest.raises(EmptyAnswer):
        read(TARGET, '" "')


def test_the_raw_words_are_kept_as_given() -> None:
    assert read(TARGET, "  **Staging** ").text == "**Staging**"
    assert read(APPROVAL, "nope").text == "nope"
    assert take(TWO, [["Redis"], ["us", "eu"]]).text == "Redis\neu, us"
    assert choose(CHECKS, ["3", " lint "]).text == "3, lint"


@pytest.mark.promise("spec/49")
@pytest.mark.parametrize(
    ("inquiry", "values", "taken"),
    (
        (TEXT, [[" as it is "]], ((" as it is ",),)),
        (TARGET, [["1"]], (("1",),)),
        (TARGET, [["own words", " "]], (("own words",),)),
        (STRICT, [["Staging"]], (("staging",),)),
        (CHECKS, [["more", "docs", "lint", "docs"]], (("lint", "docs", "more"),)),
        (STRICT_CHECKS, [["DOCS", "lint"]], (("lint", "docs"),)),
        (APPROVAL, [["approve"]], ((APPROVE,),)),
        (APPROVAL, [["DENY"]], ((DENY,),)),
        (TWO, [["Redis"], ["us", "eu"]], (("Redis",), ("eu", "us"))),
        (NO_OPTIONS, [["anything"]], (("anything",),)),
    ),
)
def test_the_answers_of_a_form_are_used_as_they_are(
    inquiry: Inquiry, values: Sequence[Sequence[str]], taken: tuple[tuple[str, ...], ...]
) -> None:
    assert take(inquiry, values).values == taken


@pytest.mark.parametrize("values", ([], [["Redis"]], [["Redis"], ["eu"], ["us"]], "Re", ["Redis", "eu"]))
def test_a_form_needs_one_list_per_question(values: Sequence[Sequence[str]]) -> None:
    with pytest.raises(InvalidRequest, match="2 lists"):
        take(TWO, values)


@pytest.mark.parametrize(
    ("inquiry", "values"),
    (
        (APPROVAL, [["yes"]]),
        (APPROVAL, [["1"]]),
        (APPROVAL, [["Approve", "Deny"]]),
        (APPROVAL, [["Approve", "Approve"]]),
        (STRICT, [["1"]]),
        (STRICT, [["elsewhere"]]),
        (STRICT_CHECKS, [["lint", "elsewhere"]]),
        (TARGET, [["staging", "production"]]),
        (TEXT, [["one", "two"]]),
    ),
)
def test_a_form_cannot_choose_what_is_not_there_or_one_too_many(
    inquiry: Inquiry, values: Sequence[Sequence[str]]
) -> None:
    with pytest.raises(UnreadableAnswer):
        take(inquiry, values)


@pytest.mark.promise("spec/188")
@pytest.mark.parametrize(
    ("inquiry", "values", "chosen"),
    (
        (TARGET, ["2"], (("production",),)),
        (TEXT, ["use Redis"], (("use Redis",),)),
        (APPROVAL, ["yes"], ((APPROVE,),)),
        (CHECKS, ["3", "LINT"], (("lint", "docs"),)),
        (CHECKS, ["1,2", "2"], (("lint", "tests"),)),
        (CHECKS, ["own words", "3"], (("docs", "own words"),)),
        (TWO, ["2", "us, eu"], (("Memcached",), ("eu", "us"))),
        (TWO, ["own words", "9"], (("own words",), ("9",))),
        (TWO, ["1) Redis 2) us"], (("Redis",), ("us",))),
    ),
)
def test_the_values_of_a_command_are_choices_or_one_for_each_question(
    inquiry: Inquiry, values: Sequence[str], chosen: tuple[tuple[str, ...], ...]
) -> None:
    assert choose(inquiry, values).values == chosen


@pytest.mark.parametrize("inquiry", (TARGET, TEXT, APPROVAL))
def test_a_command_cannot_give_several_values_where_one_is_wanted(inquiry: Inquiry) -> None:
    with pytest.raises(UnreadableAnswer, match="quotation marks"):
        choose(inquiry, ["yes", "please"])


@pytest.mark.parametrize("values", (["Redis"], ["1"], ["Redis", "eu", "us"]))
def test_a_command_needs_a_value_for_each_question(values: Sequence[str]) -> None:
    with pytest.raises(InvalidRequest, match="2 questions"):
        choose(TWO, values)


def test_a_command_without_values_is_an_empty_answer() -> None:
    with pytest.raises(EmptyAnswer):
        choose(TARGET, [])


def test_an_approval_of_several_questions_is_one_verdict() -> None:
    both = an_inquiry(a_question(), a_question(), kind=Kind.APPROVAL)
    assert read(both, "yes").values == ((APPROVE,), (APPROVE,))
    assert choose(both, ["yes"]).values == ((APPROVE,), (APPROVE,))
    assert read(both, "1) yes 2) yes").values == ((DENY,), (DENY,))


@pytest.mark.promise("spec/187")
@pytest.mark.parametrize(
    ("text", "left"),
    (
        ("staging\n> Which one?\n> 1. staging\n", "staging"),
        ("> Which one?\r\n\r\nstaging\r\n", "staging"),
        (">> older\n>\nyes", "yes"),
        ("a > b", "a > b"),
        (">5 GB", ">5 GB"),
        ("> only this", ""),
        ("one\n> between\ntwo", "one\ntwo"),
    ),
)
def test_quoted_lines_go_only_where_they_are_quotations(text: str, left: str) -> None:
    assert strip_quoted(text) == left


@pytest.mark.thorough
@pytest.mark.parametrize(
    "piece",
    (
        '"',
        "'",
        "*",
        "_",
        "1,",
        "1 ",
        ",",
        "1) ",
        "\n1) a\n2) b",
        "> ",
        "lint,",
        " ",
        "`",
        "1:1,",
        "\n 1:",
        "“",
        "a, ",
    ),
)
def test_a_very_long_reply_is_read_without_hanging(piece: str) -> None:
    # Anything worse than linear would run into the time limit of every test.
    text = piece * (200_000 // len(piece))
    for inquiry in (APPROVAL, TARGET, CHECKS, COMMAS, TWO):
        for reply in (text + "x", text + "é", "1) " + text + "x"):
            assert read(inquiry, reply).values
    assert strip_quoted(text + "x").endswith("x") or piece == "> "


labels = st.text(min_size=1, max_size=12).filter(lambda label: not label.isspace())
questions = st.builds(
    lambda names, multi, custom: a_question(*names, multi=multi, custom=custom),
    st.lists(labels, max_size=10, unique=True),
    st.booleans(),
    st.booleans(),
)
inquiries = st.builds(
    # A plan is one question.
    lambda asked, kind: an_inquiry(*(asked[:1] if kind is Kind.PLAN else asked), kind=kind),
    st.lists(questions, min_size=1, max_size=4),
    st.sampled_from(Kind),
)
rules = st.builds(
    ReadingRules,
    unknown_approval=st.sampled_from(["deny", "reask"]),
    numbers=st.sampled_from(["label_first", "position"]),
)
words = st.sampled_from(
    [
        "1",
        "2",
        "9",
        "1.",
        "2)",
        "1) ",
        "2) ",
        "3: ",
        "yes",
        "NO",
        "ok",
        ",",
        " ",
        "\n",
        '"',
        "**",
        "_",
        "“",
        "”",
        "²",
    ]
)
replies = st.one_of(st.text(), st.lists(words | st.text(max_size=3), max_size=8).map("".join))
plain_labels = st.lists(
    st.text(st.characters(categories=["Ll", "Lo"]), min_size=1, max_size=12),
    min_size=1,
    max_size=10,
    unique_by=str.casefold,
)


@given(inquiries, replies, rules)
def test_any_reply_is_read_or_refused_for_a_documented_reason(
    inquiry: Inquiry, reply: str, rule: ReadingRules
) -> None:
    try:
        answer = read(inquiry, reply, rule)
    except (EmptyAnswer, UnreadableAnswer):
        return
    assert len(answer.values) == len(inquiry.questions)
    assert all(values and all(value.strip() for value in values) for values in answer.values)
    answer.text.encode()


@given(inquiries, st.lists(st.lists(replies, max_size=3), max_size=4))
def test_any_form_is_taken_or_refused_for_a_documented_reason(
    inquiry: Inquiry, values: list[list[str]]
) -> None:
    try:
        answer = take(inquiry, values)
    except (EmptyAnswer, UnreadableAnswer, InvalidRequest):
        return
    assert len(answer.values) == len(inquiry.questions)
    assert all(answer.values)
    if inquiry.kind is Kind.APPROVAL:
        assert {*answer.values} <= {(APPROVE,), (DENY,)}


@given(inquiries, st.lists(replies, max_size=4), rules)
def test_any_command_is_read_or_refused_for_a_documented_reason(
    inquiry: Inquiry, values: list[str], rule: ReadingRules
) -> None:
    try:
        answer = choose(inquiry, values, rule)
    except (EmptyAnswer, UnreadableAnswer, InvalidRequest):
        return
    assert len(answer.values) == len(inquiry.questions)
    assert all(answer.values)


@pytest.mark.promise("spec/44")
@given(replies | st.sampled_from(sorted(AFFIRMATIVE)), st.sampled_from(["", "*", "**", '"', "'", "_", "`"]))
def test_only_an_affirmative_word_alone_ever_approves(reply: str, mark: str) -> None:
    reply = f"{mark}{reply}{mark}"
    try:
        approved = read(APPROVAL, reply).values == ((APPROVE,),)
    except EmptyAnswer:
        return
    # Typographic quotation marks are what this is about.
    marks = "*_`~\"'“”„‘’‚«»‹›「」『』＂ \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f"  # noqa: RUF001
    core = "".join(reply.split()).strip(marks).lower()
    assert not approved or core.rstrip(".)").rstrip(marks) in AFFIRMATIVE


@pytest.mark.promise("spec/45")
@given(plain_labels, st.data(), rules)
def test_every_label_and_every_number_finds_its_option(
    names: list[str], data: st.DataObject, rule: ReadingRules
) -> None:
    multi = data.draw(st.booleans())
    inquiry = an_inquiry(a_question(*names, multi=multi, custom=data.draw(st.booleans())))
    for position, name in enumerate(names, 1):
        for reply in (
            name,
            f" {name}\n",
            f"**{name}**",
            f'"{name}"',
            str(position),
            f"{position}.",
            f"{position})",
        ):
            assert read(inquiry, reply, rule).values == ((name,),)


@pytest.mark.promise("spec/185")
@given(plain_labels, st.data())
def test_chosen_options_come_back_in_their_order_without_repetition(
    names: list[str], data: st.DataObject
) -> None:
    inquiry = an_inquiry(a_question(*names, multi=True))
    picked = data.draw(st.lists(st.integers(0, len(names) - 1), min_size=1, max_size=12))
    wanted = (tuple(names[index] for index in sorted(set(picked))),)
    numbers = [str(index + 1) for index in picked]
    assert read(inquiry, ",".join(numbers)).values == wanted
    assert read(inquiry, " ".join(numbers)).values == wanted
    assert read(inquiry, ", ".join(names[index] for index in picked)).values == wanted
    assert choose(inquiry, numbers).values == wanted
    assert take(inquiry, [[names[index] for index in picked]]).values == wanted


@given(st.lists(plain_labels, min_size=2, max_size=4), st.data(), st.sampled_from(["{}) ", "{}. ", "{}: "]))
def test_several_questions_round_trip(asked: list[list[str]], data: st.DataObject, mark: str) -> None:
    inquiry = an_inquiry(*(a_question(*names) for names in asked))
    picked = [data.draw(st.integers(0, len(names) - 1)) for names in asked]
    between = data.draw(st.sampled_from(["\n", " ", "\r\n"]))
    reply = between.join(f"{mark.format(number)}{index + 1}" for number, index in enumerate(picked, 1))
    wanted = tuple((names[index],) for names, index in zip(asked, picked, strict=True))
    assert read(inquiry, reply).values == wanted
