"""The sentences that channels say, from `locales/`, in the language of the settings."""

import json
from functools import lru_cache
from importlib.resources import files

LANGUAGES = ("en", "zh-CN", "es", "de", "fr", "ja")


@lru_cache(maxsize=len(LANGUAGES))
def sentences(language: str) -> dict[str, str]:
    """Every sentence of a language by its name."""
    text = files("upcall.channels").joinpath("locales", f"{language}.json").read_text("utf-8")
    read: dict[str, str] = json.loads(text)
    return read
