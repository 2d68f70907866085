"""Which programs can be trusted by the first words of a command, and what may follow these words.

A rule that is offered is one of a known program: all that an argument of it can name is what it looks at. Options are
another matter. Many programs have one that runs a command or writes a file, so a rule knows the options of the
command that it was made from, and no others.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

Options = tuple[tuple[str, str], ...]
"""The options of a command, each with the word after it; that is empty where it was the last word."""

_RUNNERS = frozenset(
    # A list of words is read more easily than a list of literals.
    """
    ! . abduco ant ash at awk bash batch bc bsdtar builtin bunx busybox bwrap capsh catchsegv chpst chroot chrt cmd
    command coproc cpulimit csh daemonize dash dc doas docker dotenv dtach ed elvish emacs emacsclient entr env
    envdir eval ex exec expect fakeroot faketime fd fdfind find firejail fish flock ftp gawk gdb gdbserver gosu gsed
    gtar hyperfine ionice ipython irb jexec jrunscript julia jupyter ksh kubectl ld.so ldd less lftp linux32 linux64
    lldb logsave ltrace m4 mawk mksh more mosh nawk nc ncat nerdctl netcat newgrp nice nodemon nohup npx nsenter
    numactl nvim osascript parallel pdksh perf pipx pkexec pnpx podman powershell prlimit proot pwsh rbash rlwrap
    run-mailcap run-parts runuser rview rvim s6-setuidgid screen script sed sem setarch setpriv setsid setuidgid sg
    sh socat softlimit source sqlite3 ssh ssh-agent sshpass start-stop-daemon stdbuf strace su su-exec sudo sudoedit
    systemd-run tar taskset tclsh tcsh tee telnet time timeout tini tmux toybox trap ts-node tsx unbuffer unshare
    uvx valgrind vi view vim vimdiff watch watchexec wish xargs xdg-open xonsh xvfb-run yash zsh
    """.split()  # noqa: SIM905 - see above
)
"""Programs that take other commands, scripts or machines as arguments: beginning with one says nothing."""

_INTERPRETERS = (
    "python",
    "pypy",
    "perl",
    "ruby",
    "node",
    "php",
    "lua",
    "deno",
    "bun",
    "Rscript",
    "java",
    "ld-linux",
)
_CODE = frozenset({"-c", "-e", "--eval", "-p", "--print", "eval", "-r", "-", "-E", "-x", "-m", "-M"})
_RUN = frozenset(
    {"run", "exec", "x", "dlx", "run-script", "rum", "urn", "shell", "foreach", "script", "repl", "eval"}
)
"""What many programs are told in order to run what the next word names."""

_LOOKING = frozenset(
    """
    basename cat cksum cmp column comm cut df diff dirname du echo egrep expr false fgrep file fold getconf grep groups
    head id jq locale ls lscpu md5sum mkdir nl nproc od paste ps pwd readlink realpath rg seq sha1sum sha256sum
    sha512sum sleep stat strings sum tac tail test touch tr tree true tty uname uptime wc which who whoami
    """.split()  # noqa: SIM905 - see above
)
"""Programs that do one thing with any arguments. Several have options that do more."""

_TOLD: dict[str, frozenset[str]] = {
    program: frozenset(words.split())
    for program, words in {
        "cargo": "bench build check clippy doc fmt metadata test tree",
        "git": "add blame branch cat-file check-ignore cherry count-objects describe diff diff-tree fetch grep log ls-files"
        " ls-tree merge-base name-rev range-diff rev-list rev-parse shortlog show show-ref status tag",
        "go": "build doc fmt list test vet",
        "npm": "explain ls outdated prefix root test view",
        "pip": "check freeze list show",
        "pip3": "check freeze list show",
        "pnpm": "list ls outdated test why",
        "poetry": "check show",
        "ruff": "check format",
        "yarn": "list outdated test why",
    }.items()
}
"""Programs that are told by their second word what to do, and the words that run nothing named by an argument."""

_CHECKING = frozenset(
    {"black", "eslint", "flake8", "isort", "jest", "mypy", "prettier", "pylint", "pyright", "pytest", "tsc"}
)
"""Programs that check or test what lies in the directory, which is where the rule holds."""

_SENDING = frozenset({("git", "push")})
"""What sends something to the place that the third word names: that word belongs to the prefix."""

_PLACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*+")
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*[:+?]?=")
_OPTION_SIGNS = ("-", "+", "@", ":")
_PARTS = re.compile(r"[=:,]")


def offered_prefix(words: Sequence[str]) -> tuple[str, ...]:
    """The first words of a command by which commands like it can be trusted; empty where none can."""
    if not words:
        return ()
    program = words[0]
    if tuple(words[:2]) in _SENDING:
        return tuple(words[:3]) if len(words) > 2 and _PLACE.fullmatch(words[2]) else ()
    if program in _TOLD:
        found = tuple(words[:2])
        return found if len(found) > 1 and found[1] in _TOLD[program] else ()
    return (program,) if program in _LOOKING or program in _CHECKING else ()


def is_told(program: str) -> bool:
    """Whether a known program is told by its second word what to do."""
    return program in _TOLD


def offerable() -> Iterable[tuple[str, ...]]:
    """Each prefix that can be offered at all; where a word is free, with one in its place."""
    yield from ((*prefix, "origin") for prefix in sorted(_SENDING))
    yield from ((program,) for program in sorted(_LOOKING | _CHECKING))
    yield from ((program, word) for program, told in _TOLD.items() for word in sorted(told))


def prefix_problem(prefix: Sequence[str]) -> str | None:
    """Why commands that begin like this could still be anything, however they go on."""
    program = PurePosixPath(prefix[0]).name
    if program in _RUNNERS:
        return f"{program} runs other commands, so its first words do not say what is allowed"
    if program.startswith(_INTERPRETERS) and (
        len(prefix) == 1 or prefix[-1].startswith("-") or not (_CODE - {"-m"}).isdisjoint(prefix[1:])
    ):
        return f"{program} alone can do anything: name the script or module that is allowed"
    if len(prefix) > 1 and prefix[-1] in _RUN:
        return f"`{program} {prefix[-1]}` can do anything: name what it runs"
    return None


def options_in(words: Sequence[str]) -> Options:
    """The options among the words that follow a prefix, each with the word after it, which may be its value."""
    following = [*words, ""][1:]
    return tuple((word, after) for word, after in zip(words, following, strict=True) if _is_option(word))


def has_only(words: Sequence[str], known: Options) -> bool:
    """Whether each option among the words was known before, with the same value if it may have one.

    An option that was the last word of a command has no value, and may be followed by anything.
    """
    return all(found in known or (found[0], "") in known for found in options_in(words))


def parts_in(words: Iterable[str]) -> list[str]:
    """Every part of arguments that could name a path."""
    return [part for word in words for part in _PARTS.split(word) if part]


def paths_in(words: Iterable[str]) -> list[str]:
    """The parts of arguments that name a path by themselves: absolute ones, and those that lead upward."""
    return [part for part in parts_in(words) if part.startswith("/") or ".." in part.split("/")]


def _is_option(word: str) -> bool:
    return word.startswith(_OPTION_SIGNS) or _SETTING.match(word) is not None
