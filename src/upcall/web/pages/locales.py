"""The sentences of the pages, in the reader's language. No sentence stands in code or in a template."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files

LANGUAGES = {
    "en": "English",
    "zh-CN": "简体中文",
    "es": "Español",
    "de": "Deutsch",
    "fr": "Français",
    "ja": "日本語",
}
"""The first one is taken where a browser names none of them."""

_STEPS = ((60, 1, "age.seconds"), (3600, 60, "age.minutes"), (2 * 86400, 3600, "age.hours"))
IN_THE_BROWSER = ("age.", "time.", "js.")
"""The sentences that a page takes along, for what changes while it is open."""


@lru_cache(maxsize=len(LANGUAGES))
def sentences(language: str) -> dict[str, str]:
    """Every sentence of a language by its name."""
    text = files("upcall.web").joinpath("locales", f"{language}.json").read_text("utf-8")
    read: dict[str, str] = json.loads(text)
    return read


@dataclass(frozen=True, slots=True)
class Words:
    """One language."""

    language: str

    def say(self, name: str, **gaps: object) -> str:
        """A sentence with its gaps filled. It is plain text: the template that shows it escapes it."""
        return sentences(self.language)[name].format(**gaps)

    def age(self, seconds: float) -> str:
        """A span, roughly."""
        whole = max(int(seconds), 0)
        for below, unit, name in _STEPS:
            if whole < below:
                return self.say(name, n=whole // unit)
        return self.say("age.days", n=whole // 86400)

    def moment(self, at: float) -> str:
        """A moment in UTC; the browser puts it into its own time zone."""
        then = datetime.fromtimestamp(at, UTC)
        return self.say(
            "date",
            year=f"{then.year:04}",
            month=f"{then.month:02}",
            day=f"{then.day:02}",
            hour=f"{then.hour:02}",
            minute=f"{then.minute:02}",
        )

    def for_the_browser(self) -> str:
        """What the page's own script says, as JSON."""
        known = sentences(self.language)
        return json.dumps(
            {name: text for name, text in known.items() if name.startswith(IN_THE_BROWSER)},
            ensure_ascii=False,
        )


def chosen(wanted: str | None, accepted: str | None) -> Words:
    """The language that was picked, else the best of those that a browser accepts, else the first one."""
    if wanted in LANGUAGES:
        return Words(wanted)
    for _, tag in sorted(_ranked(accepted or ""), key=lambda entry: -entry[0]):
        for known in LANGUAGES:
            if tag == known.lower() or tag.partition("-")[0] == known.lower().partition("-")[0]:
                return Words(known)
    return Words(next(iter(LANGUAGES)))


def _ranked(header: str) -> list[tuple[float, str]]:
    ranked: list[tuple[float, str]] = []
    for part in header[:500].split(","):
        tag, _, quality = part.partition(";")
        try:
            weight = float(quality.strip().removeprefix("q=")) if quality else 1.0
        except ValueError:
            weight = 0.0
        if weight > 0:
            ranked.append((weight, tag.strip().lower()))
    return ranked
