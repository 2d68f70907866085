"""Remembered rules: what an agent may do without asking, because a person has allowed it before.

A rule allows the very same action, commands that begin with the same words, a tool, or what happens inside a directory.
It says for which agent, until when, by whom and from which approval it was made. In every doubt it does not apply.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from upcall.domain.approval import actions
from upcall.domain.approval.commands import is_shell, simple_words
from upcall.domain.approval.obstacles import no_prefix
from upcall.domain.approval.places import is_inside, is_plain, places
from upcall.domain.approval.programs import (
    Options,
    has_only,
    offered_prefix,
    options_in,
    parts_in,
    paths_in,
    prefix_problem,
)
from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.inquiry import APPROVE, Answered, Change, Inquiry, Subject
from upcall.domain.records import Effects, Happening, Record
from upcall.domain.run.program import Action
from upcall.domain.text.display import one_line

KIND = "rule"
DEFAULT_SECONDS = 30 * 86400.0

As = Literal["exact", "prefix", "tool", "directory"]
WAYS: tuple[As, ...] = get_args(As)

_NAMED: dict[str, As] = {way: way for way in WAYS}

_HARMLESS = actions.COMMENTS | {"command", "cmd", "timeout", "run_in_background", "shell"}
"""What a shell's tool may be given beside a command that a prefix allows: anything else may change what it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule allows an action that meets all its conditions. `shown` is the action that it was made from.

    `options` are those of the command that was approved: a command that begins with the prefix has no others.
    """

    id: str
    by: str
    made_at: float
    expires_at: float
    agent: str | None = None
    tool: str | None = None
    directory: str | None = None
    prefix: tuple[str, ...] = ()
    options: Options = ()
    exact: str | None = None
    shown: str = ""
    inquiry: str | None = None

    @property
    def way(self) -> As:
        """Which kind of rule it is."""
        if self.exact is not None:
            return "exact"
        if self.prefix:
            return "prefix"
        return "tool" if self.directory is None else "directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """The rule that a person wants to be made with an approval, and for how long."""

    way: As
    seconds: float = DEFAULT_SECONDS
    prefix: str | None = None


def allows(rule: Rule, action: Action, agent: str, now: float, exact: str) -> bool:
    """Whether a rule lets an agent do this; `exact` is what recognises the action (`actions.exactly`)."""
    if now >= rule.expires_at or rule.agent not in (None, agent):
        return False
    if rule.exact is not None:
        return exact == rule.exact
    if rule.tool is None and rule.directory is None and not rule.prefix:
        return False
    if rule.tool not in (None, action.tool):
        return False
    if rule.directory is not None and not _happens_inside(action, rule.directory):
        return False
    return not rule.prefix or _begins_with(action, rule)


def checked(rule: Rule) -> Rule:
    """A rule that can be kept.

    Raises:
        InvalidRequest: if it would allow everything, or an unclear set of actions.
    """
    if rule.exact is None and rule.tool is None and rule.directory is None and not rule.prefix:
        raise InvalidRequest(
            "a rule says what it allows", hint="give the beginning of a command, a tool or a directory"
        )
    if rule.directory is not None and not is_plain(rule.directory):
        raise InvalidRequest(
            f"{one_line(rule.directory, 80)!r} is not an absolute directory without `..`",
            hint="for example /home/ana/project",
        )
    if rule.prefix and (problem := prefix_problem(rule.prefix)):
        raise InvalidRequest(problem, hint="for example `git status` or `npm test`")
    return rule


def prefix_in(text: str) -> tuple[str, ...]:
    """The words that a command has to begin with.

    Raises:
        InvalidRequest: if they are not those of one simple command.
    """
    words = simple_words(text)
    if words is None:
        raise InvalidRequest(
            "a prefix is the beginning of one simple command: without ; | & $ ` < > and the like",
            hint="for example `git status` or `npm test`",
        )
    return words


def way_named(name: str) -> As | None:
    """The kind of rule that goes by this name."""
    return _NAMED.get(name)


def ways(subject: Subject | None) -> tuple[As, ...]:
    """The rules that an approval of this could be remembered as, the narrowest first."""
    if subject is None:
        return ()
    if not is_plain(subject.cwd):
        return ("exact", "tool")
    if not suggested_prefix(subject):
        return ("exact", "directory", "tool")
    return ("exact", "prefix", "directory", "tool")


def suggested_prefix(subject: Subject) -> tuple[str, ...]:
    """The program and what it is told to do, such as `git status`; empty where that would say too little."""
    return offered_prefix(subject.words)


def rule_from(inquiry: Inquiry, wanted: Remember, *, name: str, by: str, now: float) -> Rule:
    """The rule that is made when this approval is given; it is for the agent that asked.

    Raises:
        InvalidRequest: if there can be none.
    """
    subject = inquiry.subject
    if subject is None:
        raise InvalidRequest("only the approval of an action can be remembered", hint="leave `remember` out")
    if inquiry.edit is not None:
        raise InvalidRequest(
            "an edited action is not remembered: it is not what the agent asks for",
            hint="leave `remember` out",
        )
    if wanted.way not in ways(subject) and not (wanted.way == "prefix" and wanted.prefix):
        why = no_prefix(subject) if wanted.way == "prefix" else None
        raise InvalidRequest(
            f"this action cannot be remembered by {wanted.way}{f': {why.sentence}' if why else ''}",
            hint=f"it can be by {', '.join(ways(subject))}",
        )
    prefix: tuple[str, ...] = ()
    if wanted.way == "prefix":
        prefix = suggested_prefix(subject) if wanted.prefix is None else prefix_in(wanted.prefix)
        if subject.words[: len(prefix)] != prefix:
            raise InvalidRequest("the command that is approved does not begin with that prefix")
    # A command means another thing in another place, so its beginning is trusted only where it was approved.
    here = wanted.way in {"prefix", "directory"} and is_plain(subject.cwd)
    return checked(
        Rule(
            id=name,
            by=by,
            made_at=now,
            expires_at=now + wanted.seconds,
            agent=inquiry.origin.agent,
            tool=None if wanted.way == "exact" else subject.tool,
            directory=subject.cwd if here else None,
            prefix=prefix,
            options=options_in(subject.words[len(prefix) :]) if prefix else (),
            exact=subject.exact if wanted.way == "exact" else None,
            shown=one_line(inquiry.questions[0].text, actions.SUMMARY),
            inquiry=inquiry.id,
        )
    )


def remembering(change: Change, wanted: Remember, *, name: str, by: str, now: float) -> Effects:
    """The rule record that is written with an approval.

    Raises:
        InvalidRequest: if it is not an approval, needs more people, or no rule can be made of it.
    """
    inquiry = change.inquiry
    match inquiry.state:
        case Answered(answer=answer) if answer.values == ((APPROVE,),):
            return made(rule_from(inquiry, wanted, name=name, by=by, now=now), now)
        case _:
            raise InvalidRequest("only an approval can be remembered", hint="leave `remember` out")


def made(rule: Rule, now: float) -> Effects:
    """Keep a rule, and say so in the log."""
    return Effects(records=(record_of(rule),), happenings=(_happening("rule_made", rule, rule.by, now),))


def revoked(rule: Rule, by: str, now: float) -> Effects:
    """Forget a rule, and say so in the log."""
    return Effects(forgotten=((KIND, rule.id),), happenings=(_happening("rule_revoked", rule, by, now),))


def record_of(rule: Rule) -> Record:
    """The record that holds a rule."""
    return Record(kind=KIND, key=rule.id, state=rule.agent or "", at=rule.made_at, body=asdict(rule))


def rule_in(record: Record) -> Rule:
    """The rule that a record holds."""
    body: dict[str, Any] = dict(record.body)
    # Rules that were kept before options were have none, and ask about a command that has.
    options = tuple((option, value) for option, value in body.get("options", ()))
    return Rule(**{**body, "prefix": tuple(body["prefix"]), "options": options})


def _happening(event: str, rule: Rule, by: str, now: float) -> Happening:
    data: dict[str, object] = {"rule": rule.id, "as": rule.way, "agent": rule.agent, "by": by}
    return Happening(type=event, at=now, data=data)


def _begins_with(action: Action, rule: Rule) -> bool:
    found = actions.command_in(action)
    if found is None or not action.input.keys() <= _HARMLESS or {"command", "cmd"} <= action.input.keys():
        return False
    # Some tell beside a script which shell is to run it; it is as good as the script's words in front of it.
    shell = action.input.get("shell", "sh -c")
    if not isinstance(shell, str) or not is_shell(shell):
        return False
    words, count = simple_words(found[1]), len(rule.prefix)
    if words is None or words[:count] != rule.prefix or prefix_problem(rule.prefix):
        return False
    rest = words[count:]
    here = rule.directory
    return has_only(rest, rule.options) and (
        here is None or all(is_inside(path, here) for path in paths_in(rest))
    )


def reached(rule: Rule, action: Action) -> list[str]:
    """Every path that an action names which a rule allows, so that links among these can be looked at."""
    named = [action.cwd, *places(action)]
    found = actions.command_in(action) if rule.prefix else None
    words = None if found is None else simple_words(found[1])
    return named if words is None else [*named, *parts_in(words[len(rule.prefix) :])]


def _happens_inside(action: Action, directory: str) -> bool:
    """Whether an action happens in a directory or below it, and names no place that lies elsewhere."""
    return all(is_inside(place, directory) for place in (action.cwd, *places(action)))
