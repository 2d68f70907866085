"""What happens to an answer, as a sentence."""

from typing import Any

from upcall.domain.text.display import one_line
from upcall.home.program import program


def fate(reply: dict[str, Any]) -> str:
    """The next step of an answer that was just given."""
    # An older daemon does not say.
    told = reply.get("told") or {"to": "call"}
    inquiry, run, command = reply["inquiry"], told.get("run"), told.get("command")
    continued = f" To continue: {one_line(command, 1000)}" if command else ""
    match told["to"]:
        case "agent":
            return "The agent is at work, and gets it when it asks again."
        case "run" if run is not None:
            return f"It is brought back with it as run {run}: {program()} log {run} -f"
        case "run":
            return f"Its session has ended, and is brought back with it as a run: {program()} show {inquiry['ref']}"
        case "runner":
            return "It is delivered on the machine of the agent."
        case "gone" if continued:
            return f"The asker is gone; the answer is kept.{continued}"
        case "gone":
            return f"The asker is gone; the answer is kept, for wait_for_answer with id {inquiry['id']}."
        case "kept":
            return f"No call waits for it now; the answer is kept until the agent asks again.{continued}"
        case _:
            return "The agent is being told."
