"""What happens to an answer that was given on a page, in the reader's language: the facts that `upcall answer` tells as well."""

from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.text.display import one_line
from upcall.ports.runs import Runs
from upcall.web.pages.locales import Words

CALL = "call"
"""A call waits for the answer, so there is nothing more to say than that its agent is told."""

RECIPIENTS = frozenset({CALL, "agent", "run", "runner", "gone", "kept"})
LONGEST_COMMAND = 1000


class Recipients:
    """Tells where answers go."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def recipient(self, inquiry: Inquiry, *, awaited: bool) -> str:
        """Which of the recipients gets the answer that was given just now; `awaited` says that a call waited for it."""
        found = await self._runs.recipient(inquiry, awaited=awaited)
        return CALL if found is None else str(found["to"])

    async def sentence(
        self, words: Words, inquiry: Inquiry, recipient: str, *, with_command: bool = True
    ) -> str:
        """What happens to the answer. The command to go on tells of the asker's machine, so not every reader gets it."""
        if recipient in {CALL, "agent", "runner"}:
            return words.say(f"told.{recipient}")
        state = await self._runs.resume_state(inquiry.id) or {}
        if recipient == "run":
            run = inquiry.origin.run or state.get("run")
            return words.say("told.session") if run is None else words.say("told.run", n=run)
        command = state.get("command") if with_command else None
        if command is not None:
            return words.say(f"told.{recipient}_command", command=one_line(str(command), LONGEST_COMMAND))
        return words.say(f"told.{recipient}", id=inquiry.id)
