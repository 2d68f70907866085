"""The state of a form, kept in the data of its buttons: each button carries the state that a press on it leads to.

The daemon keeps nothing between two presses, so a press that is delivered twice changes nothing more, and a restart loses
nothing. Words do not fit into a button: they stand in the message, and the data has a mark for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from upcall.domain.channel.showing import Given

SETTLE = "!"
STAY = "="
IN_WORDS = "*"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormState:
    """What is given for each question, and the index of the one that is asked now; None after the last one."""

    step: int | None
    given: tuple[Given, ...]

    @classmethod
    def blank(cls, count: int) -> "FormState":
        """The state of a form in which nothing is given."""
        return cls(step=0, given=(Given(),) * count)

    def with_given(self, index: int, given: Given) -> "FormState":
        """The same with this for one question."""
        return replace(self, given=(*self.given[:index], given, *self.given[index + 1 :]))

    def at(self, step: int) -> "FormState":
        """The same at another question; after the last one there is nothing left to ask."""
        return replace(self, step=step if step < len(self.given) else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    """What the data of a button says. A button that is `current` shows the state and does not change it."""

    inquiry: str
    state: FormState
    current: bool = False


def button_data(inquiry: str, state: FormState, *, current: bool = False) -> str:
    """A button's data: 57 bytes for four questions of 30 options each, of the 64 that Telegram takes."""
    target = SETTLE if state.step is None else str(state.step)
    return f"{inquiry}:{STAY if current else ''}{target}:{'.'.join(_one(each) for each in state.given)}"


def pressed_in(data: str, words: Sequence[str] = ()) -> Pressed | None:
    """What a button stands for; `words` are those that stand in its message. None if it is not one of ours.

    Where a message has fewer words than its button says, the first question that misses some is asked again.
    """
    inquiry, _, rest = data.partition(":")
    target, _, answers = rest.partition(":")
    current = target.startswith(STAY)
    target = target.removeprefix(STAY)
    said = list(words)
    given: list[Given] = []
    missing: int | None = None
    try:
        step = None if target == SETTLE else int(target)
        for index, each in enumerate(answers.split(".")):
            if each == IN_WORDS and not said and missing is None:
                missing = index
            given.append(
                Given(words=said.pop(0) if said else "") if each == IN_WORDS else Given(picks=_picks(each))
            )
    except ValueError:
        return None
    if missing is not None:
        step = missing
    if step is not None and not 0 <= step < len(given):
        return None
    return Pressed(inquiry=inquiry, state=FormState(step=step, given=tuple(given)), current=current)


def _one(given: Given) -> str:
    if given.words:
        return IN_WORDS
    number, digits = sum(1 << pick for pick in given.picks), ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def _picks(digits: str) -> tuple[int, ...]:
    number = int(digits, len(_DIGITS)) if digits else 0
    return tuple(place for place in range(number.bit_length()) if number >> place & 1)
