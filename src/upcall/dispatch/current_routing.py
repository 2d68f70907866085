"""The routes in force. Settings that are read again replace them, and every part of the dispatch sees the new ones."""

from upcall.domain.channel.routing import Routing
from upcall.domain.inquiry.inquiry import Change
from upcall.domain.records import NOTHING, Effects


class CurrentRouting:
    """One per daemon; `now` is the routing of the settings as they were last read."""

    def __init__(self, routing: Routing) -> None:
        self.now = routing

    def consequences(self, change: Change) -> Effects:
        """The jobs for channels after a step of an inquiry; none where there is no channel."""
        return self.now.consequences(change) if self.now.channels or not self.now.inbox else NOTHING
