"""Asking, waiting, answering and everything that can come in between, on a real store."""

import asyncio
from pathlib import Path

import pytest

from tests.broker.conftest import ADMIN, AGENT, ANA, BEN, OTHER_AGENT, Clock
from upcall.broker.broker import Broker, Policy, Reply
from upcall.broker.pacing import Pacing
from upcall.domain.errors import (
    EmptyAnswer,
    KeyConflict,
    NotAllowed,
    RateLimited,
    UnknownInquiry,
    UnreadableAnswer,
)
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Answered, Cancelled, Expired, Failed, Inquiry, Origin, Rejected
from upcall.ports.store import Query
from upcall.stores.sqlite.store import SqliteStore

CACHE = {"question": "Which cache?", "options": ["Redis", "Memcached"]}


def an_origin(**changes: object) -> Origin:
    return Origin(**{"agent": AGENT.name, "session": "s1", "door": "test", **changes})  # type: ignore[arg-type] # checked by use


async def asked(broker: Broker, sent: object = CACHE, **origin: object) -> Inquiry:
    return (await broker.ask(draft(sent), an_origin(**origin))).inquiry


async def waiting_for(
    broker: Broker, inquiry: Inquiry, timeout: float | None = None
) -> asyncio.Task[Inquiry]:
    """A task that is certain to be blocked by now."""
    task = asyncio.create_task(broker.wait(inquiry, timeout))
    await asyncio.sleep(0)  # a task runs up to where it blocks
    assert not task.done()
    assert broker.waiting
    return task


async def test_an_answer_wakes_whoever_waits(broker: Broker) -> None:
    inquiry = await asked(broker)
    waiter = await waiting_for(broker, inquiry)

    settled = await broker.receive(inquiry.ref, Reply(text="1", via="terminal"), ANA)

    assert settled.accepted
    woken = await waiter
    assert isinstance(woken.state, Answered)
    assert woken.state.answer.values == (("Redis",),)
    assert (woken.state.closing.by, woken.state.closing.via) == ("ana", "terminal")


async def test_everyone_who_waits_for_the_same_inquiry_is_woken(broker: Broker) -> None:
    inquiry = await asked(broker)
    waiters = [await waiting_for(broker, inquiry) for _ in range(5)]

    await broker.receive(inquiry.id, Reply(text="Redis"), ANA)

    assert {(await waiter).state_name for waiter in waiters} == {"answered"}
    assert broker.waiting == 0


async def test_waiting_for_what_is_settled_returns_at_once(broker: Broker) -> None:
    inquiry = await asked(broker)
    await broker.receive(inquiry.id, Reply(text="Redis"), ANA)

    stale = await broker.wait(inquiry)

    assert stale.state_name == "answered"


@pytest.mark.promise("spec/30")
async def test_a_wait_that_ends_leaves_the_question_open(broker: Broker) -> None:
    inquiry = await asked(broker)

    assert (await broker.wait(inquiry, 0)).is_open
    assert (await broker.receive(inquiry.id, Reply(text="Redis"), ANA)).accepted


async def test_a_waiter_that_is_cancelled_leaves_nothing_behind(broker: Broker) -> None:
    inquiry = await asked(broker)
    waiter = await waiting_for(broker, inquiry)

    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)

    assert broker.waiting == 0
    assert (await broker.get(inquiry.id, ANA)).is_open


@pytest.mark.promise("spec/40")
async def test_closing_settles_every_waiter_with_the_open_inquiry(broker: Broker) -> None:
    waiters = [await waiting_for(broker, await asked(broker)) for _ in range(3)]

    await broker.close()

    assert [inquiry.is_open for inquiry in await asyncio.gather(*waiters)] == [True] * 3


@pytest.mark.promise("spec/5")
async def test_the_second_answer_is_told_the_first(broker: Broker) -> None:
    inquiry = await asked(broker)

    results = await asyncio.gather(
        broker.receive(inquiry.id, Reply(text="Redis"), ANA),
        broker.receive(inquiry.id, Reply(text="Memcached"), BEN),
    )

    assert [result.accepted for result in results] == [True, False]
    loser = results[1].inquiry
    assert isinstance(loser.state, Answered)
    assert loser.state.closing.by == "ana"
    assert loser.state.answer.values == (("Redis",),)


