"""Reading comments on a plan: out of JSON, or out of words in which `> ` quotes a passage and `L3:` names a line.

Words that are about no passage are the note. All of it is said to the model as it was read, each comment under its passage.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.comment import Comment
from upcall.domain.text.display import visible
from upcall.domain.text.forms import kind_of

MOST = 200
EXAMPLE = '{"decision": "revise", "comments": [{"line": 3, "text": "Use SQLite."}]}'
_QUOTED = re.compile(r"[ \t]{0,3}>[ \t]?(.*)")
_ON_LINE = re.compile(r"[ \t]*L([0-9]{1,6})(?:[-\u2013]L?([0-9]{1,6}))?[ \t]*:[ \t]*(.*)", re.IGNORECASE)
_MARKS = re.compile(r"[`*_#>|~]|^[ \t]*(?:[-+]|\d{1,9}[.)])[ \t]+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarks:
    """What a person says about a plan: comments on passages, and a note about all of it."""

    comments: tuple[Comment, ...] = ()
    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.comments or self.note)


def read(words: str, plan: str) -> Remarks:
    """The comments in words about a plan. A quotation without words is none, and a line that the plan does not have is part of the words.

    Raises:
        InvalidRequest: if there are too many.
    """
    lines, note, comments = _lines(plan), list[str](), list[Comment]()
    passage, said, at = list[str](), list[str](), None

    def take() -> None:
        nonlocal passage, said, at
        text = "\n".join(said).strip()
        if not passage:
            note.extend(said)
        elif text:
            comments.append(Comment(text=text, passage="\n".join(passage), line=at))
        passage, said, at = [], [], None

    for line in words.replace("\r\n", "\n").split("\n"):
        if quoted := _QUOTED.fullmatch(line):
            if said:
                take()
            passage.append(quoted[1])
        elif (named := _ON_LINE.fullmatch(line)) and 1 <= int(named[1]) <= len(lines):
            take()
            at, last = int(named[1]), min(int(named[2] or named[1]), len(lines))
            passage, said = lines[at - 1 : max(at, last)], [named[3]]
        else:
            said.append(line)
    take()
    if len(comments) > MOST:
        raise InvalidRequest(
            f"at most {MOST} comments, got {len(comments)}", hint="say the rest in one of them"
        )
    return Remarks(comments=_placed(comments, lines), note="\n".join(note).strip())


def comments_in(sent: object) -> tuple[Comment, ...]:
    """The comments that JSON holds.

    Raises:
        InvalidRequest: if it holds something else.
    """
    if sent is None:
        return ()
    if not isinstance(sent, list) or len(cast("list[object]", sent)) > MOST:
        raise InvalidRequest(f"comments: a list of at most {MOST}, got {kind_of(sent)}", hint=EXAMPLE)
    return tuple(
        [_comment(each, f"comments[{number}]") for number, each in enumerate(cast("list[object]", sent))]
    )


def placed(comments: Sequence[Comment], plan: str) -> tuple[Comment, ...]:
    """Comments with the line of their passage, and the passage of their line.

    Raises:
        InvalidRequest: if the plan has no such line.
    """
    lines = _lines(plan)
    for comment in comments:
        if comment.line is not None and comment.line > len(lines):
            raise InvalidRequest(f"the plan has {len(lines)} lines, not {comment.line}", hint=EXAMPLE)
    return _placed(comments, lines)


def quoted(remarks: Remarks) -> str:
    """What was said, each comment under the passage that it is about."""
    parts = [remarks.note] if remarks.note else []
    for comment in remarks.comments:
        where = "" if comment.line is None else f"Line {comment.line}:\n"
        passage = "".join(f"> {line}\n" for line in comment.passage.split("\n")) if comment.passage else ""
        parts.append(f"{where}{passage}{comment.text}")
    return "\n\n".join(parts)


def _lines(plan: str) -> list[str]:
    """The lines of a plan as a person counts them: in what is drawn, where other characters end lines too."""
    return visible(plan).split("\n")


def _comment(sent: object, path: str) -> Comment:
    fields = cast("Mapping[str, object]", sent) if isinstance(sent, Mapping) else {}
    text, passage, line = fields.get("text"), fields.get("passage") or "", fields.get("line")
    if not isinstance(text, str) or not text.strip():
        raise InvalidRequest(f"{path}.text: missing", hint=EXAMPLE)
    if not isinstance(passage, str):
        raise InvalidRequest(f"{path}.passage: text, got {kind_of(passage)}", hint=EXAMPLE)
    if line is not None and (not isinstance(line, int) or isinstance(line, bool) or line < 1):
        raise InvalidRequest(f"{path}.line: a line of the plan, counted from 1", hint=EXAMPLE)
    return Comment(text=text.strip(), passage=passage.strip("\n"), line=line)


def _placed(comments: Sequence[Comment], lines: Sequence[str]) -> tuple[Comment, ...]:
    # Once for all of them: a plan may be long, and its lines are not looked at for each comment.
    drawn = _plain("\n".join(lines)) if any(each.line is None for each in comments) else ""
    return tuple(_placed_one(comment, lines, drawn) for comment in comments)


def _placed_one(comment: Comment, lines: Sequence[str], drawn: str) -> Comment:
    if comment.line is not None:
        return comment if comment.passage else replace(comment, passage=lines[comment.line - 1])
    wanted = _plain(comment.passage.split("\n")[0])
    at = drawn.find(wanted) if wanted else -1
    if at < 0:
        return comment
    end = drawn.find("\n", at)
    # A passage that stands in several lines is about none of them for certain.
    if end >= 0 and drawn.find(wanted, end) >= 0:
        return comment
    return replace(comment, line=drawn.count("\n", 0, at) + 1)


def _plain(text: str) -> str:
    """Lines without the marks of their Markdown, since a person selects what is drawn of them."""
    return "\n".join(" ".join(line.split()) for line in _MARKS.sub("", text).split("\n"))
