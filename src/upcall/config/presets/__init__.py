"""Presets: tables of settings that reproduce another design, kept as TOML beside this module.

A setting of the user overrides that of the preset, key by key. A preset sets only what a user could set.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import cast

NAMES = ("pynchy", "poietai", "deepchat", "gza", "blobhub")

Table = Mapping[str, object]


def preset_table(name: str) -> Table:
    """The settings of a preset."""
    return tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text("utf-8"))


def below(given: Table, preset: Table) -> Table:
    """The given settings, filled up with those of the preset, in each table as well."""
    merged = dict(preset)
    for name, value in given.items():
        under = preset.get(name)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            merged[name] = below(cast("Table", value), cast("Table", under))
        else:
            merged[name] = value
    return merged
