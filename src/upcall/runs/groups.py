"""Which run a question through files belongs to, where the settings say whose folder a group is."""

from collections.abc import Mapping

from upcall.domain.roles import Caller, Role
from upcall.domain.run.run import RunState
from upcall.runs.book import Book

MOST = 1000


class GroupRuns:
    """Knows the agents of one machine's groups; `agents` has an agent's name for each group that is one's."""

    def __init__(self, book: Book, runner: str, agents: Mapping[str, str]) -> None:
        self._book = book
        self._runner = runner
        self._agents = agents

    async def asker(self, group: str) -> Caller | None:
        """Who asks in a group: the newest live run of its agent, the agent without a run, or nobody in particular."""
        agent = self._agents.get(group)
        if agent is None:
            return None
        for state in (RunState.RUNNING, RunState.WAITING):
            for run in (await self._book.find(state.value, limit=MOST)).items:
                if run.agent == agent and run.alive and run.runner == self._runner:
                    return run.caller
        return Caller(name=agent, role=Role.AGENT)
