"""Follows the steps of the pages about channels as a reader does, in one home, with vendors that live in this process."""

import shlex
import tomllib
from collections.abc import Mapping

import anyio

from tests.cli.conftest import Program
from tests.cli.test_terminal import Terminal
from tests.docs.fences import fences
from tests.docs.pages import ROOT
from upcall.channels.onboarding import ASKED

SHOWN = "✓ a question is shown in "


class Reader:
    """Does what the blocks of a page say that name `test`: settings are put into `upcall.toml`, commands are run.

    `instead` has what a reader would replace in the settings, `typed` what they type for each key that they are asked for.
    """

    def __init__(
        self, program: Program, test: str, instead: Mapping[str, str], typed: Mapping[str, str]
    ) -> None:
        self._program = program
        self._test = test
        self._instead = instead
        self._typed = typed
        self._settings = program.home / "upcall.toml"
        self.shown: list[str] = []
        """The channels in which a test question was seen."""

    async def follow(self, page: str) -> None:
        """Do what a page says, from its top to its end."""
        for fence in fences([ROOT / "docs" / page]):
            if self._test not in fence.said("run by"):
                continue
            if fence.language == "toml":
                self._add(fence.content)
                continue
            for command, _ in fence.steps:
                await self._run(shlex.split(command, comments=True)[1:])

    def _add(self, block: str) -> None:
        for shown, real in self._instead.items():
            block = block.replace(shown, real)
        kept = self._settings.read_text("utf-8") if self._settings.exists() else ""
        # Keys of no table have to stand before all tables.
        keys, bracket, tables = block.partition("[")
        self._settings.write_text(f"{keys}{kept}\n{bracket}{tables}", "utf-8")

    async def _run(self, words: list[str]) -> None:
        adding = words[:2] == ["channels", "add"]
        code, said = await anyio.to_thread.run_sync(
            lambda: self._typing(words) if adding else self._plainly(words)
        )
        assert code == 0, f"upcall {shlex.join(words)}\n{said}"
        if words[:2] == ["channels", "test"]:
            assert SHOWN in said, said
            self.shown.append(words[2])

    def _plainly(self, words: list[str]) -> tuple[int, str]:
        done = self._program(*words)
        return done.returncode, done.stdout + done.stderr

    def _typing(self, words: list[str]) -> tuple[int, str]:
        """Type what `channels add` asks for; the place is left for later where the page says no other."""
        name = words[2]
        kind = words[words.index("--kind") + 1] if "--kind" in words else name
        routes = tomllib.loads(self._settings.read_text("utf-8")).get("routes", [])
        with Terminal(self._program, *words) as terminal:
            for key, prompt in ASKED[kind].items():
                terminal.until(f"{prompt}: ")
                terminal.type(f"{self._typed[key]}\n")
            if not any(place.startswith(f"{name}:") for route in routes for place in route["to"]):
                terminal.until("empty for later: ")
                terminal.type(f"{self._typed.get(f'{name}:', '')}\n")
            return terminal.end(), terminal.seen
