"""`opencode serve`: a process that is talked to over HTTP, from its first line to the end of its work."""

import asyncio
import re
from collections.abc import Callable, Mapping

from upcall.agents.opencode.api import Api, ServerLost
from upcall.agents.opencode.conversation import Conversation
from upcall.agents.opencode.settings import password
from upcall.domain.run.program import Noticed, Session, Task
from upcall.ports.agent import Console, Desk

_LISTENING = re.compile(r"listening on (http://\S+)")


class ServeDriver:
    """Talks to one process. `prompt` has the agent and the model that each prompt is for, where they are chosen.

    A session without a message is a process that was taken over in the middle: nothing is said to it, and what it
    asked meanwhile is asked of people, under the same keys as before.
    """

    silent = True

    def __init__(self, told: Task | Session, message: str | None, prompt: Mapping[str, str]) -> None:
        self._told = told
        self._message = message
        self._prompt = prompt
        self._conversation: Conversation | None = None

    async def drive(self, console: Console, desk: Desk, notice: Callable[[Noticed], None]) -> None:
        """Do the work; returns when it is finished, or the process has ended."""
        url = await _address(console)
        if url is None:
            return
        api = Api(url, password(self._told.door))
        conversation = Conversation(api, self._told, self._message, self._prompt, desk, notice)
        self._conversation = conversation
        work = asyncio.create_task(conversation.work())
        end = asyncio.create_task(_end(console))
        try:
            await asyncio.wait((work, end), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            self._conversation = None
            for task in (work, end):
                task.cancel()
            await asyncio.gather(work, end, return_exceptions=True)
            await api.close()

    async def say(self, text: str) -> bool:
        """Add to what it was told; it reads that before its next step."""
        if self._conversation is None:
            return False
        try:
            return await self._conversation.say(text)
        except ServerLost:
            return False


async def _address(console: Console) -> str | None:
    while (line := await console.read()) is not None:
        if found := _LISTENING.search(line):
            return found[1]
    return None


async def _end(console: Console) -> None:
    """Read on, so that the process is never stopped by a full pipe."""
    while await console.read() is not None:
        pass
