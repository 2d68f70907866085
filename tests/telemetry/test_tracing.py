"""Spans of an inquiry's life: read from OpenTelemetry's own exporter in memory."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from tests.web.house import CHOICE, House
from upcall.telemetry.tracing import DELIVERY, INQUIRY, InquirySpans


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with House.open(tmp_path) as opened:
        yield opened


class Collector:
    """Spans of the inquiries of a house, and what was exported when it is closed."""

    def __init__(self, house: House) -> None:
        self._exporter = InMemorySpanExporter()
        self.spans = InquirySpans(house.store, "1.2.3", self._exporter)

    async def exported(self) -> dict[str, ReadableSpan]:
        await self.spans.close()
        return {span.name: span for span in self._exporter.get_finished_spans()}


async def one_life(house: House, *collectors: Collector) -> str:
    for collector in collectors:
        await collector.spans.start()
    asked = await house.asked()
    house.clock.now += 40
    await house.answered(asked["id"])
    house.clock.now += 2
    await house.post("builder", f"{asked['id']}/collect")
    inquiry: str = asked["id"]
    return inquiry


@pytest.mark.promise("doorway/31")
async def test_an_inquiry_is_a_span_and_the_delivery_of_its_answer_another_below_it(house: House) -> None:
    collector = Collector(house)
    inquiry = await one_life(house, collector)
    spans = await collector.exported()
    assert set(spans) == {INQUIRY, DELIVERY}
    life, delivery = spans[INQUIRY], spans[DELIVERY]
    assert seconds(life) == 40
    assert seconds(delivery) == 2
    assert delivery.parent is not None
    assert life.context is not None
    assert delivery.context is not None
    assert (delivery.parent.span_id, delivery.context.trace_id) == (
        life.context.span_id,
        life.context.trace_id,
    )
    assert life.attributes == {
        "upcall.inquiry.id": inquiry,
        "upcall.inquiry.kind": "ask_user_question",
        "upcall.inquiry.agent": "builder",
        "upcall.inquiry.door": "http",
        "upcall.inquiry.state": "answered",
        "upcall.inquiry.channel": "api",
    }
    assert life.resource.attributes["service.name"] == "upcall"
    for text in ("Which cache?", "Redis"):
        assert text not in life.to_json() + delivery.to_json()


async def test_two_daemons_on_one_store_report_one_trace(house: House) -> None:
    first, second = Collector(house), Collector(house)
    await one_life(house, first, second)
    contexts = [
        {name: span.context for name, span in (await each.exported()).items()} for each in (first, second)
    ]
    assert contexts[0] == contexts[1]


async def test_a_question_that_expired_is_an_error_and_a_closed_one_without_answer_has_no_delivery(
    house: House,
) -> None:
    collector = Collector(house)
    await collector.spans.start()
    asked = await house.asked(**CHOICE, ttl=60)
    house.clock.now += 61
    assert (await house.post("ana", f"{asked['id']}/reject")).json()["inquiry"]["state"] == "expired"
    spans = await collector.exported()
    assert set(spans) == {INQUIRY}
    assert spans[INQUIRY].status.status_code is StatusCode.ERROR


def seconds(span: ReadableSpan) -> float:
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) / 1_000_000_000


def test_nothing_of_it_is_loaded_while_it_is_off() -> None:
    script = (
        "import sys; import upcall.daemon.server; "
        "print([name for name in sys.modules if name.startswith('opentelemetry.sdk') or name == 'upcall.telemetry.tracing'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
