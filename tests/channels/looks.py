"""Questions for which it is written down what each channel makes of them."""

from dataclasses import replace
from typing import Any

from upcall.channels.words import sentences
from upcall.domain.channel.degrading import view
from upcall.domain.channel.showing import Capabilities, View
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Answer, Answered, Closing, Inquiry, Origin

WORDS = sentences("en")
LONG = "the one with persistence, replication and everything else"
ASKED: dict[str, dict[str, Any]] = {
    "a choice": {
        "header": "Cache",
        "question": "Which cache?",
        "options": [{"label": "Redis", "description": "has pub/sub"}, "Memcached"],
    },
    "many options": {"question": "Which one?", "options": [f"Option {number}" for number in range(1, 10)]},
    "long labels": {"question": "Which one?", "options": [LONG, "none"], "custom": False},
    "several choices": {"question": "Which checks?", "options": ["lint", "tests"], "multiSelect": True},
    "an approval": {"kind": "approval", "question": "Run it?", "context": "rm -rf build\nmake @all"},
    "text": {"kind": "text", "question": "What name?", "context": "for the new service"},
    "several questions": {
        "questions": [
            {"question": "Which cache?", "options": ["Redis", "Memcached"]},
            {"question": "What name?"},
        ]
    },
}


def asked(name: str, *, answer: str = "") -> Inquiry:
    """One of them, answered or not."""
    said = draft(ASKED[name])
    inquiry = Inquiry(
        id="01k0000000000000000000000a",
        ref="a7",
        kind=said.kind,
        questions=said.questions,
        context=said.context,
        origin=Origin(agent="claude", session="s", door="test", workspace="shop"),
        asked_at=0,
        expires_at=1,
    )
    if not answer:
        return inquiry
    closing = Closing(by="ana", via="web", at=1)
    return replace(inquiry, state=Answered(closing=closing, answer=Answer(values=((answer,),), text=answer)))


def seen(name: str, can: Capabilities, *, answer: str = "") -> View:
    """What a channel is given of it."""
    return view(asked(name, answer=answer), can, WORDS, "https://upcall.example/i/1")
