"""`python -m tests.fuzz.guided TARGET FOLDER [options of libFuzzer]`: one target, led by the code that its inputs reach.

It needs atheris, which `make fuzz` installs beside everything else.
"""

import sys
from importlib import import_module
from typing import Any

# Only where `make fuzz` runs is it there, so the checkers of types do not know it.
atheris: Any = import_module("atheris")

with atheris.instrument_imports(include=["upcall"]):
    from tests.fuzz.targets import TARGETS

    # The targets load it with its first input, when nothing is instrumented any more.
    import_module("upcall.channels.telegram.channel")


def main() -> None:
    """Search until libFuzzer has had its time, or something other than a refusal has come out."""
    name, *options = sys.argv[1:]
    atheris.Setup([sys.argv[0], *options], TARGETS[name].run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
