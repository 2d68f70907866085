"""What a scraper reads: by the parsers of those who scrape, from what really happened."""

from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from tests.dispatch.test_dispatch import ONE, a_hall
from tests.docs.pages import rows
from tests.web.house import CHOICE, House
from upcall.domain.channel.routing import Route
from upcall.ports.channel import Refused, Unavailable
from upcall.telemetry.exposition import exposed, wants_open_metrics
from upcall.telemetry.inquiries import InquiryMetrics
from upcall.testing.examples import Clock
from upcall.web.api.metrics import MetricsHandlers

OPEN = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
PARSERS = {"text/plain": prometheus, "application/openmetrics-text": open_metrics}

Numbers = dict[tuple[str, tuple[tuple[str, str], ...]], float]


async def scraped(house: House, accept: str = "*/*") -> Numbers:
    """Every sample by its name and labels, read by the parser of the format that came."""
    response = await house.as_("watcher").get("/metrics", headers={"Accept": accept})
    return read(PARSERS[response.headers["content-type"].partition(";")[0]], response.text)


def read(parse: Any, text: str) -> Numbers:
    samples = [sample for family in parse(text) for sample in family.samples]
    found = {(each.name, tuple(sorted(each.labels.items()))): each.value for each in samples}
    assert len(found) == len(samples)
    return found


def named(numbers: Numbers, name: str, **labels: str) -> float:
    return numbers[name, tuple(sorted(labels.items()))]


@pytest.mark.promise("doorway/29")
@pytest.mark.parametrize("accept", ["*/*", OPEN, "application/openmetrics-text; version=1.0.0"])
async def test_both_parsers_read_what_happened(house: House, accept: str) -> None:
    await scraped(house)
    asked = await house.asked()
    await house.asked("builder", question="Deploy?", kind="approval")
    house.clock.now += 40
    await house.answered(asked["id"])
    house.clock.now += 0.5
    assert (await house.post("builder", f"{asked['id']}/collect")).status_code == 200
    numbers = await scraped(house, accept)
    assert named(numbers, "upcall_open_inquiries") == 1
    assert named(numbers, "upcall_waiting_callers") == 0
    assert named(numbers, "upcall_build_info", version="1.2.3") == 1
    assert named(numbers, "upcall_queue_jobs", queue="resume", channel="") == 0
    counts = {
        kind: named(numbers, "upcall_events_total", type=kind) for kind in ("asked", "answered", "failed")
    }
    assert counts == {"asked": 2, "answered": 1, "failed": 0}
    labels = {"channel": "api", "kind": "ask_user_question"}
    for name, seconds, least in (
        ("upcall_inquiry_answer_seconds", 40.0, 60),
        ("upcall_answer_delivery_seconds", 0.5, 0.5),
    ):
        assert named(numbers, f"{name}_count", **labels) == 1
        assert named(numbers, f"{name}_sum", **labels) == pytest.approx(seconds, abs=0.001)
        buckets = {
            float(dict(of)["le"]): count
            for (found, of), count in numbers.items()
            if found == f"{name}_bucket"
        }
        assert min(bound for bound, count in buckets.items() if count) == least
        assert buckets[float("inf")] == 1


async def test_a_place_that_a_caller_made_up_makes_no_series_of_its_own(house: House) -> None:
    await scraped(house)
    for number in range(3):
        asked = await house.asked()
        body: dict[str, Any] = {"text": "Redis", "via": f"made-up-{number}"}
        assert (await house.post("ana", f"{asked['id']}/answer", **body)).json()["accepted"]
    numbers = await scraped(house)
    assert (
        named(numbers, "upcall_inquiry_answer_seconds_count", channel="other", kind="ask_user_question") == 3
    )
    assert not any("made-up" in str(labels) for _, labels in numbers)


async def test_what_policy_decided_is_no_answer_of_a_person(house: House) -> None:
    await scraped(house)
    asked = await house.asked(**CHOICE, default="Redis", ttl=60)
    house.clock.now += 61
    late = (await house.post("ana", f"{asked['id']}/answer", text="Memcached")).json()
    assert (late["accepted"], late["inquiry"]["answer"]["by"]) == (False, "policy")
    numbers = await scraped(house)
    assert named(numbers, "upcall_events_total", type="answered") == 1
    assert not [name for name, _ in numbers if name.startswith("upcall_inquiry_answer_seconds")]


@pytest.mark.promise("doorway/29")
@pytest.mark.parametrize(("problem", "left"), [(Unavailable("no reply"), 1), (Refused("not this"), 0)])
async def test_a_channel_counts_its_errors_and_what_it_still_has_to_do(
    tmp_path: Path, problem: Exception, left: int
) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,)), clock=Clock()) as hall:
        metrics = MetricsHandlers(hall.broker, hall.dispatch, InquiryMetrics(hall.broker.store), "1")
        hall.one.failures = [problem]
        await hall.ask()
        await hall.said("undelivered", 0)
        numbers = read(prometheus, exposed(await metrics.families(), open_metrics=False))
    assert named(numbers, "upcall_channel_errors_total", channel="one", side="sending") == 1
    assert named(numbers, "upcall_channel_errors_total", channel="one", side="listening") == 0
    assert named(numbers, "upcall_channel_errors_total", channel="two", side="sending") == 0
    assert named(numbers, "upcall_queue_jobs", channel="one", queue="show") == left
    assert named(numbers, "upcall_queue_jobs", channel="two", queue="show") == 0


async def test_every_metric_is_on_the_page_for_operators(house: House) -> None:
    text = (await house.as_("watcher").get("/metrics", headers={"Accept": OPEN})).text
    parse: Any = open_metrics
    kinds = {family.name: family.type for family in parse(text)}
    written = {name.removesuffix("_total"): kind for name, kind, *_ in rows("operating.md", "metric")}
    assert kinds == written


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", False),
        ("*/*", False),
        ("text/plain", False),
        ("application/openmetrics-text", True),
        (OPEN, True),
        ("application/openmetrics-text;q=0.2, text/plain;q=0.9", False),
        ("application/openmetrics-text;q=0", False),
        ("application/openmetrics-text;q=much", False),
    ],
)
def test_open_metrics_comes_where_it_is_liked_best(accept: str, *, wanted: bool) -> None:
    assert wants_open_metrics(accept) is wanted
