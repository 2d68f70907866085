"""`upcall doctor`: it finds what is wrong, says what to do, and changes nothing."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program

CODEX = """\
#!/bin/sh
echo codex-cli 0.166.0
"""


@pytest.fixture
def user_home(tmp_path: Path, upcall: Program) -> Path:
    """The home folder of a user who has Codex, and nothing else."""
    folder = tmp_path / "user"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/codex").write_text(CODEX)
    (folder / "bin/codex").chmod(0o755)
    upcall.environment |= {"HOME": str(folder), "PATH": f"{folder}/bin:/usr/bin:/bin"}
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME"):
        upcall.environment.pop(name, None)
    return folder


def findings(upcall: Program, *words: str) -> tuple[int, dict[tuple[str, str], Any]]:
    done = upcall("doctor", "--json", *words)
    told = json.loads(done.stdout)
    assert told["ok"] is (done.returncode == 0)
    return done.returncode, {(each["about"].split(",")[0], each["name"]): each for each in told["checks"]}


def test_a_fresh_machine_is_well_and_nothing_is_started(upcall: Program, user_home: Path) -> None:
    code, found = findings(upcall)

    assert code == 0
    assert "none runs" in found["Upcall", "daemon"]["says"]
    assert "answer in your name" in found["Upcall", "same user"]["says"]
    assert found["codex", "program"]["state"] == "ok"
    assert found["codex", "set up"]["next"] == "upcall setup codex"
    assert found["claude", "program"]["state"] == "note"
    assert "npm install" in found["claude", "program"]["next"]
    assert not upcall.home.exists()


@pytest.mark.promise("doorway/2")
def test_a_channel_that_would_be_off_is_found_before_a_daemon_runs(upcall: Program, user_home: Path) -> None:
    upcall.home.mkdir(mode=0o700)
    (upcall.home / "upcall.toml").write_text('[channels.chat]\nkind = "telegram"\nbot_token = "$NOT_SET"\n')
    code, found = findings(upcall)
    assert code == 1
    assert found["Upcall", "settings"]["says"].endswith("upcall.toml is fine, apart from channels")
    assert found["Upcall", "channel chat"]["state"] == "failed"
    says = found["Upcall", "channel chat"]["says"]
    assert says.startswith("would be off: channels.chat.bot_token: the variable NOT_SET is not set")
    assert "none runs" in found["Upcall", "daemon"]["says"]


def test_a_program_of_ones_own_that_prints_no_version_is_well(upcall: Program, user_home: Path) -> None:
    (user_home / "bin/bot").write_text("#!/bin/sh\n")
    (user_home / "bin/bot").chmod(0o755)
    upcall.home.mkdir(mode=0o700)
    (upcall.home / "upcall.toml").write_text('[agents.claude]\nadapter = "command"\nstart = ["bot"]\n')
    code, found = findings(upcall)

    assert code == 0
    assert found["claude", "program"]["says"] == str(user_home / "bin/bot")


def test_an_agent_that_is_asked_for_has_to_be_there_and_set_up(upcall: Program, user_home: Path) -> None:
    assert findings(upcall, "codex")[1]["codex", "set up"]["state"] == "failed"
    assert findings(upcall, "claude")[1]["claude", "program"]["state"] == "failed"
    upcall("setup", "codex", "--yes")
    code, found = findings(upcall, "codex")

    assert code == 0
    assert found["codex", "set up"]["state"] == "ok"
    assert found["codex", "patience"]["says"] == "Upcall holds a call for 30 min, and codex waits for 24h"


def test_what_was_set_up_by_hand_is_judged_by_what_it_does(upcall: Program, user_home: Path) -> None:
    settings = user_home / ".codex/config.toml"
    settings.parent.mkdir()
    settings.write_text('[mcp_servers.upcall]\ncommand = "upcall-gone"\nargs = ["mcp", "--wait", "block"]\n')
    code, found = findings(upcall, "codex")

    assert code == 1
    assert "'upcall-gone' cannot be started" in found["codex", "command"]["says"]
    assert "gives a call up after 5 min" in found["codex", "patience"]["says"]


JOURNAL = """
from dataclasses import dataclass, field

