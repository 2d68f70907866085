"""Where secrets stand: in `upcall.toml` as `$NAME`, `file:PATH` or `keyring:SERVICE/NAME`, or in `secrets.toml` beside it.

Everything is read anew by each `load`, so a running daemon finds a secret however it was started. `secrets.toml` counts before
the same key in `upcall.toml`, and a variable in `upcall.env` before that of the environment.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from upcall.home.files import Home
from upcall.home.program import installing

FILE, KEYRING = "file:", "keyring:"
_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")

LONGEST = 64 * 1024
"""Bytes of a secret's file; more is no secret, and may never end."""


class MissingSecret(ValueError):
    """A secret is not where the settings say that it is."""


class References:
    """Finds the secrets of one home."""

    def __init__(self, home: Home, environment: Mapping[str, str]) -> None:
        self._home = home
        self._variables = {**environment, **read_variables(home)}

    def value(self, said: str) -> str:
        """What a setting means: itself, or the secret that it refers to.

        Raises:
            MissingSecret: if it is not there.
        """
        if said.startswith("$"):
            return self._variable(said[1:])
        if said.startswith(FILE):
            return self._content(said.removeprefix(FILE))
        if said.startswith(KEYRING):
            return _kept(said.removeprefix(KEYRING))
        return said

    def _variable(self, name: str) -> str:
        if name not in self._variables:
            raise MissingSecret(f"the variable {name} is not set, neither for the daemon nor in upcall.env")
        return self._variables[name]

    def _content(self, name: str) -> str:
        path = self._home.path / Path(name).expanduser()
        if not path.is_file():
            raise MissingSecret(f"there is no file {str(path)!r}")
        try:
            with path.open("rb") as file:
                content = file.read(LONGEST + 1)
        except OSError as error:
            raise MissingSecret(f"the file {str(path)!r} cannot be read: {error.strerror}") from error
        text = content.decode("utf-8", "replace").strip()
        if not text or len(content) > LONGEST:
            raise MissingSecret(f"the file {str(path)!r} holds no secret")
        return text


def read_variables(home: Home) -> dict[str, str]:
    """The variables of `upcall.env`, which is also the service's `EnvironmentFile`: lines of NAME=VALUE."""
    try:
        text = home.environment_file.read_text("utf-8", "replace")
    except OSError:
        return {}
    found = (_ASSIGNMENT.fullmatch(line.strip()) for line in text.splitlines())
    return {match[1]: _unquoted(match[2].strip()) for match in found if match}


def read_secrets(home: Home) -> Mapping[str, object]:
    """The tables of `secrets.toml`.

    Raises:
        MissingSecret: if it cannot be read.
    """
    try:
        return tomllib.loads(home.secrets_file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        # Not the line itself: it may hold a secret.
        raise MissingSecret(f"{home.secrets_file.name} cannot be read: {problem}") from problem


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _kept(name: str) -> str:
    service, _, user = name.rpartition("/")
    try:
        import keyring  # noqa: PLC0415 - an extra, and a desktop's keyring takes time to be found
        from keyring.errors import KeyringError  # noqa: PLC0415 - see above
    except ImportError as error:
        raise MissingSecret(f"it is in the system's keyring: {installing('keyring')}") from error
    try:
        found = keyring.get_password(service, user)
    except (KeyringError, RuntimeError) as error:
        raise MissingSecret(
            f"the system's keyring cannot be read: {str(error) or type(error).__name__}"
        ) from error
    if not found:
        raise MissingSecret(f"the system's keyring has no {name!r}")
    return found
