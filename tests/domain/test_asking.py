"""What an agent may send, what is repaired, and what is refused with an error that teaches."""

import base64

import pytest
from hypothesis import given, strategies as st

from upcall.domain.errors import InvalidInquiry, UpcallError
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Kind, OnExpiry, Option
from upcall.domain.inquiry.limits import Limits

CACHE = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Memcached"}]}


@pytest.mark.promise("spec/9")
def test_a_question_without_options_wants_text() -> None:
    made = draft({"question": "What is the endpoint?"})

    assert made.kind is Kind.TEXT
    assert made.questions[0].text == "What is the endpoint?"
    assert made.questions[0].custom
    assert not made.questions[0].multi


@pytest.mark.promise("spec/11")
def test_a_question_with_options_is_a_choice() -> None:
    made = draft(CACHE | {"header": "Cache", "multiSelect": True, "custom": False})

    assert made.kind is Kind.CHOICE
    assert made.questions[0].labels == ("Redis", "Memcached")
    assert made.questions[0].header == "Cache"
    assert made.questions[0].multi
    assert not made.questions[0].custom


@pytest.mark.promise("spec/11")
def test_several_questions_are_one_choice() -> None:
    made = draft({"questions": [CACHE, {"question": "Which port?"}]})

    assert made.kind is Kind.CHOICE
    assert [question.text for question in made.questions] == ["Which cache?", "Which port?"]


@pytest.mark.promise("spec/10")
def test_an_approval_offers_approve_and_deny_and_nothing_else() -> None:
    made = draft({"kind": "approval", "question": "Run the migration?"})

    assert made.questions[0].labels == ("Approve", "Deny")
    assert not made.questions[0].custom


@pytest.mark.promise("spec/20")
@pytest.mark.parametrize(
    "slip",
    [
        {"options": ["Redis", "Memcached"]},
        {"options": [{"title": "Redis"}, {"text": "Memcached"}]},
        {"options": '["Redis", {"label": "Memcached"}]'},
    ],
)
def test_well_known_slips_in_options_are_repaired(slip: dict[str, object]) -> None:
    assert draft(CACHE | slip).questions[0].labels == ("Redis", "Memcached")


@pytest.mark.promise("spec/20")
@pytest.mark.parametrize("spelling", ["multiSelect", "multiple", "multi_select"])
@pytest.mark.parametrize("yes", [True, "true"])
def test_every_spelling_of_multi_select_counts(spelling: str, yes: object) -> None:
    assert draft(CACHE | {spelling: yes}).questions[0].multi


@pytest.mark.promise("spec/20")
def test_json_sent_as_a_string_is_taken_for_what_it_says() -> None:
    assert draft('{"question": "Which cache?", "options": ["Redis"]}').questions[0].labels == ("Redis",)
    assert len(draft({"questions": '[{"question": "A?"}, "B?"]'}).questions) == 2


@pytest.mark.promise("spec/16")
def test_everything_about_an_option_is_kept() -> None:
    sent = {"label": "Redis", "description": "has pub/sub", "recommended": True, "preview": "redis://"}

    assert draft({"question": "Which?", "options": [sent]}).questions[0].options == (
        Option(label="Redis", description="has pub/sub", recommended=True, preview="redis://"),
    )


