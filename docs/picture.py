"""Draws `docs/demo.svg`, the README's moving picture, from what `upcall demo --scripted` prints: `python docs/picture.py`.

The demo runs under a terminal of its own, with colours. What differs from run to run (ports, folders, refs, who you
are, milliseconds) is replaced, so that the picture changes only when the demo does.
"""
# ruff: noqa: INP001 - a script beside the pages, not a package

import fcntl
import itertools
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

PICTURE = Path(__file__).with_name("demo.svg")
COLUMNS, ROWS = 96, 60
COMMAND = "upcall demo --scripted"
PROGRAM = (sys.executable, "-m", "upcall")

FONT = "ui-monospace, SFMono-Regular, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
SIZE, WIDE, HIGH = 14, 8.4, 20
MARGIN, BAR = 20, 36
BACKGROUND, BORDER, TEXT = "#16181d", "#3b404a", "#d8dce4"
STYLES = {
    "1": "fill:#ffffff;font-weight:600",
    "2": "fill:#8b93a3",
    "31": "fill:#f0707c",
    "32": "fill:#7fd18a",
    "36": "fill:#6cc7e0",
}

LINE, BREAK, END = 0.25, 0.9, 3.0
"""Seconds until the next line appears, more of them at an empty line, and the pause before it begins again."""

REFS = ("a7", "k3", "m9", "t4", "x2", "d6")
REPLACED = [
    (re.compile(r"http://127\.0\.0\.1:[0-9]+"), "http://127.0.0.1:7391"),
    (re.compile(r"/\S*upcall-demo-\w+"), "/tmp/upcall-demo"),  # noqa: S108 - drawn, never opened
    (re.compile(r"(?<!\d)[0-9]+ ms later"), "moments later"),
    (re.compile(r"\b[0-9.]+ s in all"), "a few seconds in all"),
]
NO_BREAK = "\N{NO-BREAK SPACE}"
"""Of several plain spaces a browser draws one."""

LEFT_OUT = re.compile(r"^Answer here, or in your browser.*\n(?:.+\n)*", re.MULTILINE)
"""Lines that only help the person at that very terminal."""

SHOWN = ("An agent asks", "calls ask_human", "calls confirm_action")
"""What the scenes of the picture contain."""

_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
_SEQUENCE = re.compile(r"\x1b\[([0-9;]*)m")


class Run(NamedTuple):
    """Some characters of one line that look the same."""

    column: int
    text: str
    style: str


