"""Finds what a person wrote in the text of a letter: no quotation, no line that introduces one, no signature.

There are two kinds of quotation. A marked one has `>` before each line; the reply stands above it, below it or between
its lines. An unmarked one, as Outlook makes it, begins with a block of headers and reaches to the end of the letter.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

NAME = "Upcall"
"""The name in From of every letter that Upcall sends."""

LONGEST = 64_000
LONGEST_LINE = 1000
"""Characters of a line that are compared with the expressions below."""

INTRODUCTION_LINES = 3
HEADER_LINES = 7

_COLON = "[:\N{FULLWIDTH COLON}]"
_WROTE = r"wrote|writes|schrieb|a écrit|escribió|escribio|写道|寫道|书写|のメール|書きました|さんは|ha scritto|schreef|napisał\(?a?\)?"
# Each begins where the introduction begins, so that words of the reply on the line above are not taken for part of it.
_DATED = re.compile(
    rf"(?:On|Am|Le|El|在|于|Il|Op|Dnia|W dniu)[\s\d].*(?:{_WROTE}).{{0,80}}?\s*{_COLON}", re.IGNORECASE
)
_NUMBERED = re.compile(
    r"[(\N{FULLWIDTH LEFT PARENTHESIS}]?\d{4}\s*[年/.-]\s*\d{1,2}\s*[月/.-].*" + _COLON, re.IGNORECASE
)

_SENDER = r"From|Von|De|发件人|差出人"
_OTHER_HEADERS = (
    r"Sent|Date|Gesendet|Datum|Envoyé|Enviado(?: el)?|Fecha|发送时间|发送日期|时间|日期|送信日時|日時|日付"
    r"|To|An|À|Para|收件人|宛先"
    r"|Cc|Kopie|CC|抄送"
    r"|Subject|Betreff|Objet|Asunto|主题|件名"
)
_FROM_LINE = re.compile(rf"\*{{0,2}}(?:{_SENDER})\s*{_COLON}\*{{0,2}}\s*\S.*", re.IGNORECASE)
_HEADER_LINE = re.compile(rf"\*{{0,2}}(?:{_OTHER_HEADERS})\s*{_COLON}\*{{0,2}}\s*.*", re.IGNORECASE)
_ORIGINAL = re.compile(
    r"[-_=\s]*(?:Original Message|Original-Nachricht|Ursprüngliche Nachricht|Message d['\N{RIGHT SINGLE QUOTATION MARK}]origine"
    r"|Message original|Mensaje original|原始邮件|邮件原件|元のメッセージ|Original Appointment)[-_=\s]*",
    re.IGNORECASE,
)
_RULE = re.compile(r"(?:[_=-]{5,}|-{2,}[^-\n]{0,60}-{2,})")

_SIGNATURE = re.compile(r"-- ?")
_SENT = r"Sent|Get|Download|Gesendet|Holen|herunterladen|Envoyé|Télécharger|Téléchargez|Obtenir|Obtenez|Enviado|Obtener|Obtén|Descargar|发送|发自|获取|下载|送信|入手"
_PRODUCT = r"Proton ?Mail|Outlook|Yahoo|Gmail|GMX|WEB\.DE|Samsung|Galaxy|iPhone|iPad|Android|Thunderbird|Tutanota|Mail App"
_ADVERTISEMENT = re.compile(
    rf"(?=.*(?:{_SENT}))(?=.*(?:{_PRODUCT})).{{1,160}}"
    r"|Sent from my \S.*|Von meinem .* gesendet|Enviado desde mi .*|Envoyé de(?:puis)? mon .*"
    r"|\S+から送信|从我的.*发送|发自我的.*",
    re.IGNORECASE,
)
"""A line that a mail program puts under what was written: a verb of sending or loading, and the name of a product."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a person wrote. `rest` is text below the quotation that may be theirs too, or may be a footer of a mail server."""

    words: str
    rest: str = ""


def written(text: str, own: str) -> Written:
    """What a person wrote in a letter to the address `own`."""
    lines = [line.rstrip("\r") for line in text[:LONGEST].replace("\r\n", "\n").split("\n")]
    ours = _address(own)
    lines = lines[: _unmarked(lines, ours)]
    first, *more = _segments(lines, ours)
    above = _cleaned(first, first=True)
    below = [words for segment in more if (words := _cleaned(segment, first=False))]
    if above:
        return Written(words=above, rest="\n".join(below))
    return Written(words="\n".join(below))


