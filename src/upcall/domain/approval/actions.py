"""An action of an agent as a person sees it before it happens: whole, to the letter, bound by a hash.

The hash is over the original; secrets are masked and odd characters escaped only in what is shown.
"""

import hashlib
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from upcall.domain.approval import edits
from upcall.domain.approval.commands import simple_words, unclear_in
from upcall.domain.approval.obstacles import MASKED
from upcall.domain.errors import InvalidInquiry
from upcall.domain.inquiry.asking import APPROVAL_OPTIONS, Draft
from upcall.domain.inquiry.inquiry import Kind, Question, Subject
from upcall.domain.inquiry.limits import weight
from upcall.domain.run.program import Action
from upcall.domain.text.display import escaped, one_line
from upcall.domain.text.redaction import redact_action

MOST_SHOWN = 512 * 1024
"""Bytes of an action that a person can be expected to read before approving it."""

MOST_EDITED = 64 * 1024
"""Characters of an input up to which a person can edit it."""

SUMMARY = 500
_SUMMED_UP = 16 * 1024

EXAMPLE = 'for example {"tool": "Bash", "input": {"command": "make test"}, "cwd": "/home/ana/project"}'
COMMENTS = frozenset({"description", "reason"})
"""What a shell's tool is told only for people to read: it changes from call to call and does nothing."""

_TITLED = frozenset({"title", "locations", "explanation"})

Input = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What there is to see of an action: what it does (or writes to a file), and everything else that it was given."""

    text: str
    more: str = ""
    is_file: bool = False


def command_in(action: Action) -> tuple[str, object] | None:
    """The field that holds a command line, and the command: text, or a program with its arguments."""
    for name in ("command", "cmd"):
        command = action.input.get(name)
        if isinstance(command, str) and command.strip():
            return name, command
        if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
            return name, cast("Sequence[str]", command)
    return None


def shown(action: Action) -> Shown:
    """An action in full: a command, a change of files as a diff, or the tool's whole input."""
    if (found := command_in(action)) is not None:
        name, command = found
        text = command if isinstance(command, str) else shlex.join(cast("Sequence[str]", command))
        return Shown(text=text, more=_rest(action.input, {name}))
    if (change := edits.change_in(action.input)) is not None:
        return Shown(text=change.diff, more=_rest(action.input, change.fields), is_file=True)
    if (title := action.input.get("title")) and isinstance(title, str) and _is_in_words(action.input):
        return Shown(text=title, more=_in_words(action.input))
    return Shown(text=_pretty(action.input))


def _is_in_words(given: Input) -> bool:
    """Whether there are only texts beside a title: anything else is shown by its name."""
    places = given.get("locations", [])
    texts = cast("Sequence[object]", places) if isinstance(places, list) else (None,)
    return given.keys() <= _TITLED and all(
        isinstance(each, str) for each in (*texts, given.get("explanation", ""))
    )


def _in_words(given: Input) -> str:
    """What an agent tells beside the title of a call whose input it keeps to itself."""
    places = cast("Sequence[str]", given.get("locations", ()))
    told = (*places, cast("str", given.get("explanation", "")))
    # Each line stands back, where it cannot be taken for one of ours.
    return "\n".join(f"  {line}" for each in told if each for line in each.split("\n"))


def digest(action: Action) -> str:
    """SHA-256 over the tool, its whole input and the directory."""
    return _hash([action.tool, action.input, action.cwd])


def exactly(action: Action) -> str:
    """The digest of an action, to recognise it when it comes again; a comment in a shell call does not change it."""
    if command_in(action) is None:
        return digest(action)
    without = {name: value for name, value in action.input.items() if name not in COMMENTS}
    return _hash([action.tool, without, action.cwd])


def _anywhere(action: Action) -> str:
    """The digest of a command without its directory; none where more was given than the command, which is not in its line."""
    found = command_in(action)
    if found is None or action.input.keys() - COMMENTS - {found[0]}:
        return ""
    return _hash([action.tool, found[1]])


def summary(action: Action) -> str:
    """An action in a line, for lists and logs, without its secrets."""
    # Nothing behind that much text gets into the line.
    seen = shown(action)
    return one_line(_masked(seen.text[:_SUMMED_UP], is_file=seen.is_file)[0], SUMMARY)


def size(action: Action, most: int = MOST_SHOWN) -> int:
    """How much there is of an action, in characters, not looked at beyond `most`.

    Beyond `MOST_SHOWN` it could not be shown whole.
    """
    return weight([action.tool, action.cwd, action.reason, action.input], most)


