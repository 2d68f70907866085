"""Why an answer does not fit a form: a rule for each field, and the sentence that says what would fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from upcall.domain.errors import UnreadableAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """Why an answer does not fit a field of a form: a rule by its name, and what fills the gaps in its sentence."""

    name: str
    title: str
    rule: str
    gaps: Mapping[str, object]

    @property
    def sentence(self) -> str:
        """What would fit."""
        return FIELD_RULES[self.rule].format(**self.gaps)


FIELD_RULES = {
    "missing": "an answer is needed",
    "number": "a number, got {given}",
    "integer": "a whole number, got {given}",
    "least": "at least {least}, got {given}",
    "most": "at most {most}, got {given}",
    "short": "at least {least} characters, got {given}",
    "long": "at most {most} characters, got {given}",
    "few": "at least {least} of the choices, got {given}",
    "many": "at most {most} of the choices, got {given}",
    "email": "an e-mail address, got {given}",
    "uri": "an address such as https://example.org, got {given}",
    "date": "a date such as 2030-01-31, got {given}",
    "date-time": "a moment with its offset, such as 2030-01-31T09:00:00Z, got {given}",
    "choice": "one of the choices, got {given}",
    "text": "a text, got {given}",
    "unknown": "there is no such field",
}
"""What each rule says, after the name of the field; the pages have them in other languages."""


class UnfitAnswer(UnreadableAnswer):
    """An answer to a form with fields that do not fit: a sentence for each of them."""

    code = "unfit_answer"

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        super().__init__(
            "; ".join(f"{each.title}: {each.sentence}" for each in problems), hint="nothing was sent; mend it"
        )
        self.problems = tuple(problems)
