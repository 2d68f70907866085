"""What a browser's form says about an action that was edited."""

from collections.abc import Mapping

from upcall.domain.approval.editing import from_text, in_text
from upcall.domain.errors import NotEditable
from upcall.domain.inquiry.inquiry import Inquiry

EDITED = "edited"
"""The verdict of the button that approves what the fields say; with a hash behind it, what another person edited."""

Form = Mapping[str, list[str]]


def is_changed(inquiry: Inquiry, form: Form) -> bool:
    """Whether a form says another thing about the action than what was asked for."""
    subject = inquiry.subject
    given = {} if subject is None or subject.given is None else subject.given
    written = _written(given, form)
    return any(text != in_text(given[name]) for name, text in written.items())


def edited_input(inquiry: Inquiry, form: Form, verdict: str) -> Mapping[str, object]:
    """The input that a form with the verdict `edited` stands for: of its fields, or what another person made of it.

    Raises:
        NotEditable: if a field is not of its type, or there is no such edit of another person.
    """
    of_another = verdict.partition(":")[2]
    for edit in inquiry.edits:
        if edit.digest == of_another:
            return edit.input
    if of_another:
        raise NotEditable("no person has changed it like this", hint="look at the page again")
    given = inquiry.subject.given if inquiry.subject is not None else None
    # What cannot be edited is refused where it is decided.
    return {} if given is None else from_text(given, _written(given, form))


def _written(given: Mapping[str, object], form: Form) -> dict[str, str]:
    """The fields as they were sent. Browsers send line ends as the standard of e-mail has them."""
    sent = {name: form.get(f"e{number}") for number, name in enumerate(given)}
    return {name: texts[0].replace("\r\n", "\n") for name, texts in sent.items() if texts}
