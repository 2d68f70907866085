"""Draws `docs/map.svg` and `docs/layers.svg`, the pictures of the architecture, from the packages: `python -m docs.diagrams`."""
# ruff: noqa: INP001 - a script beside the pages, not a package

import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from docs.layers import layer_names
from upcall.agents.catalogue import BUILT_IN
from upcall.config.channels import KINDS

SOURCE = Path(__file__).resolve().parents[1] / "src/upcall"
MAP = Path(__file__).with_name("map.svg")
LAYERS = Path(__file__).with_name("layers.svg")

WIDE, HIGH, GAP, MARGIN = 176, 26, 8, 16
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
STYLE = (
    "rect{fill:#f4f5fb;stroke:#5c6bc0}text{fill:#1f2333}.head{font-weight:600}.line{stroke:#5c6bc0;stroke-width:2;fill:none}"
    "@media (prefers-color-scheme:dark){rect{fill:#23273a;stroke:#8c9eff}text{fill:#e8eaf6}.line{stroke:#8c9eff}}"
)


def packages(folder: str) -> list[str]:
    """The packages of a folder that have modules of their own."""
    return sorted(each.parent.name for each in (SOURCE / folder).glob("*/__init__.py"))


def columns() -> list[tuple[str, list[str]]]:
    """Who and what takes part, from the agents on the left to the people on the right."""
    stores = [name for name in packages("stores") if name != "sql"]
    return [
        ("agents", [*sorted(BUILT_IN), "any MCP client", "any shell", "any program"]),
        ("doors", [*packages("doors"), "web/api"]),
        ("broker and approvals", ["ask", "wait", "answer", "withdraw", "expire"]),
        ("stores, with the event log", stores),
        ("where people answer", ["web/pages: the inbox", "upcall answer", *sorted(KINDS)]),
    ]


def drawn_map() -> str:
    """The columns side by side, each an arrow away from the next."""
    parts: list[str] = []
    every = columns()
    tallest = max(len(names) for _, names in every)
    height = 2 * MARGIN + (tallest + 1) * (HIGH + GAP)
    for number, (head, names) in enumerate(every):
        x = MARGIN + number * (WIDE + 40)
        top = MARGIN + (tallest - len(names)) * (HIGH + GAP) // 2
        parts.append(_text(x + WIDE / 2, top + HIGH / 2 + 5, head, "head"))
        for row, name in enumerate(names, start=1):
            parts += _box(x, top + row * (HIGH + GAP), WIDE, name)
        if number:
            y = height / 2 + HIGH / 2
            parts.append(f'<path class="line" d="M{x - 34} {y}h26m-6 -5l6 5l-6 5"/>')
    return _picture(
        2 * MARGIN + len(every) * (WIDE + 40) - 40, height, "From agents to people and back", parts
    )


def drawn_layers() -> str:
    """One row for each layer, the highest first; packages of a layer stand side by side."""
    parts: list[str] = []
    rows = layer_names()
    width = 760
    for number, names in enumerate(rows):
        y = MARGIN + number * (HIGH + GAP)
        wide = (width - GAP * (len(names) - 1)) / len(names)
        for column, name in enumerate(names):
            parts += _box(MARGIN + column * (wide + GAP), y, wide, f"{name}/")
    return _picture(
        2 * MARGIN + width, 2 * MARGIN + len(rows) * (HIGH + GAP), "Imports point downward only", parts
    )


def _box(x: float, y: float, wide: float, words: str) -> Iterator[str]:
    yield f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{HIGH}" rx="5"/>'
    yield _text(x + wide / 2, y + HIGH / 2 + 4.5, words)


def _text(x: float, y: float, words: str, kind: str = "name") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="middle">{escape(words)}</text>'


def _picture(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" '
        f'font-family="{FONT}" font-size="13">\n<title>{title}</title>\n<style>{STYLE}</style>\n'
        + "".join(f"{part}\n" for part in parts)
        + "</svg>\n"
    )


if __name__ == "__main__":
    for file, drawn in ((MAP, drawn_map()), (LAYERS, drawn_layers())):
        file.write_text(drawn, encoding="utf-8")
        sys.stdout.write(f"wrote docs/{file.name}\n")
