"""The agent of the runs: asks in its text, ends its turn, and writes down each time it is resumed with an answer.

python program.py FOLDER start TASK
python program.py FOLDER resume SESSION MESSAGE
"""

import json
import os
import sys
from pathlib import Path

folder, mode = Path(sys.argv[1]), sys.argv[2]
# A task goes on with advice about asking.
session = sys.argv[3].splitlines()[0]
(folder / f"{session}.pid").write_text(str(os.getpid()))
if mode == "start":
    sys.stdout.write(f"session: {session}\n")
    asked = {"question": session, "options": ["Red", "Blue", "Green"]}
    sys.stdout.write(f"<<ASK>> {json.dumps(asked)} <</ASK>>\n")
else:
    # One write, so that a line is there whole or not at all.
    line = json.dumps(sys.argv[4]).encode() + b"\n"
    descriptor = os.open(folder / f"{session}.told", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, line)
    os.close(descriptor)
