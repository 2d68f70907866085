"""A child process that puts a file into a folder by rename, whenever it is told to, and says when it did."""

import os
import sys
import time
from pathlib import Path

from benchmarks.bench import PAUSE

RESPONSE = (
    '{"request_id": "r", "status": "answered", "answers": [["Redis"]], "text": "The user answered: Redis"}'
)


def main() -> None:
    """Each line of input is the path of a file."""
    for line in sys.stdin:
        path = Path(line.strip())
        staged = path.parent.parent / "staging" / path.name
        staged.write_text(RESPONSE, encoding="utf-8")
        time.sleep(PAUSE)
        # The clock of the whole system, so that another process can go on counting.
        began = time.perf_counter()
        # Path.rename is the same at more cost.
        os.rename(staged, path)  # noqa: PTH104
        print(began, flush=True)


if __name__ == "__main__":
    main()
