"""Metrics as text: Prometheus' own format, and OpenMetrics where the scraper prefers it."""

from collections.abc import Iterable, Iterator

from upcall.telemetry.metrics import Family, Sample

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def wants_open_metrics(accept: str) -> bool:
    """Whether an `Accept` header names OpenMetrics, and nothing of plain text that it likes better."""
    liked = dict(_media(accept))
    open_metrics = liked.get("application/openmetrics-text", 0.0)
    return open_metrics > 0 and open_metrics >= liked.get("text/plain", 0.0)


def exposed(families: Iterable[Family], *, open_metrics: bool) -> str:
    """The families in one of the two formats."""
    lines: list[str] = []
    for family in families:
        # Only OpenMetrics calls the family of a counter by its name without the ending.
        total = "_total" if family.kind == "counter" and not open_metrics else ""
        lines.append(f"# HELP {family.name}{total} {_escaped(family.meaning)}")
        lines.append(f"# TYPE {family.name}{total} {family.kind}")
        lines += [_line(family, sample) for sample in family.samples]
    return "\n".join([*lines, "# EOF", ""] if open_metrics else [*lines, ""])


def _line(family: Family, sample: Sample) -> str:
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
    return f"{family.name}{sample.suffix}{f'{{{labels}}}' if labels else ''} {sample.value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _media(accept: str) -> Iterator[tuple[str, float]]:
    """Each type with how much it is liked, the least first, so that the last word on a type counts."""
    found: list[tuple[str, float]] = []
    for part in accept.split(","):
        media, *parameters = (each.strip() for each in part.lower().split(";"))
        weight = next((each[2:] for each in parameters if each.startswith("q=")), "1")
        try:
            found.append((media, float(weight)))
        except ValueError:
            continue
    yield from sorted(found, key=lambda each: each[1])
