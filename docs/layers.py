"""Draws the layers of `pyproject.toml` as the table that two pages show: `python -m docs.layers`."""
# ruff: noqa: INP001 - a script beside the pages, not a package

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "docs/architecture.md", ROOT / "CONTRIBUTING.md")
_BLOCK = re.compile(r"(?<=<!-- layers -->\n).*?(?=<!-- /layers -->)", re.DOTALL)


def picture() -> str:
    """One row for each package, the highest layer first, with the first sentence of its docstring."""
    rows = [
        f"| {layer} | `{package}/` | {_sign(package)} |"
        for layer, packages in enumerate(layer_names(), start=1)
        for package in packages
    ]
    return "\n".join(["| layer | package | what it is for |", "|---|---|---|", *rows]) + "\n"


def shown(page: Path) -> str:
    """The table as a page has it."""
    found = _BLOCK.search(page.read_text("utf-8"))
    return found[0] if found else ""


def layer_names() -> list[list[str]]:
    """The packages of each layer, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["id"] == "layers")
    return [[name.strip() for name in layer.split("|")] for layer in layers]


def _sign(package: str) -> str:
    module = ast.parse((ROOT / f"src/upcall/{package}/__init__.py").read_text("utf-8"))
    first = (ast.get_docstring(module) or "").partition("\n\n")[0]
    return " ".join(first.split()).replace("|", "\\|")


if __name__ == "__main__":
    for each in PAGES:
        text = each.read_text("utf-8")
        each.write_text(_BLOCK.sub(lambda _: picture(), text), encoding="utf-8")
        sys.stdout.write(f"wrote {each.relative_to(ROOT)}\n")
