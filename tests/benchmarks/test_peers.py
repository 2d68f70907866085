"""Upcall and its peers are asked the same by the same harness; the measured values are not tested here."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench import Bench
from benchmarks.peers import figure
from benchmarks.peers.candidates import CANDIDATES, CLOUD, UPCALL
from benchmarks.peers.servers import PYTHON
from benchmarks.peers.stage import Stage, staged
from benchmarks.peers.survival import Survival, survival
from benchmarks.peers.table import MARK, PAGE, measured, survived, written
from benchmarks.report import Report

OURS = [candidate for candidate in CANDIDATES if candidate.module.startswith("upcall_")]
CHEAP = next(candidate for candidate in CANDIDATES if candidate.module == "langgraph_interrupt")
INSTALLED = pytest.mark.skipif(
    not PYTHON.exists(), reason="make bench ARGS=peers installs the packages of others"
)


def cycles(stage: Stage, many: int) -> dict[str, Any]:
    order = {"many": many, "seconds": 0.2, "most": 10, "pause": (0, 0), "grace": 30}
    stage.start(many)
    return stage.agents.order(60, do="cycles", **order)


@pytest.mark.promise("proof/9")
@pytest.mark.parametrize(
    "candidate", [*OURS, pytest.param(CHEAP, marks=INSTALLED)], ids=lambda candidate: candidate.module
)
def test_agents_of_a_candidate_ask_wait_and_hear(candidate: Any, tmp_path: Path) -> None:
    with staged(candidate, tmp_path, None) as stage:
        went = cycles(stage, 2)
        assert (went["failed"], went["late"]) == ([], 0)
        assert len(went["wakes"]) >= 2
        assert all(wake > 0 for wake in went["wakes"])
        stage.wait(range(2))
        assert stage.person.order(do="open") == {"open": 2}
        assert stage.kib() > 0


@pytest.mark.promise("proof/9")
def test_a_question_and_its_answer_outlive_agent_and_daemon(tmp_path: Path) -> None:
    with staged(UPCALL, tmp_path, None) as stage:
        assert survival(stage) == Survival(kept=True, asked_again=False, reached=True, server=True)


@INSTALLED
def test_what_a_peer_loses_is_told(tmp_path: Path) -> None:
    with staged(CHEAP, tmp_path, None) as stage:
        found = figure.survived(stage)
    assert found.details == {"kept": 1, "asked_again": 0, "reached": 0}
    assert found.measured == 2


def test_without_the_packages_of_others_the_figure_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure, "PYTHON", tmp_path / "none")
    with pytest.raises(LookupError, match="make bench ARGS=peers"):
        next(figure.run(Bench(scratch=tmp_path, quick=True)))


def results(**more: object) -> dict[str, Any]:
    turns = figure.Turns(Bench(scratch=Path(), quick=True), None)
    turns.wakes |= {UPCALL.name: [0.002], "awaithumans": [0.5, 0.6]}
    turns.cycles[UPCALL.name, 64] = [{"wakes": [0.1] * 90, "seconds": 3.0, "failed": [], "late": 0}]
    turns.cycles["awaithumans", 64] = [{"wakes": [1.0] * 6, "seconds": 3.0, "failed": ["locked"], "late": 2}]
    # With nothing answered there is no last answer, up to which the time is measured.
    turns.cycles["awaithumans", 256] = [{"wakes": [], "seconds": 0.0, "failed": [], "late": 256}]
    turns.cycles[UPCALL.name, 256] = turns.cycles[UPCALL.name, 64]
    report = Report(quick=True)
    for each in figure.figures(turns):
        report.add(each)
    machine = {"system": "Linux-6", "cores": 2, "python": "3.11.7"}
    documents = [each.document() for each in report.figures]
    return {"figures": documents, "at": "2026-01-02T03:04:05", "machine": machine, "quick": True} | more


def test_the_table_has_a_row_for_each_and_says_what_did_not_come_through() -> None:
    head, _, *rows = measured(results())
    assert [row.split(" | ")[0] for row in rows] == [f"| {each.name}" for each in CANDIDATES] + [
        f"| {name}" for name in CLOUD
    ]
    assert {line.count(" |") for line in [head, *rows]} == {9}
    assert "| 600 ms |" in rows[2]
    assert "2 /s (1 failed, 2 not answered within 30 s)" in rows[2]
    assert "0 /s (256 not answered within 30 s)" in rows[2]
    assert rows[2].endswith("| no MCP server |")


def test_the_page_has_a_place_for_what_survived_and_for_the_figures() -> None:
    seen = {"name": f"{UPCALL.name}: {figure.SURVIVAL}", "details": {"kept": 1.0, "asked_again": 0.0}}
    lines = survived(results(figures=[seen]))
    page = PAGE.read_text("utf-8")
    for part in ("survival", "figures"):
        made = written(page, part, lines)
        assert made.count(MARK.format(part=part)) == 1
        assert f"| {UPCALL.name} | yes | no | no server of its own | no server of its own |" in made
    with pytest.raises(LookupError):
        written("", "survival", lines)
