"""Colours for code: comments, strings, numbers and keywords, told apart well enough for a glance.

It knows a few families of languages and not their grammars: an agent's text is coloured on the event loop, where a
lexer that goes over it again and again would hold up every other request. Not a letter of the text is changed.
"""

import re
from typing import NamedTuple

from markupsafe import Markup, escape

_KEYWORDS = frozenset(
    # A list of words is read more easily than a list of literals.
    """
    abstract and as assert async await begin bool boolean break by byte case catch char class const continue create def
    default defer del delete do done double drop elif else end enum esac except export extends extern false fi final
    finally float fn for foreach from func function global go goto group having if impl implements import in inner
    insert instanceof int interface into is join key lambda left let limit local long loop match mod module mut
    namespace new nil none nonlocal not null nullptr of on or order outer package pass primary private protected pub
    public raise range readonly ref require rescue return select self set short static string struct super switch
    table template then this throw throws trait true try type typedef typeof undefined union unless unset unsigned
    until update use using val values var virtual void volatile when where while with yield
    """.split()  # noqa: SIM905 - see above
)
_STRING = r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"
# Where a string is not closed, what follows is left as it is. It is read once: not again from each quote in it.
_UNCLOSED = r'"(?:\\.|[^"\\\n])*+|' + r"'(?:\\.|[^'\\\n])*+|`(?:\\.|[^`\\])*+"
_LONG_STRING = r'"""(?s:.*?)(?:"""|\Z)|' + r"'''(?s:.*?)(?:'''|\Z)|"


class _Family(NamedTuple):
    """Languages that write comments in the same way."""

    tokens: re.Pattern[str]
    languages: frozenset[str]


def _family(comment: str, languages: str, *, strings: str = _STRING) -> _Family:
    tokens = re.compile(
        rf"(?P<comment>{comment})|(?P<string>{strings})|(?P<unclosed>{_UNCLOSED})"
        r"|(?P<number>\b\d[\w.]*)|(?P<keyword>\b[A-Za-z_]\w*)"
    )
    return _Family(tokens, frozenset(languages.split()))


_FAMILIES = (
    _family(r"#[^\n]*", "py python python3", strings=_LONG_STRING + _STRING),
    _family(r"(?<!\S)#[^\n]*", "bash dockerfile make makefile rb ruby sh shell toml yaml yml zsh"),
    _family(
        r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)",
        "c c++ cpp cs csharp css go java javascript js json jsonc jsx kotlin kt php rs rust scala swift ts tsx typescript",
    ),
    _family(r"--[^\n]*", "haskell hs lua psql sql"),
)


def highlighted(text: str, language: str) -> Markup:
    """Code of a language that is named; as it is, if the name says nothing."""
    for family in _FAMILIES:
        if language.lower() in family.languages:
            # Each part is escaped.
            return Markup("".join(_parts(text, family.tokens)))  # noqa: S704
    return escape(text)


def _parts(text: str, tokens: re.Pattern[str]) -> list[str]:
    parts: list[str] = []
    end = 0
    for found in tokens.finditer(text):
        if found.lastgroup == "unclosed":
            continue
        if found.lastgroup == "keyword" and found.group().lower() not in _KEYWORDS:
            continue
        parts.append(str(escape(text[end : found.start()])))
        parts.append(f'<span class="{found.lastgroup}">{escape(found.group())}</span>')
        end = found.end()
    return [*parts, str(escape(text[end:]))]
