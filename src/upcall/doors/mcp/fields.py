"""An inquiry as the flat JSON Schema of an elicitation, and what a person filled in as answers."""

from collections.abc import Iterator, Mapping, Sequence

from upcall.domain.inquiry.field import NO, YES, FieldType
from upcall.domain.inquiry.inquiry import Inquiry, Option, Question
from upcall.domain.text.display import one_line, visible

Message = dict[str, object]

ANSWER = "answer"
OTHER = "_other"
"""How the name of the property ends that takes an answer in one's own words beside the choices."""

OWN_WORDS: Message = {
    "type": "string",
    "title": "Other",
    "description": "An answer in your own words instead.",
}


def schema_of(inquiry: Inquiry, *, lists: bool) -> Message | None:
    """The form; None if it takes lists of choices, and the client has none."""
    properties: Message = {}
    required: list[str] = []
    for name, question in _named(inquiry):
        if question.multi and not lists:
            return None
        properties[name] = _property(question, lists=lists)
        if question.field is None and question.options and question.custom:
            properties[name + OTHER] = OWN_WORDS
        elif question.field is None or question.field.required:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def answers_in(inquiry: Inquiry, content: Mapping[str, object]) -> list[list[str]]:
    """What was filled in, for each question."""
    answers = []
    for name, question in _named(inquiry):
        values = list(_texts(content.get(name)))
        own = content.get(name + OTHER)
        if question.field is None and isinstance(own, str) and own.strip():
            values = [*values, own] if question.multi else [own]
        answers.append(values)
    return answers


def _named(inquiry: Inquiry) -> Iterator[tuple[str, Question]]:
    for number, question in enumerate(inquiry.questions, 1):
        plain = ANSWER if len(inquiry.questions) == 1 else f"{ANSWER}_{number}"
        yield question.field.name if question.field is not None else plain, question


def _texts(given: object) -> Sequence[str]:
    match given:
        case bool():
            return [YES if given else NO]
        case list():
            return [str(each) for each in given]
        case str() | int() | float():
            return [str(given)]
        case _:
            return []


def _property(question: Question, *, lists: bool) -> Message:
    field = question.field
    title = question.header or (field.title if field is not None else "Answer")
    made: Message = {"title": one_line(title), "description": visible(question.text)}
    if field is not None and field.type is FieldType.BOOLEAN:
        made["type"] = "boolean"
    elif question.multi:
        bounds = {} if field is None else {"minItems": field.least, "maxItems": field.most}
        made |= {name: value for name, value in bounds.items() if value is not None}
        made |= {"type": "array", "items": {"anyOf": _choices(question)}}
    elif question.options:
        labels = list(question.labels)
        titles = [_titled(option) for option in question.options]
        made["type"] = "string"
        made |= {"oneOf": _choices(question)} if lists else {"enum": labels, "enumNames": titles}
    elif field is not None:
        made |= {name: value for name, value in field.schema().items() if name != "title"}
    else:
        made["type"] = "string"
    return made | _default(question)


def _default(question: Question) -> Message:
    field = question.field
    if field is None or not field.default:
        return {}
    if question.multi:
        return {"default": list(field.default)}
    [default] = field.default
    chosen = question.options and field.type is not FieldType.BOOLEAN
    return {"default": default if chosen else field.value(default, question.labels)}


def _choices(question: Question) -> list[Message]:
    # The label is what is answered, whatever it stands for: it is read like that of any other channel.
    return [{"const": option.label, "title": _titled(option)} for option in question.options]


def _titled(option: Option) -> str:
    more = f" — {visible(option.description)}" if option.description.strip() else ""
    return f"{one_line(option.label)}{more}"
