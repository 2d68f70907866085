"""What channels have in common that only tell: a title, a few lines, and a link with which the question is answered."""

import asyncio

from upcall.channel_ports import Inbox
from upcall.domain.showing import Asked, Reference, View


def summary(view: View) -> str:
    """What is asked, in plain lines."""
    parts = [*(_question(each) for each in view.questions), view.context, view.progress, view.more]
    return "\n\n".join(part for part in parts if part)


def _question(asked: Asked) -> str:
    head = f"{asked.header}: {asked.text}" if asked.header else asked.text
    return "\n".join([head, *(f"{number}. {choice.full}" for number, choice in enumerate(asked.choices, 1))])


class OneWay:
    """A channel in which nothing can be pressed or said, and nothing that was sent can be changed.

    Whoever follows the link sees how a question ended, so nothing more is sent about that.
    """

    async def refresh(self, reference: Reference, view: View) -> None:
        """Leave what was sent as it is."""

    async def listen(self, inbox: Inbox) -> None:
        """Wait for nothing."""
        await inbox.connected()
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Nothing is held."""
