"""What a field of a form takes, in words: its type, its format and its bounds, said before a person answers."""

from collections.abc import Mapping

from upcall.domain.inquiry.field import BOUNDS, FieldType

Schema = Mapping[str, object]
Words = Mapping[str, str]
LONGEST_DEFAULT = 60
"""Characters of a default that are shown beside a field."""

RULES = {
    "form.rules": "{text} ({rules})",
    "form.and": "{rule}; {other}",
    "form.optional": "can be left out",
    "form.default": "{default} if left out",
    "form.integer": "a whole number",
    "form.number": "a number",
    "form.email": "an e-mail address",
    "form.uri": "an address such as https://example.org",
    "form.date": "a date such as 2030-01-31",
    "form.date-time": "a moment with its offset, such as 2030-01-31T09:00:00Z",
    "form.between": "from {least} to {most}",
    "form.least": "at least {least}",
    "form.most": "at most {most}",
    "form.exactly": "exactly {most}",
    "form.bounded": "{kind} {bounds}",
    "form.character": "{number} character",
    "form.characters": "{number} characters",
    "form.chosen": "{number} of the choices",
}
"""The sentences in English; the channels have them in other languages."""


def rules_of(schema: Schema, default: str, words: Words = RULES, *, required: bool) -> str:
    """What a property of a form takes, and what is taken if it is left out; empty where there is nothing to say."""
    rules = _demands(schema, words)
    if default:
        rules.append(words["form.default"].format(default=default))
    elif not required:
        rules.append(words["form.optional"])
    whole = "".join(rules[:1])
    for other in rules[1:]:
        whole = words["form.and"].format(rule=whole, other=other)
    return whole


def _demands(schema: Schema, words: Words) -> list[str]:
    """The type, the format and the bounds. What choices say themselves is not repeated."""
    type_ = FieldType(str(schema["type"]))
    if type_ is FieldType.BOOLEAN or (type_ is not FieldType.ARRAY and "enum" in schema):
        return []
    least, most = (_whole(schema.get(name)) for name in BOUNDS[type_])
    match type_:
        case FieldType.ARRAY:
            return _kept(_bounds(least, most, words, "form.chosen"))
        case FieldType.STRING:
            format_ = schema.get("format")
            # Every answer has a character.
            wanted = None if least == 0 or least == 1 != most else least
            lengths = _bounds(wanted, most, words, "form.characters")
            return _kept(words[f"form.{format_}"] if format_ else "", lengths)
        case _:
            kind, bounds = words[f"form.{type_}"], _bounds(least, most, words)
            return [words["form.bounded"].format(kind=kind, bounds=bounds) if bounds else kind]


def _bounds(least: object, most: object, words: Words, unit: str = "") -> str:
    if least is None and most is None:
        return ""
    if most is None:
        return words["form.least"].format(least=_amount(least, words, unit))
    if least is None:
        return words["form.most"].format(most=_amount(most, words, unit))
    if least == most:
        return words["form.exactly"].format(most=_amount(most, words, unit))
    return words["form.between"].format(least=least, most=_amount(most, words, unit))


def _amount(number: object, words: Words, unit: str) -> str:
    if number == 1 and unit == "form.characters":
        unit = "form.character"
    return words[unit].format(number=number) if unit else str(number)


def _whole(bound: object) -> object:
    """A bound as a person writes it: 1 rather than 1.0."""
    return int(bound) if isinstance(bound, float) and bound.is_integer() and abs(bound) < 2**53 else bound


def _kept(*rules: str) -> list[str]:
    return [rule for rule in rules if rule]
