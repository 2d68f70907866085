"""How `make agents-newest` compares the newest programs with the pinned ones; the command itself reaches the registry."""

from pathlib import Path

import pytest

from tests.agents.newest import PACKAGES, Report, differences, failed, manifest
from tests.agents.programs import COPILOT, PROGRAMS

PINNED = {
    "dependencies": {"@openai/codex": "0.166.0", "axe-core": "4.11.0"},
    "optionalDependencies": {"opencode-linux-x64-baseline": "1.18.33"},
}


@pytest.mark.promise("raised/45")
def test_the_newest_are_installed_beside_what_stays_pinned() -> None:
    made = manifest(PINNED, {"@openai/codex": "0.169.0"})
    assert made["dependencies"] == {"@openai/codex": "0.169.0", "axe-core": "4.11.0"}
    assert made["optionalDependencies"] == PINNED["optionalDependencies"]
    assert list(PACKAGES) == [program.name for program in (*PROGRAMS, COPILOT)]


@pytest.mark.promise("raised/45")
def test_the_report_says_what_changed(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, word in ((before, "old"), (after, "new")):
        folder.mkdir()
        (folder / "codex-asked.jsonl").write_text(f'{{"type": "{word}"}}\n{{"type": "same"}}\n')
        (folder / "codex-failed.jsonl").write_text("{}\n")
    (after / "codex-more.jsonl").write_text("{}\n")
    told = "x [100%]\nFAILED tests/agents/test_runs.py::test_x[codex exec] - AssertionError: no\n1 failed"
    report = Report(
        versions={"codex": ("0.166.0", "0.169.0"), "gemini": ("0.61.0", "0.61.0")},
        played=told.splitlines()[-1],
        failures=failed(told),
        differences=differences(before, after),
    )
    assert report.lines() == [
        "Versions:",
        "  codex: 0.166.0 → 0.169.0",
        "  gemini: 0.61.0, which is the newest",
        "Stories: 1 failed",
        "Stories that fail:",
        "  tests/agents/test_runs.py::test_x[codex exec]",
        "Samples that differ:",
        "  codex-asked: 2 lines",
        '    -{"type": "old"}',
        '    +{"type": "new"}',
        "  codex-more: 1 lines",
        "    +{}",
    ]


def test_nothing_that_changed_is_said_as_well() -> None:
    lines = Report(versions={}, played="9 passed", failures=[], differences={}).lines()
    assert lines == [
        "Versions:",
        "Stories: 9 passed",
        "Stories that fail:",
        "  none",
        "Samples that differ:",
        "  none",
    ]
