"""Names: sortable ids for machines, short refs for people.

A ref is a letter followed by letters and digits, at least one of them a digit, so that it is never a word
("no", "ok") nor a run number. Letters and digits that look alike are left out.
"""

from collections.abc import Iterator
from random import Random

LETTERS = "abcdefghjkmnpqrstuvwxyz"
DIGITS = "23456789"
REF_REST_DAYS = 30
"""How long a ref rests after its inquiry closed, so that a late "a7 yes" never approves something else."""

ID_LENGTH = 26
SHORTEST, LONGEST = 2, 6
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]


def inquiry_id(now_ms: int, entropy: int) -> str:
    """A sortable unique id: 48 bits of milliseconds and 80 of entropy, as `ID_LENGTH` base-32 characters."""
    number = (now_ms & (1 << 48) - 1) << 80 | entropy & (1 << 80) - 1
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def candidates(random: Random, length: int) -> Iterator[str]:
    """Refs of one length to try, for ever."""
    while True:
        yield _ref(random, length)


def _ref(random: Random, length: int) -> str:
    characters = random.choices(LETTERS + DIGITS, k=length - 1)
    characters[random.randrange(length - 1)] = random.choice(DIGITS)
    return random.choice(LETTERS) + "".join(characters)
