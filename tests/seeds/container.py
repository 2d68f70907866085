"""The program of a container: it asks through the folder of its group and waits, until it is ended.

container.py GROUP start TASK
container.py GROUP resume SESSION
"""

import json
import signal
import sys
from pathlib import Path

group, how, words = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
if how == "resume":
    told = {"argv": sys.argv[2:], "initial": json.loads(Path("initial.json").read_text())}
    Path("told").write_text(json.dumps(told) + "\n")
    sys.exit()


def ended(*_: object) -> None:
    """Leave a trace of having been ended, and go."""
    Path("ended").write_text("ended\n")
    sys.exit(1)


signal.signal(signal.SIGTERM, ended)
sys.stdout.write("session: s-42\n")
sys.stdout.flush()
question = {"question": "Which auth?", "options": ["JWT tokens", "Session cookies"]}
task = {"type": "ask_user", "request_id": "r42", "questions": [question]}
staged = group / "staging" / "r42"
for folder in (group / "staging", group / "tasks"):
    folder.mkdir(parents=True, exist_ok=True)
staged.write_text(json.dumps(task))
staged.rename(group / "tasks" / "r42.json")
while True:
    signal.pause()
