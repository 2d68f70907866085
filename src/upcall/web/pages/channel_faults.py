"""Channels that do not work, for the top of the inbox: since when, why, and what to do; and those that are off, for the menu."""

from dataclasses import dataclass

from upcall.dispatch.dispatcher import Dispatch
from upcall.domain.text.display import one_line
from upcall.web.pages.locales import Words

LONGEST_PROBLEM = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultLine:
    """What does not work about a channel, in the reader's language."""

    sentence: str
    since: float
    hint: str


async def fault_lines(dispatch: Dispatch | None, words: Words, program: str) -> list[FaultLine]:
    """One line for each side of a channel that does not work; `program` is how our command is typed."""
    if dispatch is None:
        return []
    return [
        FaultLine(
            sentence=words.say(
                f"fault.{fault.side}",
                channel=one_line(name, 60),
                problem=one_line(fault.problem, LONGEST_PROBLEM),
            ),
            since=fault.since,
            hint=words.say(
                "fault.signed_out" if fault.signed_out else "fault.retried",
                channel=one_line(name, 60),
                upcall=program,
            ),
        )
        for name in dispatch.names
        for fault in await dispatch.faults(name)
        if name not in dispatch.off
    ]


def off_lines(dispatch: Dispatch | None, words: Words) -> list[str]:
    """One sentence for each channel that is off, for the menu: a setting that is missing is no alarm."""
    if dispatch is None:
        return []
    return [
        words.say("fault.off", channel=one_line(name, 60), problem=one_line(off.problem, LONGEST_PROBLEM))
        for name, off in dispatch.off.items()
    ]
