"""The words that an inquiry is found by. Every store uses these words, so all of them find the same inquiries.

Words are compared without regard to case, from their beginning on. Where a script sets no spaces between words, each pair of
neighbouring characters is one. The answer to a secret question is not among them.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256

from upcall.domain.inquiry.inquiry import Answered, Inquiry, Kind, Open
from upcall.domain.text.normalizing import normalized

MOST_WORDS = 4000
"""How many different words of one inquiry are kept."""

MOST_CHARACTERS = 100_000
"""How much of the text of one inquiry is read for its words: its context comes last."""

LONGEST_SEARCH = 4096
MOST_WANTED = 32
LONGEST_WORD = 64

# Thai to Khmer, kana, Chinese characters and Hangul.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"([{_UNSPACED}]+)|[^\W_{_UNSPACED}]+")
# No word of a text begins with it, so a search cannot contain it.
_MARK = "§"


def words_of(inquiry: Inquiry) -> list[str]:
    """The words that lead to an inquiry as it is now, and the marks of its kind and of where it came from."""
    found = dict.fromkeys(_marks(inquiry))
    left = MOST_CHARACTERS
    for text in _texts(inquiry):
        read, left = text[:left], max(0, left - len(text))
        for word in _words(read, alone=True):
            found[word] = None
            if len(found) >= MOST_WORDS:
                return list(found)
    return list(found)


def wanted(text: str) -> list[str]:
    """The beginnings of words that all have to be there for an inquiry to be found."""
    return list(dict.fromkeys(_words(text[:LONGEST_SEARCH], alone=False)))[:MOST_WANTED]


def workspace_mark(workspace: str) -> str:
    """The mark of everything that was asked from there."""
    return f"{_MARK}w{_digest(workspace)}"


def agent_mark(agent: str) -> str:
    """The mark of everything that this agent asked."""
    return f"{_MARK}a{_digest(agent)}"


def run_mark(run: int) -> str:
    """The mark of everything that this run asked."""
    return f"{_MARK}r{run}"


def kind_mark(kind: Kind) -> str:
    """The mark of every inquiry of this kind."""
    return f"{_MARK}k{kind.value}"


def state_mark(state: str) -> str:
    """The mark of every inquiry that a store keeps in this state."""
    return f"{_MARK}s{state}"


def _marks(inquiry: Inquiry) -> Iterator[str]:
    origin = inquiry.origin
    yield kind_mark(inquiry.kind)
    yield agent_mark(origin.agent)
    if origin.workspace:
        yield workspace_mark(origin.workspace)
    if origin.run is not None:
        yield run_mark(origin.run)


def _digest(name: str) -> str:
    return sha256(name.encode("utf-8", "replace")).hexdigest()[:24]


def _texts(inquiry: Inquiry) -> Iterator[str]:
    origin = inquiry.origin
    yield from (inquiry.ref, origin.agent, origin.workspace or "")
    for question in inquiry.questions:
        yield from (question.header, question.text)
        for option in question.options:
            yield from (option.label, option.description)
    # What became of it comes before what may be long.
    yield from _outcome(inquiry)
    yield from (file.name for file in inquiry.attachments)
    yield inquiry.context


def _outcome(inquiry: Inquiry) -> Iterator[str]:
    state = inquiry.state
    if isinstance(state, Open):
        return
    yield from (state.closing.by, state.closing.reason or "")
    if isinstance(state, Answered) and not inquiry.secret:
        yield from (state.answer.text or "", state.answer.note)
        for values in state.answer.values:
            yield from values


def _words(text: str, *, alone: bool) -> Iterable[str]:
    for found in _WORD.finditer(normalized("NFKC", text).casefold()):
        word = found[0]
        if found[1] is None:
            yield word[:LONGEST_WORD]
            continue
        yield from (word[at : at + 2] for at in range(len(word) - 1))
        # The last character has no neighbour to be found with, and neither has a single one that is looked for.
        if alone or len(word) == 1:
            yield word[-1]
