"""What was promised, as data, and which tests name it: `python -m tests.repository.promises` counts both.

A promise is a sentence of a design or of the specification, in `tests/seeds/promises`. A test names those that it proves
with `@pytest.mark.promise("gza/12")`. One that has no test yet is `planned`, with a reason.
"""

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parents[1]
MANIFESTS = TESTS / "seeds/promises"
MARKER = "pytest.mark.promise"


class Promise(NamedTuple):
    id: str
    text: str
    planned: str = ""


def promises() -> list[Promise]:
    """Every promise, those of one design in the order of its sentences."""
    return [
        Promise(**each)
        for path in sorted(MANIFESTS.glob("*.toml"))
        for each in tomllib.loads(path.read_text("utf-8"))["promise"]
    ]


def named_in(source: str) -> Iterator[str]:
    """The promises that a module's tests name."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=called, args=args) if ast.unparse(called) == MARKER:
                yield from (str(ast.literal_eval(arg)) for arg in args)
            case _:
                pass


def modules_by_promise() -> Mapping[str, list[str]]:
    """The modules that name each promise."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        if "node_modules" not in path.parts:
            for name in named_in(path.read_text("utf-8")):
                found[name].append(str(path.relative_to(TESTS)))
    return found


def report() -> str:
    """One line: how many there are, and how many have no test yet."""
    every = promises()
    planned = Counter(each.id.partition("/")[0] for each in every if each.planned)
    where = ", ".join(f"{name} {count}" for name, count in sorted(planned.items()))
    return f"{len(every)} promises, of which {planned.total()} are only planned ({where or 'none'})."


if __name__ == "__main__":
    sys.stdout.write(f"{report()}\n")
