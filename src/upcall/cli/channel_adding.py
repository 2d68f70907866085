"""`upcall channels add`: asks for what a vendor has given, checks it with the vendor, and only then writes it.

Secrets go to `secrets.toml`, or to the system's keyring; everything else to `upcall.toml`, below what is there.
"""

import asyncio
import getpass
import hashlib
import hmac
import os
import sys
import tomllib
from argparse import Namespace
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import fields

import tomlkit
from tomlkit.exceptions import TOMLKitError

from upcall.channels import onboarding
from upcall.channels.catalogue import channel, missing_library
from upcall.cli.client import Client
from upcall.cli.failures import CommandFailed, spelled
from upcall.cli.render.terminal import is_terminal
from upcall.config.channels import KINDS, ChannelSettings, PushSettings, installed, read_channels
from upcall.config.settings import Config, load
from upcall.domain.channel.showing import Finding
from upcall.domain.text.display import one_line
from upcall.home.files import Home, default_home
from upcall.home.program import installing, program

CHECK_SECONDS = 60.0

Values = Mapping[str, str]


class PassingStamps:
    """Signatures for as long as a check takes: the key of the installation is the daemon's, in its store."""

    def __init__(self) -> None:
        self._key = os.urandom(32)

    async def stamp(self, purpose: str, text: str) -> str:
        """A signature that only this object knows again."""
        return hmac.digest(self._key, f"{purpose}:{text}".encode(), "sha256").hex()[:16]

    async def has_stamped(self, purpose: str, text: str, stamp: str) -> bool:
        """Whether a signature was made here."""
        return hmac.compare_digest(stamp.encode(), (await self.stamp(purpose, text)).encode())


def add(args: Namespace) -> int:
    """Add a channel, or give one new secrets."""
    home = default_home()
    if Client(home=home).remote:
        raise CommandFailed(
            "UPCALL_URL leads to a daemon elsewhere, and a channel is added beside its settings",
            hint="run the command on its machine, without UPCALL_URL",
        )
    config, known = load(home), _table(home, args.name)
    kind = args.kind or str(known.get("kind", args.name))
    settings = _settings(kind)
    if missing := missing_library(settings(kind=kind)):
        raise CommandFailed(missing, hint="install it, then the same again")
    if not is_terminal(sys.stdin):
        raise CommandFailed(
            "the secrets are asked for without echo, and there is no terminal to ask in",
            hint=f"write them into [channels.{args.name}] of {home.secrets_file}, then `upcall config reload`",
        )
    given = _answers(kind, settings, known)
    made = _read(args.name, {**known, **given, "kind": kind})
    if not _agreed(_findings(made, args.name, config)):
        print("Nothing was written.")
        return 1
    place = "" if _has_route(config, args.name) else _asked(f"Where to ask: {_place(kind)}; empty for later")
    secrets = {name: value for name, value in given.items() if name in _secret_keys(settings)}
    plain = {name: value for name, value in given.items() if name not in secrets}
    _write(home, args, kind, plain, secrets, place)
    return _put_on(home, args.name, place)


def _settings(kind: str) -> type[ChannelSettings]:
    if kind in KINDS:
        return KINDS[kind]
    others = installed()
    if kind not in others:
        raise CommandFailed(
            f"there is no kind of channel {kind!r}",
            hint=f"one of {', '.join([*KINDS, *others])}; a channel with a name of its own: --kind KIND",
        )
    found: type[ChannelSettings] = others[kind].load()
    return found


def _table(home: Home, name: str) -> dict[str, object]:
    """What stands in `upcall.toml` about a channel of that name."""
    try:
        tables = tomllib.loads(home.config_file.read_text("utf-8")).get("channels", {})
    except FileNotFoundError:
        return {}
    found = tables.get(name, {})
    return dict(found) if isinstance(found, dict) else {}


def _secret_keys(settings: type[ChannelSettings]) -> set[str]:
    return {each.name for each in fields(settings) if "secret" in each.metadata}


def _answers(kind: str, settings: type[ChannelSettings], known: Mapping[str, object]) -> dict[str, str]:
    """What the person says; what is no secret and stands in the settings already is not asked for."""
    needed = [each.name for each in fields(settings) if "needed" in each.metadata]
    prompts = onboarding.ASKED.get(kind, {name: name for name in needed})
    secret, given = _secret_keys(settings), dict[str, str]()
    for key, prompt in prompts.items():
        if key not in secret and known.get(key):
            continue
        said = getpass.getpass(f"{prompt}: ").strip() if key in secret else _asked(prompt)
        if said:
            given[key] = said
        elif key in needed:
            raise CommandFailed(f"{key} is needed. Nothing was written", hint=f"upcall setup {kind}")
    return given


def _asked(prompt: str) -> str:
    print(f"{prompt}: ", end="", flush=True)
    return sys.stdin.readline().strip()


def _read(name: str, table: Mapping[str, object]) -> ChannelSettings:
    """The settings of the channel as the daemon will read them; tokens in each other's place are found here."""
    found = read_channels({name: table}, {}, str)
    if found.off:
        raise CommandFailed(
            f"{'; '.join(found.off[name])}. Nothing was written",
            hint=f"the same again, or `upcall setup {table['kind']}`",
        )
    return found.on[name]


