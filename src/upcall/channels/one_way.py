"""Shared by channels that only tell: a title, a few lines, and a link with which the question is answered."""

import asyncio

from upcall.channels.plain import barred, more, question
from upcall.domain.channel.showing import Reference, View
from upcall.domain.text.display import inert
from upcall.ports.channel import Inbox


def summary(view: View) -> str:
    """The questions and the context of a view, behind bars and without links; then our own lines."""
    asked = ["\n".join(question(each)) for each in view.questions]
    context = "\n".join(barred(view.context)) if view.context else ""
    framed = [inert(part) for part in (*asked, context) if part]
    return "\n\n".join([*framed, *(part for part in (inert(view.progress), *more(view)) if part)])


class OneWay:
    """A channel in which nothing can be pressed or said, and nothing that was sent can be changed.

    The page behind the link says how a question ended, so nothing more is sent about that.
    """

    async def refresh(self, reference: Reference, view: View) -> None:
        """Leave what was sent as it is."""

    async def listen(self, inbox: Inbox) -> None:
        """Wait: nothing is heard here."""
        await inbox.connected()
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Nothing is held."""
