"""What an approval can be remembered as, in words. It loads nothing that only drawing needs."""

import shlex

from upcall.domain.approval.rules import suggested_prefix, ways
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.text.display import one_line
from upcall.web.pages.locales import Words


def ways_in_words(inquiry: Inquiry, words: Words) -> tuple[tuple[str, str], ...]:
    """What an approval can be remembered as, each in words."""
    subject = inquiry.subject
    if subject is None or inquiry.quorum > 1:
        return ()
    gaps = {
        "words": one_line(shlex.join(suggested_prefix(subject)), 60),
        "tool": one_line(subject.tool, 40),
        "folder": one_line(subject.cwd, 60),
    }
    return tuple((way, words.say(f"remember.{way}", **gaps)) for way in ways(subject))
