"""Which routes a question takes, and when people are left alone."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from upcall.domain.channel.routing import DEAL, DESPAIR, TEST_DOOR, Place, Quiet, Route, Routing
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Closing, Inquiry, Kind, Open, Origin, Question

TEAM, BOSS, OPS = (Place(channel="slack", address=address) for address in ("C1", "U1", "C2"))
NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC).timestamp()
HOUR = 3600.0


def an_inquiry(**changes: Any) -> Inquiry:
    origin = Origin(agent="deploy-bot", session="s", door=changes.pop("door", "test"), workspace="shop")
    given: dict[str, Any] = {
        "id": "i1",
        "ref": "a7",
        "kind": Kind.CHOICE,
        "asked_at": NOON,
        "labels": ("database",),
        **changes,
    }
    return Inquiry(questions=(Question(text="?"),), origin=origin, expires_at=NOON + HOUR, **given)


def routing(*routes: Route) -> Routing:
    return Routing(routes=routes, channels=("slack", "mail"))


@pytest.mark.promise("spec/90")
@pytest.mark.parametrize(
    ("conditions", "fits"),
    [
        ({}, True),
        ({"agent": "deploy-*"}, True),
        ({"agent": "deploy"}, False),
        ({"workspace": "shop", "kind": "ask_user_question"}, True),
        ({"workspace": "other"}, False),
        ({"kind": "approval"}, False),
        ({"label": "data*"}, True),
        ({"label": "urgent"}, False),
    ],
)
def test_a_route_takes_what_meets_every_condition(conditions: dict[str, Any], fits: bool) -> None:  # noqa: FBT001 - a column of the table
    assert Route(places=(TEAM,), **conditions).fits(an_inquiry()) is fits


def test_asking_shows_it_in_every_place_of_the_first_route_that_fits() -> None:
    plan = routing(
        Route(places=(OPS,), kind="approval"), Route(places=(TEAM, BOSS)), Route(places=(OPS,), agent="x")
    )
    jobs = plan.consequences(lifecycle.asked(an_inquiry())).jobs
    assert [(job.kind, job.body["address"], job.due) for job in jobs] == [
        ("show:slack", "C1", NOON),
        ("show:slack", "U1", NOON),
    ]


def test_quiet_hours_are_those_of_the_people_there() -> None:
    tokyo = Quiet(begin=21 * 60, end=22 * 60, zone=ZoneInfo("Asia/Tokyo"))
    assert tokyo.until(NOON) == NOON + HOUR
    assert Quiet(begin=21 * 60, end=22 * 60, zone=UTC).until(NOON) == NOON


@pytest.mark.promise("spec/91")
def test_those_who_take_turns_are_chosen_when_it_is_asked() -> None:
    plan = routing(Route(places=(TEAM, BOSS), in_turn=True))
    (job,) = plan.consequences(lifecycle.asked(an_inquiry())).jobs
    assert (job.kind, job.body, job.due) == (DEAL, {"route": 0}, NOON)


def test_where_the_inbox_is_no_route_a_question_without_one_is_looked_at_again() -> None:
    nowhere = Routing(routes=(Route(places=(TEAM,), agent="x"),), channels=("slack",), inbox=False)
    (job,) = nowhere.consequences(lifecycle.asked(an_inquiry())).jobs
    assert job.kind == DESPAIR
    assert not routing(Route(places=(TEAM,), agent="x")).consequences(lifecycle.asked(an_inquiry()))


def test_a_question_that_tries_a_channel_takes_no_route() -> None:
    plan = routing(Route(places=(TEAM,)))
    assert not plan.consequences(lifecycle.asked(an_inquiry(door=TEST_DOOR)))


@pytest.mark.promise("spec/37", "spec/85")
def test_every_end_is_told_to_every_channel_and_nothing_else_is() -> None:
    plan, inquiry = routing(Route(places=(TEAM,))), an_inquiry()
    closing = Closing(by="ana", via="web", at=NOON + 1)
    rejected = lifecycle.reject(inquiry, closing)
    snoozed = lifecycle.snooze(inquiry, NOON + HOUR, by="ana", now=NOON)
    assert rejected is not None
    assert snoozed is not None
    jobs = plan.consequences(rejected).jobs
    assert [(job.kind, job.due) for job in jobs] == [("refresh:slack", NOON + 1), ("refresh:mail", NOON + 1)]
    assert not plan.consequences(snoozed)


def test_the_next_route_is_due_after_the_delay_if_there_is_one() -> None:
    first, second = Route(places=(TEAM,), escalate_after=900), Route(places=(BOSS,), escalate_after=900)
    plan = routing(first, second)
    shown, escalation = plan.consequences(lifecycle.asked(an_inquiry())).jobs
    assert (shown.kind, escalation.kind, escalation.due) == ("show:slack", "escalate", NOON + 900)
    assert [job.body["address"] for job in plan.take(an_inquiry(), 1, NOON).jobs] == ["U1"]
    assert not plan.take(an_inquiry(), 2, NOON)


@pytest.mark.promise("spec/92")
def test_reminders_end_and_wait_for_a_snooze() -> None:
    plan = routing(Route(places=(TEAM,)))
    assert plan.reminder(an_inquiry(), 0, 0, NOON) == NOON + 600
    assert plan.reminder(an_inquiry(), 0, 3, NOON) is None
    assert plan.reminder(an_inquiry(), 1, 0, NOON) is None
    snoozed = an_inquiry(state=Open(snoozed_until=NOON + HOUR))
    assert plan.reminder(snoozed, 0, 1, NOON) == NOON + HOUR


@pytest.mark.parametrize(
    ("hour", "over"),
    [(12.0, 12.0), (22.0, 31.0), (23.5, 31.0), (2.0, 7.0), (6.99, 7.0), (7.0, 7.0), (21.99, 21.99)],
)
def test_quiet_hours_go_over_midnight(hour: float, over: float) -> None:
    midnight = NOON - 12 * HOUR
    quiet = Quiet(begin=22 * 60, end=7 * 60, zone=UTC)
    assert quiet.until(midnight + hour * HOUR) == pytest.approx(midnight + over * HOUR)


@pytest.mark.promise("spec/92")
def test_what_is_asked_in_quiet_hours_is_shown_when_they_are_over() -> None:
    plan = routing(Route(places=(TEAM,), quiet=Quiet(begin=11 * 60, end=13 * 60, zone=UTC)))
    (job,) = plan.consequences(lifecycle.asked(an_inquiry())).jobs
    assert job.due == NOON + HOUR
    assert plan.reminder(an_inquiry(), 0, 0, NOON) == NOON + HOUR


def test_what_is_looked_at_before_its_time_is_not_shown_before_it() -> None:
    plan = routing(Route(places=(TEAM,), quiet=Quiet(begin=11 * 60, end=13 * 60, zone=UTC)))
    inquiry = an_inquiry()
    noon = datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp()
    assert plan.showable(inquiry, 0, noon) == noon + HOUR
    assert plan.showable(inquiry, 0, noon + 2 * HOUR) == noon + 2 * HOUR
    # A question that tries a channel has the number of no route.
    assert plan.showable(inquiry, 1, noon) == noon