def recorded(program: tuple[str, ...] = PROGRAM) -> str:
    """What the demo prints to a terminal.

    Raises:
        SystemExit: if it does not come to a good end.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    dropped = ("UPCALL_", "NO_COLOR", "COLUMNS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    demo = subprocess.Popen(
        [*program, "demo", "--scripted"],
        stdin=theirs,
        stdout=theirs,
        # So that the commands that it prints are short.
        env=environment
        | {"TERM": "xterm-256color", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    os.close(theirs)
    printed = b"".join(_read(ours))
    os.close(ours)
    if demo.wait():
        sys.exit(f"the demo failed with {demo.returncode}:\n{printed.decode()}")
    return printed.decode().replace("\r\n", "\n")


def _read(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            # Linux reports a closed other end like this.
            return
        if not data:
            return
        yield data


def settled(printed: str) -> str:
    """The same text for every run and every person."""
    printed = LEFT_OUT.sub("", printed)
    for pattern, instead in REPLACED:
        printed = pattern.sub(instead, printed)
    found = dict.fromkeys(re.findall(r"#([a-z][a-z0-9]{1,5})\b", printed))
    refs = dict(zip(found, REFS, strict=False))
    printed = re.sub(
        r"#([a-z][a-z0-9]{1,5})\b( *)",
        # A longer ref has less room behind it, where there is a table.
        lambda ref: f"#{refs[ref[1]]}".ljust(len(ref[0])) if ref[2] else f"#{refs[ref[1]]}",
        printed,
    )
    # The name of the person who answered is green, at the beginning of a line.
    return re.sub(r"^\x1b\[32m[^\x1b]+\x1b\[0m *", "\x1b[32myou\x1b[0m    ", printed, flags=re.MULTILINE)


def excerpt(printed: str) -> str:
    """A part that fits on a screen and is over in ten seconds: the first question, and the approval with the restart."""
    scenes = printed.split("\n\n")
    shown = (next((scene for scene in scenes if sign in scene), "") for sign in SHOWN)
    return "\n\n".join(scene for scene in shown if scene)


def lines(printed: str) -> Iterator[list[Run]]:
    """What is on each line; one that is too long goes on below, as deep as it began."""
    style = ""
    for line in printed.rstrip("\n").split("\n"):
        column, runs = 0, list[Run]()
        for number, part in enumerate(_SEQUENCE.split(line)):
            if number % 2:
                style = STYLES.get(part, "")
            elif part:
                runs.append(Run(column, part, style))
                column += len(part)
        yield from _folded(runs)


def _folded(runs: list[Run]) -> Iterator[list[Run]]:
    text = "".join(run.text for run in runs)
    styles = [run.style for run in runs for _ in run.text]
    indent = len(text) - len(text.lstrip())
    while indent + len(text.strip()) > COLUMNS:
        cells = [gap.end() for gap in _GAP.finditer(text, indent, COLUMNS + 1)]
        # A table's last cell goes below the one before it, words of a sentence below its beginning.
        end = cells[-1] if len(cells) > 1 else text.rfind(" ", indent + 1, COLUMNS + 1) + 1 or COLUMNS
        yield _cut(text[:end], styles)
        indent = cells[-2] if len(cells) > 1 else indent
        text, styles = " " * indent + text[end:], [""] * indent + styles[end:]
    yield _cut(text, styles)


def _cut(text: str, styles: list[str]) -> list[Run]:
    runs: list[Run] = []
    column = 0
    for style, group in itertools.groupby(styles[: len(text)]):
        length = len(list(group))
        runs.append(Run(column, text[column : column + length], style))
        column += length
    return runs


def drawn(content: list[list[Run]]) -> str:
    """The picture."""
    width = round(2 * MARGIN + COLUMNS * WIDE)
    height = BAR + len(content) * HIGH + MARGIN
    dots = "".join(f'<circle cx="{MARGIN + 18 * dot}" cy="18" r="5.5"/>' for dot in range(3))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="title">\n'
        f'<title id="title">{COMMAND}: an agent asks, a person answers, the agent goes on</title>\n'
        f"{_motion(content)}"
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10" fill="{BACKGROUND}" stroke="{BORDER}"/>\n'
        f'<g fill="{BORDER}">{dots}</g>\n'
        f'<g font-family="{FONT}" font-size="{SIZE}" fill="{TEXT}">\n'
    )
    rows = [
        _row(number, runs) for number, runs in enumerate(content) if any(run.text.strip() for run in runs)
    ]
    return head + "".join(rows) + "</g>\n</svg>\n"


def _motion(content: list[list[Run]]) -> str:
    """One line after the other appears, over and over; a reader who wants no motion sees all of them."""
    moments, at = dict[int, float](), 0.0
    for number, runs in enumerate(content):
        if any(run.text.strip() for run in runs):
            moments[number] = at
            at += LINE
        else:
            at += BREAK
    whole = at + END
    steps = "".join(
        f"@keyframes l{number}{{0%{{opacity:0}}{100 * moment / whole:.2f}%{{opacity:1}}}}\n"
        for number, moment in moments.items()
        if moment
    )
    still = "@media (prefers-reduced-motion:reduce){.line{animation:none!important}}"
    return f"<style>\n.line{{animation:{whole:.1f}s step-end infinite}}\n{steps}{still}\n</style>\n"


def _row(number: int, runs: list[Run]) -> str:
    y = BAR + HIGH * number + SIZE
    texts = "".join(f"{_text(run, y)}\n" for run in runs if run.text.strip())
    return f'<g class="line" style="animation-name:l{number}">\n{texts}</g>\n'


def _text(run: Run, y: int) -> str:
    """Each run at its column and as wide as its columns, in any font."""
    before = len(run.text) - len(run.text.lstrip())
    text = run.text.strip()
    x, length = MARGIN + (run.column + before) * WIDE, len(text) * WIDE
    style = f' style="{run.style}"' if run.style else ""
    return (
        f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs"{style}>'
        f"{escape(text, quote=False).replace(' ', NO_BREAK)}</text>"
    )


def main() -> None:
    """Run the demo and draw it."""
    typed = f"\x1b[32m$\x1b[0m \x1b[1m{COMMAND}\x1b[0m\n\n"
    PICTURE.write_text(drawn(list(lines(typed + excerpt(settled(recorded()))))), encoding="utf-8")
    sys.stdout.write(f"wrote {PICTURE}\n")


if __name__ == "__main__":
    main()
