"""Masking well-known secrets in what an agent wrote, visibly, before it is kept or shown.

A secret is recognised by its form or by the name it is given. Hashes, ids and placeholders have neither and stay.
Every pattern is linear: it starts at few places, and what it has taken it never gives back.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from upcall.domain.text.word_splitting import may_split


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A text without its secrets, and how many there were."""

    text: str
    count: int


_FORMS = {
    "AWS access key": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    "GitHub token": r"(?:gh[oprsu]_[A-Za-z0-9_]{30,}+|github_pat_[A-Za-z0-9_]{22,}+)",
    "GitLab token": r"gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-[A-Za-z0-9_.-]{20,}+",
    "Slack token": r"(?:xox[a-z]|xapp|xwfp)-[A-Za-z0-9-]{10,}+",
    "Slack webhook": r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}+",
    "Anthropic key": r"sk-ant-[A-Za-z0-9_-]{20,}+",
    "OpenAI key": r"sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}+|[A-Za-z0-9]{32,}+)",
    "API key": r"sk-or-v1-[A-Za-z0-9]{32,}+",
    "Stripe key": r"(?:(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}+|whsec_[A-Za-z0-9+/]{24,}+)",
    "Google API key": r"AIza[A-Za-z0-9_-]{35}",
    "Google token": r"(?:ya29\.[A-Za-z0-9_-]{20,}+|GOCSPX-[A-Za-z0-9_-]{28})",
    "npm token": r"npm_[A-Za-z0-9]{36}",
    "PyPI token": r"pypi-AgE[A-Za-z0-9_-]{50,}+",
    "Hugging Face token": r"hf_[A-Za-z0-9]{34,}+",
    "SendGrid key": r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    "Telegram token": r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
    "Docker token": r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}+",
    "JWT": r"eyJ[A-Za-z0-9_-]{10,}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]*+",
}
_TOKENS = [(name, re.compile(rf"(?<![A-Za-z0-9_-]){form}(?![A-Za-z0-9_-])")) for name, form in _FORMS.items()]

_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
# A key that was cut off has no end, but lines of base64, perhaps with their line breaks written as \n.
_KEY_BODY = re.compile(
    r"(?:\s|\\[nr]|(?:Proc-Type|DEK-Info|Version|Comment|Hash): [^\n]*+|[A-Za-z0-9+/=]{24,}+)*+"
)

_HEADER = re.compile(
    r"""(?P<lead>authorization["'`]?[ \t]{0,3}[:=][ \t]{0,3}["'`]?(?:bearer|basic|token|bot)[ \t]{1,3})"""
    r"""(?P<value>[\w.~+/=:-]{8,}+)"""
    r"""|(?P<bearer>\bbearer[ \t]{1,3})(?P<token>[\w.~+/=-]{12,}+)""",
    re.IGNORECASE,
)
_NAMES = (
    r"(?:(?P<password>password|passwd|passphrase|pwd)"
    r"|(?P<secret>secret|token|(?:api|access|secret|private|account|auth)[_-]?key))"
)
_VALUE = (
    r"""(?:(?P<quote>\\{0,2}["'`])(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\n]))++)(?P=quote)"""
    r"""|(?P<plain>[^\s"'`,;&|()<>\[\]{}\\]++)(?!\())"""
)
_ASSIGNED = re.compile(
    rf"""{_NAMES}(?P<is>(?:\\{{0,2}}["'`])?[ \t]{{0,3}}(?::=|=>|[:=])[ \t]{{0,3}}){_VALUE}""", re.IGNORECASE
)
_FLAG = re.compile(rf"(?<![\w-])--(?:[a-z]+-)?{_NAMES}(?P<is>[ \t]){_VALUE}", re.IGNORECASE)
_IN_URL = re.compile(
    r"""(?<=://)(?P<user>[^\s/:@"'<>]{0,100}):(?P<password>[^\s/@"'<>]{1,200})(?=@)"""
    r"""|(?<=://)(?P<token>[\w.-]{20,200})(?=@)"""
)
# What stands for a secret instead of being one: a variable, a path, a mask, a type, a name in a program.
_STANDS_FOR = re.compile(
    r"[$<{%*\[(./~\\].*|x{3,}|changeme|(?:your|my|the|some|example)[_ -][A-Za-z_ -]*"
    r"|(?:none|null|nil|true|false|undefined|required|optional|str(?:ing)?|bytes|bool|int|any)[?!.]?"
    r"|[A-Za-z_]*(?:pass|password|passwd|pwd|secret|token|key)|[A-Za-z_]+(?:\.[A-Za-z_]+)+",
    re.IGNORECASE | re.DOTALL,
)


# Every secret that is recognised contains one of these; most questions contain none and skip the rest.
_SUSPICIOUS = re.compile(r"[:=]|--|[\w.~+/-]{12}")


def may_hold_secrets(text: str) -> bool:
    """Whether it is worth looking: cheap, and never wrong when it says no."""
    return _SUSPICIOUS.search(text) is not None


def redact(text: str) -> Redacted:
    """The text with every secret that is known by its form or name replaced by what it was."""
    if not may_hold_secrets(text):
        return Redacted(text=text, count=0)
    text, keys = _without_private_keys(text)
    return _without_tokens(text, keys, lambda _match, _start, _end: True)


