"""What a scripted human says to which question."""

import re
from pathlib import Path

import pytest
from typing_extensions import override

from upcall.domain.errors import InvalidSetting
from upcall.testing.human import Decision, Json, ScriptedHuman, by_pattern
from upcall.testing.script import Rule, Script


@pytest.mark.promise("spec/144")
def test_the_first_pattern_that_is_found_decides_and_the_rest_is_left_alone() -> None:
    respond = by_pattern({"cache": "Redis", "Which": "the second"})

    assert respond({"questions": [{"question": "Which cache?"}]}) == "Redis"
    assert respond({"questions": [{"question": "How?"}, {"question": "Which?"}]}) == "the second"
    assert respond({"questions": [{"question": "Why?"}]}) is None


def test_a_form_is_known_by_what_it_is_about_and_by_its_fields() -> None:
    form: Json = {"context": "Where to?", "questions": [{"question": "copies", "field": {"name": "copies"}}]}
    question: Json = {"context": "Where to?", "questions": [{"question": "Now?"}]}

    assert by_pattern({"Where": "1) 3"})(form) == "1) 3"
    assert by_pattern({"copies": "1) 3"})(form) == "1) 3"
    assert by_pattern({"Where": "yes"})(question) is None, "the context of a question is not what is asked"


SCRIPT = """
seed = 7
leaves_after = 5

[[rule]]
question = "Which cache"
answers = ["Redis", "Memcached"]

[[rule]]
question = "(?i)port"
any_of = ["80", "443", "8080"]
after = ["1s", "1h"]

[[rule]]
question = "Drop"
rejects = "never on a Friday"

[[rule]]
question = "Shall I"
ignores = true
"""


def a_script(folder: Path, text: str = SCRIPT) -> Script:
    file = folder / "script.toml"
    file.write_text(text)
    return Script.read(file)


def asked(text: str) -> dict[str, object]:
    return {"questions": [{"question": text}]}


@pytest.mark.promise("programs/15")
def test_a_scripted_person_contradicts_refuses_is_late_and_disappears(tmp_path: Path) -> None:
    script = a_script(tmp_path)

    said = [script.respond(asked(f"Which cache for {name}?")) for name in ("web", "jobs", "mail")]
    assert [each and each.text for each in said] == ["Redis", "Memcached", "Memcached"]
    assert script.respond(asked("Drop the table?")) == Decision(text="never on a Friday", rejects=True)
    assert script.respond(asked("Shall I wait?")) is None
    assert script.respond(asked("Who are you?")) is None
    late = script.respond(asked("On which port?"))
    assert late is not None
    assert 1 <= late.after <= 3600
    assert script.respond(asked("Which cache now?")) is None, "after five replies the person is gone"


@pytest.mark.promise("programs/15")
def test_the_seed_decides_the_same_in_whichever_order_questions_come(tmp_path: Path) -> None:
    questions = [asked(f"Port of {name}?") for name in ("web", "jobs", "mail")]
    one, other = a_script(tmp_path), a_script(tmp_path)
    changed = a_script(tmp_path, SCRIPT.replace("seed = 7", "seed = 8"))

    first = [one.respond(each) for each in questions]

    assert [other.respond(each) for each in reversed(questions)] == first[::-1]
    assert [changed.respond(each) for each in questions] != first


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[rule", "is not TOML"),
        ("seed = 7", "has no rule"),
        ('[[rule]]\nquestion = "x"', "rule 1: the rule for 'x' does not say what happens"),
        ('[[rule]]\nanswer = "y"\nignores = true', "does not say what happens"),
        ('[[rule]]\nquestion = "("\nanswer = "y"', "is no regular expression"),
        ('[[rule]]\nanswers = "Redis"', "answers is 'Redis'"),
        ("[[rule]]\nanswer = 5", "answers is [5]"),
        ('[[rule]]\nanswer = "y"\nafter = "soon"', "'soon' is not a duration"),
        ('[[rule]]\nanswer = "y"\nlater = 5', "there is no 'later'"),
        ('pace = 5\n[[rule]]\nanswer = "y"', "there is no 'pace'"),
    ],
)
def test_what_is_wrong_with_a_script_is_said_with_what_would_be_right(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(InvalidSetting, match=re.escape(problem)) as invalid:
        a_script(tmp_path, text)
    assert invalid.value.hint


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="No such file"):
        Script.read(tmp_path / "none.toml")


def test_a_reply_that_the_daemon_did_not_take_is_sent_again_and_not_thought_up_anew() -> None:
    """A person who contradicts themselves does so from question to question, and not where a daemon restarts in between."""
    sent: list[str] = []
    script = Script([Rule(question="cache", answers=["Redis", "Memcached"])])

    class Interrupted(ScriptedHuman):
        @override
        def _request(self, method: str, path: str, body: Json | None = None) -> Json:
            if method == "GET" and path.startswith("/v1/events"):
                return {"items": [] if sent else [{"type": "asked", "inquiry": "i1", "seq": 1}]}
            if body is None:
                return {"state": "open", "queued": False, **asked("Which cache?")}
            sent.append(str(body["text"]))
            if len(sent) == 1:
                raise ConnectionResetError
            return {"inquiry": {}}

        def look(self) -> None:
            self._look()

    person = Interrupted(lambda: ("", ""), script.respond)
    with pytest.raises(ConnectionResetError):
        person.look()
    person.look()

    assert sent == ["Redis", "Redis"]


def test_a_script_that_fails_is_not_taken_for_a_daemon_that_is_away() -> None:
    class Asked(ScriptedHuman):
        @override
        def _request(self, method: str, path: str, body: Json | None = None) -> Json:
            return {"state": "open", "queued": False, **asked("Which cache?")}

        def consider(self) -> None:
            self._consider("/v1/inquiries/i1")

    def fails(inquiry: Json) -> str:
        raise KeyError("answers")

    with pytest.raises(RuntimeError, match="'Which cache\\?'"):
        Asked(lambda: ("", ""), fails).consider()
