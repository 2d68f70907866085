"""Whether a command could cut a plain word into pieces and run them.

A word of letters, digits and a few signs does nothing where a shell takes it as it is. It can do everything where a
variable, another program or a file brings it back as text: `IFS=-; $x` runs two words of `x=sk-ant-touch-FILE-…`.
In every doubt a command could.
"""

import re
import shlex

_READERS = frozenset(
    """
    cat column comm cut egrep fgrep fold grep head jq md5sum nl od paste rev sha256sum tac tail tr wc
    """.split()  # noqa: SIM905 - a list of words is read more easily than a list of literals
)
"""Programs that print what they are sent and run none of it."""

_READERS_ALONE = frozenset({"less", "more", "sort", "uniq"})
"""Those that have options or arguments which write a file."""

_EXPANDS = re.compile(r"[$`<]")
_INTERPRETS = re.compile(
    r"(?<![\w.-])(?:[gmn]?awk|busybox|bun|dc|deno|ed|emacs|ex|expect|g?sed|gdb|java|jrunscript|julia|lldb|lua[0-9.]*|m4|n?vim?|"
    r"node|osascript|parallel|perl[0-9.]*|php[0-9.]*|powershell|pwsh|pypy[0-9.]*|python[0-9.]*|Rscript|ruby[0-9.]*|sqlite3|"
    r"tclsh|ts-node|tsx|xargs)(?![\w.-])"
)
"""Programs that take code of their own language on the command line."""

_CODE = re.compile(
    r"""(?:^|[\s"'])(?:-[A-Za-z]*[cCeErRpPnxm]|--eval|--print|--expression|--execute|eval|-)(?=[\s"'=]|$)"""
)
_ONLY_SCRIPTS = re.compile(
    r"(?:deno|bun|java|julia|lua|node|perl|php|pypy|python|Rscript|ruby|ts-node|tsx)[0-9.]*"
)
_HARMLESS_TARGET = re.compile(r"[0-9]?>&[0-9]|[0-9&]?>>?\s{0,3}/dev/null(?![^\s;&|])")
_WRITTEN_THEN_MORE = re.compile(r">[^;&|\n]*+[;&|\n]\s*+\S")
_LONGEST = 16 * 1024


def may_split(command: str) -> bool:
    """Whether pieces of a plain word in a command could become words, programs or scripts of their own."""
    if _EXPANDS.search(command) or _interprets(command):
        return True
    if ">" in command and _WRITTEN_THEN_MORE.search(_HARMLESS_TARGET.sub("", command)):
        return True
    return "|" in command and not _is_only_read(command)


def _interprets(command: str) -> bool:
    found = {match[0] for match in _INTERPRETS.finditer(command)}
    if any(not _ONLY_SCRIPTS.fullmatch(program) for program in found):
        return True
    return bool(found) and _CODE.search(command) is not None


def _is_only_read(command: str) -> bool:
    """Whether what is sent through pipes arrives only at programs that print it."""
    if len(command) > _LONGEST:
        return False
    reader = shlex.shlex(command, posix=True, punctuation_chars=True)
    reader.commenters = ""
    try:
        words = list(reader)
    except ValueError:
        return False
    ahead = [*words, "", ""]
    for at, sign in enumerate(words):
        if sign and not sign.strip("|&;()") and sign not in {"||", "&&", ";", "&"}:
            program, next_word = ahead[at + 1], ahead[at + 2]
            alone = program in _READERS_ALONE and not next_word.strip("|&;")
            if sign != "|" or not (program in _READERS or alone):
                return False
    return True
