"""Forms that an MCP server wants filled in, as questions, and the answers as what fills them in."""

from collections.abc import Mapping, Sequence

from upcall.agents.codex.items import Json, fields_in, list_in, text_in

YES, NO = "Yes", "No"
ACCEPT, DECLINE = "Accept", "Decline"

Answers = Sequence[Sequence[str]]


def questions_in(message: str, schema: Json) -> Mapping[str, object]:
    """What to ask, so that a form can be filled in; one without fields only wants to be accepted."""
    fields = fields_in(schema.get("properties"))
    if not fields:
        return {"question": message, "options": [{"label": ACCEPT}, {"label": DECLINE}], "custom": False}
    asked = [_question(name, fields_in(field)) for name, field in fields.items()]
    return {"questions": asked, "context": message}


def content_from(answers: Answers, schema: Json) -> Mapping[str, object] | None:
    """A form as it was answered; None if it was declined, or if it cannot be filled in with these answers."""
    fields = fields_in(schema.get("properties"))
    if not fields:
        return {} if [*map(list, answers)] == [[ACCEPT]] else None
    if len(answers) != len(fields):
        return None
    content: dict[str, object] = {}
    for (name, field), values in zip(fields.items(), answers, strict=True):
        value = _value(fields_in(field), values)
        if value is not None:
            content[name] = value
        elif name in list_in(schema.get("required")):
            return None
    return content


def _question(name: str, field: Json) -> Mapping[str, object]:
    texts = (text_in(field.get("title")), text_in(field.get("description")))
    choices = _choices(field)
    return {
        "header": name,
        "question": ": ".join(text for text in texts if text) or name,
        "options": [{"label": label} for label in choices],
        "multiSelect": field.get("type") == "array",
        "custom": not choices,
    }


def _choices(field: Json) -> Mapping[str, object]:
    """What can be chosen: what it is called, and what it stands for."""
    if field.get("type") == "boolean":
        return {YES: True, NO: False}
    inner = fields_in(field.get("items")) if field.get("type") == "array" else field
    named = [fields_in(each) for each in list_in(inner.get("oneOf", inner.get("anyOf")))]
    titled = {text_in(each.get("title")) or text_in(each.get("const")): each.get("const") for each in named}
    names = [text_in(name) for name in list_in(inner.get("enumNames"))]
    plain = [text_in(value) for value in list_in(inner.get("enum"))]
    return titled or dict(zip(names if len(names) == len(plain) else plain, plain, strict=True))


def _value(field: Json, values: Sequence[str]) -> object:
    choices = _choices(field)
    chosen = [choices.get(value, value) for value in values]
    if field.get("type") == "array":
        return chosen
    if not chosen:
        return None
    if field.get("type") not in ("number", "integer"):
        return chosen[0]
    try:
        return int(values[0]) if field["type"] == "integer" else float(values[0])
    except ValueError:
        return None
