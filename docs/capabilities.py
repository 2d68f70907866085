"""Draws `tests/agents/capabilities.toml` as the table of the page about agents: `python -m docs.capabilities`."""
# ruff: noqa: INP001 - a script beside the pages, not a package

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/agents.md"
SOURCE = ROOT / "tests/agents/capabilities.toml"
AGENTS = {
    "claude": "Claude Code",
    "codex": "Codex",
    "opencode": "opencode",
    "gemini": "Gemini CLI",
    "copilot": "Copilot CLI",
}
NO = "no: "
_BLOCK = re.compile(r"(?<=<!-- capabilities -->\n).*?(?=<!-- /capabilities -->)", re.DOTALL)


def capabilities() -> list[dict[str, str]]:
    """Each capability: its name, and for each agent the test that proves it or why there is none."""
    found: list[dict[str, str]] = tomllib.loads(SOURCE.read_text("utf-8"))["capability"]
    return found


def tests() -> list[str]:
    """Every test that the table rests on."""
    cells = [each[agent] for each in capabilities() for agent in AGENTS]
    return sorted({f"tests/agents/{cell}" for cell in cells if not cell.startswith(NO)})


def picture() -> str:
    """One row for each capability, one column for each agent."""
    head = [f"| | {' | '.join(AGENTS.values())} |", f"|---|{'---|' * len(AGENTS)}"]
    rows = [
        f"| {each['name']} | {' | '.join(_cell(each[agent]) for agent in AGENTS)} |"
        for each in capabilities()
    ]
    return "\n".join([*head, *rows]) + "\n"


def shown() -> str:
    """The table as the page has it."""
    found = _BLOCK.search(PAGE.read_text("utf-8"))
    return found[0] if found else ""


def _cell(cell: str) -> str:
    return cell if cell.startswith(NO) else "yes"


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    PAGE.write_text(_BLOCK.sub(lambda _: picture(), text), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
