"""What a check-up finds, one line each."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from upcall.cli.render.terminal import Paint

OK = "ok"
NOTE = "note"
FAILED = "failed"

MARGIN = 25
NARROWEST = 30


class Finding(NamedTuple):
    """One thing that was looked at: which, how it stands, and what to do next if that is not well."""

    name: str
    state: str
    says: str
    next: str = ""


class Patient(NamedTuple):
    """Whoever was looked at: the installation or an agent."""

    name: str
    findings: list[Finding]

    @property
    def is_well(self) -> bool:
        """Whether nothing has failed."""
        return all(finding.state != FAILED for finding in self.findings)


def document(patients: Iterable[Patient]) -> dict[str, object]:
    """Everything, for programs."""
    told = [
        {"about": patient.name, **finding._asdict()} for patient in patients for finding in patient.findings
    ]
    return {"ok": all(each["state"] != FAILED for each in told), "checks": told}


def lines(patients: Iterable[Patient], paint: Paint, width: int | None) -> Iterator[str]:
    """Everything, for people; without a width, each finding is one line."""
    signs = {OK: paint.good("ok    "), NOTE: paint.dim("note  "), FAILED: paint.bad("FAILED")}
    for patient in patients:
        yield paint.bold(patient.name)
        for finding in patient.findings:
            first, *more = _wrapped(finding.says, width)
            yield f"  {signs[finding.state]}  {finding.name:<13}  {first}"
            if finding.next:
                more += _wrapped(f"Next: {finding.next}", width)
            yield from (" " * MARGIN + line for line in more)


def _wrapped(text: str, width: int | None) -> list[str]:
    from textwrap import wrap

    columns = len(text) if width is None else max(width - MARGIN, NARROWEST)
    # Commands and paths are for copying, and stay whole.
    return wrap(text, columns, break_long_words=False, break_on_hyphens=False) if text else [""]