def approval(action: Action) -> Draft:
    """The approval that asks a person about an action.

    Raises:
        InvalidInquiry: if there is no way to show it whole.
    """
    # First the size of what came, since everything below takes time in proportion to it.
    if size(action) > MOST_SHOWN:
        raise _too_large()
    exact, hashed = exactly(action), digest(action)
    seen = shown(action)
    context = _context(action, seen)
    if len(seen.text) + len(context) > MOST_SHOWN:
        raise _too_large()
    text, masked_in_text = _masked(seen.text, is_file=seen.is_file)
    context, masked_in_context = _masked(context)
    if len(text.encode("utf-8", "replace")) + len(context.encode("utf-8", "replace")) > MOST_SHOWN:
        raise _too_large()
    found = command_in(action)
    plain = found is not None and not masked_in_text
    return Draft(
        kind=Kind.APPROVAL,
        questions=(
            Question(
                text=text or "(nothing)", header=escaped(action.tool), options=APPROVAL_OPTIONS, custom=False
            ),
        ),
        context=context,
        redacted=masked_in_text + masked_in_context,
        digest=hashed,
        subject=Subject(
            tool=action.tool,
            cwd=action.cwd,
            exact=exact,
            words=(simple_words(found[1]) or ()) if found is not None and plain else (),
            anywhere=_anywhere(action) if plain else "",
            unclear="" if found is None else unclear_in(found[1]) if plain else MASKED,
            # What was masked is not kept, so a person could not edit around it.
            given=None if masked_in_text + masked_in_context else _editable(action.input),
            runs_edited=action.editable,
            hears=bool(action.hears),
        ),
    )


def is_plain(value: object) -> bool:
    """Whether a person sees every character of this in a field for text; line ends and tabs are seen."""
    # It may be nested deeper than calls can be.
    left: list[object] = [value]
    while left:
        match left.pop():
            case str() as text if escaped(text) != text:
                return False
            case float() as number if not math.isfinite(number):
                return False
            case list() as items:
                left += cast("Sequence[object]", items)
            case dict() as fields:
                left += [*cast("Input", fields).keys(), *cast("Input", fields).values()]
            case _:
                pass
    return True


def whole(action: Action) -> str:
    """All that a tool is given, as it is shown: without its secrets, and nothing in it hides."""
    seen = shown(action)
    text = _masked(seen.text, is_file=seen.is_file)[0]
    return f"{text}\n{_masked(seen.more)[0]}" if seen.more else text


def _editable(given: Input) -> Input | None:
    few = weight(given, MOST_EDITED) <= MOST_EDITED
    return dict(given) if given and few and is_plain(dict(given)) else None


def action_in(sent: object) -> Action:
    """The action that a JSON value describes.

    Raises:
        InvalidInquiry: if it is not one.
    """
    if not isinstance(sent, Mapping):
        raise InvalidInquiry("action", "an object", hint=EXAMPLE)
    fields = cast("Mapping[str, Any]", sent)
    tool, given = fields.get("tool"), fields.get("input")
    if not isinstance(tool, str) or not tool.strip():
        raise InvalidInquiry("action.tool", "the name of a tool", hint=EXAMPLE)
    if not isinstance(given, Mapping):
        raise InvalidInquiry("action.input", "an object: what the tool is given", hint=EXAMPLE)
    cwd, reason = fields.get("cwd") or "", fields.get("reason") or ""
    if not isinstance(cwd, str) or not isinstance(reason, str):
        raise InvalidInquiry("action", "cwd and reason are texts", hint=EXAMPLE)
    editable = fields.get("editable") or False
    if not isinstance(editable, bool):
        raise InvalidInquiry("action.editable", "true or false", hint=EXAMPLE)
    # A program that takes an edited input reads the whole answer, and with it the note.
    hears: Literal["", "with_yes"] = "with_yes" if editable else ""
    return Action(
        tool=tool, input=cast("Input", given), cwd=cwd, reason=reason, editable=editable, hears=hears
    )


def _too_large() -> InvalidInquiry:
    return InvalidInquiry(
        "action", f"at most {MOST_SHOWN} bytes can be shown whole", hint="do it in smaller steps"
    )


def _context(action: Action, seen: Shown) -> str:
    lines = [f"Tool: {_one_line(action.tool)}"]
    if action.cwd:
        lines.append(f"Directory: {_one_line(action.cwd)}")
    if seen.more:
        lines += ["Also given:", seen.more]
    if action.reason.strip():
        # What the agent says comes last, where it cannot be taken for one of our lines.
        lines += ["The agent says:", *(f"  {line}" for line in action.reason.strip().split("\n"))]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return text.replace("\n", "\\n")


def _masked(text: str, *, is_file: bool = False) -> tuple[str, int]:
    masked = redact_action(text, is_file=is_file)
    return escaped(masked.text), masked.count


def _rest(given: Input, fields: set[str] | frozenset[str]) -> str:
    left = {name: value for name, value in given.items() if name not in fields}
    return _pretty(left) if left else ""


def _pretty(given: object) -> str:
    return _json(given, indent=2, ensure_ascii=False)


def _hash(content: object) -> str:
    canonical = _json(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _json(content: object, **form: Any) -> str:
    try:
        return json.dumps(content, **form)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInquiry("action", f"its input is not JSON: {error}", hint=EXAMPLE) from None
