"""What pages and documents leave in memory: the same after twice as many, however large they are."""

import gc

import pytest
from markupsafe import Markup

from tests.memory import ours
from tests.web.house import House
from tests.web.visitor import Visitor
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.testing.examples import an_inquiry
from upcall.web.api.documents import Documents
from upcall.web.pages.markdown import rendered

pytestmark = pytest.mark.thorough

TIMES = 12


def _alive(kind: type) -> int:
    gc.collect()
    return sum(type(each) is kind for each in gc.get_objects())


@pytest.mark.promise("trust/42")
async def test_documents_that_are_large_are_not_remembered() -> None:
    documents = Documents()
    before = _alive(Inquiry)
    for number in range(TIMES):
        await documents.one(an_inquiry(context=f"{number}" * 100_000))
    assert _alive(Inquiry) == before
    await documents.one(an_inquiry(context="short"))
    assert _alive(Inquiry) == before + 1


@pytest.mark.promise("trust/42")
def test_long_texts_are_not_remembered_as_they_were_drawn() -> None:
    # The first one loads what draws them.
    rendered("0" * 100_000)
    before = _alive(Markup)
    for number in range(TIMES):
        rendered(f"*{number}* " * 30_000)
    assert _alive(Markup) == before


@pytest.mark.promise("trust/42")
async def test_twice_as_many_visits_to_the_pages_leave_no_more_in_memory(live: House) -> None:
    async def visits() -> None:
        for _ in range(TIMES):
            ana = Visitor(live)
            await ana.signs_in()
            await live.asked()
            await ana.sends(await ana.form("/", "/answer"), ("q0", "1"), ("t0", ""))
            for page in ("/", "/history", "/runs", "/threads", "/sessions"):
                await ana.looks(page)
            await ana.sends(await ana.form("/", "/sign-out"))
            await ana.client.aclose()

    await visits()
    once = ours(without_caches=True)
    await visits()
    now = ours(without_caches=True)
    assert {name: (once[name], n) for name, n in now.items() if n >= once[name] + TIMES // 2} == {}
