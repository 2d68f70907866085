"""Settings from the file and from variables, and errors that name the key, the problem and the way out."""

import os
from pathlib import Path

import pytest

from upcall.config.channels import RouteSettings, SlackSettings
from upcall.config.presets import NAMES, preset_table
from upcall.config.settings import AgentSettings, Config, keys, load
from upcall.domain.errors import InvalidSetting
from upcall.home.files import Home


def a_home(tmp_path: Path, settings: str = "") -> Home:
    home = Home(tmp_path)
    home.config_file.write_text(settings)
    return home


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    assert load(Home(tmp_path / "nowhere"), {}) == Config()


@pytest.mark.promise("spec/2")
def test_the_file_and_the_environment_are_read_and_the_environment_wins(tmp_path: Path) -> None:
    home = a_home(tmp_path, 'ttl = "2h"\nport = 7000\n[limits]\nlabel = 30\n[rates]\nburst = 10\n')

    config = load(home, {"UPCALL_PORT": "7001", "UPCALL_LIMITS_QUESTION": "500"})

    assert (config.ttl, config.port) == (7200, 7001)
    assert (config.limits.label, config.limits.question) == (30, 500)
    assert config.rates.burst == 10


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("prot = 1", "prot: unknown setting; did you mean 'port'?"),
        ("[limits]\nlabels = 1", "limits.labels: unknown setting; did you mean 'label'?"),
        ("port = 'http'", "port: a number, got 'http'"),
        ("port = -1", "port: not negative, got -1"),
        ("port = true", "port: a number, got True"),
        ("ttl = 'soon'", "ttl: "),
        ("host = 5", "host: text, got 5"),
        ("preset = 'hal'", "preset: one of pynchy, poietai, deepchat, gza, blobhub; got 'hal'"),
        ("preset = ['gza']", "preset: one of pynchy, poietai"),
        ("[notifications]\nwebhook_url = 'chat'", "notifications.webhook_url: an address such as https://"),
        ("work_tree_server = 'x'", "work_tree_server: needs token_in_path = true"),
        ("tool_aliases = ['ask']", "tool_aliases: one of ask_user, question; got 'ask'"),
        ("replica = 'upcall_0.'", "replica: up to 63 small letters, digits and -; got 'upcall_0.'"),
        ("on_restart = 'forget'", "on_restart: one of keep, cancel, fail; got 'forget'"),
        ("limits = 3", "limits: a table [limits], got 3"),
        ("[files]\nroots = 3", "files.roots: a list such as"),
        ("[files]\nroots = ['a', 3]", "files.roots: a list such as"),
        ("port =", "upcall.toml: cannot be read"),
        ("agents = 3", "agents: a table [agents], got 3"),
        ("[agents]\nmybot = 3", "agents.mybot: a table [agents.mybot], got 3"),
        ("[agents.mybot]\nadaptor = 'acp'", "agents.mybot.adaptor: unknown setting; did you mean 'adapter'?"),
        ("[agents.mybot]\nadapter = 'command'", "agents.mybot.start: the command to start, such as"),
        ("[agents.mybot]\nstart = 'mybot {task}'", "agents.mybot.start: a list such as"),
        ("[agents.mybot]\nstart = []", "agents.mybot.start: a list such as"),
        ("[agents.mybot]\npermission = 'yolo'", "agents.mybot.permission: one of approval, autonomous; got"),
        ("[agents.mybot]\nsession_pattern = '('", "agents.mybot.session_pattern: not a regular expression: "),
        ("[agents.mybot]\nsession_pattern = 'id'", "agents.mybot.session_pattern: one group (…) around"),
        ("[runs]\nlimit = 'many'", "runs.limit: a number, got 'many'"),
        ("routes = 3", "routes: tables [[routes]], got 3"),
        ("[[routes]]\nagent = 'x'", "routes 1: to: places such as"),
        ("[[routes]]\nto = ['chat:C1']", "routes 1: to: a channel's name, a colon and an address there"),
        (
            "[channels.mail]\nkind = 'email'\n[[routes]]\nto = ['mail:Ana@example.test']",
            "routes 1: to: an e-mail address in small letters, got 'mail:Ana@example.test'",
        ),
        ("[[routes]]\nto = ['x']\nquiet = 'at night'", 'routes 1: quiet: hours such as "22:00-07:00"'),
        ("[[routes]]\nto = ['x']\nwhen = 'now'", "routes 1: when: unknown setting; there are to, agent"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, settings: str, problem: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        load(a_home(tmp_path, settings), {})

    assert problem in refused.value.message
    assert "upcall.toml" in (refused.value.hint or "")


def test_every_problem_is_reported_at_once_and_a_variable_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting) as refused:
        load(a_home(tmp_path, "prot = 1\non_expiry = 'approve'"), {"UPCALL_TTL": "never"})

    assert len(refused.value.message.splitlines()) == 3
    assert "UPCALL_TTL: " in refused.value.message


