"""SIGHUP: the settings are read again; a daemon that has lost its terminal ends instead, as any program in a terminal does."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from upcall.daemon.wiring.reloading import Reloading
from upcall.domain.errors import UpcallError

log = logging.getLogger("upcall.server")


@contextmanager
def reload_on_hangup(reloading: Reloading, stop: Callable[[], None]) -> Iterator[None]:
    """Answer SIGHUP while this is open."""
    loop = asyncio.get_running_loop()
    in_terminal = _has_terminal()
    running = set[asyncio.Task[None]]()

    def hung_up() -> None:
        if in_terminal and not _has_terminal():
            stop()
            return
        task = loop.create_task(_reload(reloading), name="reading the settings again")
        running.add(task)
        task.add_done_callback(running.discard)

    loop.add_signal_handler(signal.SIGHUP, hung_up)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        for task in running:
            task.cancel()


async def _reload(reloading: Reloading) -> None:
    try:
        await reloading.reload()
    except UpcallError as error:
        log.error("the settings stay as they were: %s", "; ".join(error.message.splitlines()))  # noqa: TRY400 - it is no mistake of ours
    except Exception:
        log.exception("the settings could not be read again")


def _has_terminal() -> bool:
    """Whether this process has a controlling terminal; one that was closed cannot be opened any more."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