@pytest.mark.promise("spec/15", "spec/178")
@pytest.mark.parametrize(
    ("sent", "field", "limit"),
    [
        ({}, "question", "2000"),
        ({"question": "   "}, "question", "2000"),
        ({"question": "x" * 2001}, "question", "2000"),
        ({"question": ["x"]}, "question", "text"),
        ({"question": "Q?", "header": "x" * 31}, "header", "30"),
        ({"question": "Q?", "options": [str(n) for n in range(11)]}, "options", "10"),
        ({"question": "Q?", "options": "Redis"}, "options", "list"),
        ({"question": "Q?", "options": [{"label": "x" * 76}]}, "options[0].label", "75"),
        ({"question": "Q?", "options": ["ok", {"description": "d"}]}, "options[1].label", "75"),
        (
            {"question": "Q?", "options": [{"label": "a", "description": "x" * 301}]},
            "options[0].description",
            "300",
        ),
        ({"question": "Q?", "options": ["a", "a"]}, "options", "same label"),
        ({"question": "Q?", "options": [3.5, None]}, "options[0]", "object"),
        ({"question": "Q?", "multiSelect": "perhaps"}, "multiSelect", "true or false"),
        ({"questions": []}, "questions", "1 to 4"),
        ({"questions": [CACHE] * 5}, "questions", "1 to 4"),
        ({"questions": [CACHE, {"question": ""}]}, "questions[1].question", "2000"),
        ({"question": "Q?", "context": "ä" * 8193}, "context", "16384 bytes"),
        ({"question": "Q?", "kind": "poll"}, "kind", "approval"),
        ({"question": "Q?", "kind": "text", "options": ["a"]}, "kind", "no options"),
        ({"question": "Q?", "kind": "approval", "options": ["a", "b"]}, "options", "no options"),
        ({"questions": [CACHE, CACHE], "kind": "approval"}, "questions", "one thing"),
        ({"question": "Q?", "on_expiry": "approve"}, "on_expiry", "deny"),
        ({"question": "Q?", "on_expiry": "default"}, "on_expiry", "default"),
        ("just words", "inquiry", "object"),
        (None, "inquiry", "object"),
    ],
)
def test_what_breaks_a_limit_is_refused_by_field_and_limit(sent: object, field: str, limit: str) -> None:
    with pytest.raises(InvalidInquiry) as refused:
        draft(sent)

    assert refused.value.field == field
    assert limit in refused.value.message


@pytest.mark.promise("spec/18")
def test_limits_are_settings() -> None:
    with pytest.raises(InvalidInquiry, match="at most 2"):
        draft({"question": "Q?", "options": ["a", "b", "c"]}, Limits(options=2))


@pytest.mark.promise("spec/35")
def test_the_only_default_of_an_approval_is_deny() -> None:
    approval = {"kind": "approval", "question": "Push?"}

    assert draft(approval | {"default": "deny"}).default == "Deny"
    with pytest.raises(InvalidInquiry, match="only default an approval can have is Deny"):
        draft(approval | {"default": "Approve"})


def test_a_default_is_one_of_the_labels_where_there_are_any() -> None:
    made = draft(CACHE | {"default": "redis"})

    assert made.default == "Redis"
    assert made.on_expiry is OnExpiry.DEFAULT
    for custom in (True, False):
        with pytest.raises(InvalidInquiry, match="one of Redis, Memcached"):
            draft(CACHE | {"default": "SQLite", "custom": custom})
    assert draft({"question": "Name?", "default": "SQLite"}).default == "SQLite"
    with pytest.raises(InvalidInquiry, match="some text"):
        draft({"question": "Name?", "default": " "})
    with pytest.raises(InvalidInquiry, match="single question"):
        draft({"questions": [CACHE, CACHE], "default": "Redis"})


def test_a_time_to_live_is_seconds_or_a_duration() -> None:
    assert draft(CACHE | {"ttl": 90}).ttl == 90
    assert draft(CACHE | {"ttl": "10m"}).ttl == 600
    nonsense: object
    for nonsense in ("soon", -1, 0, [], True, "9999999h"):
        with pytest.raises(UpcallError):
            draft(CACHE | {"ttl": nonsense})


@pytest.mark.promise("spec/17")
def test_attachments_are_kept_by_their_last_name_with_their_bytes() -> None:
    data = base64.b64encode(b"--- a\n+++ b\n").decode()

    (upload,) = draft(
        CACHE | {"attachments": [{"name": "../../etc/a.diff", "media_type": "text/x-diff", "data": data}]}
    ).uploads

    assert upload.content == b"--- a\n+++ b\n"
    assert (upload.attachment.name, upload.attachment.size) == ("a.diff", 12)


