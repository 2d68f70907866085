"""A channel that cannot be used is off alone, with its reason; where its secrets may stand."""

from pathlib import Path

import keyring
import pytest
from keyring.errors import KeyringError

from upcall.config.channels import SlackSettings
from upcall.config.settings import Config, load
from upcall.home.files import Home

SLACK = "[channels.slack]\nbot_token = '{bot}'\napp_token = 'xapp-1'\n"


def a_home(folder: Path, settings: str, **files: str) -> Home:
    (folder / "upcall.toml").write_text(settings)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return Home(folder)


def bot_token(config: Config) -> str:
    slack = config.channels["slack"]
    assert isinstance(slack, SlackSettings)
    return slack.bot_token


@pytest.mark.promise("doorway/1", "doorway/2")
@pytest.mark.parametrize(
    ("settings", "name", "problem"),
    [
        ("[channels]\nslack = 3", "slack", "channels.slack: a table [channels.slack], got 3"),
        ("[channels.Chat]\nkind = 'slack'", "Chat", "channels.Chat: a name of small letters, digits and -"),
        (
            "[channels.push]\nsubject = 'ana'",
            "push",
            "channels.push.subject: an address that a push service can write to, such as mailto:you@example.org",
        ),
        ("[channels.chat]\nkind = 'fax'", "chat", "channels.chat.kind: one of slack"),
        (
            SLACK.format(bot="$NOT_SET"),
            "slack",
            "channels.slack.bot_token: the variable NOT_SET is not set",
        ),
        (SLACK.format(bot="file:gone"), "slack", "channels.slack.bot_token: there is no file "),
        ("[channels.slack]", "slack", "channels.slack.bot_token: is needed, or $NAME of a variable"),
        ("[channels.ntfy]", "ntfy", "channels.ntfy: a ntfy channel needs `public_url`"),
    ],
)
def test_a_channel_with_a_problem_is_off_alone(
    tmp_path: Path, settings: str, name: str, problem: str
) -> None:
    config = load(a_home(tmp_path, f"ttl = '2h'\n{settings}\n[channels.desktop]\n"), {})

    assert (config.ttl, list(config.channels), list(config.channels_off)) == (7200, ["desktop"], [name])
    assert problem in config.channels_off[name].problem
    assert "upcall.toml" in config.channels_off[name].hint


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [
        ("bot_token = 'xapp-1'\napp_token = 'xapp-1'", "bot_token: this is the app-level token"),
        ("bot_token = 'xoxb-1'\napp_token = 'xoxb-1'", "app_token: this is the bot's token"),
    ],
)
def test_swapped_tokens_are_named(tmp_path: Path, tokens: str, problem: str) -> None:
    config = load(a_home(tmp_path, f"[channels.slack]\n{tokens}"), {})

    assert f"channels.slack.{problem}" in config.channels_off["slack"].problem


@pytest.mark.promise("doorway/7")
def test_a_secret_is_taken_from_a_variable_a_file_or_upcall_env(tmp_path: Path) -> None:
    home = a_home(tmp_path, SLACK.format(bot="$BOT"))
    assert bot_token(load(home, {"BOT": "xoxb-variable"})) == "xoxb-variable"
    (tmp_path / "upcall.env").write_text('# of the service\nOTHER=1\nexport BOT="xoxb-env"\n')
    # A change of the file counts, also where the service has given the daemon the old one as a variable.
    assert bot_token(load(home, {"BOT": "xoxb-variable"})) == "xoxb-env"
    (tmp_path / "token").write_text("xoxb-file\n")
    assert bot_token(load(a_home(tmp_path, SLACK.format(bot="file:token")), {})) == "xoxb-file"
    there = SLACK.format(bot=f"file:{tmp_path}/token")
    assert bot_token(load(a_home(tmp_path, there), {})) == "xoxb-file"


def test_a_file_that_never_ends_or_holds_nothing_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    for name in ("/dev/zero", "empty", str(tmp_path)):
        config = load(a_home(tmp_path, SLACK.format(bot=f"file:{name}")), {})
        assert list(config.channels_off) == ["slack"]


def test_what_stands_in_secrets_toml_counts_before_the_settings(tmp_path: Path) -> None:
    secrets = "[channels.slack]\nbot_token = 'xoxb-kept'\n[channels.other]\nx = 1\n"
    home = a_home(tmp_path, SLACK.format(bot="$NOT_SET"), secrets_toml=secrets)

    assert bot_token(load(home, {})) == "xoxb-kept"


def test_secrets_that_cannot_be_read_are_the_reason_and_are_not_shown(tmp_path: Path) -> None:
    home = a_home(tmp_path, SLACK.format(bot="$NOT_SET"), secrets_toml="[channels.slack\nbot = 'xoxb-9'")

    problem = load(home, {}).channels_off["slack"].problem

    assert "NOT_SET is not set" in problem
    assert "secrets.toml cannot be read" in problem
    assert "xoxb-9" not in problem


class Kept(dict[tuple[str, str], str]):
    """A keyring in memory."""

    broken = ""

    def get_password(self, service: str, username: str) -> str | None:
        if self.broken:
            raise KeyringError(self.broken)
        return self.get((service, username))


def test_a_secret_may_stand_in_the_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept()
    monkeypatch.setattr(keyring, "get_password", kept.get_password)
    home = a_home(tmp_path, SLACK.format(bot="keyring:upcall/slack.bot_token"))
    assert "has no 'upcall/slack.bot_token'" in load(home, {}).channels_off["slack"].problem
    kept["upcall", "slack.bot_token"] = "xoxb-ring"
    assert bot_token(load(home, {})) == "xoxb-ring"
    kept.broken = "locked"
    assert "the system's keyring cannot be read: locked" in load(home, {}).channels_off["slack"].problem
