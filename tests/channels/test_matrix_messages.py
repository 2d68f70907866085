"""What a question looks like in Matrix, to the letter."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.domain.test_degrading import an_inquiry
from upcall.channels.matrix import messages, reading
from upcall.channels.words import sentences
from upcall.domain.channel.degrading import view
from upcall.domain.channel.showing import Odd, View

WORDS = sentences("en")


def shown(**fields: Any) -> View:
    return view(an_inquiry(**fields), messages.CAPABILITIES, WORDS, "http://x/i/i1")


@pytest.mark.parametrize(
    ("fields", "keys", "text"),
    [
        (
            {
                "header": "Cache",
                "question": "Which cache?",
                "context": "Two fit.\n✓ Answered: Redis — by ana",
                "options": [{"label": "Redis", "description": "has pub/sub"}, "Memcached"],
            },
            "1️⃣ 2️⃣",
            """\
❓ Provide input · bot · shop · #4 · a7
│ Two fit.
│ ✓ Answered: Redis — by ana
│
│ [Cache] Which cache?
│ 1. Redis — has pub/sub
│ 2. Memcached
Choose by reacting with 1️⃣ 2️⃣, or reply in words.
Or reply to this message in your own words.""",
        ),
        (
            {"kind": "approval", "question": "Deploy?", "context": "rm -rf build\u202e"},
            "✅ ❌",
            """\
❓ Approval needed · bot · shop · #4 · a7
│ rm -rf build\\u202e
│
│ Deploy?
✅ Approve   ❌ Deny
Choose by reacting with ✅ ❌, or reply in words.""",
        ),
        (
            {"options": [f"o{number}" for number in range(7)], "custom": False},
            "",
            """\
❓ Provide input · bot · shop · #4 · a7
│ Which?
│ 1. o0
│ 2. o1
│ 3. o2
│ 4. o3
│ 5. o4
│ 6. o5
│ 7. o6
Reply with a number or the option text.""",
        ),
        (
            {"options": ["lint", "tests"], "multiSelect": True},
            "",
            """\
❓ Provide input · bot · shop · #4 · a7
│ Which?
│ 1. lint
│ 2. tests
Reply with one or more numbers or option texts, separated by commas, or free text.""",
        ),
        (
            {"kind": "text"},
            "",
            """\
❓ Provide input · bot · shop · #4 · a7
│ Which?
Reply with free text.""",
        ),
        (
            {"questions": [{"question": "One?", "options": ["a", "b"]}, {"question": "Two?"}]},
            "",
            """\
❓ Provide input · bot · shop · #4 · a7
│ 1) One?
│ 1. a
│ 2. b
│ 2) Two?
Reply with one line per question: 1) … 2) …""",
        ),
    ],
)
def test_every_kind_of_question_as_text_that_no_client_parses(
    fields: dict[str, Any], keys: str, text: str
) -> None:
    seen = shown(**fields)
    assert messages.body(seen, WORDS) == text
    assert " ".join(messages.keys(seen)) == keys
    content = messages.message(seen, WORDS)
    assert content.keys() == {"msgtype", "body", "m.mentions", "upcall"}
    assert content["m.mentions"] == {}


def test_a_reaction_counts_with_or_without_the_mark_for_a_picture() -> None:
    question = {"sender": "@bot:x", "content": messages.message(shown(options=["a", "b"]), WORDS)}
    found = reading.mark(question, "@bot:x")
    assert found is not None
    for key, pick in (("2️⃣", 1), ("2⃣", 1), ("1️⃣", 0), ("3️⃣", None), ("👍", None)):
        relation = {"rel_type": "m.annotation", "event_id": "$q", "key": key}
        event = {
            "type": "m.reaction",
            "event_id": "$1",
            "sender": "@ana:x",
            "content": {"m.relates_to": relation},
        }
        done = reading.done(event, "!r:x")
        assert done is not None
        inbound = reading.inbound(done, "$q", found)
        given = None if inbound.given is None else inbound.given[0].picks
        assert given == (None if pick is None else (pick,))
        assert inbound.odd is (Odd.REACTION if pick is None else None)


def test_our_own_events_are_known_by_their_mark_and_no_other_mark_counts() -> None:
    ours = messages.message(shown(options=["a", "b"]), WORDS)
    event = {"type": "m.room.message", "event_id": "$1", "sender": "@bot:x", "content": ours}
    assert reading.done(event, "!r:x") is None
    assert reading.mark(event | {"sender": "@mallory:x"}, "@bot:x") is None


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"type": "m.room.message", "event_id": "$1", "sender": "@a:x", "content": "x"},
        {"type": "m.reaction", "event_id": "$1", "sender": "@a:x", "content": {"m.relates_to": ["x"]}},
        {"type": "m.reaction", "event_id": 1, "sender": "@a:x", "content": {}},
        *(
            {
                "type": "m.reaction",
                "event_id": "$1",
                "sender": "@a:x",
                "content": {"m.relates_to": {"rel_type": "m.annotation", "event_id": target, "key": "x"}},
            }
            for target in ("", "no dollar", "$" + "x" * 255)
        ),
    ],
)
def test_what_makes_no_sense_is_nothing(event: Mapping[str, Any]) -> None:
    assert reading.done(event, "!r:x") is None


@pytest.mark.parametrize(("stamp", "at"), [(1700000000250, 1700000000.25), ("soon", None), (None, None)])
def test_matrix_says_when_words_were_written(stamp: object, at: float | None) -> None:
    content = {"msgtype": "m.text", "body": "yes"}
    event = {"type": "m.room.message", "event_id": "$1", "sender": "@a:x", "content": content}
    done = reading.done(event | {"origin_server_ts": stamp}, "!r:x")
    assert done is not None
    assert reading.to_us(done, "yes").at == at
