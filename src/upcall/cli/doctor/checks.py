"""Results of checks, as lines and as JSON."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from upcall.cli.failures import spelled
from upcall.cli.render.terminal import Paint

OK = "ok"
NOTE = "note"
FAILED = "failed"

MARGIN = 25
NARROWEST = 30


class Check(NamedTuple):
    """One result: its name, its state, a sentence, and the next step where something is wrong."""

    name: str
    state: str
    says: str
    next: str = ""


class CheckedSubject(NamedTuple):
    """What was checked: the installation or an agent."""

    name: str
    checks: list[Check]

    @property
    def is_well(self) -> bool:
        """Whether nothing has failed."""
        return all(check.state != FAILED for check in self.checks)


def document(subjects: Iterable[CheckedSubject]) -> dict[str, object]:
    """All results as JSON."""
    told = [{"about": subject.name, **check._asdict()} for subject in subjects for check in subject.checks]
    return {"ok": all(each["state"] != FAILED for each in told), "checks": told}


def lines(subjects: Iterable[CheckedSubject], paint: Paint, width: int | None) -> Iterator[str]:
    """All results as lines; without a width, each is one line."""
    signs = {OK: paint.good("ok    "), NOTE: paint.dim("note  "), FAILED: paint.bad("FAILED")}
    for subject in subjects:
        yield paint.bold(subject.name)
        for check in subject.checks:
            first, *more = _wrapped(check.says, width)
            yield f"  {signs[check.state]}  {check.name:<13}  {first}"
            if check.next:
                more += _wrapped(f"Next: {spelled(check.next)}", width)
            yield from (" " * MARGIN + line for line in more)


def _wrapped(text: str, width: int | None) -> list[str]:
    from textwrap import wrap

    columns = len(text) if width is None else max(width - MARGIN, NARROWEST)
    # Commands and paths are for copying, and stay whole.
    return wrap(text, columns, break_long_words=False, break_on_hyphens=False) if text else [""]
