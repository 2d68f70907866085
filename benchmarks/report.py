"""A figure, its target and how they are shown: one line each, a table at the end, and JSON."""

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

NAME_WIDTH = 74
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is wanted: at most (or at least) `factor` times the limit, and `plus` in the figure's own unit."""

    factor: float = 0
    plus: float = 0
    at_least: bool = False

    def text(self, unit: str) -> str:
        parts = [f"{self.factor:g} {TIMES}"] if self.factor else []
        parts += [f"{self.plus:g} {unit}"] if self.plus else []
        return ("≥ " if self.at_least else "≤ ") + " + ".join(parts)

    def met(self, measured: float, limit: float) -> bool:
        bound = self.factor * limit + self.plus
        return measured >= bound if self.at_least else measured <= bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What was measured, beside the limit measured in the same run. Without a target it only informs."""

    name: str
    measured: float
    limit: float | None
    unit: str
    limit_name: str = ""
    repetitions: int = 1
    target: Target | None = None
    details: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        return self.measured / self.limit if self.limit else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.target is None:
            return None
        return self.target.met(self.measured, self.limit or 0)

    def columns(self) -> tuple[str, ...]:
        return (
            self.name,
            f"{number(self.measured)} {self.unit}",
            "" if self.limit is None else f"{number(self.limit)} {self.unit}",
            "" if self.ratio is None else f"{number(self.ratio)} {TIMES}",
            "" if self.target is None else self.target.text(self.unit),
            {True: "✓", False: "✗", None: "·"}[self.met],
        )

    def line(self) -> str:
        return f"{table_line(self.columns())}   {self._remarks()}".rstrip()

    def document(self) -> dict[str, object]:
        made = asdict(self) | {"ratio": self.ratio, "met": self.met}
        made["target"] = None if self.target is None else self.target.text(self.unit)
        return made

    def _remarks(self) -> str:
        parts = [f"limit: {self.limit_name}"] if self.limit_name else []
        parts += [f"n = {self.repetitions}"] if self.repetitions > 1 else []
        return "; ".join(parts + [f"{name} {number(value)}" for name, value in self.details.items()])


class Report:
    """Collects figures and says each as soon as it is known."""

    def __init__(self, *, quick: bool) -> None:
        self.figures: list[Figure] = []
        self._quick = quick
        self._started = datetime.now(UTC)

    def add(self, figure: Figure) -> None:
        self.figures.append(figure)
        print(figure.line(), flush=True)

    def table(self) -> str:
        head = table_line(("figure", "measured", "limit", "ratio", "target", ""))
        return "\n".join([head, "─" * len(head), *[table_line(each.columns()) for each in self.figures]])

    def missed(self) -> list[Figure]:
        return [figure for figure in self.figures if figure.met is False]

    def write(self, path: Path) -> None:
        made = {
            "at": self._started.isoformat(timespec="seconds"),
            "seconds": round((datetime.now(UTC) - self._started).total_seconds(), 1),
            "quick": self._quick,
            "machine": {
                "cores": os.cpu_count(),
                "load": os.getloadavg(),
                "system": platform.platform(),
                "python": sys.version.split()[0],
            },
            "figures": [figure.document() for figure in self.figures],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def number(value: float) -> str:
    """Three digits that mean something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table_line(columns: tuple[str, ...]) -> str:
    name, measured, limit, ratio, target, mark = columns
    return f"{name:<{NAME_WIDTH}}{measured:>14}{limit:>14}{ratio:>11}  {target:<14}{mark}"