def redact_action(text: str, *, is_file: bool = False) -> Redacted:
    """What an agent wants to do, without its secrets and with everything that could run.

    Only what has the form of a token is masked: one word of letters, digits and a few signs that no shell, no program and
    no format acts upon. A password that is a plain word, has a blank in it or is set to a variable that the rest of the
    text could use is shown as it is: a person has to see it to know what they allow. Where a command could take such a word
    apart and run the pieces, nothing is masked; what is only written to a file (`is_file`) runs nothing yet.
    """
    if not may_hold_secrets(text) or (not is_file and may_split(text)):
        return Redacted(text=text, count=0)
    text, keys = _without_key_lines(text)
    could_use_variables = _USES_VARIABLES.search(text) is not None

    def is_inert(match: re.Match[str], start: int, end: int) -> bool:
        if not _INERT.fullmatch(match.string, start, end) or not _is_random(match.string[start:end]):
            return False
        return not could_use_variables or not _sets_variable(match)

    return _without_tokens(text, keys, is_inert)


INERT = "A-Za-z0-9_.+/=:-"
"""The characters, as a class of a regular expression, that a masked part of an action consists of."""

Span = tuple[int, int, str]
May = Callable[[re.Match[str], int, int], bool]
"""Whether the part of a match from one position to another may be masked."""

_INERT = re.compile(f"[{INERT}]+")
# A value that is given by name can be run by name: `pwd=python3; $pwd`, `token=…; printenv token | sh`.
_USES_VARIABLES = re.compile(r"[$`|;&<>%!]")
# A line of a diff begins with a sign of its own, and one of YAML with blanks.
_KEY_LINE = re.compile(r"(\r?\n[ +-]?[ \t]{0,40}+|\\n)[A-Za-z0-9+/=]{24,}+")
_KEY_LINES = re.compile(f"(?:{_KEY_LINE.pattern})++")


def _without_tokens(text: str, count: int, may: May) -> Redacted:
    for name, pattern in _TOKENS:
        text, found = pattern.subn(f"[redacted: {name}]", text)
        count += found
    for pattern, mask in (
        (_HEADER, _mask_header),
        (_IN_URL, _mask_in_url),
        (_ASSIGNED, _mask_value),
        (_FLAG, _mask_value),
    ):
        pieces: list[str] = []
        at = 0
        for match in pattern.finditer(text):
            span = mask(match)
            if span is not None and may(match, span[0], span[1]):
                start, end, name = span
                pieces += [text[at:start], f"[redacted: {name}]"]
                at, count = end, count + 1
        text = "".join([*pieces, text[at:]])
    return Redacted(text=text, count=count)


def _without_key_lines(text: str) -> tuple[str, int]:
    """The text with each line of base64 masked that directly follows the beginning of a private key."""
    pieces: list[str] = []
    at, count = 0, 0
    for begin in _KEY_BEGIN.finditer(text):
        body = _KEY_LINES.match(text, begin.end())
        if body is not None:
            pieces += [text[at : begin.end()], _KEY_LINE.sub(r"\1[redacted: private key]", body[0])]
            at, count = body.end(), count + 1
    return "".join([*pieces, text[at:]]), count


def _sets_variable(match: re.Match[str]) -> bool:
    """Whether a shell or a program could find the value again by the name that it is given here."""
    given = match.groupdict().get("is")
    return given is not None and ":" not in given


def _is_random(value: str) -> bool:
    return len(value) >= 6 and _has_digit(value) and any(character.isalpha() for character in value)


def _without_private_keys(text: str) -> tuple[str, int]:
    pieces: list[str] = []
    at, complete, count = 0, True, 0
    while begin := _KEY_BEGIN.search(text, at):
        end = _KEY_END.search(text, begin.end()) if complete else None
        complete = end is not None
        body = _KEY_BODY.match(text, begin.end())
        stop = begin.end() + len(body[0].rstrip()) if body else begin.end()
        if end is not None:
            stop = end.end()
        is_key = stop > begin.end()
        count += is_key
        pieces += [text[at : begin.start()], "[redacted: private key]" if is_key else begin[0]]
        at = stop
    return "".join([*pieces, text[at:]]), count


def _mask_header(match: re.Match[str]) -> Span | None:
    group = "value" if match["value"] else "token"
    is_secret = not _STANDS_FOR.fullmatch(match[group]) and (group == "value" or _has_digit(match[group]))
    return (*match.span(group), "credential") if is_secret else None


def _mask_in_url(match: re.Match[str]) -> Span | None:
    group = "password" if match["password"] else "token"
    is_secret = not _STANDS_FOR.fullmatch(match[group]) and (group == "password" or _has_digit(match[group]))
    return (*match.span(group), "password" if group == "password" else "credential") if is_secret else None


def _mask_value(match: re.Match[str]) -> Span | None:
    group = "quoted" if match["quoted"] else "plain"
    name = "password" if match["password"] else "secret"
    is_secret = _is_password(match, group) if name == "password" else _is_secret(match[group])
    return (*match.span(group), name) if is_secret else None


def _is_password(match: re.Match[str], group: str) -> bool:
    value, link = match[group], match["is"]
    if _STANDS_FOR.fullmatch(value) or len(value) < 3:
        return False
    if "=" in link and (group == "quoted" or not link.strip("=")):
        return True
    # After a colon, or with room around the sign, it may be prose or a program.
    spaced = any(character.isspace() for character in value)
    return not spaced and (group == "quoted" or (len(value) >= 6 and _has_digit(value)))


def _is_secret(value: str) -> bool:
    if _STANDS_FOR.fullmatch(value) or len(value) < 8 or any(character.isspace() for character in value):
        return False
    return _has_digit(value) and any(character.isalpha() for character in value)


def _has_digit(value: str) -> bool:
    return any("0" <= character <= "9" for character in value)
