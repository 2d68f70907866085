"""How a person types the command of this installation: what is printed has to work as it is printed.

An installation in a virtual environment is often not on PATH, and one that `uvx` or `pipx run` made for a moment never is.
"""

import os
import sys
from functools import cache
from pathlib import Path

NAME = "upcall"


@cache
def program() -> str:
    """`upcall` where a shell finds this installation by it; otherwise words that work in any shell."""
    if runner := passing_runner():
        return f"{runner} {NAME}"
    script = Path(sys.executable).with_name(NAME)
    if not script.exists():
        return f"{_quoted(sys.executable)} -m {NAME}"
    return NAME if _found() == script.resolve() else _quoted(str(script))


def passing_runner(prefix: str = sys.prefix) -> str:
    """`uvx` or `pipx run`, if this installation is in the cache of one of them and may be gone tomorrow; else empty."""
    *above, parent, _ = Path(prefix).parts
    if parent.startswith(("archive-v", "environments-v")) and "uv" in above:
        return "uvx"
    if "pipx" in (*above, parent) and parent != "venvs":
        return "pipx run"
    return ""


def keeping(runner: str) -> str:
    """The command that installs what a runner has only borrowed."""
    return f"uv tool install {NAME}" if runner == "uvx" else f"pipx install {NAME}"


def installing(extra: str, prefix: str = sys.prefix) -> str:
    """The command that adds an extra to this installation: pip reaches neither pipx's environments nor uv's."""
    folder, wanted = Path(prefix), f"'{NAME}[{extra}]'"
    if runner := passing_runner(prefix):
        return keeping(runner).replace(NAME, wanted)
    if (folder / "pipx_metadata.json").exists():
        return f"pipx inject {NAME} {wanted}"
    if (receipt := folder / "uv-receipt.toml").exists():
        # uv installs exactly what it is told, so the extras that are there already have to be named again.
        return f"uv tool install '{NAME}[{','.join(sorted({extra, *_extras(receipt)}))}]'"
    return f"pip install {wanted}"


def _extras(receipt: Path) -> list[str]:
    import tomllib  # noqa: PLC0415 - most commands of the shell need nothing of it, and start sooner without

    told = tomllib.loads(receipt.read_text("utf-8")).get("tool", {}).get("requirements", [])
    return [extra for each in told if each.get("name") == NAME for extra in each.get("extras", [])]


def _found() -> Path | None:
    """What a shell starts by our name."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        file = Path(folder or ".", NAME)
        if os.access(file, os.X_OK) and file.is_file():
            return file.resolve()
    return None


def _quoted(word: str) -> str:
    plain = word.isascii() and not set(word) & set(" \t\n\"'\\$`!*?[](){}<>|&;#~")
    return word if plain else "'" + word.replace("'", "'\"'\"'") + "'"
