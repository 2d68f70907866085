"""Daemons that come, go and die, as the command line sees them."""

import json
import resource
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Program, ended
from upcall.http.gate import MOST_FILES

pytestmark = pytest.mark.cold


@pytest.mark.promise("spec/8", "spec/146")
def test_the_first_command_starts_a_daemon_and_down_ends_it(upcall: Program) -> None:
    assert upcall("status").returncode == 0
    assert upcall("down").stdout.startswith("Upcall is down.")
    assert not (upcall.home / "run.json").exists()
    assert upcall("down").stdout == "Upcall is not running.\n"


def test_down_in_a_home_that_is_not_there_makes_none(upcall: Program) -> None:
    done = upcall("down")
    assert (done.returncode, done.stdout) == (0, "Upcall is not running.\n")
    assert not upcall.home.exists()


@pytest.mark.promise("spec/191")
def test_up_beside_a_running_daemon_says_where_it_is(upcall: Program) -> None:
    upcall("status")
    url = json.loads((upcall.home / "run.json").read_text())["url"]
    done = upcall("up")
    assert done.returncode == 0
    assert url in done.stdout


def test_down_while_somebody_waits_parks_the_question_and_starts_nothing(upcall: Program) -> None:
    ref, asking = upcall.asking("Going?")
    upcall("down")
    done = ended(asking)
    assert (done.returncode, done.stdout) == (12, "")
    assert ref in done.stderr
    assert not (upcall.home / "run.json").exists()


def test_a_restart_in_the_middle_of_a_wait_is_not_noticed(upcall: Program) -> None:
    ref, asking = upcall.asking("Which?")
    upcall.kill(signal.SIGTERM)
    upcall("answer", ref, "this")
    done = ended(asking)
    assert (done.returncode, done.stdout) == (0, "this\n")


def test_a_daemon_killed_in_the_middle_of_a_wait_loses_nothing_and_asks_nothing_twice(
    upcall: Program,
) -> None:
    ref, asking = upcall.asking("Which?")
    upcall.kill()
    assert upcall("answer", ref, "this").returncode == 0
    assert ended(asking).stdout == "this\n"
    assert [inquiry["ref"] for inquiry in upcall.json("status")["done"]] == [ref]


@pytest.mark.promise("spec/194")
def test_a_runtime_file_that_names_somebody_elses_process_is_seen_through(upcall: Program) -> None:
    upcall("status")
    told = json.loads((upcall.home / "run.json").read_text())
    upcall.kill()
    stale = {**told, "pid": 1, "url": "http://127.0.0.1:9"}
    (upcall.home / "run.json").write_text(json.dumps(stale))
    # The process is another's, so nothing may be done to it either.
    assert upcall("down").stdout == "Upcall is not running.\n"
    assert upcall("status").returncode == 0
    assert upcall.pid not in {told["pid"], 1}
    # The address is the earlier one, so clients that know it find this daemon too.
    assert json.loads((upcall.home / "run.json").read_text())["url"] == told["url"]


@pytest.mark.promise("spec/154")
def test_a_backup_is_restored_and_what_was_there_is_kept(upcall: Program, tmp_path: Path) -> None:
    kept = upcall.parked("In the backup?")
    copy = tmp_path / "copy.db"
    assert str(copy) in upcall("backup", str(copy)).stdout
    lost = upcall.parked("After the backup?")
    refused = upcall("restore", str(copy))
    assert refused.returncode == 1
    assert "upcall down" in refused.stderr
    upcall("down")
    assert upcall("restore", str(copy)).returncode == 0
    assert [inquiry["ref"] for inquiry in upcall.json("status")["waiting"]] == [kept]
    upcall("down")
    assert upcall("restore", str(upcall.home / "upcall.db.before-restore")).returncode == 0
    assert [inquiry["ref"] for inquiry in upcall.json("status")["waiting"]] == [kept, lost]


def test_only_an_upcall_database_can_be_restored(upcall: Program, tmp_path: Path) -> None:
    text, foreign, newer = tmp_path / "text", tmp_path / "foreign.db", tmp_path / "newer.db"
    text.write_text("not a database")
    with closing(sqlite3.connect(foreign)) as db:
        db.execute("CREATE TABLE other (id)")
    upcall("backup", str(newer))
    with closing(sqlite3.connect(newer)) as db:
        db.execute("PRAGMA user_version = 9999")
    upcall("down")
    for path, why in (
        (text, "not an Upcall"),
        (foreign, "not an Upcall"),
        (newer, "9999"),
        (tmp_path / "no", "no file"),
    ):
        done = upcall("restore", str(path))
        assert done.returncode == 1
        assert why in done.stderr
    assert not (upcall.home / "upcall.db.before-restore").exists()


def test_a_database_from_a_newer_version_is_refused_with_a_sentence(upcall: Program) -> None:
    upcall("status")
    upcall("down")
    with closing(sqlite3.connect(upcall.home / "upcall.db")) as db:
        db.execute("PRAGMA user_version = 9999")
    done = upcall("status")
    assert done.returncode == 1
    assert "9999" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.promise("spec/154")
def test_config_check_names_each_problem_and_the_file(upcall: Program) -> None:
    upcall.home.mkdir()
    (upcall.home / "upcall.toml").write_text('ttl = "soon"\nprot = 1\n[limits]\nlabel = "many"\n')
    done = upcall("config", "check")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["prot", "ttl", "limits.label"]
    assert all("upcall.toml" in line.partition(" Next: ")[2] for line in lines)
    assert "did you mean 'port'?" in lines[0]