async def test_a_losing_answer_is_told_the_winner_even_if_it_cannot_be_read(broker: Broker) -> None:
    inquiry = await asked(broker, CACHE | {"custom": False})
    await broker.receive(inquiry.id, Reply(text="Redis"), ANA)

    assert not (await broker.receive(inquiry.id, Reply(text="neither"), BEN)).accepted
    assert not (await broker.receive(inquiry.id, Reply(text=""), BEN)).accepted


async def test_a_repeated_answer_with_the_same_key_gets_its_first_reply_again(broker: Broker) -> None:
    inquiry = await asked(broker)
    first = await broker.receive(inquiry.id, Reply(text="Redis", key="k1"), ANA)

    again = await broker.receive(inquiry.id, Reply(text="Redis", key="k1"), ANA)
    other = await broker.receive(inquiry.id, Reply(text="Redis", key="k2"), ANA)

    assert (first.accepted, again.accepted, other.accepted) == (True, True, False)
    assert again.inquiry == first.inquiry


@pytest.mark.parametrize(
    ("reply", "error"), [("", EmptyAnswer), (" \n", EmptyAnswer), ("neither", UnreadableAnswer)]
)
async def test_what_is_no_answer_changes_nothing(broker: Broker, reply: str, error: type[Exception]) -> None:
    inquiry = await asked(broker, CACHE | {"custom": False})

    with pytest.raises(error):
        await broker.receive(inquiry.id, Reply(text=reply), ANA)

    assert (await broker.get(inquiry.id, ANA)).is_open


async def test_an_agent_can_neither_answer_nor_reject_nor_snooze(broker: Broker) -> None:
    inquiry = await asked(broker)

    with pytest.raises(NotAllowed):
        await broker.receive(inquiry.id, Reply(text="Redis"), AGENT)
    with pytest.raises(NotAllowed):
        await broker.reject(inquiry.id, AGENT)
    with pytest.raises(NotAllowed):
        await broker.snooze(inquiry.id, AGENT, 60)


async def test_an_agent_sees_only_its_own(broker: Broker) -> None:
    mine, other = await asked(broker), await asked(broker, agent=OTHER_AGENT.name)

    assert [item.id for item in (await broker.find(Query(state="open"), AGENT)).items] == [mine.id]
    with pytest.raises(UnknownInquiry):
        await broker.get(other.id, AGENT)
    with pytest.raises(UnknownInquiry):
        await broker.cancel(other.id, AGENT)
    with pytest.raises(UnknownInquiry):
        await broker.collect(other.id, AGENT, "acknowledged")


@pytest.mark.promise("spec/175")
async def test_the_asker_cancels_people_reject_and_admins_do_both(broker: Broker) -> None:
    cancelled = await broker.cancel((await asked(broker)).id, AGENT, reason="found out myself")
    rejected = await broker.reject((await asked(broker)).id, ANA, reason="not now")

    assert isinstance(cancelled.inquiry.state, Cancelled)
    assert cancelled.inquiry.state.closing.reason == "found out myself"
    assert isinstance(rejected.inquiry.state, Rejected)
    with pytest.raises(NotAllowed):
        await broker.cancel((await asked(broker)).id, ANA)
    assert (await broker.cancel((await asked(broker)).id, ADMIN)).accepted
    assert (await broker.reject((await asked(broker)).id, ADMIN)).accepted


@pytest.mark.promise("spec/22")
async def test_the_same_key_rejoins_and_other_content_is_refused(broker: Broker) -> None:
    first = await asked(broker, request_key="call-1")
    again = await broker.ask(draft(CACHE), an_origin(request_key="call-1"))

    assert not again.created
    assert again.inquiry.id == first.id
    with pytest.raises(KeyConflict):
        await asked(broker, {"question": "Something else?"}, request_key="call-1")