def _findings(settings: ChannelSettings, name: str, config: Config) -> Sequence[Finding]:
    """What the vendor says."""
    if settings.needs_public_url and not config.public_url:
        text = f"a {settings.kind} channel needs `public_url`, the address by which people and vendors reach Upcall"
        return [Finding(ok=False, text=text, hint="set public_url in upcall.toml, then the same again")]
    if isinstance(settings, PushSettings):
        return []
    url = f"{config.public_url.rstrip('/') or 'http://127.0.0.1'}/channels/{name}"

    async def check() -> Sequence[Finding]:
        made = channel(settings, url, PassingStamps())
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                return await made.check()
        except TimeoutError:
            return [Finding(ok=False, text=f"no reply within {CHECK_SECONDS:g} seconds")]
        finally:
            await made.close()

    try:
        return asyncio.run(check())
    except ValueError as error:
        raise CommandFailed(f"channels.{name}: {error}. Nothing was written") from error


def _agreed(findings: Sequence[Finding]) -> bool:
    for finding in findings:
        print(f"{'✓' if finding.ok else '✗'} {one_line(finding.text)}")
        if finding.hint and not finding.ok:
            print(f"  Next: {one_line(spelled(finding.hint))}")
    if all(finding.ok for finding in findings):
        return True
    return _asked("Write it all the same? [y/N]").lower() in {"y", "yes"}


def _has_route(config: Config, name: str) -> bool:
    return any(place.partition(":")[0] == name for route in config.routes for place in route.to)


def _place(kind: str) -> str:
    return onboarding.PLACES.get(kind, "an address there")


def _write(home: Home, args: Namespace, kind: str, plain: Values, secrets: Values, place: str) -> None:
    """Write the settings; those that other settings make unreadable are not written at all."""
    text = home.config_file.read_text("utf-8") if home.config_file.exists() else ""
    table = {**({} if args.name == kind else {"kind": kind}), **plain}
    if args.name in tomllib.loads(text).get("channels", {}):
        text = _amended(text, args.name, table)
    else:
        text = _below(text, tomlkit.dumps({"channels": {args.name: table}}))
    if place:
        text = _below(text, tomlkit.dumps({"routes": [{"to": [f"{args.name}:{place}"]}]}))
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CommandFailed(
            f"{home.config_file} has its channels or routes on one line, to which nothing can be added: {error}. "
            "Nothing was written",
            hint="write them as tables, [channels.NAME] and [[routes]]",
        ) from error
    home.create()
    _keep(home, args, secrets)
    # A link leads to the file that is changed.
    home.write_private(home.config_file.resolve(), text)
    print(f"Wrote {home.config_file}.")


def _amended(text: str, name: str, table: Values) -> str:
    document = tomlkit.parse(text)
    channels = document["channels"]
    assert isinstance(channels, MutableMapping)
    channels[name].update(table)
    return tomlkit.dumps(document)


def _below(text: str, more: str) -> str:
    return f"{text.rstrip()}\n\n{more}" if text.strip() else more


def _keep(home: Home, args: Namespace, secrets: Values) -> None:
    if not secrets:
        return
    if args.keyring:
        secrets = {key: _in_keyring(home, args.name, key, value) for key, value in secrets.items()}
    kept = _kept_secrets(home)
    channels = kept.setdefault("channels", tomlkit.table(is_super_table=True))
    channels.setdefault(args.name, tomlkit.table()).update(secrets)
    home.write_private(home.secrets_file.resolve(), tomlkit.dumps(kept))
    where = "the system's keyring" if args.keyring else f"{home.secrets_file}, which only you can read"
    print(f"The secrets are in {where}.")


def _kept_secrets(home: Home) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(home.secrets_file.read_text("utf-8") if home.secrets_file.exists() else "")
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise CommandFailed(
            f"{home.secrets_file} cannot be read: {error}. Nothing was written",
            hint="mend it, or move it away and give every channel its secrets again",
        ) from error


def _in_keyring(home: Home, name: str, key: str, value: str) -> str:
    """Put a secret into the keyring, and say where it is."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        raise CommandFailed(
            "the system's keyring needs a library. Nothing was written", hint=installing("keyring")
        ) from error
    # Two homes of one user have secrets of their own.
    service = f"upcall-{hashlib.sha256(str(home.path.absolute()).encode()).hexdigest()[:8]}"
    try:
        keyring.set_password(service, f"channels.{name}.{key}", value)
    except (KeyringError, RuntimeError) as error:
        raise CommandFailed(
            f"the system's keyring cannot be used: {str(error) or type(error).__name__}. Nothing was written",
            hint="without --keyring, the secrets go to a file that only you can read",
        ) from error
    return f"keyring:{service}/channels.{name}.{key}"


def _put_on(home: Home, name: str, place: str) -> int:
    """Have a running daemon read it, and say what is left to do."""
    client = Client(home=home)
    off: dict[str, str] = {}
    if home.running() is not None:
        off = {each["name"]: each["problem"] for each in client.post("/v1/config/reload", {})["off"]}
    if name in off:
        print(f"{name} is off: {one_line(off[name])}", file=sys.stderr)
        return 1
    print(f"{name} is on." if home.running() is not None else f"{name} is on as soon as a daemon runs.")
    route = "" if place else " --place PLACE"
    print(f"Next: {program()} people add YOUR_NAME, then {program()} channels test {name}{route}")
    return 0
