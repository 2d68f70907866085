"""What is in memory, as far as it is of our own making."""

import gc
from collections import Counter

CACHED = (
    "upcall.domain.inquiry.inquiry.",
    "upcall.broker.pacing.",
    "upcall.ports.store.Event",
    "upcall.stores.sqlite.staged.",
    "upcall.stores.tail.",
)
"""What caches of a fixed size hold, all of them filled only after thousands of questions."""


def ours(*, without_caches: bool = False) -> Counter[str]:
    """How many objects there are of each of our classes."""
    gc.collect()
    names = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    known = Counter(name for name in names if name.startswith("upcall."))
    return Counter(
        {name: count for name, count in known.items() if not (without_caches and name.startswith(CACHED))}
    )
