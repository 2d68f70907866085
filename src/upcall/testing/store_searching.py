"""The part of the contract of stores that is about searching: what is found by which words, and what never is."""

import asyncio
from dataclasses import replace

import pytest

from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Kind, Open, Option, Question
from upcall.ports.store import Query, Store
from upcall.testing.examples import HOUR, NOW, a_closing, an_answer, an_inquiry, answering, rejecting
from upcall.testing.store_harness import StoreHarness, names

__all__ = ["SearchContract"]


async def found(store: Store, text: str, state: str | None = None) -> list[str]:
    """The ids that a search finds."""
    return await names(store, Query(text=text, state=state, limit=2))


class SearchContract(StoreHarness):
    """Questions and answers can be found at once."""

    async def test_an_inquiry_is_found_by_the_beginnings_of_its_words(self, store: Store) -> None:
        """In any order and case, all of them, wherever they stand."""
        question = Question(
            text="Which CACHE should it be?",
            header="Storage",
            options=(Option(label="Redis", description="with persistence"),),
        )
        mine = (await store.add(an_inquiry(questions=(question,), context="look at users_find()"))).inquiry
        other = (await store.add(an_inquiry(context="the second one"))).inquiry
        for text in ("cache", "CACH", "red persist", "storage, which?", "find users"):
            assert await found(store, text) == [mine.id], text
        assert mine.id in await found(store, mine.ref)
        for text in ("ache", "cache memcached", "§r1", "redis NOT cache"):
            assert await found(store, text) == [], text
        assert await found(store, "second", "open") == [other.id]

    async def test_what_became_of_an_inquiry_is_found_too(self, store: Store) -> None:
        """The answer, who gave it, and why it was declined."""
        first, second = [(await store.add(an_inquiry())).inquiry.id for _ in range(2)]
        assert await found(store, "ultramarine") == []
        await store.update(first, answering("ultramarine"))
        await store.update(second, rejecting(reason="needless since Monday"))
        assert await found(store, "ultramarine") == [first]
        assert await found(store, "needless", "rejected") == [second]
        assert await found(store, "needless", "open") == []

    async def test_an_answer_by_force_takes_the_place_of_an_expiry(self, store: Store) -> None:
        """It is found though the inquiry had been closed, and searched, before."""
        name = (await store.add(an_inquiry(expires_at=NOW + 1))).inquiry.id
        await store.update(name, lambda it: lifecycle.expire(it, NOW + 2))
        assert await found(store, "ultramarine") == []
        late = a_closing(at=NOW + 3)
        await store.update(name, lambda it: lifecycle.answer(it, an_answer("ultramarine"), late, force=True))
        assert await found(store, "ultramarine") == [name]

    async def test_the_answer_to_a_secret_question_is_not_found(self, store: Store) -> None:
        """The question is."""
        name = (await store.add(an_inquiry(secret=True, context="the key of the shop"))).inquiry.id
        await store.update(name, answering("hunter2"))
        assert await found(store, "hunter2") == []
        assert await found(store, "shop") == [name]

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("应该使用哪个缓存", "缓存"),
            ("应该使用哪个缓存", "存"),
            ("データベースを選んでください", "ベース"),
            ("어느 데이터베이스를 쓸까요", "데이터"),
            ("ควรใช้แคชใด", "แคช"),
            ("Groß oder klein?", "GROSS"),
            ("ﬁrst ①", "first 1"),
            ("Ελληνικά ερώτηση", "ερώτ"),
            ("שלום עולם", "עולם"),
        ],
    )
    async def test_words_of_every_script_are_found(self, store: Store, text: str, wanted: str) -> None:
        """Without spaces, by any two neighbouring characters."""
        name = (await store.add(an_inquiry(context=text))).inquiry.id
        await store.add(an_inquiry(context="nothing of the kind"))
        assert await found(store, wanted) == [name]

    @pytest.mark.parametrize(
        "text",
        [
            '"',
            "' OR 1=1 --",
            "absent:*",
            "*",
            "(",
            "\\",
            "NEAR(absent words)",
            "{",
            "\0",
            "\ud800",
            "!&|<->",
            "x" * 100_000,
            "%_",
        ],
    )
    async def test_odd_input_finds_nothing_and_breaks_nothing(self, store: Store, text: str) -> None:
        """It is neither a query language nor a pattern."""
        await store.add(an_inquiry(context="plain words"))
        assert await found(store, text) == []

    async def test_odd_texts_are_kept_and_found(self, store: Store) -> None:
        """Half a character, a NUL, a word without end, and more words than a store indexes."""
        many = " ".join(f"word{number}" for number in range(10_000))
        odd = (await store.add(an_inquiry(context="half \ud800 and \0 nul " + "y" * 5000))).inquiry.id
        long = (await store.add(an_inquiry(context=many))).inquiry.id
        assert await found(store, "half nul") == [odd]
        assert await found(store, "y" * 5000) == [odd]
        assert await found(store, "word17") == [long]

    async def test_blank_text_narrows_nothing(self, store: Store) -> None:
        """It is no search at all."""
        name = (await store.add(an_inquiry())).inquiry.id
        assert await found(store, " \n") == [name]

    async def test_lists_are_narrowed_to_a_workspace_and_a_run(self, store: Store) -> None:
        """Exactly, alone and with everything else."""
        asked = [
            an_inquiry(workspace="/srv/shop", run=1),
            an_inquiry(workspace="/srv/shop", run=12, kind=Kind.TEXT),
            an_inquiry(workspace="/srv/shop/api", agent="painter"),
            an_inquiry(),
        ]
        for each in asked:
            await store.add(each)
        first, second, third, _ = [each.id for each in asked]
        assert await names(store, Query(workspace="/srv/shop", limit=1)) == [second, first]
        assert await names(store, Query(workspace="/srv/shop", kind=Kind.TEXT, state="open")) == [second]
        assert await names(store, Query(workspace="/srv/shop/api", agent="painter")) == [third]
        assert await names(store, Query(run=1)) == [first]
        assert await names(store, Query(run=12, workspace="/elsewhere")) == []

    async def test_many_are_found_page_by_page_while_others_write(self, store: Store) -> None:
        """Nothing twice, nothing left out, and in the order of asking."""
        asked = [(await store.add(an_inquiry(context=f"number {at}"))).inquiry.id for at in range(450)]
        await asyncio.gather(*[store.update(name, answering()) for name in asked[:100]])
        searching = [asyncio.create_task(found(store, "numb", "open")) for _ in range(3)]
        await asyncio.gather(*[store.update(name, rejecting()) for name in asked[100:110]])
        for each in searching:
            assert set(asked[110:]) <= set(await each)
        page = await store.find(Query(text="number", state="closed", limit=200))
        assert [inquiry.id for inquiry in page.items] == asked[109::-1]
        assert page.complete

    async def test_a_search_beside_many_changes_finds_the_latest_and_what_is_indexed(
        self, store: Store
    ) -> None:
        """All of them once `index_words` has nothing left to do."""
        asked = [an_inquiry(context="ultramarine") for _ in range(1060)]
        await asyncio.gather(*[store.add(each) for each in asked])
        latest = (await store.find(Query(limit=1))).items[0].id
        page = await store.find(Query(text="ultramarine", limit=1))
        assert [inquiry.id for inquiry in page.items] == [latest]
        while await store.index_words(100):
            pass
        assert len(await names(store, Query(text="ultramarine", limit=200))) == len(asked)
        assert (await store.find(Query(text="ultramarine"))).complete

    async def test_what_waits_for_its_turn_is_indexed_once_and_found(self, store: Store) -> None:
        """However many wait: a search ends."""
        first = (await store.add(an_inquiry(context="ultramarine"))).inquiry
        queued = (await store.add(an_inquiry(context="ultramarine", state=Open(queued=HOUR)))).inquiry
        assert await found(store, "ultramarine", "queued") == [queued.id]
        assert await found(store, "ultramarine", "open") == [first.id]
        assert await store.index_words(10) == 0

    @pytest.mark.parametrize(
        "query",
        [
            Query(text="ultra", agent="painter"),
            Query(text="ultra", kind=Kind.TEXT),
            Query(text="ultra", run=7),
            Query(text="ultra", state="rejected"),
            Query(text="ultra", workspace="/srv/shop"),
            Query(
                text="ultra", workspace="/srv/shop", agent="painter", kind=Kind.TEXT, run=7, state="rejected"
            ),
        ],
        ids=["agent", "kind", "run", "state", "workspace", "all"],
    )
    async def test_a_search_is_narrowed_exactly_over_several_pages(self, store: Store, query: Query) -> None:
        """To an agent, a kind, a run, a state and a workspace, each alone and all together."""
        wanted = [
            an_inquiry(context="ultramarine", agent="painter", kind=Kind.TEXT, run=7, workspace="/srv/shop")
            for _ in range(5)
        ]
        others = [an_inquiry(context="ultramarine", run=77, workspace="/srv/shop2") for _ in range(5)]
        for mine, other in zip(wanted, others, strict=True):
            await store.add(other)
            await store.add(mine)
            await store.update(mine.id, rejecting())
        assert await names(store, replace(query, limit=2)) == [each.id for each in wanted[::-1]]

    async def test_what_was_forgotten_is_not_found(self, store: Store) -> None:
        """And the row that gets its place is found by its own words."""
        name = (await store.add(an_inquiry(context="old story"))).inquiry.id
        await store.update(name, answering())
        assert await found(store, "story") == [name]
        await store.prune(NOW + 1_000_000, 10)
        assert await found(store, "story") == []
        later = (await store.add(replace(an_inquiry(), context="new tale"))).inquiry.id
        assert await found(store, "story") == []
        assert await found(store, "tale") == [later]
