"""`upcall channels add`: asks without echo, checks with the vendor, writes secrets for the owner alone, and puts the channel on."""

import json
import stat
import tomllib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest

from tests.channels.fake_discord import TOKEN, FakeDiscord
from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.cli.conftest import Program
from tests.cli.test_terminal import Terminal
from upcall.channels.onboarding import ASKED, PLACES, STEPS
from upcall.cli.failures import spelled
from upcall.config.channels import KINDS

Said = Sequence[tuple[str, str]]


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack().served() as served:
        yield served


@pytest.fixture
async def upcall(tmp_path: Path) -> AsyncIterator[Program]:
    program = Program(tmp_path / "home")
    program.home.mkdir(mode=0o700)
    yield program
    await anyio.to_thread.run_sync(lambda: program("down"))


async def in_terminal(program: Program, words: Sequence[str], said: Said) -> tuple[int, str]:
    """Run a command in a terminal, and type what is said after each prompt."""

    def run() -> tuple[int, str]:
        with Terminal(program, *words) as terminal:
            for prompt, reply in said:
                terminal.until(prompt)
                terminal.type(f"{reply}\n")
            return terminal.end(), terminal.seen

    return await anyio.to_thread.run_sync(run)


def settings(program: Program, text: str) -> None:
    (program.home / "upcall.toml").write_text(text)


@pytest.mark.promise("doorway/5", "doorway/6")
async def test_slack_is_added_in_one_go_and_is_on_at_once(upcall: Program, slack: FakeSlack) -> None:
    settings(upcall, f'# mine\n[channels.slack]\napi_url = "{slack.url}"\n')
    await anyio.to_thread.run_sync(lambda: upcall("up", "-d"))
    code, seen = await in_terminal(
        upcall,
        ("channels", "add", "slack"),
        [("xoxb-…): ", BOT_TOKEN), ("xapp-…): ", APP_TOKEN), ("empty for later: ", "C1")],
    )
    assert code == 0, seen
    assert "✓ signed in as" in seen
    assert "slack is on." in seen
    assert BOT_TOKEN not in seen
    assert APP_TOKEN not in seen
    kept = upcall.home / "secrets.toml"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert tomllib.loads(kept.read_text()) == {
        "channels": {"slack": {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN}}
    }
    written = (upcall.home / "upcall.toml").read_text()
    assert written.startswith("# mine\n[channels.slack]\n")
    assert tomllib.loads(written)["routes"] == [{"to": ["slack:C1"]}]
    assert BOT_TOKEN not in written
    tried = await anyio.to_thread.run_sync(lambda: upcall("channels", "test", "slack"))
    assert tried.returncode == 0, tried.stdout


@pytest.mark.promise("doorway/11")
async def test_swapped_tokens_are_found_before_anything_is_written(upcall: Program, slack: FakeSlack) -> None:
    settings(upcall, f'[channels.slack]\napi_url = "{slack.url}"\n')
    code, seen = await in_terminal(
        upcall, ("channels", "add", "slack"), [("xoxb-…): ", APP_TOKEN), ("xapp-…): ", BOT_TOKEN)]
    )
    assert code == 1
    assert "bot_token: this is the app-level token (xapp-…)" in seen
    assert "Nothing was written" in seen
    assert not (upcall.home / "secrets.toml").exists()


@pytest.mark.promise("doorway/5")
async def test_a_token_that_the_vendor_refuses_is_written_only_if_the_person_says_so(
    upcall: Program, slack: FakeSlack
) -> None:
    settings(upcall, f'[channels.slack]\napi_url = "{slack.url}"\n')
    wrong = [("xoxb-…): ", "xoxb-wrong"), ("xapp-…): ", APP_TOKEN), ("all the same? [y/N]", "n")]
    code, seen = await in_terminal(upcall, ("channels", "add", "slack"), wrong)
    assert (code, "✗ bot_token" in seen) == (1, True)
    assert not (upcall.home / "secrets.toml").exists()


