"""The benchmarks run and say what they should; the measured values are not tested here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import uvloop

from benchmarks.asking import Sample as Sample_, figures, soaked
from benchmarks.daemon import Daemon
from benchmarks.report import Figure, Target
from benchmarks.sizing import BEGIN, END, table, written
from benchmarks.soak import MOST_GROWTH, Sample, growth, soak
from tests.conftest import require
from tests.postgres_server import binaries

ROOT = Path(__file__).resolve().parents[2]
FIELDS = {
    "name",
    "measured",
    "limit",
    "limit_name",
    "unit",
    "ratio",
    "repetitions",
    "target",
    "met",
    "details",
}


@pytest.mark.promise("trust/42")
def test_a_soak_tells_memory_that_grows_from_caches_that_fill() -> None:
    filling = [Sample(1000 * n, 50_000 + min(n, 30) * 1000 + n % 3) for n in range(1, 80)]
    leaking = [Sample(1000 * n, 50_000 + n * 64) for n in range(1, 80)]
    assert abs(growth(filling)) < 1 < MOST_GROWTH < growth(leaking)


@pytest.mark.promise("trust/42")
def test_a_soak_loads_a_daemon_and_says_what_it_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = soak(tmp_path, rounds=2, seconds=0.2)
    assert 0 < samples[0].cycles < samples[1].cycles
    assert samples[1].kib > 0
    assert f"{samples[1].cycles} questions, " in capsys.readouterr().out


def test_the_cheap_figures_can_be_measured(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    command = [sys.executable, "-m", "benchmarks", "cycles", "store-wake", "--quick"]
    places = ["--json", str(results), "--scratch", str(tmp_path / "scratch")]
    done = subprocess.run([*command, *places], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = json.loads(results.read_text("utf-8"))
    assert set(written) == {"at", "seconds", "quick", "machine", "figures"}
    assert written["quick"] is True
    assert len(written["figures"]) == 5
    for figure in written["figures"]:
        assert set(figure) == FIELDS
        assert figure["measured"] > 0
        assert figure["limit"] > 0
        assert figure["ratio"] == figure["measured"] / figure["limit"]
        assert (figure["met"] is None) == (figure["target"] is None)
        assert figure["name"] in done.stdout
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.promise("raised/6", "raised/10")
def test_how_long_a_dialog_waits_for_a_hook_without_a_daemon_is_measured_for_each_program(
    tmp_path: Path,
) -> None:
    results = tmp_path / "results.json"
    command = [sys.executable, "-m", "benchmarks", "hooks", "--quick"]
    places = ["--json", str(results), "--scratch", str(tmp_path / "scratch")]
    done = subprocess.run([*command, *places], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(results.read_text("utf-8"))["figures"]
    assert [" ".join(each["name"].split()[2:5]) for each in found] == [
        f"{program}, daemon {state}:"
        for state in ("down", "killed")
        for program in ("claude", "codex", "opencode", "gemini", "copilot")
    ]
    assert {each["target"] for each in found} == {"≤ 300 ms"}
    # What the processor does for a hook does not depend on what else the machine does.
    assert max(each["details"]["of the processor, ms"] for each in found) < 300


@pytest.mark.promise("proof/23")
def test_cycles_through_real_pipes_are_measured_beside_bare_loops(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    command = [sys.executable, "-m", "benchmarks", "pipes", "--quick"]
    places = ["--json", str(results), "--scratch", str(tmp_path / "scratch")]
    done = subprocess.run([*command, *places], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cycles, wake = json.loads(results.read_text("utf-8"))["figures"]
    assert (cycles["target"], wake["target"]) == ("≥ 1000 /s", "≤ 30 ms")
    assert 0 < cycles["ratio"] < 1
    assert wake["measured"] > 0
    # The load takes part of the machine, and must not be most of what is measured.
    used = cycles["details"]
    assert used["load's CPU µs each"] < used["daemon's CPU µs each"] + used["pipes' CPU µs each"]


@pytest.mark.promise("programs/32")
def test_what_the_client_costs_a_program_is_measured_beside_a_bare_interpreter_and_raw_http(
    tmp_path: Path,
) -> None:
    results = tmp_path / "results.json"
    command = [sys.executable, "-m", "benchmarks", "client", "--quick"]
    places = ["--json", str(results), "--scratch", str(tmp_path / "scratch")]
    done = subprocess.run([*command, *places], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {each["name"]: each for each in json.loads(results.read_text("utf-8"))["figures"]}
    wanted = {name: (each["limit_name"], each["target"]) for name, each in found.items() if each["target"]}
    assert wanted == {
        "import upcall": ("python -c pass", "≤ 3 \N{MULTIPLICATION SIGN}"),
        "ask, answer and collect through the client": (
            "the same requests over raw HTTP",
            "≤ 1.3 \N{MULTIPLICATION SIGN}",
        ),
    }
    (at_once,) = [each for name, each in found.items() if "at once in one program" in name]
    assert at_once["details"]["threads of the program"] < 5


def test_what_daemons_on_one_database_can_do_is_measured_and_extrapolated(tmp_path: Path) -> None:
    require(binaries(), "PostgreSQL")
    results = tmp_path / "results.json"
    command = [sys.executable, "-m", "benchmarks", "replicas", "crowd", "--quick"]
    places = ["--json", str(results), "--scratch", str(tmp_path / "scratch")]
    done = subprocess.run([*command, *places], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(results.read_text("utf-8"))
    lost = [each for each in found["figures"] if "none lost" in each["name"] and not each["met"]]
    assert lost == []
    lines = list(table(found))
    assert any(line.startswith("| PostgreSQL, disk for each question | ") for line in lines)
    assert any(line.startswith("| answered a second, at 2 daemons") for line in lines)
    assert len(lines) == 8


def test_what_was_not_measured_is_not_extrapolated() -> None:
    room = {
        "name": "SQLite: room on disk for each question",
        "measured": 2.0,
        "repetitions": 1000,
        "details": {},
    }
    results = {"figures": [room], "at": "2026-01-02T03:04:05", "quick": True}
    results["machine"] = {"cores": 2, "system": "Linux"}
    *_, line = lines = list(table(results))
    assert line == "| SQLite, disk for each question | 2 KiB | 1,000 | 1.91 GiB | times a million |"
    assert len(lines) == 3
    page = written(f"before\n{BEGIN}\nold\n{END}\nafter\n", lines, results)
    assert "old" not in page
    assert page.startswith("before\n")
    assert page.endswith("\nafter\n")
    assert "mean nothing yet" in page


def test_an_unknown_figure_is_refused_with_those_that_there_are() -> None:
    command = [sys.executable, "-m", "benchmarks", "speed"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'speed'" in done.stderr
    assert "store-wake" in done.stderr


@pytest.mark.parametrize(
    ("target", "measured", "text", "met"),
    [
        (Target(factor=6), 12, "≤ 6 \N{MULTIPLICATION SIGN}", True),
        (Target(factor=6), 12.1, "≤ 6 \N{MULTIPLICATION SIGN}", False),
        (Target(factor=2, plus=1), 5, "≤ 2 \N{MULTIPLICATION SIGN} + 1 s", True),
        (Target(factor=2, plus=1), 5.1, "≤ 2 \N{MULTIPLICATION SIGN} + 1 s", False),
        (Target(plus=60), 60, "≤ 60 s", True),
        (Target(factor=4, at_least=True), 8, "≥ 4 \N{MULTIPLICATION SIGN}", True),
        (Target(factor=4, at_least=True), 7.9, "≥ 4 \N{MULTIPLICATION SIGN}", False),
        (None, 1, "", None),
    ],
)
def test_a_target_is_met_or_missed(target: Target | None, measured: float, text: str, met: object) -> None:
    figure = Figure(name="any", measured=measured, limit=2, unit="s", target=target)
    assert (figure.columns()[4], figure.met) == (text, met)


def test_agents_that_ask_for_long_are_watched(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        seen = uvloop.run(soaked(daemon, agents=5, seconds=3.0, samples=3))
    assert seen[-1].cycles >= 5
    found = list(figures(seen, 5, 0.05))
    assert [figure.name.partition(": ")[2].split(",")[0] for figure in found] == [
        "memory of the daemon",
        "open descriptors",
        "threads",
        "answer → agent",
        "bytes that the log grew by",
    ]
    # Whether there was a latency to be seen in each third depends on the machine.
    assert all(figure.limit for figure in found[:3])


def test_what_grows_while_agents_ask_is_told() -> None:
    still = [
        Sample_(memory=1e5, descriptors=600, threads=9, latency=2.0, logged=10, cycles=n) for n in range(9)
    ]
    assert all(figure.met for figure in figures(still, 500, 30))
    leaking = [each._replace(memory=1e5 * (1 + n / 9), logged=n * 20_000) for n, each in enumerate(still)]
    assert [figure.met for figure in figures(leaking, 500, 30)] == [False, True, True, True, False]
