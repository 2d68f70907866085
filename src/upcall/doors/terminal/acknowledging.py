"""Whether a program was still there after its hook had printed an answer, so that the daemon can be told.

Printing only fills a buffer: a program that ends, because its terminal was closed, reads its hooks to the end and uses nothing of it.
It runs in a process that a hook leaves behind, so no program waits for it.
"""

import time
from collections.abc import Callable, Mapping

from upcall.doors.terminal.programs import LEAVING
from upcall.doors.terminal.request import RefusedError, UnreachableError, address, post
from upcall.home.files import Home

ACKNOWLEDGED, MISSED = "acknowledged", "missed"
LOOK_EVERY = 0.1
AGAIN = 0.5
AFTERWARDS = 30.0
"""Seconds after the end of a program for which a daemon that is down is still looked for."""


def stays(is_there: Callable[[], bool]) -> bool:
    """Whether the program is there all the time in which one that is ending would end."""
    until = time.monotonic() + LEAVING
    while is_there():
        if time.monotonic() >= until:
            return True
        time.sleep(LOOK_EVERY)
    return False


def tell(home: Home, body: Mapping[str, object], is_there: Callable[[], bool]) -> bool:
    """Tell the daemon, as long as the program is there and a while longer; whether the daemon has heard it."""
    seen = time.monotonic()
    while True:
        try:
            if (to := address(home)) is not None:
                post(to, body, lambda: None)
                return True
        except RefusedError:
            return False
        except UnreachableError:
            pass
        if is_there():
            seen = time.monotonic()
        elif time.monotonic() - seen > AFTERWARDS:
            return False
        time.sleep(AGAIN)
