"""What the real programs said, kept for those who test how it is read: one file for each program and story."""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(os.environ.get("UPCALL_TEST_SAMPLES") or Path(__file__).parent / "samples")

_IDS = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "00000000-0000-4000-8000-{:012}"),
    (re.compile(r"(?<=toolu_|.call_)[0-9a-f]{24}\b"), "{:024}"),
    (re.compile(r"(?<=fc_)[0-9a-f]{24}\b"), "{:024}"),
    (re.compile(r"(?<=ses_|prt_|msg_)[0-9A-Za-z]{26}\b"), "{:026}"),
    (re.compile(r"\b01[0-9a-hjkmnp-tv-z]{24}\b"), "01{:024}"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "{:040}"),
    (re.compile(r"\ba[0-9a-f]{16}\b"), "a{:016}"),
)
"""Names that are new in every run: the same one becomes the same number throughout a sample."""

_MOMENTS = (
    (re.compile(r"\b20\d\d-\d\d-\d\dT[\d:.]+Z"), "2026-01-01T00:00:00.000Z"),
    (re.compile(r"\w{3}, \d\d \w{3} 20\d\d [\d:]{8} GMT"), "Thu, 01 Jan 2026 00:00:00 GMT"),
    (re.compile(r"\b17\d{11}\b"), "1767225600000"),
    (re.compile(r'(?<=_ms":)\d+|(?<=urationMs":)\d+|(?<=duration_ms: )\d+'), "0"),
    (re.compile(r"(?<=Wall time: )[\d.]+"), "0.0000"),
    (re.compile(r"(?<=Chunk ID: )[0-9a-f]+"), "000000"),
    (re.compile(r"(?<=PGID: )\d+"), "1000"),
    (re.compile(r'(?<=SectionHash":")\w+'), "0000000000000000"),
    (re.compile(r"(?<=cc-socks/)\d+"), "1000"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d+"), "8000"),
    (re.compile(r'(?<="run_id":")[^"]+'), "run"),
    (re.compile(r'(\\*"ref\\*": ?\\*")\w+'), r"\1a2"),
)
"""What else is never twice the same."""


def read(name: str) -> list[str]:
    """The lines of a sample, such as `claude-asked`."""
    return (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()


def write(name: str, lines: Iterable[str], scratch: Path) -> None:
    """Keep what a program said, without what was only true of that run."""
    text = "".join(lines)
    text = text.replace(str(scratch), "/scratch").replace(re.sub(r"\W|_", "-", str(scratch)), "-scratch")
    for pattern, new in _MOMENTS:
        text = pattern.sub(new, text)
    for pattern, new in _IDS:
        for number, old in enumerate(dict.fromkeys(pattern.findall(text)), start=1):
            text = text.replace(old, new.format(number))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.jsonl").write_text(text, "utf-8")


def kinds(lines: Iterable[str]) -> set[str]:
    """Which kinds of events there are, each with what sets it apart from others of its type."""
    return {_kind(json.loads(line)) for line in lines}


def _kind(event: dict[str, object]) -> str:
    item = event.get("item")
    inner = item if isinstance(item, dict) else {}
    marks = (event["type"], event.get("subtype"), event.get("role"), event.get("status"), inner.get("type"))
    return " ".join(str(mark) for mark in marks if mark)
