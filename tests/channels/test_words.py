"""Channels say everything in every language, with the same gaps."""

import string
from importlib.resources import files

import pytest

from upcall.channels.words import LANGUAGES, sentences

OTHERS = [language for language in LANGUAGES if language != "en"]


def gaps(sentence: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None)


def test_there_is_a_file_for_each_language_and_no_other() -> None:
    found = {file.name for file in files("upcall.channels").joinpath("locales").iterdir()}
    assert found == {f"{language}.json" for language in LANGUAGES}


@pytest.mark.promise("spec/94")
@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_the_same_sentences_with_the_same_gaps(language: str) -> None:
    english, theirs = sentences("en"), sentences(language)
    assert list(theirs) == list(english)
    for name, text in theirs.items():
        assert gaps(text) == gaps(english[name]), name
        assert text.strip(), name
    assert [name for name, text in theirs.items() if text == english[name] and len(text) > 20] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_stands_on_a_control_of_slack_fits_there(language: str) -> None:
    words = sentences(language)
    assert all(len(words[name]) <= 24 for name in ("send", "cancel"))
    assert all(len(words[name]) <= 30 for name in ("approve", "deny", "cancel", "answer"))
    assert len(words["confirm.title"]) <= 100
    assert len(words["confirm.text"]) <= 300
