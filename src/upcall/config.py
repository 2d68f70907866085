"""Settings: `upcall.toml` in the home, each of them also as a `UPCALL_…` variable, which wins.

`[limits] label = 30` is `UPCALL_LIMITS_LABEL=30`. Whatever cannot be used is reported all at once, each with its
key, what is wrong with it and what would be right.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from upcall.domain.errors import InvalidRequest, InvalidSetting
from upcall.domain.limits import Limits
from upcall.domain.wording import duration
from upcall.home import Home

T = TypeVar("T")
SECONDS = {"unit": "seconds"}
EXACT = {"list": "exact"}
TEMPLATED = ("acp", "command")
"""Adapters that know no program of their own."""

QUIET = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
_CHANNEL_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How much one token may ask, and how often the same thing."""

    per_second: float = 100.0
    burst: float = 5000.0
    same: int = 5
    same_within: float = field(default=600.0, metadata=SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Where containers without network leave their questions; empty is `ipc` in the home."""

    roots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """How many agents may work at once."""

    limit: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """An agent by a name of its owner's; empty is what the adapter does by itself.

    The last five are for programs that no adapter knows: `start` and `resume` are command lines with places to fill.
    """

    adapter: str = ""
    program: str = ""
    permission: Literal["", "approval", "autonomous"] = ""
    arguments: tuple[str, ...] = field(default=(), metadata=EXACT)
    start: tuple[str, ...] = field(default=(), metadata=EXACT)
    resume: tuple[str, ...] = field(default=(), metadata=EXACT)
    resume_file: str = ""
    session_pattern: str = ""
    marker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """How many people an approval takes, and whether whoever started a run may approve what it does."""

    quorum: int = 1
    asker_may_approve: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """For how many days what is over is kept; 0 is for ever."""

    days: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """A channel by a name of its owner's. A secret written `$NAME` is taken from that variable."""

    kind: Literal["slack"] = "slack"
    language: Literal["en", "zh-CN", "es", "de", "fr", "ja"] = "en"
    bot_token: str = ""
    app_token: str = ""
    api_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSettings:
    """Where questions go that fit: places such as `slack:C0123456789`, all at once."""

    to: tuple[str, ...] = field(default=(), metadata=EXACT)
    agent: str = ""
    workspace: str = ""
    kind: Literal["", "text", "approval", "ask_user_question"] = ""
    remind: float = field(default=600.0, metadata=SECONDS)
    remind_most: int = 3
    escalate_after: float = field(default=0.0, metadata=SECONDS)
    quiet: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that can be set."""

    host: str = "127.0.0.1"
    port: int = 0
    database: str = ""
    database_direct: str = ""
    public_url: str = ""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    ttl: float = field(default=24 * 3600.0, metadata=SECONDS)
    block_timeout: float = field(default=30 * 60.0, metadata=SECONDS)
    hook_wait: float = field(default=30 * 60.0, metadata=SECONDS)
    slice: float = field(default=50.0, metadata=SECONDS)
    on_block_end: Literal["park", "error"] = "park"
    on_expiry: Literal["expire", "deny", "fail"] = "expire"
    on_restart: Literal["keep", "cancel", "fail"] = "keep"
    unknown_approval: Literal["deny", "reask"] = "deny"
    numbers: Literal["label_first", "position"] = "label_first"
    permission: Literal["approval", "autonomous"] = "approval"
    resume: Literal["held", "auto"] = "held"
    limits: Limits = Limits()
    rates: Rates = Rates()
    files: Files = Files()
    runs: Runs = Runs()
    agents: Mapping[str, AgentSettings] = field(default_factory=dict)
    approvals: Approvals = Approvals()
    retention: Retention = Retention()
    channels: Mapping[str, ChannelSettings] = field(default_factory=dict)
    routes: tuple[RouteSettings, ...] = ()


def load(home: Home, environment: Mapping[str, str] | None = None) -> Config:
    """Read the settings of a home.

    Raises:
        InvalidSetting: if any of them cannot be used; its message has a line for each.
    """
    environment = os.environ if environment is None else environment
    problems: list[str] = []
    table = _read_file(home, problems)
    config = _fill(Config, table, environment, "", problems)
    if problems:
        raise InvalidSetting("\n".join(problems), hint=f"edit {home.config_file}")
    return config


def keys() -> Iterator[tuple[str, str, object]]:
    """Every setting as (key, variable, default), for the documentation and for `config check`.

    Tables that their owner names, `[agents.NAME]`, have neither a default nor variables.
    """
    yield from _keys(Config(), "")


def agent_keys() -> Iterator[tuple[str, object]]:
    """Every setting of an `[agents.NAME]` table as (key, default)."""
    for known in fields(AgentSettings):
        yield known.name, getattr(AgentSettings(), known.name)


def channel_keys() -> Iterator[tuple[str, object]]:
    """Every setting of a `[channels.NAME]` table as (key, default)."""
    for known in fields(ChannelSettings):
        yield known.name, getattr(ChannelSettings(), known.name)


def route_keys() -> Iterator[tuple[str, object]]:
    """Every setting of a `[[routes]]` table as (key, default)."""
    for known in fields(RouteSettings):
        yield known.name, getattr(RouteSettings(), known.name)


def _keys(settings: Any, prefix: str) -> Iterator[tuple[str, str, object]]:
    for known in fields(settings):
        value = getattr(settings, known.name)
        if is_dataclass(value):
            yield from _keys(value, f"{known.name}.")
        elif not isinstance(value, Mapping) and known.name != "routes":
            key = prefix + known.name
            yield key, _variable(key), value


def _read_file(home: Home, problems: list[str]) -> Mapping[str, object]:
    try:
        return tomllib.loads(home.config_file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        problems.append(f"{home.config_file.name}: cannot be read: {problem}")
        return {}


def _fill(
    kind: type[T],
    table: Mapping[str, object],
    environment: Mapping[str, str],
    prefix: str,
    problems: list[str],
) -> T:
    hints = get_type_hints(kind)
    known = {each.name: each for each in fields(cast("Any", kind))}
    for name in table:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            problems.append(f"{prefix}{name}: unknown setting; {meant}")
    chosen: dict[str, object] = {}
    for name, each in known.items():
        if is_dataclass(hints[name]):
            inner = _table(table.get(name, {}), f"{prefix}{name}", problems)
            chosen[name] = _fill(
                cast("type[Any]", hints[name]), inner, environment, f"{prefix}{name}.", problems
            )
            continue
        if get_origin(hints[name]) is Mapping:
            read = _channels if name == "channels" else _agents
            chosen[name] = read(_table(table.get(name, {}), name, problems), environment, problems)
            continue
        if get_args(hints[name])[:1] == (RouteSettings,):
            chosen[name] = _routes(table.get(name, []), table.get("channels", {}), problems)
            continue
        key = prefix + name
        given = environment.get(_variable(key), table.get(name))
        if given is not None:
            try:
                if "list" in each.metadata:
                    chosen[name] = _exactly(given)
                else:
                    chosen[name] = _converted(given, hints[name], seconds="unit" in each.metadata)
            except (ValueError, InvalidRequest) as problem:
                source = _variable(key) if _variable(key) in environment else key
                problems.append(f"{source}: {problem}")
    return kind(**chosen)


def _table(given: object, key: str, problems: list[str]) -> Mapping[str, object]:
    if isinstance(given, Mapping):
        return cast("Mapping[str, object]", given)
    problems.append(f"{key}: a table [{key}], got {given!r}")
    return {}


def _agents(
    tables: Mapping[str, object], _: Mapping[str, str], problems: list[str]
) -> Mapping[str, AgentSettings]:
    agents = {}
    for name, given in tables.items():
        key = f"agents.{name}"
        table = _table(given, key, problems)
        settings = _fill(AgentSettings, table, {}, f"{key}.", problems)
        if settings.adapter in TEMPLATED and not settings.start and "start" not in table:
            problems.append(f'{key}.start: the command to start, such as ["mybot", "--task", "{{task}}"]')
        if problem := _pattern_problem(settings.session_pattern):
            problems.append(f"{key}.session_pattern: {problem}")
        agents[name] = settings
    return agents


def _channels(
    tables: Mapping[str, object], environment: Mapping[str, str], problems: list[str]
) -> Mapping[str, ChannelSettings]:
    channels = {}
    for name, given in tables.items():
        key = f"channels.{name}"
        if not _CHANNEL_NAME.fullmatch(name):
            problems.append(f"{key}: a name of small letters, digits and - only")
        table = dict(_table(given, key, problems))
        for secret in ("bot_token", "app_token"):
            said = table.get(secret)
            if isinstance(said, str) and said.startswith("$"):
                table[secret] = environment.get(said[1:], "")
            if not table.get(secret):
                problems.append(f"{key}.{secret}: the token, or $NAME of a variable that holds it")
        channels[name] = _fill(ChannelSettings, table, {}, f"{key}.", problems)
    return channels


def _routes(given: object, channels: object, problems: list[str]) -> tuple[RouteSettings, ...]:
    if not isinstance(given, list):
        problems.append(f"routes: tables [[routes]], got {given!r}")
        return ()
    names = channels if isinstance(channels, Mapping) else {}
    routes = []
    for number, each in enumerate(given, 1):
        key = f"routes {number}"
        route = _fill(RouteSettings, _table(each, key, problems), {}, f"{key}: ", problems)
        if not route.to:
            problems.append(f'{key}: to: places such as ["slack:C0123456789"]')
        for place in route.to:
            channel, _, address = place.partition(":")
            if channel not in names or not address:
                problems.append(f"{key}: to: a channel's name, a colon and an address there, got {place!r}")
        if route.quiet and not QUIET.fullmatch(route.quiet):
            problems.append(f'{key}: quiet: hours such as "22:00-07:00", got {route.quiet!r}')
        routes.append(route)
    return tuple(routes)


def _pattern_problem(pattern: str) -> str | None:
    try:
        groups = re.compile(pattern).groups
    except re.error as problem:
        return f"not a regular expression: {problem}"
    return f"one group (…) around the session's id, got {groups}" if pattern and groups != 1 else None


def _exactly(given: object) -> tuple[str, ...]:
    """Words of a command line, each as it is."""
    if not isinstance(given, list) or not given or not all(isinstance(item, str) for item in given):
        raise ValueError(f'a list such as ["one", "two"], got {given!r}')
    return tuple(given)


def _converted(given: object, hint: object, *, seconds: bool) -> object:
    if seconds:
        if isinstance(given, bool) or not isinstance(given, str | int | float):
            raise ValueError(f'a duration such as "10m" or 90, got {given!r}')
        return duration(given)
    if get_origin(hint) is Literal:
        if given not in get_args(hint):
            # Where nothing may be said, that is its default.
            raise ValueError(f"one of {', '.join(filter(None, get_args(hint)))}; got {given!r}")
        return given
    if get_origin(hint) is tuple:
        return _listed(given)
    if hint is bool:
        return _switched(given)
    if hint is str:
        if not isinstance(given, str):
            raise ValueError(f"text, got {given!r}")
        return given
    try:
        number = int(str(given)) if hint is int else float(str(given))
    except ValueError:
        raise ValueError(f"a number, got {given!r}") from None
    if number < 0:
        raise ValueError(f"not negative, got {given!r}")
    return number


def _switched(given: object) -> bool:
    """A yes or no: a boolean in the file, a word in a variable."""
    said = str(given).casefold()
    if said not in {"true", "false"}:
        raise ValueError(f"true or false, got {given!r}")
    return said == "true"


def _listed(given: object) -> tuple[str, ...]:
    """Several texts: a list in the file, in a variable separated as in PATH or by commas."""
    items = given.replace(os.pathsep, ",").split(",") if isinstance(given, str) else given
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError(f'a list such as ["one", "two"], got {given!r}')
    return tuple(stripped for item in items if (stripped := str(item).strip()))


def _variable(key: str) -> str:
    return "UPCALL_" + key.replace(".", "_").upper()