def test_config_check_prints_the_settings_in_force(upcall: Program) -> None:
    address = "postgresql://ana:hunter22@db.example/upcall"
    done = upcall("config", "check", "--json", UPCALL_TTL="2h", UPCALL_DATABASE=address)
    assert "hunter22" not in done.stdout
    assert json.loads(done.stdout)["ttl"] == 7200
    assert upcall("config", "check").returncode == 0


def test_config_check_prints_no_secret_of_a_channel_or_a_webhook(upcall: Program) -> None:
    upcall.home.mkdir()
    (upcall.home / "upcall.toml").write_text(
        '[notifications]\nwebhook_url = "https://chat.example/hook/T0/B0/x9y8z7"\n'
        '[channels.chat]\nkind = "telegram"\nbot_token = "$CHAT_TOKEN"\n'
        '[[routes]]\nto = ["chat:42"]\n'
    )
    done = upcall("config", "check", "--json", CHAT_TOKEN="123456:an-easy-one")
    shown = json.loads(done.stdout)
    assert shown["channels"]["chat"]["bot_token"] == shown["notifications"]["webhook_url"] == "(hidden)"
    assert shown["channels"]["chat"]["webhook_secret"] == ""
    assert shown["routes"][0]["to"] == ["chat:42"]
    assert "an-easy-one" not in done.stdout
    assert "x9y8z7" not in done.stdout


def test_wrong_settings_are_told_by_whichever_command_needs_a_daemon(upcall: Program) -> None:
    upcall.home.mkdir()
    (upcall.home / "upcall.toml").write_text('ttl = "soon"\n')
    for words in (["status"], ["up"]):
        done = upcall(*words)
        assert done.returncode == 1
        assert "ttl: 'soon' is not a duration" in done.stderr


@pytest.mark.promise("spec/153")
def test_a_service_is_written_for_this_python_and_this_home_and_removed_again(upcall: Program) -> None:
    printed = upcall("service", "install", "--print").stdout
    assert f'"UPCALL_HOME={upcall.home}"' in printed
    assert not (upcall.home / "config").exists()
    # No service manager on the path: the file is written and the rest is left to the person.
    done = upcall("service", "install", PATH="")
    unit = upcall.home / "config/systemd/user/upcall.service"
    assert unit.read_text() == printed
    assert "systemctl --user enable --now upcall.service" in done.stdout
    upcall("service", "remove", PATH="")
    assert not unit.exists()
    assert upcall("service", "remove", PATH="").stdout == "No service is installed.\n"


def test_a_reader_that_goes_away_is_no_error(upcall: Program) -> None:
    upcall("status")
    status = upcall.start("status", "--json")
    assert status.stdout is not None
    status.stdout.close()
    assert ended(status).stderr == ""


def test_completion_offers_commands_options_and_open_refs(upcall: Program, tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(upcall("completion", "bash").stdout)
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    ref = upcall.parked("Which?")

    def completed(*words: str) -> list[str]:
        array = " ".join(f"'{word}'" for word in words)
        program = f"{upcall('completion', 'bash').args[0]} -m upcall"
        lines = f'upcall() {{ {program} "$@"; }}; . {script}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _upcall'
        run = subprocess.run(
            ["bash", "-c", f'{lines}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
            capture_output=True,
            text=True,
            check=True,
            env=upcall.environment,
            cwd=tmp_path,
        )
        return run.stdout.split("\n")[:-1]

    assert completed("upcall", "st") == ["status"]
    assert completed("upcall", "ask", "--ti") == ["--timeout"]
    assert completed("upcall", "answer", "") == [ref]
    assert completed("upcall", "tokens", "") == ["create", "list", "revoke"]
    assert completed("upcall", "run", "cl") == ["claude"]
    assert completed("upcall", "setup", "co") == completed("upcall", "doctor", "co") == ["codex"]


@pytest.mark.promise("arriving/1")
def test_completion_offers_labels_and_runs_nothing_of_them(upcall: Program, tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(upcall("completion", "bash").stdout)
    evil = "x $(touch PWNED)"
    ref = upcall.parked("Which?", "-o", "Blue sky", "-o", evil)
    words = f"COMP_WORDS=(upcall answer {ref} {{begun}}); COMP_CWORD=3; _upcall"

    def completed(begun: str) -> list[str]:
        program = f"{upcall('completion', 'bash').args[0]} -m upcall"
        lines = f'upcall() {{ {program} "$@"; }}; . {script}; {words.format(begun=begun)}'
        # What is offered is put on the command line as it is, and so read by the shell.
        shown = f'{lines}; for each in "${{COMPREPLY[@]}}"; do eval "echo $each"; done'
        run = subprocess.run(
            ["bash", "-c", shown],
            capture_output=True,
            text=True,
            check=True,
            env=upcall.environment,
            cwd=tmp_path,
        )
        return run.stdout.splitlines()

    assert completed("Bl") == ["Blue sky"]
    assert completed("''") == ["Blue sky", evil]
    assert not (tmp_path / "PWNED").exists()


def test_completion_starts_no_daemon(upcall: Program) -> None:
    assert upcall("refs").stdout == ""
    assert not upcall.home.exists()


@pytest.mark.promise("trust/29")
def test_a_daemon_has_room_for_more_connections_than_the_shell_that_started_it(upcall: Program) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    try:
        assert upcall("status").returncode == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    pid = json.loads((upcall.home / "run.json").read_text())["pid"]
    allowed, _ = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    assert allowed == (MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES))
