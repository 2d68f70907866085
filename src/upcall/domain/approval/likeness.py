"""Which approvals ask for the same action in different folders: a person can decide about them at once."""

from upcall.domain.inquiry.inquiry import Inquiry, Kind
from upcall.domain.text.display import one_line

LONGEST_LINE = 160
"""Characters of what is asked, as far as a line of a list shows it."""


def likeness(inquiry: Inquiry) -> str:
    """What approvals of the same have in common; empty for an inquiry that has to be looked at by itself.

    A line of a list has to show all that is asked for: no second line, no context or attachment, nothing masked.
    """
    text = inquiry.questions[0].text
    if inquiry.kind is not Kind.APPROVAL or not inquiry.is_open or inquiry.is_queued or inquiry.redacted:
        return ""
    if one_line(text, LONGEST_LINE) != text:
        return ""
    if inquiry.subject is not None:
        return inquiry.subject.anywhere
    return "" if inquiry.context or inquiry.attachments else inquiry.digest
