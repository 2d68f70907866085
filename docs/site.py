"""Builds the site of the documentation with Zensical: `make docs`, or `python docs/site.py FOLDER` in its environment.

The pages are gathered first: those of the root join those of `docs/`, links between the two are made to hold on the
site, comments, which are for the tests of the examples, stay behind, and what belongs to an item of a list is indented as
far as the builder wants it.
"""
# ruff: noqa: INP001 - a script beside the pages, not a package

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FROM_THE_ROOT = {
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
}
"""Where a page of the root is on the site."""

PICTURES = (".png", ".svg")
_COMMENT = re.compile(r"^[ \t]*<!--.*?-->[ \t]*\n", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"(\d+\. |[-*] )")
_LINK = re.compile(r"(?<=\]\()(\.\./|docs/)?([\w.-]+)(?=[)#])")


def gather(folder: Path) -> None:
    """Write the pages as the site has them, and copy their pictures."""
    for name, page in FROM_THE_ROOT.items():
        text = (ROOT / name).read_text("utf-8")
        (folder / page).write_text(on_the_site(text, from_the_root=True), "utf-8")
    for source in sorted((ROOT / "docs").iterdir()):
        if source.suffix == ".md":
            text = source.read_text("utf-8")
            (folder / source.name).write_text(on_the_site(text, from_the_root=False), "utf-8")
        elif source.suffix in PICTURES:
            shutil.copy(source, folder)


def on_the_site(text: str, *, from_the_root: bool) -> str:
    """A page without comments, with links that hold on the site, and lists that the builder understands."""

    def target(link: re.Match[str]) -> str:
        folder, name = link[1] or "", link[2]
        in_root = folder == ("" if from_the_root else "../")
        if in_root and name in FROM_THE_ROOT:
            return FROM_THE_ROOT[name]
        return name if from_the_root and folder == "docs/" else link[0]

    return indented(_LINK.sub(target, _COMMENT.sub("", text)))


def indented(text: str) -> str:
    """A page whose items of lists have their paragraphs and blocks four columns in: with fewer, the builder ends the list."""
    lines, made, fenced = text.split("\n"), list[str](), False
    while lines:
        line = lines.pop(0)
        fenced ^= line.startswith("```")
        made.append(line)
        marker = None if fenced else _ITEM.match(line)
        if marker is None:
            continue
        inside = list[str]()
        while lines and (not lines[0] or lines[0].startswith(" " * marker.end())):
            inside.append(lines.pop(0)[marker.end() :])
        within = indented("\n".join(inside)).split("\n") if inside else []
        made += [f"    {each}" if each else "" for each in within]
    return "\n".join(made)


def build(site: Path) -> int:
    """Build the site in a folder; the exit code is not 0 if there is a warning."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "docs").mkdir()
        gather(work / "docs")
        shutil.copy(ROOT / "mkdocs.yml", work)
        zensical = Path(sys.executable).with_name("zensical")
        # Colours would end up between the letters of a warning.
        built = subprocess.run(
            [zensical, "build", "--strict"], cwd=work, check=False, env=os.environ | {"NO_COLOR": "1"}
        )
        if built.returncode == 0:
            shutil.rmtree(site, ignore_errors=True)
            shutil.copytree(work / "site", site)
        return built.returncode


if __name__ == "__main__":
    to = Path(sys.argv[1] if sys.argv[1:] else ROOT / "site").resolve()
    status = build(to)
    if status == 0:
        sys.stdout.write(f"Open {to / 'index.html'}\n")
    sys.exit(status)
