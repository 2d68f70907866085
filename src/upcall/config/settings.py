"""Settings: `upcall.toml` in the home, each of them also as a `UPCALL_…` variable, which wins.

`[limits] label = 30` is `UPCALL_LIMITS_LABEL=30`. All problems are reported at once, each with its
key, what is wrong and what would be right.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

from upcall.config.channels import ChannelSettings, RouteSettings, read_channels, read_routes
from upcall.config.presets import NAMES, below, preset_table
from upcall.config.presets.settings import PresetSettings
from upcall.config.reading import EXACT, SECONDS, SECONDS_OR_OFF, SECRET, Table, as_table, fill, variable_of
from upcall.config.references import MissingSecret, References, read_secrets
from upcall.domain.away import AWAY_AFTER
from upcall.domain.channel.off import Off
from upcall.domain.errors import InvalidSetting
from upcall.domain.inquiry.limits import Limits
from upcall.domain.text.redaction import redact
from upcall.domain.thread.thread import ThreadRules
from upcall.home.files import Home

TEMPLATED = ("acp", "command")
"""Adapters that know no program of their own."""

ALIASES = ("ask_user", "question")
"""Other names that `ask_human` can have."""

LONGEST_UNDO = 60.0
HIGHEST_PORT = 65535

REPLICA = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
"""The name of a daemon among others has the form of a host name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSettings:
    """How often one token may ask, and how often the same question."""

    per_second: float = 100.0
    burst: float = 5000.0
    same: int = 5
    same_within: float = field(default=600.0, metadata=SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """The folders of containers without network; empty is `ipc` in the home."""

    roots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """How many agents may work at once."""

    limit: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """An agent with a name of the owner's choice; an empty setting leaves the adapter's default.

    Those from `start` on are for programs that no adapter knows: `start` and `resume` are command lines with places to
    fill. `group` is the group of the file door that is this agent's.
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
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapSettings:
    """Limits of one token: waiting calls on one pipe, MCP sessions, bytes of attachments in an hour."""

    waits: int = 1000
    mcp_sessions: int = 500
    attachment_bytes: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSettings:
    """How many people an approval takes, and whether the person who started a run may approve its actions."""

    quorum: int = 1
    asker_may_approve: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationSettings:
    """How the owner of the home is told about a question, besides channels."""

    title: str = "upcall"
    language: Literal["en", "zh-CN", "es", "de", "fr", "ja"] = "en"
    terminal_bell: bool = False
    terminal_osc: Literal["", "9", "777", "99"] = ""
    macos_notification: bool = False
    webhook_url: str = field(default="", metadata=SECRET)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    """For how many days what is over is kept; 0 is for ever."""

    days: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(PresetSettings):
    """All settings of a home."""

    preset: Literal["", "pynchy", "poietai", "deepchat", "gza", "blobhub"] = ""
    host: str = "127.0.0.1"
    port: int = 0
    database: str = ""
    database_direct: str = ""
    public_url: str = ""
    replica: str = ""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"
    tracing: bool = False
    ttl: float = field(default=24 * 3600.0, metadata=SECONDS)
    block_timeout: float = field(default=30 * 60.0, metadata=SECONDS)
    hook_wait: float = field(default=30 * 60.0, metadata=SECONDS)
    away_after: float = field(default=AWAY_AFTER, metadata=SECONDS)
    slice: float = field(default=50.0, metadata=SECONDS)
    on_block_end: Literal["park", "error", "end_run"] = "park"
    on_expiry: Literal["expire", "deny", "fail"] = "expire"
    on_restart: Literal["keep", "cancel", "fail"] = "keep"
    unknown_approval: Literal["deny", "reask"] = "deny"
    numbers: Literal["label_first", "position"] = "label_first"
    permission: Literal["approval", "autonomous"] = "approval"
    resume: Literal["held", "auto"] = "held"
    inbox: bool = True
    undo: float = field(default=4.0, metadata=SECONDS_OR_OFF)
    activity: bool = True
    resume_message: str = ""
    tool_aliases: tuple[str, ...] = ()
    elicit: Literal["auto", "always", "never"] = "auto"
    connections: int = 0
    marker: str = ""
    advice: str = ""
    limits: Limits = Limits()
    rates: RateSettings = RateSettings()
    caps: CapSettings = CapSettings()
    files: FileSettings = FileSettings()
    runs: RunLimits = RunLimits()
    threads: ThreadRules = ThreadRules()
    agents: Mapping[str, AgentSettings] = field(default_factory=dict)
    approvals: ApprovalSettings = ApprovalSettings()
    notifications: NotificationSettings = NotificationSettings()
    retention: RetentionSettings = RetentionSettings()
    channels: Mapping[str, ChannelSettings] = field(default_factory=dict)
    channels_off: Mapping[str, Off] = field(default_factory=dict)
    routes: tuple[RouteSettings, ...] = ()

    def agent(self, name: str) -> AgentSettings:
        """The settings of an agent; those of one that has no table are empty."""
        return self.agents.get(name, AgentSettings())

    def permission_of(self, name: str) -> Literal["approval", "autonomous"]:
        """The permission mode of an agent: its own, else the general one."""
        return self.agent(name).permission or self.permission


def load(home: Home, environment: Mapping[str, str] | None = None) -> Config:
    """Read the settings of a home. A channel with a problem is off, and the others are not.

    Raises:
        InvalidSetting: if any other setting cannot be used; its message has a line for each.
    """
    environment = os.environ if environment is None else environment
    problems: list[str] = []
    table = _with_preset(_read_file(home, problems), environment)
    channels = as_table(table.get("channels", {}), "channels", problems)
    on, off = _channels(home, channels, environment)
    named = {
        "agents": _agents(as_table(table.get("agents", {}), "agents", problems), problems),
        "channels": on,
        "channels_off": off,
        "routes": read_routes(table.get("routes", []), channels, problems),
    }
    config = reachable(fill(Config, table, environment, "", problems, read=named))
    problems += _faults(config, environment)
    if problems:
        raise InvalidSetting("\n".join(problems), hint=_where(home, problems))
    return config


def _faults(config: Config, environment: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with values of the right type."""
    if config.undo > LONGEST_UNDO:
        yield f"undo: at most {LONGEST_UNDO:g} seconds, which the agent waits; got {config.undo:g}"
    if not config.inbox and not config.routes:
        yield "inbox: where it is no route, there have to be [[routes]]"
    for alias in config.tool_aliases:
        if alias not in ALIASES:
            yield f"tool_aliases: one of {', '.join(ALIASES)}; got {alias!r}"
    yield from config.preset_problems()
    hook = config.notifications.webhook_url
    if hook and not hook.startswith(("https://", "http://")):
        yield f"notifications.webhook_url: an address such as https://chat.example/hook, got {hook!r}"
    if config.replica and not REPLICA.fullmatch(config.replica):
        yield f"replica: up to 63 small letters, digits and -; got {config.replica!r}"
    # The system would take the rest of a division by 65536.
    if not 0 <= config.port <= HIGHEST_PORT:
        name = variable_of("port") if variable_of("port") in environment else "port"
        yield f"{name}: 1 to {HIGHEST_PORT}, or 0 for any that is free; got {config.port}"


def _where(home: Home, problems: list[str]) -> str:
    """Where problems are mended: in the file, or in the variables of the environment."""
    variables = [
        name for name, _, _ in (each.partition(": ") for each in problems) if name.startswith(variable_of(""))
    ]
    mend = f"correct or unset {', '.join(variables)}" if variables else ""
    edit = f"edit {home.config_file}" if len(variables) < len(problems) else ""
    return "; ".join(part for part in (edit, mend) if part)


def reachable(config: Config) -> Config:
    """The settings with those channels off that need an address by which others reach Upcall, where there is none."""
    if config.public_url:
        return config
    needs = "needs `public_url`, the address by which people and vendors reach Upcall"
    hint = "set public_url in upcall.toml, then run `upcall up --replace`"
    off = {
        name: Off(problem=f"channels.{name}: a {settings.kind} channel {needs}", hint=hint)
        for name, settings in config.channels.items()
        if settings.needs_public_url
    }
    on = {name: settings for name, settings in config.channels.items() if name not in off}
    return replace(config, channels=on, channels_off={**config.channels_off, **off})


def keys(config: Config | None = None) -> Iterator[tuple[str, str, object]]:
    """Every setting as (key, variable, value), those for one preset last; without a `config`, the defaults.

    Tables that their owner names, `[agents.NAME]`, have neither a default nor variables.
    """
    for_presets = {each.name for each in fields(PresetSettings)}
    yield from sorted(_keys(config or Config(), ""), key=lambda row: row[0] in for_presets)


def set_by_variables(environment: Mapping[str, str]) -> list[str]:
    """The variables of an environment that are settings, in the order of the settings."""
    return [variable for _, variable, _ in keys() if variable in environment]


def agent_keys() -> Iterator[tuple[str, object]]:
    """Every setting of an `[agents.NAME]` table as (key, default)."""
    for known in fields(AgentSettings):
        yield known.name, getattr(AgentSettings(), known.name)


def _keys(settings: Any, prefix: str) -> Iterator[tuple[str, str, object]]:
    for known in fields(settings):
        value = getattr(settings, known.name)
        if is_dataclass(value):
            yield from _keys(value, f"{known.name}.")
        elif not isinstance(value, Mapping) and known.name != "routes":
            key = prefix + known.name
            yield key, variable_of(key), value


def _read_file(home: Home, problems: list[str]) -> Table:
    try:
        return tomllib.loads(home.config_file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        problems.append(f"{home.config_file.name}: cannot be read: {problem}")
        return {}


def _channels(
    home: Home, tables: Table, environment: Mapping[str, str]
) -> tuple[Mapping[str, ChannelSettings], Mapping[str, Off]]:
    unread = ""
    try:
        secrets = as_table(read_secrets(home).get("channels", {}), "channels", [])
    except MissingSecret as problem:
        secrets, unread = {}, f"; {problem}"
    found = read_channels(tables, secrets, References(home, environment).value)
    off = {
        name: Off(
            problem=redact("; ".join(problems)).text + unread,
            hint=f"edit {home.config_file}, or give its secrets with `upcall channels add {name}`",
        )
        for name, problems in found.off.items()
    }
    return found.on, off


def _with_preset(table: Table, environment: Mapping[str, str]) -> Table:
    """A name that is no preset is reported with everything else that cannot be used."""
    name = environment.get(variable_of("preset"), table.get("preset"))
    return below(table, preset_table(str(name))) if name in NAMES else table


def _agents(tables: Table, problems: list[str]) -> Mapping[str, AgentSettings]:
    agents = {}
    for name, given in tables.items():
        key = f"agents.{name}"
        table = as_table(given, key, problems)
        settings = fill(AgentSettings, table, {}, f"{key}.", problems)
        if settings.adapter in TEMPLATED and not settings.start and "start" not in table:
            problems.append(f'{key}.start: the command to start, such as ["mybot", "--task", "{{task}}"]')
        if problem := _pattern_problem(settings.session_pattern):
            problems.append(f"{key}.session_pattern: {problem}")
        agents[name] = settings
    return agents


def _pattern_problem(pattern: str) -> str | None:
    try:
        groups = re.compile(pattern).groups
    except re.error as problem:
        return f"not a regular expression: {problem}"
    return f"one group (…) around the session's id, got {groups}" if pattern and groups != 1 else None
