"""The heading of an approval: which kind of action it is, and where. The action itself is shown below it, whole."""

from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.text.display import one_line
from upcall.web.pages.locales import Words

COMMANDS = frozenset({"bash", "shell", "execute", "exec_command", "local_shell", "run_shell_command"})
EDITS = frozenset(
    {"edit", "multiedit", "notebookedit", "write", "write_file", "replace", "apply_patch", "patch"}
)
"""The tools of agents' programs, in lower case, that run commands and change files."""


def approval_heading(inquiry: Inquiry, words: Words) -> str:
    """What is to be allowed; without words about it where only the asker's own text says what it is."""
    subject = inquiry.subject
    folder = "" if subject is None else subject.cwd.rstrip("/").rpartition("/")[2]
    if subject is None or not folder:
        return words.say("card.approval")
    tool = subject.tool.casefold()
    kind = "command" if subject.words or tool in COMMANDS else "edit" if tool in EDITS else "tool"
    return words.say(f"card.approve.{kind}", tool=one_line(subject.tool, 40), folder=one_line(folder, 60))
