"""What an approval can be remembered as, in words. It loads nothing that only drawing needs."""

import shlex
from typing import NamedTuple

from upcall.domain.approval.obstacles import no_prefix
from upcall.domain.approval.rules import suggested_prefix, ways
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.text.display import one_line
from upcall.web.pages.locales import Words


class OfferedRules(NamedTuple):
    """The rules that an open approval can be remembered as, each in words, and why one for its first words is not among them."""

    ways: tuple[tuple[str, str], ...]
    no_prefix: str


def offered_rules(inquiry: Inquiry, words: Words) -> OfferedRules:
    """What a card offers; nothing once it is decided, and nothing where several people have to approve."""
    subject = inquiry.subject
    if subject is None or not inquiry.is_open or inquiry.quorum > 1:
        return OfferedRules((), "")
    why = no_prefix(subject)
    missing = "" if why is None else words.say(f"remember.no_prefix.{why.obstacle}", what=why.what)
    return OfferedRules(ways_in_words(inquiry, words), missing)


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
