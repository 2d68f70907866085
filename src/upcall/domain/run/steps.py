"""The steps of a plan that a program tells while it works, drawn as a list of tasks."""

from collections.abc import Iterable

from upcall.domain.run.program import Planned

DONE = ("completed", "done")
BEGUN = ("in_progress", "inProgress")
MOST = 100


def planned(steps: Iterable[tuple[str, str]]) -> Planned | None:
    """The plan of steps with their states; None if there is none."""
    lines = [_line(text, state) for text, state in steps if text.strip()][:MOST]
    return Planned(text="\n".join(lines)) if lines else None


def _line(text: str, state: str) -> str:
    words = " ".join(text.split())
    if state in DONE:
        return f"- [x] {words}"
    return f"- [ ] **{words}**" if state in BEGUN else f"- [ ] {words}"
