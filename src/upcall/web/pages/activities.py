"""What led to an inquiry, as a card shows it: a line about the work, and the agent's last words and calls, quoted."""

from dataclasses import dataclass

from markupsafe import Markup

from upcall.domain.inquiry.activity import Activity
from upcall.domain.text.display import one_line, visible
from upcall.web.pages.markdown import rendered

MOST_LINES = 6
"""Lines of a quotation that are shown before it is folded."""

LINE = 80
"""Characters of a line, for an estimate: how long lines are is known to browsers alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityView:
    """The values that `activity.html` draws. `folds` says that there is more of it than its first lines."""

    task: str
    branch: str
    turn: int | None
    message: Markup | None
    calls: tuple[tuple[str, str], ...]
    plan: Markup | None
    folds: bool


def activity_view(activity: Activity | None, branch: str) -> ActivityView | None:
    """What led to an inquiry; only the branch as long as nothing else is known, and None where that is not."""
    if activity is None:
        if not branch:
            return None
        activity = Activity()
    calls = tuple((one_line(call.tool), one_line(call.input)) for call in activity.calls)
    lines = lines_in(activity.message) + sum(lines_in(f"{tool} {given}") for tool, given in calls)
    return ActivityView(
        task=one_line(activity.task),
        branch=one_line(branch),
        turn=activity.turn,
        message=rendered(activity.message) if activity.message.strip() else None,
        calls=calls,
        plan=rendered(activity.plan) if activity.plan else None,
        folds=lines > MOST_LINES,
    )


def lines_in(text: str) -> int:
    """About how many lines a text takes; none for none."""
    shown = visible(text).strip("\n")
    return sum(1 + len(line) // LINE for line in shown.split("\n")) if shown else 0