def test_the_next_step_names_the_file_or_the_variables_that_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting) as refused:
        load(a_home(tmp_path, ""), {"UPCALL_TTL": "never", "UPCALL_PORT": "99999"})
    assert refused.value.hint == "correct or unset UPCALL_TTL, UPCALL_PORT"
    assert "UPCALL_PORT: 1 to 65535, or 0 for any that is free; got 99999" in refused.value.message
    with pytest.raises(InvalidSetting) as refused:
        load(a_home(tmp_path, "port = -1"), {"UPCALL_TTL": "never"})
    assert refused.value.hint == f"edit {tmp_path / 'upcall.toml'}; correct or unset UPCALL_TTL"


def test_a_list_is_a_list_in_the_file_and_separated_in_a_variable(tmp_path: Path) -> None:
    home = a_home(tmp_path, "[files]\nroots = ['/srv/ipc', 'more']\n")

    assert load(home, {}).files.roots == ("/srv/ipc", "more")
    assert load(home, {"UPCALL_FILES_ROOTS": f"/a{os.pathsep}/b, /c"}).files.roots == ("/a", "/b", "/c")
    assert load(home, {"UPCALL_FILES_ROOTS": ""}).files.roots == ()


def test_agents_are_tables_by_name_and_their_words_are_kept_as_they_are(tmp_path: Path) -> None:
    home = a_home(
        tmp_path,
        """
        [agents.mybot]
        adapter = "command"
        start = ["mybot", " --task=", "{task}", ""]
        session_pattern = 'session: (\\S+)'
        [agents.claude]
        permission = "autonomous"
        arguments = ["--model", "opus"]
        """,
    )

    agents = load(home, {}).agents

    assert agents["mybot"].start == ("mybot", " --task=", "{task}", "")
    assert agents["mybot"].session_pattern == r"session: (\S+)"
    assert agents["claude"] == AgentSettings(permission="autonomous", arguments=("--model", "opus"))


@pytest.mark.promise("spec/156")
def test_every_setting_has_a_key_and_a_variable() -> None:
    known = {key: variable for key, variable, _ in keys()}

    assert known["ttl"] == "UPCALL_TTL"
    assert known["limits.context_bytes"] == "UPCALL_LIMITS_CONTEXT_BYTES"


def test_channels_take_their_secrets_from_variables_and_routes_keep_their_order(tmp_path: Path) -> None:
    home = a_home(
        tmp_path,
        """
        [channels.chat]
        kind = "slack"
        bot_token = "$BOT"
        app_token = "xapp-1"
        [[routes]]
        to = ["chat:C1", "chat:U1"]
        escalate_after = "15m"
        [[routes]]
        to = ["chat:C2"]
        quiet = "22:00-07:00"
        """,
    )
    config = load(home, {"BOT": "xoxb-1"})
    assert config.channels == {"chat": SlackSettings(kind="slack", bot_token="xoxb-1", app_token="xapp-1")}
    assert config.routes == (
        RouteSettings(to=("chat:C1", "chat:U1"), escalate_after=900),
        RouteSettings(to=("chat:C2",), quiet="22:00-07:00"),
    )


@pytest.mark.promise("spec/1")
@pytest.mark.parametrize("name", NAMES)
def test_every_preset_can_be_used_and_says_something(tmp_path: Path, name: str) -> None:
    by_file = load(a_home(tmp_path, f"preset = '{name}'"), {})
    by_variable = load(a_home(tmp_path), {"UPCALL_PRESET": name})
    assert by_file == by_variable
    assert by_file.preset == name
    settings = {key: value for key, _, value in keys(by_file)}
    defaults = {key: value for key, _, value in keys()}
    changed = {key for key in settings if settings[key] != defaults[key]}
    assert changed > {"preset"}
    assert "preset" not in preset_table(name)


def test_a_preset_is_below_what_the_user_has_set_key_by_key(tmp_path: Path) -> None:
    home = a_home(tmp_path, "preset = 'deepchat'\ntool_aliases = []\n[limits]\nlabel = 50\n")

    config = load(home, {"UPCALL_LIMITS_QUESTION": "600"})

    assert (config.limits.label, config.limits.question, config.limits.description) == (50, 600, 200)
    assert config.tool_aliases == ()


def test_the_variable_of_a_preset_wins_over_the_file(tmp_path: Path) -> None:
    config = load(a_home(tmp_path, "preset = 'poietai'"), {"UPCALL_PRESET": "gza"})
    assert (config.preset, config.on_expiry, config.on_block_end) == ("gza", "fail", "park")
    assert load(a_home(tmp_path, "preset = 'poietai'"), {"UPCALL_PRESET": ""}) == Config()
