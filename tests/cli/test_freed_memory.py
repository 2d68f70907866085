"""A daemon returns memory to the system when a crowd has left, and only then."""

import asyncio

import pytest

from upcall.daemon.memory import CROWD, FreedMemory, give_back


class Street:
    """Connections that come and go; each look at them takes the next number."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = list(numbers)
        self.looked_at: list[int] = []
        self.given_back_at: list[int] = []
        self.empty = asyncio.Event()

    def __len__(self) -> int:
        if self._numbers:
            self.looked_at.append(self._numbers.pop(0))
        else:
            self.empty.set()
        return self.looked_at[-1]

    def give_back(self) -> None:
        self.given_back_at.append(self.looked_at[-1])


@pytest.mark.promise("proof/25")
@pytest.mark.parametrize(
    ("numbers", "given_back_at"),
    [
        ((0, 10, CROWD - 1, 0, 0), []),
        ((CROWD * 4, CROWD * 3, CROWD * 2, CROWD, 10, 0), [CROWD * 2, CROWD, 10]),
        ((CROWD, 0, CROWD, 0), [0, 0]),
        ((CROWD, CROWD // 2 + 1, CROWD), []),
    ],
)
async def test_memory_is_returned_once_half_of_a_crowd_has_left(
    numbers: tuple[int, ...], given_back_at: list[int]
) -> None:
    street = Street(*numbers)
    freed = FreedMemory(lambda: len(street), street.give_back, every=0)
    freed.start()
    async with asyncio.timeout(30):
        await street.empty.wait()
    await freed.close()
    assert street.given_back_at == given_back_at


def test_memory_can_be_returned_at_any_time() -> None:
    give_back()
