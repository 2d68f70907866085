"""Whether words are a yes or a no to an approval.

It knows nothing of inquiries: the command line loads it for every answer, and starts twice as fast without them.
"""

import re

from upcall.domain.answer.matching import NUMBER, bare

AFFIRMATIVE = frozenset({"approve", "approved", "yes", "y", "ok", "allow", "1"})
NEGATIVE = frozenset({"deny", "denied", "no", "n", "reject", "2"})
_NO_AND_WHY = re.compile(r"([A-Za-z]+)[ \t]*[,.;:!\n\u2013\u2014-]")


def is_yes(raw: str) -> bool | None:
    """Whether a word approves or denies; None for any other."""
    word = bare(raw)
    if number := NUMBER.fullmatch(word):
        word = number[1]
    # Letters of other alphabets that fold to these are doubt enough.
    word = word.casefold() if word.isascii() else ""
    if word in AFFIRMATIVE:
        return True
    return False if word in NEGATIVE else None


def is_clear_yes(text: str) -> bool | None:
    """Whether a text clearly approves or clearly denies; None where it does neither.

    A yes stands alone. A no may go on after a mark: `no, push to staging instead`; `no problem` is not one.
    """
    known = is_yes(text)
    if known is None and (lead := _NO_AND_WHY.match(text.strip())) and lead[1].casefold() in NEGATIVE:
        return False
    return known
