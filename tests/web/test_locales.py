"""Every language says everything, with the same gaps, and nothing is said anywhere else."""

import json
import re
import string
from importlib.resources import files
from pathlib import Path
from typing import cast

import pytest

import upcall.web
from upcall.http.errors import STATUSES
from upcall.web.pages.assets import assets
from upcall.web.pages.locales import LANGUAGES, Words, chosen, sentences

WEB = files("upcall.web")
FOLDER = Path(upcall.web.__file__).parent / "templates"
TEMPLATES = {str(file.relative_to(FOLDER)): file.read_text("utf-8") for file in FOLDER.rglob("*.html")}
OTHERS = [language for language in LANGUAGES if language != "en"]


def gaps(sentence: str) -> list[str]:
    """The names of what is filled in."""
    return sorted(name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None)


def test_there_is_a_file_for_each_language_and_no_other() -> None:
    assert {file.name for file in WEB.joinpath("locales").iterdir()} == {
        f"{language}.json" for language in LANGUAGES
    }


@pytest.mark.promise("spec/94")
@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_the_same_sentences_with_the_same_gaps(language: str) -> None:
    english, theirs = sentences("en"), sentences(language)
    assert list(theirs) == list(english)
    assert {name: gaps(text) for name, text in theirs.items()} == {
        name: gaps(text) for name, text in english.items()
    }
    assert [name for name, text in theirs.items() if not text.strip()] == []


@pytest.mark.parametrize("language", OTHERS)
def test_hardly_a_sentence_is_left_in_english(language: str) -> None:
    same = [
        name for name, text in sentences(language).items() if text == sentences("en")[name] and " " in text
    ]
    # Numbers, units and what is the same word in both.
    assert len(same) < 12, same


def test_no_sentence_stands_in_a_template() -> None:
    for name, text in TEMPLATES.items():
        bare = re.sub(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", " ", text, flags=re.DOTALL)
        bare = re.sub(r"<(pre|svg|kbd)\b.*?</\1>", " ", bare, flags=re.DOTALL)
        shown = re.findall(r"(?:placeholder|aria-label|alt|title)=\"([^\"]*)\"", bare)
        bare = re.sub(r"[\w-]+=\"[^\"]*\"", " ", re.sub(r"<[^>]*>", " ", bare))
        assert re.findall(r"[A-Za-z]{2,}", " ".join([bare, *shown])) == [], name


def test_every_sentence_that_is_asked_for_exists_and_every_one_is_asked_for() -> None:
    known = set(sentences("en"))
    sources = [
        file.read_text("utf-8")
        for package in (WEB.joinpath("pages"), files("upcall.presets"))
        for file in package.iterdir()
        if file.name.endswith(".py")
    ]
    scripts = [asset.content.decode() for asset in assets().values() if asset.media_type != "image/png"]
    everything = "\n".join([*TEMPLATES.values(), *sources, *scripts])
    asked = set(re.findall(r"\bt\(['\"]([a-z_.0-9]+)['\"]\s*[,)]", everything))
    assert asked - known == set()
    families = (
        "help.",
        "card.approve.",
        "channels.state.",
        "span.",
        "remember.",
        "trail.",
        "outcome.",
        "change.",
        "said.",
        "problem.",
        "age.",
        "time.",
        "js.",
        "compose.",
        "field.",
        "item.",
        "filter.kind.",
        "group.",
        "kind.",
        "log.",
        "told.",
        "fault.",
        "run.state.",
        "rules.as.",
        "bulk.done.",
    )
    unused = {
        name for name in known - asked if f'"{name}"' not in everything and not name.startswith(families)
    }
    assert unused == set()
    assert {name.partition(".")[2] for name in known if name.startswith("problem.")} & set(STATUSES)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (172_799, "47 h"),
        (172_800, "2 d"),
    ],
)
def test_ages_are_rough_and_never_negative(seconds: float, said: str) -> None:
    assert Words("en").age(seconds) == said


@pytest.mark.parametrize(
    ("wanted", "accepted", "language"),
    [
        (None, "", "en"),
        (None, "xx, de;q=0.5, en;q=0.4", "de"),
        (None, "en;q=0, fr", "fr"),
        (None, "zh", "zh-CN"),
        (None, "de;q=nonsense, es", "es"),
        ("ja", "de", "ja"),
        ("../en", "de", "de"),
    ],
)
def test_the_best_language_that_is_known_is_chosen(wanted: str | None, accepted: str, language: str) -> None:
    assert chosen(wanted, accepted).language == language


def test_the_browser_gets_what_it_has_to_say_itself() -> None:
    told = cast("dict[str, str]", json.loads(Words("de").for_the_browser()))
    assert told["js.failed"].startswith("Nicht gesendet")
    assert {name.partition(".")[0] for name in told} == {"js", "age", "time"}


@pytest.mark.promise("desk/38")
def test_everything_that_a_browser_loads_is_small_and_comes_from_the_daemon() -> None:
    loaded = [asset for asset in assets().values() if asset.media_type in {"text/css", "text/javascript"}]
    assert sum(len(asset.content) for asset in loaded) <= 90_000
    imported = [
        name
        for asset in loaded
        for name in re.findall(r"^import .*?\"([^\"]+)\";$", asset.content.decode(), re.MULTILINE)
    ]
    assert {name.removeprefix("./") for name in imported} <= set(assets())
