"""Typed answers: which schemas are forms, which answers fit them, and what the asker gets."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from upcall.domain.answer import typed
from upcall.domain.answer.outcome import outcome
from upcall.domain.answer.reading import choose, read, take
from upcall.domain.errors import EmptyAnswer, InvalidInquiry, InvalidRequest, UnreadableAnswer
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.field import Content, FieldType, Format
from upcall.domain.inquiry.inquiry import Answer, Answered, Closing, Inquiry, Kind, Origin
from upcall.domain.inquiry.unfit import UnfitAnswer
from upcall.domain.inquiry.wording import prompt_text
from upcall.stores import codec

DEPLOY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "port": {"type": "integer", "minimum": 0, "maximum": 65535, "default": 8080, "title": "Port"},
        "url": {"type": "string", "format": "uri", "description": "where it answers"},
        "day": {"type": "string", "format": "date"},
        "debug": {"type": "boolean"},
        "where": {"oneOf": [{"const": "p", "title": "Production"}, {"const": "s", "title": "Staging"}]},
        "checks": {"type": "array", "items": {"enum": ["lint", "tests", "types"]}, "maxItems": 2},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    },
    "required": ["url", "debug", "where"],
}


def a_form(schema: object = DEPLOY, **fields: Any) -> Inquiry:
    asked = draft({"question": "How shall it run?", "response_schema": schema, **fields})
    return Inquiry(
        id="i1",
        ref="a7",
        kind=asked.kind,
        questions=asked.questions,
        context=asked.context,
        origin=Origin(agent="bot", session="s", door="http"),
        asked_at=0,
        expires_at=1,
    )


def a_field(**schema: Any) -> Inquiry:
    return a_form({"properties": {"it": schema}, "required": ["it"]})


def content(inquiry: Inquiry, answer: Answer) -> Content | None:
    closing = Closing(by="ana", via="web", at=0.5)
    return typed.content(replace(inquiry, state=Answered(closing=closing, answer=answer)))


def problems(refused: pytest.ExceptionInfo[UnfitAnswer]) -> list[tuple[str, str]]:
    return [(each.name, each.rule) for each in refused.value.problems]


@pytest.mark.promise("raised/26")
def test_a_schema_is_a_form_with_a_question_for_each_property() -> None:
    form = a_form(context="It runs since Monday.")
    assert form.kind is Kind.CHOICE
    assert form.context == "How shall it run?\n\nIt runs since Monday."
    assert [question.text for question in form.questions] == [
        "Port",
        "url: where it answers",
        "day",
        "debug",
        "where",
        "checks",
        "note",
    ]
    fields = [question.field for question in form.questions if question.field]
    assert [field.type for field in fields[:4]] == [
        FieldType.INTEGER,
        FieldType.STRING,
        FieldType.STRING,
        FieldType.BOOLEAN,
    ]
    assert [field.required for field in fields] == [False, True, False, True, True, False, False]
    assert (fields[0].least, fields[0].default, fields[1].format) == (0, ("8080",), Format.URI)
    assert form.questions[4].labels == ("Production", "Staging")
    assert form.questions[5].multi
    assert "leave out what has no answer" in prompt_text(form)
    assert "1) Port (a whole number from 0 to 65535; 8080 if left out)\n2) url: " in prompt_text(form)


def test_a_single_field_is_asked_in_the_words_of_the_whole() -> None:
    (question,) = a_field(type="integer", title="Port", description="Below 1024 it needs root.").questions
    assert (question.text, question.header) == ("How shall it run?\n\nBelow 1024 it needs root.", "Port")


def test_a_form_is_kept_as_it_was_asked() -> None:
    form = a_form()
    assert codec.decode(codec.row(form, codec.body(form))) == form


@pytest.mark.promise("raised/26", "raised/31")
def test_an_answer_has_the_content_that_the_schema_describes() -> None:
    form = a_form()
    answer = read(form, "2) https://shop.example\n4) yes\n5) 2\n6) tests, lint")
    assert content(form, answer) == {
        "port": 8080,
        "url": "https://shop.example",
        "debug": True,
        "where": "s",
        "checks": ["lint", "tests"],
    }
    told = outcome(replace(form, state=Answered(closing=Closing(by="a", via="b", at=0.5), answer=answer)))
    assert told.content == content(form, answer)
    assert told.text.startswith('The user filled in the form: {"port": 8080, "url": ')


@pytest.mark.promise("raised/30")
def test_every_field_that_does_not_fit_has_a_sentence() -> None:
    with pytest.raises(UnfitAnswer) as refused:
        take(a_form(), [["65536"], ["a b"], ["2026-02-30"], [], ["Moon"], ["lint", "tests", "types"], []])
    assert problems(refused) == [
        ("port", "most"),
        ("url", "uri"),
        ("day", "date"),
        ("debug", "missing"),
        ("where", "choice"),
        ("checks", "many"),
    ]
    assert "Port: at most 65535, got 65536; url: an address such as" in refused.value.message
    assert "day: a date such as 2030-01-31, got '2026-02-30'" in refused.value.message


@pytest.mark.promise("raised/30")
@pytest.mark.parametrize(
    ("schema", "words", "value"),
    [
        ({"type": "integer"}, " 42 ", 42),
        ({"type": "integer", "exclusiveMinimum": 0}, "1", 1),
        ({"type": "integer", "exclusiveMinimum": 0}, "0", "least"),
        ({"type": "integer"}, "4.5", "integer"),
        ({"type": "integer"}, "²", "integer"),
        ({"type": "number"}, "4,5", 4.5),
        ({"type": "number", "maximum": 1}, "1.01", "most"),
        ({"type": "number"}, "1e999", "number"),
        ({"type": "number"}, "nan", "number"),
        ({"type": "string", "minLength": 3}, "ab", "short"),
        ({"type": "string", "maxLength": 3}, "abcd", "long"),
        ({"type": "string"}, "  as it is", "as it is"),
        ({"type": "string", "format": "email"}, "ana@shop.example", "ana@shop.example"),
        ({"type": "string", "format": "email"}, "ana@shop", "email"),
        ({"type": "string", "format": "uri"}, "mailto:ana@shop.example", "mailto:ana@shop.example"),
        ({"type": "string", "format": "date"}, "2026-11-17", "2026-11-17"),
        ({"type": "string", "format": "date"}, "17.11.2026", "date"),
        ({"type": "string", "format": "date-time"}, "2026-11-17T09:00:00+01:00", "2026-11-17T09:00:00+01:00"),
        ({"type": "string", "format": "date-time"}, "2026-11-17T09:00", "date-time"),
        ({"type": "boolean"}, "n", False),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "perhaps", "choice"),
        ({"type": "integer", "enum": [80, 443]}, "443", 443),
        ({"enum": ["x", "y"], "enumNames": ["Ex", "Why"]}, "why", "y"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2}, "a", "few"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "1 2", ["a", "b"]),
        ({"type": "string"}, "-", "missing"),
    ],
)
def test_words_are_read_by_the_type_of_their_field(schema: dict[str, Any], words: str, value: object) -> None:
    form = a_field(**schema)
    try:
        found = (content(form, read(form, words)) or {})["it"]
    except UnfitAnswer as error:
        found = error.problems[0].rule
    assert (found, type(found)) == (value, type(value))


def test_a_form_is_filled_in_by_an_object_of_its_schema() -> None:
    form = a_form()
    sent = {"url": "https://shop.example", "debug": False, "where": "p", "port": 80.0, "checks": []}
    values = typed.filled_in(form, sent)
    assert content(form, Answer(values=values, text="")) == {
        "port": 80,
        "url": "https://shop.example",
        "debug": False,
        "where": "p",
    }
    with pytest.raises(UnfitAnswer) as refused:
        typed.filled_in(form, {"port": "80", "debug": "yes", "where": "x", "colour": "red"})
    assert problems(refused) == [
        ("port", "integer"),
        ("debug", "choice"),
        ("where", "choice"),
        ("colour", "unknown"),
    ]


def test_a_command_gives_a_value_for_each_field_and_nothing_for_what_is_left_out() -> None:
    form = a_form({"properties": {"port": {"type": "integer"}, "host": {"type": "string"}}})
    assert content(form, choose(form, ["80", ""])) == {"port": 80}
    with pytest.raises(InvalidRequest):
        choose(form, ["80", "a", "b"])
    with pytest.raises(UnreadableAnswer):
        read(form, "eighty")


@pytest.mark.promise("raised/27")
@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ("port", "response_schema"),
        ([], "response_schema"),
        ({"type": "array"}, "response_schema.type"),
        ({}, "response_schema.properties"),
        ({"properties": {}}, "response_schema.properties"),
        ({"properties": {str(n): {"type": "string"} for n in range(21)}}, "response_schema.properties"),
        ({"properties": {"a": {"type": "string"}}, "required": ["b"]}, "response_schema.required"),
        ({"properties": {"a": {"type": "object"}}}, "response_schema.properties.a.type"),
        ({"properties": {"a": {"type": "string", "pattern": "x"}}}, "response_schema.properties.a.pattern"),
        ({"properties": {"a": {"type": "string", "format": "ipv4"}}}, "response_schema.properties.a.format"),
        ({"properties": {"a": {"type": "array"}}}, "response_schema.properties.a.items"),
        (
            {"properties": {"a": {"type": "integer", "minimum": 2, "maximum": 1}}},
            "response_schema.properties.a.minimum",
        ),
        ({"properties": {"a": {"type": "integer", "default": 1.5}}}, "response_schema.properties.a.default"),
        ({"properties": {"a": {"enum": ["x", "x"]}}}, "response_schema.properties.a"),
        ({"properties": {"a": {"enum": [True]}}}, "response_schema.properties.a"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "response_schema.properties.a.$ref"),
        ({"properties": {"a": {"type": "string"}}, "allOf": []}, "response_schema.allOf"),
    ],
)
def test_a_bad_schema_is_refused_with_the_field_and_an_example(schema: object, field: str) -> None:
    with pytest.raises(InvalidInquiry) as refused:
        a_form(schema)
    assert refused.value.field == field
    assert "for example" in (refused.value.hint or "")


def test_generators_of_schemas_write_enums_as_references_and_options_as_null() -> None:
    schema = {
        "$defs": {"Size": {"enum": ["S", "L"], "title": "Size", "type": "string"}},
        "properties": {"size": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}], "default": None}},
        "title": "Order",
        "type": "object",
    }
    form = a_form(schema)
    assert content(form, read(form, "L")) == {"size": "L"}


@pytest.mark.parametrize("beside", [{"options": ["a"]}, {"questions": [{"question": "?"}]}, {"default": "x"}])
def test_nothing_else_says_what_is_asked_beside_a_schema(beside: dict[str, Any]) -> None:
    with pytest.raises(InvalidInquiry, match="not beside response_schema"):
        a_form(**beside)


@given(st.text(max_size=60))
def test_any_words_to_a_form_are_an_answer_that_fits_or_refused(words: str) -> None:
    form = a_form()
    try:
        answer = read(form, words)
    except (UnreadableAnswer, EmptyAnswer):
        return
    assert take(form, answer.values).values == answer.values


def test_a_default_with_a_secret_in_its_label_is_the_answer_all_the_same() -> None:
    key = "use AKIAIOSFODNN7EXAMPLE"
    form = a_field(enum=[key, "none"], default=key)
    left_out = take(form, [[]])
    assert left_out.values == (("use [redacted: AWS access key]",),)
    assert content(form, left_out) == {"it": key}


def test_the_title_of_a_field_has_no_secret_in_it() -> None:
    (question,) = a_field(type="string", title="the key AKIAIOSFODNN7EXAMPLE").questions
    assert question.field is not None
    assert question.field.title == "the key [redacted: AWS access key]"


@pytest.mark.parametrize(
    "schema",
    (
        {"type": "string", "enum": ["\u200b", "keep"]},
        {"type": "string", "title": "\u2060\u200b"},
        {"type": "array", "items": {"oneOf": [{"const": "x", "title": "\u200b"}]}},
    ),
)
def test_a_form_in_which_something_cannot_be_seen_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidInquiry, match="can be seen"):
        a_form({"properties": {"it": schema, "other": {"type": "string"}}})


@pytest.mark.parametrize(
    "property_",
    ('{"type": "integer", "minimum": 1' + "0" * 400 + "}", '{"type": "number", "enum": [NaN, 1]}'),
)
def test_a_number_that_no_program_could_be_told_is_refused_in_a_schema_that_is_text(property_: str) -> None:
    with pytest.raises(InvalidInquiry):
        a_form('{"properties": {"it": ' + property_ + "}}")
