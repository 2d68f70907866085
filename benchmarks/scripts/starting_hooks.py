"""A program of any name, with a terminal if it is told one, that starts the hooks that it reads: one in each line."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    name, *terminals = sys.argv[1:]
    for terminal in terminals:
        # The first terminal that the leader of a session opens becomes its own.
        os.open(terminal, os.O_RDWR)
    Path("/proc/self/comm").write_text(name, "ascii")
    print("ready", flush=True)
    for line in sys.stdin:
        words, event = json.loads(line)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(words, input=event, capture_output=True, text=True, check=True)
        took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.stdout or done.stderr:
            raise ChildProcessError(f"{words!r} said {done.stdout!r} and {done.stderr!r}")
        print([took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime], flush=True)
