"""Keeps Upcall's log quiet where thousands of faults are meant to happen."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent() -> Iterator[None]:
    """Log nothing while the block runs; other tests read the log."""
    log = logging.getLogger("upcall")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)