@pytest.mark.promise("doorway/5")
async def test_a_bot_of_discord_is_added_under_a_name_of_its_own(upcall: Program) -> None:
    async with FakeDiscord().served() as discord:
        settings(upcall, f'[channels.phone]\nkind = "discord"\napi_url = "{discord.url}"\n')
        said = [("Token of the bot: ", TOKEN), ("empty for later: ", "")]
        code, seen = await in_terminal(upcall, ("channels", "add", "phone"), said)
        assert code == 0, seen
    assert "phone is on as soon as a daemon runs." in seen
    assert tomllib.loads((upcall.home / "secrets.toml").read_text())["channels"]["phone"] == {
        "bot_token": TOKEN
    }


@pytest.mark.promise("doorway/6")
async def test_secrets_go_to_the_keyring_where_that_is_wanted(
    upcall: Program, slack: FakeSlack, tmp_path: Path
) -> None:
    (tmp_path / "ring.py").write_text(RING)
    upcall.environment |= {"PYTHONPATH": str(tmp_path), "PYTHON_KEYRING_BACKEND": "ring.Ring"}
    upcall.environment |= {"RING": str(tmp_path / "ring.json")}
    settings(upcall, f'[channels.slack]\napi_url = "{slack.url}"\n')
    tokens = [("xoxb-…): ", BOT_TOKEN), ("xapp-…): ", APP_TOKEN), ("empty for later: ", "C1")]
    code, seen = await in_terminal(upcall, ("channels", "add", "slack", "--keyring"), tokens)
    assert code == 0, seen
    assert sorted(json.loads((tmp_path / "ring.json").read_text()).values()) == sorted([APP_TOKEN, BOT_TOKEN])
    assert BOT_TOKEN not in (upcall.home / "secrets.toml").read_text()
    tried = await anyio.to_thread.run_sync(lambda: upcall("channels", "test", "slack"))
    assert tried.returncode == 0, tried.stdout + tried.stderr


RING = """
import json, os, pathlib
from keyring.backend import KeyringBackend

class Ring(KeyringBackend):
    priority = 1
    file = pathlib.Path(os.environ["RING"])

    def _all(self):
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def get_password(self, service, username):
        return self._all().get(f"{service} {username}")

    def set_password(self, service, username, password):
        self.file.write_text(json.dumps({**self._all(), f"{service} {username}": password}))
"""


def test_without_a_terminal_or_with_an_unknown_vendor_it_says_what_to_do(tmp_path: Path) -> None:
    upcall = Program(tmp_path / "home")
    piped = upcall("channels", "add", "slack", stdin="xoxb-1\nxapp-1\n")
    assert (piped.returncode, "secrets.toml" in piped.stderr) == (1, True)
    unknown = upcall("channels", "add", "fax")
    assert (unknown.returncode, "one of slack, telegram" in unknown.stderr) == (1, True)
    elsewhere = upcall("channels", "add", "slack", UPCALL_URL="http://127.0.0.1:1", UPCALL_TOKEN="x")
    assert "run the command on its machine" in elsewhere.stderr
    assert not upcall.home.exists()


async def test_secrets_that_cannot_be_read_are_left_as_they_are(upcall: Program, slack: FakeSlack) -> None:
    settings(upcall, f'[channels.slack]\napi_url = "{slack.url}"\n')
    (upcall.home / "secrets.toml").write_text("[channels.slack\n")
    tokens = [("xoxb-…): ", BOT_TOKEN), ("xapp-…): ", APP_TOKEN), ("empty for later: ", "C1")]
    code, seen = await in_terminal(upcall, ("channels", "add", "slack"), tokens)
    assert (code, "secrets.toml cannot be read" in seen, "fault in Upcall" in seen) == (1, True, False)
    assert (upcall.home / "secrets.toml").read_text() == "[channels.slack\n"
    assert "routes" not in (upcall.home / "upcall.toml").read_text()


@pytest.mark.promise("doorway/10")
@pytest.mark.parametrize("kind", list(KINDS))
def test_setup_says_for_every_vendor_what_to_do_there_and_what_comes_next(tmp_path: Path, kind: str) -> None:
    done = Program(tmp_path / "home")("setup", kind)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert all(spelled(step) in said for step in STEPS[kind])
    assert f"upcall channels add {kind}" in said


def test_every_kind_of_channel_is_asked_for_and_has_steps() -> None:
    assert set(ASKED) == set(PLACES) == set(STEPS) == set(KINDS)
