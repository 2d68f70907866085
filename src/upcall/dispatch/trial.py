"""Trying a channel: its own checks, and a test question in one of its places."""

from collections.abc import Sequence
from dataclasses import dataclass

from upcall.dispatch.dispatcher import Dispatch
from upcall.domain.channel.showing import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the checks found, the place of the test question, and its id; None where none was asked."""

    findings: Sequence[Finding]
    place: str | None
    inquiry: str | None


async def tried(dispatch: Dispatch, name: str, by: str, place: str | None = None) -> Trial:
    """Check a channel and, if all is well, ask a test question there: in `place`, else where its first route leads.

    Raises:
        UnknownChannel: if there is none of that name.
    """
    findings = await dispatch.check(name)
    place = place or next(iter(dispatch.places(name)), None)
    inquiry = None
    if place is not None and all(finding.ok for finding in findings):
        inquiry = (await dispatch.ask_itself(name, place, by)).id
    return Trial(findings=findings, place=place, inquiry=inquiry)
