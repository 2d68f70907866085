"""The checks of an installation: settings, files, daemon, tokens, database and channels."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from upcall.cli.doctor.checks import FAILED, NOTE, OK, Check
from upcall.cli.failures import Unreachable
from upcall.cli.render.channel_health import CANNOT
from upcall.cli.wire import Wire
from upcall.config.settings import Config, load
from upcall.domain.errors import InvalidSetting, UpcallError
from upcall.domain.text.display import one_line
from upcall.home.files import Home, Running

REPLY_SECONDS = 10.0

HOSTILE = (
    "any process that runs as you can do what you can: read owner.token, answer in your name, read the database. "
    "An agent's token can only ask, which keeps honest agents honest. To keep out others, run them as another user, "
    "in a container or elsewhere, with UPCALL_URL and an agent's token alone"
)


def look(home: Home) -> Iterator[Check]:
    """Check the installation. It starts nothing and changes nothing."""
    remote = os.environ.get("UPCALL_URL", "").strip()
    config: Config | None
    try:
        config = load(home)
        yield Check("settings", OK, _settings(home, config))
    except UpcallError as error:
        config = None
        yield Check("settings", FAILED, "; ".join(error.message.splitlines()), error.hint or "")
    if remote:
        token = os.environ.get("UPCALL_TOKEN", "").strip()
        check = _answers(remote, token, "UPCALL_URL")
        yield check
        if check.state == OK:
            yield from _channels(remote, token)
    else:
        yield from _files(home)
        yield from _daemon(home, config)
        if config is not None:
            yield _database(home, config)
    yield Check("same user", NOTE, HOSTILE)


def _settings(home: Home, config: Config) -> str:
    file = home.config_file
    if not file.exists():
        return f"there is no {file}, so every setting has its default"
    return f"{file} is fine, apart from channels" if config.channels_off else f"{file} is fine"


def _files(home: Home) -> Iterator[Check]:
    if not home.path.is_dir():
        yield Check("home", NOTE, f"the first use of Upcall creates {home.path}")
        return
    tokens = (home.owner_token_file, home.agent_token_file, home.secrets_file, home.environment_file)
    names = (*tokens, home.runtime_file, home.database_file)
    open_to_others = [
        path for path in (home.path, *names) if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    if open_to_others:
        which = " ".join(map(str, open_to_others))
        yield Check("home", FAILED, f"other users can read {which}", f"chmod go= {which}")
    else:
        yield Check("home", OK, f"{home.path}, for its owner only")


def _daemon(home: Home, config: Config | None) -> Iterator[Check]:
    running = home.running()
    if running is None:
        kept = _kept_port(home)
        port = f", at port {kept} as before" if kept else ""
        yield Check("daemon", NOTE, f"none runs; the first question starts one{port}")
        yield from _channels_without_daemon(config)
        return
    check = _answers(running.url, running.token, f"process {running.pid}, version {running.version}")
    yield check
    if check.state == OK:
        owner = _owner(home, running)
        yield owner
        if owner.state == OK:
            yield from _channels(running.url, home.owner_token_file.read_text().strip())
    fixed = config is not None and config.port
    if not fixed and str(_kept_port(home)) != running.url.rpartition(":")[2]:
        yield Check(
            "port",
            NOTE,
            f"{running.url} is not the port that this home keeps, so hooks elsewhere may miss it",
        )


def _channels_without_daemon(config: Config | None) -> Iterator[Check]:
    """The channels that would be off in a daemon that this shell starts."""
    if config is None or not (config.channels_off or config.channels):
        return
    from upcall.channels.catalogue import without_library

    for name, off in {**config.channels_off, **without_library(config.channels)}.items():
        yield Check(f"channel {name}", FAILED, f"would be off: {one_line(off.problem)}", off.hint)


def _kept_port(home: Home) -> str:
    try:
        return home.port_file.read_text().strip()
    except OSError:
        return ""


def _answers(url: str, token: str, who: str) -> Check:
    try:
        status, body = _get(url, "/healthz", "")
        if status != 200:
            return Check(
                "daemon", FAILED, f"{url} reports a problem: {_text(body)}", "see daemon.log in the home"
            )
        status, body = _get(url, "/v1/inquiries?limit=1", token)
    except Unreachable as error:
        return Check("daemon", FAILED, error.message, error.hint or "`upcall up --replace` restarts it")
    if status != 200:
        return Check(
            "daemon", FAILED, f"{url} does not accept the token: {_text(body)}", "check UPCALL_TOKEN"
        )
    return Check("daemon", OK, f"answers at {url} ({who}), and accepts the token of agents")


def _owner(home: Home, running: Running) -> Check:
    try:
        secret = home.read_secret(home.owner_token_file)
        status, _ = _get(running.url, "/v1/inquiries?limit=1", secret)
    except InvalidSetting as error:
        return Check("tokens", FAILED, error.message, error.hint or "")
    except OSError as error:
        status = 0
        says = f"{home.owner_token_file} cannot be read: {error.strerror}"
    else:
        says = f"the daemon does not accept the token in {home.owner_token_file}"
    if status == 200:
        return Check("tokens", OK, "the daemon accepts yours, and agents have another")
    return Check("tokens", FAILED, says, "`upcall up --replace` makes a new one")


def _channels(url: str, token: str) -> Iterator[Check]:
    """The state of the channels, as the daemon reports it; none where the token may not see them."""
    status, body = _get(url, "/v1/channels", token)
    if status != 200:
        return
    for channel in json.loads(body)["items"]:
        name = f"channel {channel['name']}"
        for fault in channel.get("faults", []):
            says = f"{CANNOT[fault['side']]} since {fault['since']}: {one_line(fault['problem'])}"
            yield Check(name, FAILED, says, fault["hint"])
        if not channel.get("faults"):
            yield Check(name, OK, "no failure is recorded")


def _get(url: str, path: str, token: str) -> tuple[int, bytes]:
    wire = Wire(url)
    with closing(wire):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return wire.request("GET", path, headers, timeout=REPLY_SECONDS)


def _text(body: bytes) -> str:
    try:
        told = json.loads(body)
        return str(told["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body[:80].decode("utf-8", "replace")


def _database(home: Home, config: Config) -> Check:
    from upcall.daemon.wiring.store import database_path, is_postgres

    if is_postgres(config.database):
        return Check("database", NOTE, "PostgreSQL; the daemon checks it when it starts")
    try:
        path = database_path(home, config)
    except UpcallError as error:
        return Check("database", FAILED, error.message, error.hint or "")
    if not path.exists():
        return Check("database", NOTE, f"the first question creates {path}")
    problem = _problem_of(path)
    if problem:
        return Check("database", FAILED, f"{path} {problem}", "`upcall restore` puts a backup in its place")
    return Check("database", OK, f"{path}, {path.stat().st_size / 1024:.0f} KiB")


def _problem_of(path: Path) -> str:
    import sqlite3

    from upcall.stores.sqlite.migrations import APPLICATION_ID, migrations

    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            owner: int = db.execute("PRAGMA application_id").fetchone()[0]
            version: int = db.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        return f"cannot be read: {error}"
    if owner != APPLICATION_ID:
        return "is not an Upcall database"
    return "was written by a later Upcall" if version > migrations()[-1].number else ""
