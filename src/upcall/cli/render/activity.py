"""What led to a question, as lines on a terminal."""

from typing import Any

from upcall.cli.render.terminal import Paint
from upcall.domain.text.display import one_line, visible

QUOTE = "  │ "


def activity_facts(activity: dict[str, Any] | None) -> list[str]:
    """The task and the turn, each as far as it is known."""
    if activity is None:
        return []
    named = {
        "Task": one_line(activity["task"]),
        "Turn": activity["turn"],
    }
    return [f"{name}: {value}" for name, value in named.items() if value]


def activity_lines(activity: dict[str, Any] | None, paint: Paint) -> list[str]:
    """The agent's last message and its last tool calls, quoted."""
    if activity is None:
        return []
    # An older daemon tells nothing of a plan.
    plan = activity.get("plan")
    steps = (
        ["", paint.bold("ITS PLAN:"), *(f"{QUOTE}{line}" for line in visible(plan).split("\n"))]
        if plan
        else []
    )
    if not (activity["message"] or activity["calls"]):
        return steps
    said = visible(activity["message"]).strip("\n").split("\n") if activity["message"] else []
    called = [f"{one_line(call['tool'])} {one_line(call['input'])}".rstrip() for call in activity["calls"]]
    quoted = [paint.dim(f"{QUOTE}{line}".rstrip()) for line in (*said, *(f"→ {line}" for line in called))]
    return [*steps, "", paint.bold("BEFORE IT ASKED:"), *quoted]
