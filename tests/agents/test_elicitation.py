"""Forms of `elicitation/create` as real agents send them, and what is made of a person's answers."""

from collections.abc import Mapping, Sequence

import pytest

from upcall.agents.acp.elicitation import Field, NotFilledIn, fields_of

CACHES = [
    {"const": "r", "title": "Redis", "description": "Keeps data"},
    {"const": "m", "title": "Memcached"},
]
NONE = {"const": "none", "title": "None of the above"}
OWN_WORDS = {"type": "string", "title": "Other", "description": "Type your own answer."}


def a_form(properties: Mapping[str, object], *required: str) -> list[Field]:
    return fields_of({"type": "object", "properties": properties, "required": list(required)})


def a_choice(*further: object, many: bool = False) -> Mapping[str, object]:
    choices = [*CACHES, *further]
    if many:
        return {"type": "array", "title": "Cache", "items": {"anyOf": choices}}
    return {"type": "string", "title": "Cache", "oneOf": choices}


@pytest.mark.parametrize(
    ("answers", "content"),
    [
        (["Memcached"], {"cache": "m"}),
        (["Skip"], {}),
        (["Valkey"], {"cache_custom": "Valkey"}),
    ],
)
def test_a_field_for_ones_own_words_is_part_of_the_question_before_it(
    answers: Sequence[str], content: Mapping[str, object]
) -> None:
    (field,) = a_form({"cache": a_choice(), "cache_custom": OWN_WORDS})
    asked = field.question()
    assert asked["custom"] is True
    assert asked["options"] == [
        {"label": "Redis", "description": "Keeps data"},
        {"label": "Memcached", "description": ""},
        {"label": "Skip", "description": ""},
    ]
    assert field.content(answers) == content


def test_what_has_to_be_chosen_is_then_none_of_what_was_offered() -> None:
    (field,) = a_form({"cache": a_choice(NONE), "cache_note": OWN_WORDS}, "cache")
    assert "None of the above" not in str(field.question()["options"])
    assert field.content(["Valkey"]) == {"cache": "none", "cache_note": "Valkey"}
    assert field.content(["Redis"]) == {"cache": "r"}


def test_several_choices_and_words_of_ones_own_go_together() -> None:
    (field,) = a_form({"cache": a_choice(many=True), "cache_custom": OWN_WORDS})
    assert field.content(["Memcached", "Valkey", "Redis"]) == {
        "cache": ["r", "m"],
        "cache_custom": "Valkey",
    }


@pytest.mark.parametrize(
    ("second", "required"),
    [
        # Something would have to be chosen for the person.
        ({"cache_note": OWN_WORDS}, ("cache",)),
        ({"note": OWN_WORDS}, ()),
        ({"cache_size": {"type": "integer"}}, ()),
        ({"cache_note": OWN_WORDS}, ("cache_note",)),
    ],
    ids=["has to be chosen", "another name", "a number", "has to be written"],
)
def test_any_other_field_is_a_question_of_its_own(
    second: Mapping[str, object], required: Sequence[str]
) -> None:
    first, _ = a_form({"cache": a_choice(), **second}, *required)
    assert first.question()["custom"] is False
    with pytest.raises(NotFilledIn, match="Cache: one of Redis, Memcached"):
        first.content(["Valkey"])


@pytest.mark.parametrize(
    ("title", "description"), [("Which cache?", "Cache"), ("Cache", "Which cache?")], ids=["codex", "others"]
)
def test_the_longer_of_title_and_description_is_the_question(title: str, description: str) -> None:
    (field,) = a_form({"cache": {"type": "string", "title": title, "description": description}})
    asked = field.question()
    assert (asked["header"], asked["question"]) == ("Cache", "Which cache?")
