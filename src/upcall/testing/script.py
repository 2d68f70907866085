"""The script of a scripted person: rules that say which question gets which reply, and when.

The same script with the same seed replies the same way to the same questions, in whichever order they come.
"""

import random
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from upcall.domain.errors import InvalidSetting, UpcallError
from upcall.domain.inquiry.wording import duration
from upcall.testing.human import Decision, Json, words_of

__all__ = ["Rule", "Script"]

_TYPES: Mapping[str, tuple[type, str]] = {
    "question": (str, '"Which cache"'),
    "answers": (list, '["Redis", "Memcached"]'),
    "any_of": (list, '["Redis", "Memcached"]'),
    "rejects": (str, '"ask me tomorrow"'),
    "ignores": (bool, "true"),
}
"""What a rule of a file is made of besides `answer` and `after`, with an example of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What happens to the questions in which `question`, a regular expression, is found. It is one of four.

    `answers` are given in turn, the last one from then on: a person who contradicts themselves. Of `any_of`, the seed
    decides. `rejects` is the reason of a refusal. `ignores` leaves the question open: a person who has disappeared.
    """

    question: str = ""
    answers: Sequence[str] = ()
    any_of: Sequence[str] = ()
    rejects: str | None = None
    ignores: bool = False
    after: float = 0.0
    """Seconds before the reply."""

    at_most: float = 0.0
    """If it is more than `after`, the seed chooses how late the reply is between the two."""

    def __post_init__(self) -> None:
        if sum(map(bool, (self.answers, self.any_of, self.rejects is not None, self.ignores))) != 1:
            raise InvalidSetting(
                f"the rule for {self.question!r} does not say what happens",
                hint="give exactly one of answer, answers, any_of, rejects and ignores",
            )
        try:
            re.compile(self.question)
        except re.error as error:
            raise InvalidSetting(
                f"{self.question!r} is no regular expression: {error}",
                hint="escape what is meant literally with a backslash",
            ) from None

    def decision(self, times: int, chance: random.Random) -> Decision | None:
        """The reply to a question that this rule has met so many times before."""
        after = max(self.after, chance.uniform(self.after, self.at_most) if self.at_most else 0.0)
        if self.ignores:
            return None
        if self.rejects is not None:
            return Decision(text=self.rejects, rejects=True, after=after)
        text = chance.choice(self.any_of) if self.any_of else self.answers[min(times, len(self.answers) - 1)]
        return Decision(text=text, after=after)


class Script:
    """Rules in their order, the first one that fits decides; a question that none fits stays open.

    After `leaves_after` replies, the person is gone and says nothing more.
    """

    def __init__(self, rules: Sequence[Rule] = (), *, seed: int = 0, leaves_after: int | None = None) -> None:
        self._rules = list(rules)
        self._seed = seed
        self._left = leaves_after
        self._met: Counter[int] = Counter()
        self._asked: Counter[tuple[int, str]] = Counter()

    @classmethod
    def read(cls, path: Path) -> Self:
        """The script in a TOML file.

        Raises:
            InvalidSetting: if it is not one; the error names the rule and what would be right.
        """
        try:
            told = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise InvalidSetting(f"{path}: {error.strerror}", hint="name a script that exists") from None
        except ValueError as error:
            raise InvalidSetting(f"{path} is not TOML: {error}", hint="see docs/testing-agents.md") from None
        _only(told, {"seed", "leaves_after", "rule"}, str(path))
        rules = told.get("rule", [])
        if not isinstance(rules, list) or not rules:
            raise InvalidSetting(f"{path} has no rule", hint='begin one with [[rule]] and question = "…"')
        made = [_rule(each, f"{path}: rule {number}") for number, each in enumerate(rules, start=1)]
        return cls(made, seed=told.get("seed", 0), leaves_after=told.get("leaves_after"))

    def add(self, rule: Rule) -> None:
        """Put a rule before all others."""
        self._rules.insert(0, rule)

    def respond(self, inquiry: Json) -> Decision | None:
        """What the person says to an inquiry; None leaves it open."""
        words = words_of(inquiry)
        rule = next((each for each in self._rules if re.search(each.question, words)), None)
        if rule is None or self._left == 0:
            return None
        times, again = self._met[id(rule)], self._asked[id(rule), words]
        self._met[id(rule)] += 1
        self._asked[id(rule), words] += 1
        # What the seed decides hangs on the question, and not on those that other agents have asked before it.
        decision = rule.decision(times, random.Random(f"{self._seed} {again} {words}"))
        if decision is not None and self._left is not None:
            self._left -= 1
        return decision


def _rule(told: object, where: str) -> Rule:
    if not isinstance(told, dict):
        raise InvalidSetting(f"{where} is not a table", hint="begin each with [[rule]]")
    given: dict[str, Any] = dict(told)
    _only(given, {"answer", *_TYPES, "after"}, where)
    if "answer" in given:
        given["answers"] = [given.pop("answer")]
    for name, (kind, example) in _TYPES.items():
        value = given.get(name, kind())
        texts = value if isinstance(value, list) else []
        if not isinstance(value, kind) or not all(isinstance(each, str) for each in texts):
            raise InvalidSetting(f"{where}: {name} is {value!r}", hint=f"write {name} = {example}")
    try:
        if "after" in given:
            after = given["after"]
            spans = [duration(each) for each in (after if isinstance(after, list) and after else [after])]
            given |= {"after": spans[0], "at_most": spans[-1]}
        return Rule(**given)
    except UpcallError as error:
        raise InvalidSetting(f"{where}: {error.message}", hint=error.hint) from None


def _only(told: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(told.keys() - known)
    if unknown:
        raise InvalidSetting(
            f"{where}: there is no {unknown[0]!r}", hint=f"there are {', '.join(sorted(known))}"
        )
