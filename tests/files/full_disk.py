"""Run with a folder that is a very small disk, and one that is not: a response waits there until it finds room."""

import asyncio
import logging
import sys
from contextlib import suppress
from pathlib import Path

from tests.files.door import serving
from tests.files.news import put_task, response


async def main(small: Path, roomy: Path) -> None:
    lines: asyncio.Queue[str] = asyncio.Queue()
    log = logging.getLogger("upcall.doors.files.group")

    def listen(record: logging.LogRecord) -> bool:
        lines.put_nowait(record.getMessage())
        return True

    log.addFilter(listen)
    async with serving(roomy) as served:
        served.root, served.group = small, small / "build"
        served.group.mkdir()
        await served.restart()
        put_task(served.group, "r1")
        [inquiry] = await served.open()
        ballast = small / "ballast"
        fill(ballast)
        await served.answer(inquiry, "Redis")
        while "No space left" not in (line := await asyncio.wait_for(lines.get(), 30)):
            pass
        assert "trying again" in line, line
        ballast.unlink()
        assert (await asyncio.to_thread(response, served.group, "r1"))["answers"] == [["Redis"]]


def fill(ballast: Path) -> None:
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
sys.stdout.write("told once there was room\n")