@pytest.mark.promise("spec/22")
async def test_rejoining_an_answered_inquiry_returns_its_answer(broker: Broker) -> None:
    first = await asked(broker, request_key="call-1")
    await broker.receive(first.id, Reply(text="Redis"), ANA)

    again = await broker.ask(draft(CACHE), an_origin(request_key="call-1"))

    assert again.inquiry.state_name == "answered"


@pytest.mark.promise("spec/24")
async def test_yesterdays_yes_never_answers_todays_question(broker: Broker, clock: Clock) -> None:
    approval = {"kind": "approval", "question": "Run the migration?", "ttl": "10m"}
    first = await asked(broker, approval, request_key="call-1")
    await broker.receive(first.id, Reply(text="yes"), ANA)

    clock.now += 601
    again = await broker.ask(draft(approval), an_origin(request_key="call-1"))

    assert again.created
    assert again.inquiry.is_open


@pytest.mark.promise("spec/30", "spec/37")
async def test_time_to_live_ends_in_expired_and_wakes_the_waiter(broker: Broker, clock: Clock) -> None:
    waiter = await waiting_for(broker, await asked(broker, CACHE | {"ttl": 60}))

    clock.now += 61
    await asked(broker, CACHE | {"ttl": 1})  # a nearer deadline makes the broker look at the clock again

    assert isinstance((await waiter).state, Expired)


async def test_an_expired_inquiry_takes_an_answer_only_by_force(broker: Broker, clock: Clock) -> None:
    inquiry = await asked(broker, CACHE | {"ttl": 60})
    clock.now += 61

    refused = await broker.receive(inquiry.id, Reply(text="Redis"), ANA)
    forced = await broker.receive(inquiry.id, Reply(text="Redis", force=True), ANA)

    assert not refused.accepted
    assert isinstance(refused.inquiry.state, Expired)
    assert forced.accepted
    assert isinstance(forced.inquiry.state, Answered)


@pytest.mark.promise("spec/167")
async def test_a_default_answers_at_the_end_and_says_who_did(broker: Broker, clock: Clock) -> None:
    waiter = await waiting_for(broker, await asked(broker, CACHE | {"ttl": 60, "default": "Redis"}))

    clock.now += 61
    await asked(broker, CACHE | {"ttl": 1})

    state = (await waiter).state
    assert isinstance(state, Answered)
    assert state.answer.values == (("Redis",),)
    assert (state.closing.by, state.closing.via) == ("policy", "default")


async def test_a_clock_that_goes_back_neither_expires_nor_disorders_anything(
    broker: Broker, clock: Clock
) -> None:
    first = await asked(broker, CACHE | {"ttl": 60})
    clock.now -= 3600
    second = await asked(broker, CACHE | {"ttl": 60})

    page = await broker.find(Query(state="open"), ANA)

    assert [item.id for item in page.items] == [first.id, second.id]
    assert first.id < second.id
    assert (await broker.receive(first.id, Reply(text="Redis"), ANA)).accepted


async def test_extending_gives_more_time_and_snoozing_closes_nothing(broker: Broker, clock: Clock) -> None:
    inquiry = await asked(broker, CACHE | {"ttl": 60})

    extended = await broker.extend(inquiry.id, ANA, 3600)
    snoozed = await broker.snooze(inquiry.id, ANA, 600)

    assert extended.inquiry.expires_at == clock.now + 3600
    assert snoozed.inquiry.is_open
    clock.now += 61
    assert (await broker.receive(inquiry.id, Reply(text="Redis"), ANA)).accepted


