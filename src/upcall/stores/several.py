"""Several inquiries in one step: all are decided on before anything is written, and what was refused stands in its place."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.ports.store import Updated


class Found(Protocol):
    """An inquiry as a store has it at hand."""

    @property
    def inquiry(self) -> Inquiry:
        """The inquiry itself."""
        ...


F = TypeVar("F", bound=Found)
S = TypeVar("S")


def update_all(
    names: Sequence[str], find: Callable[[str], F], step: Callable[[F], S], apply: Callable[[S], Updated]
) -> list[Updated | UpcallError]:
    """A result for each name: what `apply` has made of the `step` for it, or the error that it was refused with."""
    steps: dict[str, S] = {}
    found: list[str | UpcallError] = []
    for name in names:
        try:
            row = find(name)
            if row.inquiry.id not in steps:
                steps[row.inquiry.id] = step(row)
            found.append(row.inquiry.id)
        except UpcallError as error:
            found.append(error)
    done = {name: apply(each) for name, each in steps.items()}
    return [done[each] if isinstance(each, str) else each for each in found]