def _address(own: str) -> re.Pattern[str]:
    """The address of Upcall, with or without the tag of one question."""
    local, _, domain = own.rpartition("@")
    return re.compile(rf"{re.escape(local)}(?:\+[\w-]*)?@{re.escape(domain)}", re.IGNORECASE)


def _is_quoted(line: str) -> bool:
    return line.startswith(">")


def _unmarked(lines: Sequence[str], ours: re.Pattern[str]) -> int:
    """The line at which an unmarked quotation begins; the number of lines if there is none."""
    last_marked = max((at for at, line in enumerate(lines) if _is_quoted(line)), default=-1)
    for at, line in enumerate(lines):
        if _is_quoted(line):
            continue
        if _begins_headers(lines, at) or (at > last_marked and _ORIGINAL.fullmatch(line[:LONGEST_LINE])):
            return _before_rule(lines, at)
        names_us = ours.search(line) is not None
        if names_us and (begin := _introduction(lines, at, ours)) is not None:
            following = next((each for each in lines[at + 1 :] if each.strip()), ">")
            if not _is_quoted(following):
                return begin
    return len(lines)


def _begins_headers(lines: Sequence[str], at: int) -> bool:
    """Whether the headers of the quoted letter begin at a line: the sender, and two more."""
    if not _FROM_LINE.fullmatch(lines[at][:LONGEST_LINE].strip()):
        return False
    block = [line[:LONGEST_LINE].strip() for line in lines[at + 1 : at + HEADER_LINES]]
    return sum(_HEADER_LINE.fullmatch(line) is not None for line in block) >= 2


def _before_rule(lines: Sequence[str], at: int) -> int:
    """The line of the rule above a block of headers, or the block itself."""
    above = at - 1
    while above >= 0 and not lines[above].strip():
        above -= 1
    text = lines[above][:LONGEST_LINE].strip() if above >= 0 else ""
    return above if _RULE.fullmatch(text) or _ORIGINAL.fullmatch(text) else at


def _introduction(lines: Sequence[str], last: int, ours: re.Pattern[str]) -> int | None:
    """The line at which the introduction of a quotation begins that ends at the line `last`; None if that is none."""
    for first in range(max(last - INTRODUCTION_LINES + 1, 0), last + 1):
        chosen = [line.strip() for line in lines[first : last + 1]]
        if all(chosen) and not any(map(_is_quoted, chosen)) and _introduces(" ".join(chosen), ours):
            return first
    return None


def _introduces(text: str, ours: re.Pattern[str]) -> bool:
    text = text[:LONGEST_LINE]
    if _DATED.fullmatch(text):
        return True
    if not re.search(rf"{_COLON}$", text):
        return False
    if _NUMBERED.fullmatch(text):
        return bool(ours.search(text) or NAME in text or re.search(_WROTE, text, re.IGNORECASE))
    # The sender first: `Upcall <…> schrieb am So., 15. Nov. 2026:`.
    head = text.lstrip("\"'<* ")
    return head.startswith(NAME) or ours.match(head) is not None


def _segments(lines: Sequence[str], ours: re.Pattern[str]) -> list[list[str]]:
    """The lines above the first quotation, between two, and below the last one."""
    taken = [_is_quoted(line) for line in lines]
    for at in range(1, len(lines)):
        if not _is_quoted(lines[at]) or _is_quoted(lines[at - 1]):
            continue
        last = at - 1
        while last > 0 and not lines[last].strip():
            last -= 1
        begin = _introduction(lines, last, ours)
        if begin is not None:
            begin = _before_rule(lines, begin)
            taken[begin:at] = [True] * (at - begin)
    segments: list[list[str]] = [[]]
    for line, is_taken in zip(lines, taken, strict=True):
        if not is_taken:
            segments[-1].append(line)
        elif segments[-1] or len(segments) == 1:
            segments.append([])
    return segments


def _cleaned(lines: Sequence[str], *, first: bool) -> str:
    """The lines of one segment without a signature and without what a mail program adds."""
    kept = list(lines)
    # A reply may begin with two hyphens; below a quotation they begin a signature.
    end = next((at for at, line in enumerate(kept) if (at or not first) and _SIGNATURE.fullmatch(line)), None)
    kept = [line.rstrip() for line in kept[:end]]
    while kept and (not kept[-1] or _is_added(kept[-1])):
        kept.pop()
    return "\n".join(kept).strip("\n")


def _is_added(line: str) -> bool:
    text = line[:LONGEST_LINE].strip()
    return bool(_RULE.fullmatch(text) or _ADVERTISEMENT.fullmatch(text))
