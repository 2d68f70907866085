"""What a scripted model does to submit a plan in Claude Code: it finds the tools, writes the file, and submits it."""

import re

from tests.agents.script import Call, Conversation, Look, Turn

SEARCH = Call("ToolSearch", {"query": "select:EnterPlanMode,ExitPlanMode"})
"""Claude Code has its tools for plans behind a search."""

SUBMIT = Call("ExitPlanMode")
_FILE = re.compile(r"/[^\s\"\\`']*/\.claude/plans/[^\s\"\\`']+\.md")


def written(plan: str) -> Look:
    """The turn that writes a plan where Claude Code wants it."""

    def turn(conversation: Conversation) -> Turn:
        found = _FILE.search(str(conversation.messages))
        assert found, conversation.messages
        return Call("Write", {"file_path": found[0], "content": plan})

    return turn