@pytest.mark.promise("spec/96")
async def test_only_the_asker_collects_and_only_once(broker: Broker) -> None:
    inquiry = await asked(broker)
    assert not (await broker.collect(inquiry.id, AGENT, "acknowledged")).accepted
    await broker.receive(inquiry.id, Reply(text="Redis"), ANA)

    with pytest.raises(UnknownInquiry):
        await broker.collect(inquiry.id, ADMIN, "acknowledged")
    first = await broker.collect(inquiry.id, AGENT, "acknowledged")
    again = await broker.collect(inquiry.id, AGENT, "acknowledged")

    assert (first.accepted, again.accepted) == (True, False)
    assert isinstance(first.inquiry.state, Answered)
    assert first.inquiry.state.collected_at is not None


@pytest.mark.promise("spec/36")
@pytest.mark.parametrize(("on_restart", "state"), [("cancel", Cancelled), ("fail", Failed)])
async def test_a_restart_ends_what_was_open_when_it_is_told_to(
    store: SqliteStore, clock: Clock, on_restart: str, state: type
) -> None:
    before = Broker(store, Policy(), clock=clock)
    await before.start()
    inquiry = await asked(before)
    await before.close()

    after = Broker(store, Policy(on_restart=on_restart), clock=clock)
    await after.start()

    ended = await after.get(inquiry.id, ANA)
    await after.close()
    assert type(ended.state) is state
    assert isinstance(ended.state, Cancelled | Failed)
    assert ended.state.closing.reason == "worker_restart"


@pytest.mark.promise("spec/36")
async def test_a_restart_keeps_what_is_open(tmp_path: Path, clock: Clock) -> None:
    store = await SqliteStore.open(tmp_path / "kept.db")
    before = Broker(store, clock=clock)
    await before.start()
    inquiry = await asked(before)
    await before.close()
    await store.close()

    reopened = await SqliteStore.open(tmp_path / "kept.db")
    after = Broker(reopened, clock=clock)
    await after.start()
    waiter = await waiting_for(after, await after.get(inquiry.id, AGENT))
    await after.receive(inquiry.ref, Reply(text="2"), ANA)

    state = (await waiter).state
    await after.close()
    await reopened.close()
    assert isinstance(state, Answered)
    assert state.answer.values == (("Memcached",),)


@pytest.mark.promise("spec/192")
async def test_a_session_in_a_loop_gets_the_earlier_outcome(store: SqliteStore, clock: Clock) -> None:
    broker = Broker(store, clock=clock, pacing=Pacing(same=2))
    await broker.start()
    ids = [(await broker.ask(draft(CACHE), an_origin(), named_session=True)).inquiry.id for _ in range(4)]
    approval = draft({"kind": "approval", "question": "Push?"})
    for _ in range(2):
        await broker.ask(approval, an_origin(), named_session=True)

    with pytest.raises(RateLimited):
        await broker.ask(approval, an_origin(), named_session=True)
    await broker.close()
    assert len(set(ids)) == 2
    assert ids[1] == ids[2] == ids[3]


async def test_a_loop_is_seen_through_fresh_keys_and_a_repeated_key_rejoins_its_own(
    store: SqliteStore, clock: Clock
) -> None:
    broker = Broker(store, clock=clock, pacing=Pacing(same=2))
    await broker.start()
    asked = [
        (await broker.ask(draft(CACHE), an_origin(request_key=key), named_session=True)).inquiry.id
        for key in ("call-1", "call-2", "call-3", "call-1")
    ]
    await broker.close()

    assert asked[2] == asked[1]
    assert asked[3] == asked[0] != asked[1]


@pytest.mark.promise("spec/140", "spec/193")
async def test_a_token_asks_no_faster_than_its_allowance(store: SqliteStore, clock: Clock) -> None:
    broker = Broker(store, clock=clock, pacing=Pacing(per_second=1, burst=2))
    await broker.start()
    await asked(broker)
    await asked(broker)

    with pytest.raises(RateLimited):
        await asked(broker)
    clock.now += 1
    assert (await asked(broker)).is_open
    await broker.close()


async def test_a_notice_is_an_event_that_nobody_waits_for(broker: Broker, store: SqliteStore) -> None:
    event = await broker.notify("the build is green", an_origin())

    assert event in await store.events(event.seq - 1)
    assert event.data["message"] == "the build is green"