@pytest.mark.promise("spec/17")
@pytest.mark.parametrize(
    "attachments",
    [
        "file",
        [{"name": "a", "data": "not base 64!"}],
        [{"name": "", "data": ""}],
        [{"name": "a"}],
        ["a"],
        [{"name": "a", "data": ""}] * 5,
        [{"name": "big", "data": base64.b64encode(bytes(1024 * 1024 + 1)).decode()}],
    ],
)
def test_bad_attachments_are_refused(attachments: object) -> None:
    with pytest.raises(InvalidInquiry, match="attachments"):
        draft(CACHE | {"attachments": attachments})


@pytest.mark.promise("spec/138")
def test_secrets_are_masked_and_counted_before_a_question_is_stored() -> None:
    token = "ghp_" + "a1B2" * 9
    made = draft({"question": f"May I use {token}?", "context": f"token={token}"})

    assert token not in made.questions[0].text + made.context
    assert made.redacted == 2
    assert made.digest != draft({"question": "May I use ?"}).digest


def test_the_same_question_has_the_same_digest_however_it_was_spelt() -> None:
    assert (
        draft(CACHE).digest == draft({"question": " Which cache? ", "options": ["Redis", "Memcached"]}).digest
    )
    assert draft(CACHE).digest != draft(CACHE | {"context": "really"}).digest


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
keys = st.sampled_from(
    [
        "question",
        "questions",
        "options",
        "header",
        "multiSelect",
        "custom",
        "context",
        "kind",
        "ttl",
        "default",
    ]
)


@given(st.dictionaries(keys, json_values, max_size=6))
def test_any_request_is_asked_or_refused_with_an_error_of_ours(sent: dict[str, object]) -> None:
    try:
        made = draft(sent)
    except UpcallError:
        return
    assert 1 <= len(made.questions) <= 4
    assert all(question.text for question in made.questions)


NOTHING_TO_SEE = (
    "\u200b",
    "\u3164 \uffa0",
    "\x1b[8m\x1b[0m",
    "\ufe0f",
    "\u2800\u2800",
    "\U000e0041\U000e0042",
    "\x00",
)


@pytest.mark.promise("trust/61")
@pytest.mark.parametrize("text", NOTHING_TO_SEE)
def test_a_question_or_a_label_in_which_nothing_can_be_seen_is_refused(text: str) -> None:
    for sent in (
        {"question": text},
        {"question": "Q?", "options": ["a", text]},
        {"questions": [CACHE, {"question": text}]},
        {"question": text, "kind": "approval"},
    ):
        with pytest.raises(InvalidInquiry, match=r"nothing in it can be seen|1 to "):
            draft(sent)


@pytest.mark.promise("trust/61")
@pytest.mark.parametrize(
    ("one", "other"),
    (
        ("Redis", "Re\u200bdis"),
        ("Redis", "Redis\ufe0f"),
        ("Redis", "\x1b[1mRedis\x1b[0m"),
        ("all of it", "all  of\u00a0it"),
        ("é", "e\N{COMBINING ACUTE ACCENT}"),
        ("yes\u202e", "\u2066yes"),
        ("password=hunter22", "password=hunter23"),
    ),
)
def test_labels_that_look_the_same_are_refused(one: str, other: str) -> None:
    with pytest.raises(InvalidInquiry, match="same label"):
        draft({"question": "Which?", "options": [one, other]})


@pytest.mark.promise("trust/61")
@pytest.mark.parametrize(
    ("one", "other"),
    (
        ("Which cache?", "Which cache?"),
        ("Which cache?", "Which\u200b cache?"),
        ("Is password=hunter22 good?", "Is password=hunter23 good?"),
    ),
)
def test_questions_that_look_the_same_are_refused(one: str, other: str) -> None:
    with pytest.raises(InvalidInquiry, match="look the same"):
        draft({"questions": [{"question": one}, {"question": "On which port?"}, {"question": other}]})


def test_questions_that_differ_in_their_headers_are_taken() -> None:
    asked = [{"header": name, "question": "Which framework?"} for name in ("Page", "Server")]
    assert len(draft({"questions": asked}).questions) == 2


def test_labels_that_differ_in_case_or_in_a_symbol_are_taken() -> None:
    assert (
        len(draft({"question": "Which?", "options": ["a", "A", "❤", "❤\ufe0f!"]}).questions[0].options) == 4
    )
