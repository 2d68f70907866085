"""What everybody needs who looks after the runs of a machine."""

from collections.abc import Callable
from dataclasses import dataclass

from upcall.ports.store import Store
from upcall.runs.book import Book
from upcall.runs.deliveries import Deliveries


@dataclass(frozen=True, slots=True, kw_only=True)
class Affairs:
    """Where runs are kept and what they still have to get. `runner` is what the machine is called."""

    store: Store
    book: Book
    deliveries: Deliveries
    runner: str
    clock: Callable[[], float]