from upcall.channels.one_way import OneWay
from upcall.config.channels import ChannelSettings
from upcall.config.reading import NEEDED
from upcall.domain.channel.showing import Capabilities, Finding, Reference
from upcall.ports.channel import SignedOut


class Journal(OneWay):
    capabilities = Capabilities(one_way=True, link=True, replies=False, edit=False)

    async def listen(self, inbox):
        raise SignedOut("the journal is locked")

    async def show(self, view, place):
        return Reference(place=place, message=view.inquiry)

    async def check(self):
        return [Finding(ok=True, text="there is a pen")]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalSettings(ChannelSettings):
    file: str = field(default="", metadata=NEEDED)

    def channel(self, url):
        return Journal()
"""


def until_doctor_finds(upcall: Program, check: str, state: str) -> dict[str, Any]:
    """What doctor says of a channel once it has that state: the daemon comes to it by itself."""
    while True:
        found = findings(upcall)[1].get(("Upcall", check))
        if found is not None and found["state"] == state:
            return dict(found)


@pytest.mark.promise("programs/27")
def test_a_channel_of_another_package_is_checked_like_any_other(
    upcall: Program, user_home: Path, tmp_path: Path
) -> None:
    information = tmp_path / "packages/journal_channel-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: journal-channel\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[upcall.channels]\njournal = journal_channel:JournalSettings\n"
    )
    (tmp_path / "packages/journal_channel.py").write_text(JOURNAL)
    upcall.environment["PYTHONPATH"] = str(tmp_path / "packages")
    upcall.home.mkdir(mode=0o700)
    settings = upcall.home / "upcall.toml"
    settings.write_text('[channels.journal]\nfile = "/x"\n\n[channels.diary]\nkind = "journal"\n')

    assert "channels.diary.file: is needed" in upcall("config", "check").stderr
    upcall.parked("Which cache?")
    heard = until_doctor_finds(upcall, "channel journal", "failed")
    assert "the journal is locked" in heard["says"]
    assert "upcall channels add journal" in heard["next"]
    assert "channels.diary.file: is needed" in until_doctor_finds(upcall, "channel diary", "failed")["says"]

    settings.write_text('[channels.journal]\nfile = "/x"\n')
    assert upcall("config", "check").returncode == 0
    assert "there is a pen" in upcall("channels", "test", "journal", "--place", "me").stdout


@pytest.mark.promise("spec/72")
def test_a_daemon_its_tokens_and_its_database_are_looked_at(upcall: Program, user_home: Path) -> None:
    upcall.parked("Which cache?")
    found = findings(upcall)[1]
    names = ("settings", "home", "daemon", "tokens", "database")
    assert {name: found["Upcall", name]["state"] for name in names} == dict.fromkeys(names, "ok")

    (upcall.home / "owner.token").chmod(0o644)
    (upcall.home / "upcall.toml").write_text("port = 'x'\n")
    code, found = findings(upcall)
    assert code == 1
    assert str(upcall.home / "owner.token") in found["Upcall", "home"]["next"]
    assert found["Upcall", "settings"]["state"] == "failed"


def test_a_database_that_is_none_is_found_out(upcall: Program, user_home: Path) -> None:
    upcall.home.mkdir(mode=0o700)
    database = upcall.home / "upcall.db"
    database.write_bytes(b"something else" * 100)
    database.chmod(0o600)
    code, found = findings(upcall)

    assert code == 1
    assert "cannot be read" in found["Upcall", "database"]["says"]


def test_a_daemon_elsewhere_that_does_not_answer_is_found_out(upcall: Program, user_home: Path) -> None:
    upcall.environment |= {"UPCALL_URL": "http://127.0.0.1:9", "UPCALL_TOKEN": "x"}
    code, found = findings(upcall)

    assert code == 1
    assert found["Upcall", "daemon"]["state"] == "failed"
    assert ("Upcall", "database") not in found


def test_people_read_one_finding_a_line(upcall: Program, user_home: Path) -> None:
    done = upcall("doctor", "codex")

    assert done.returncode == 1
    assert "  FAILED  set up         codex does not know Upcall\n" in done.stdout
    # The program is not on the PATH of the test, so the command is printed as it works.
    assert f"Next: {Path(sys.executable).with_name('upcall')} setup codex\n" in done.stdout


def test_a_program_that_only_ends_is_told_from_one_that_asks(upcall: Program, user_home: Path) -> None:
    upcall("setup", "codex", "--yes")
    code, found = findings(upcall, "codex", "--ask")

    assert code == 1
    assert "codex never asked: it ended with 0" in found["codex", "test question"]["says"]


DENIALS = {
    "claude": [
        (".claude/settings.json", '{"permissions": {"deny": ["mcp__upcall"]}}', "permissions.deny"),
        (".claude/settings.json", '{"permissions": {"deny": ["mcp__upcall__*"]}}', "permissions.deny"),
        (".claude/settings.json", '{"permissions": {"deny": ["mcp__upcall__ask_human"]}}', "ask_human"),
    ],
    "gemini": [
        (".gemini/settings.json", '{"mcp": {"excluded": ["upcall"]}}', "mcp.excluded"),
        (".gemini/settings.json", '{"mcp": {"allowed": ["other"]}}', "mcp.allowed"),
    ],
    "opencode": [(".config/opencode/opencode.json", '{"tools": {"upcall_*": false}}', "tools")],
}


@pytest.mark.promise("trust/82")
@pytest.mark.parametrize(
    ("name", "file", "text", "said"),
    [(name, *denial) for name, each in DENIALS.items() for denial in each],
)
def test_setup_and_doctor_see_what_denies_the_tools(
    upcall: Program, user_home: Path, name: str, file: str, text: str, said: str
) -> None:
    upcall.environment.pop("XDG_CONFIG_HOME")
    (user_home / file).parent.mkdir(parents=True)
    (user_home / file).write_text(text)
    for _ in range(2):
        done = upcall("setup", name, "--yes")
        assert done.returncode == 1
        assert said in done.stderr
        assert str(user_home / file) in done.stderr
        assert "Next: " in done.stderr
        assert "can ask you now" not in done.stdout
    finding = findings(upcall, name)[1][name, "allowed"]
    assert (finding["state"], said in finding["says"]) == ("failed", True)
    assert finding["next"]


@pytest.mark.promise("trust/82")
def test_what_denies_the_tools_in_the_folder_of_work_is_seen(upcall: Program, user_home: Path) -> None:
    upcall("setup", "claude", "--yes")
    local = upcall.home.parent / ".claude/settings.local.json"
    local.parent.mkdir()
    local.write_text('{"permissions": {"deny": ["mcp__upcall"]}}')
    assert str(local) in findings(upcall, "claude")[1]["claude", "allowed"]["says"]


@pytest.mark.promise("trust/82")
def test_setup_says_that_the_program_is_missing(upcall: Program, user_home: Path) -> None:
    done = upcall("setup", "claude", "--yes")
    assert done.returncode == 1
    assert "'claude' is not installed" in done.stderr
    assert "npm install" in done.stderr
    assert "can ask you now" not in done.stdout
    assert "codex can ask you now" in upcall("setup", "codex", "--yes").stdout


@pytest.mark.promise("trust/84")
@pytest.mark.parametrize("name", ["gemini", "mybot"])
def test_a_run_fails_at_once_where_the_extra_of_its_agent_is_missing(
    upcall: Program, user_home: Path, name: str
) -> None:
    (user_home / "bin/gemini").write_text("#!/bin/sh\necho 0.61.0\n")
    (user_home / "bin/gemini").chmod(0o755)
    hidden = user_home / "without"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['acp'] = None\n")
    upcall.environment["PYTHONPATH"] = str(hidden)
    upcall.home.mkdir(mode=0o700)
    (upcall.home / "upcall.toml").write_text('[agents.mybot]\nadapter = "acp"\nstart = ["gemini", "--acp"]\n')
    done = upcall("run", name, "Fix it")
    assert done.returncode != 0
    assert done.stdout == ""
    assert "'acp', which is not installed" in done.stderr
    assert "pip install 'upcall[acp]'" in done.stderr
    assert json.loads(upcall("runs", "--json").stdout)["items"] == []
    found = findings(upcall, "gemini")[1]
    assert found["gemini", "program"]["state"] == "ok"
    assert found["gemini", "runs"]["next"] == "pip install 'upcall[acp]'"
