"""Spans of an inquiry's life for OpenTelemetry, from the log. The SDK is an extra, loaded where `tracing` is on.

Where spans go, and how many, is said by the SDK's own variables: `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_SAMPLER` and the
others. The ids of spans follow from the id of the inquiry, so what two daemons on one store report is the same trace.
"""

import asyncio
import hashlib
import logging

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from typing_extensions import override

from upcall.domain.inquiry.inquiry import Answered, Expired, Failed, Inquiry, Open
from upcall.ports.store import Event, Store
from upcall.telemetry.batches import Batches

INQUIRY, DELIVERY = "upcall.inquiry", "upcall.answer.delivery"

log = logging.getLogger("upcall.telemetry")


class InquirySpans:
    """Reports each inquiry once it is resolved, and the delivery of its answer once there is evidence of it."""

    def __init__(self, store: Store, version: str, exporter: SpanExporter | None = None) -> None:
        self._ids = _InquiryIds()
        ours = Resource({SERVICE_NAME: "upcall", SERVICE_VERSION: version})
        # What the variables of OpenTelemetry say comes before what we say.
        self._provider = TracerProvider(
            resource=ours.merge(OTELResourceDetector().detect()),
            id_generator=self._ids,
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("upcall", version)
        self._batches = Batches("tracing the log", store, self._take, log)

    async def start(self) -> None:
        """Report from now on."""
        await self._batches.start()

    async def close(self) -> None:
        """Send what is left; the exporter bounds how long that takes."""
        await self._batches.close()
        await asyncio.to_thread(self._provider.shutdown)

    def _take(self, event: Event) -> None:
        inquiry = event.subject
        if inquiry is None:
            return
        if event.type == inquiry.state_name and not isinstance(inquiry.state, Open):
            self._report_inquiry(inquiry, event.at)
        elif event.type == "collected" and isinstance(inquiry.state, Answered):
            self._report_delivery(inquiry, inquiry.state.closing.at, event)

    def _report_inquiry(self, inquiry: Inquiry, ended: float) -> None:
        assert not isinstance(inquiry.state, Open)
        attributes = {
            **_named(inquiry),
            "upcall.inquiry.state": inquiry.state_name,
            "upcall.inquiry.channel": inquiry.state.closing.via,
        }
        self._ids.about(inquiry.id, INQUIRY)
        span = self._tracer.start_span(
            INQUIRY, Context(), SpanKind.SERVER, attributes, start_time=_ns(inquiry.asked_at)
        )
        if isinstance(inquiry.state, Expired | Failed):
            span.set_status(Status(StatusCode.ERROR, inquiry.state_name))
        span.end(_ns(ended))

    def _report_delivery(self, inquiry: Inquiry, answered: float, event: Event) -> None:
        number = _number(inquiry.id, "trace", 16)
        kept = self._provider.sampler.should_sample(None, number, INQUIRY).decision is not Decision.DROP
        parent = SpanContext(
            trace_id=number,
            span_id=_number(inquiry.id, INQUIRY, 8),
            is_remote=True,
            trace_flags=TraceFlags(TraceFlags.SAMPLED if kept else TraceFlags.DEFAULT),
        )
        self._ids.about(inquiry.id, DELIVERY)
        span = self._tracer.start_span(
            DELIVERY,
            trace.set_span_in_context(NonRecordingSpan(parent)),
            SpanKind.PRODUCER,
            {**_named(inquiry), "upcall.answer.evidence": str(event.data.get("evidence", ""))},
            start_time=_ns(answered),
        )
        span.end(_ns(event.at))


class _InquiryIds(IdGenerator):
    """Derives the ids of a span from its inquiry and its name."""

    def __init__(self) -> None:
        self._inquiry = self._span = ""

    def about(self, inquiry: str, span: str) -> None:
        """Set what the next span is about. Spans are made on one thread, one after the other."""
        self._inquiry, self._span = inquiry, span

    @override
    def generate_span_id(self) -> int:
        return _number(self._inquiry, self._span, 8)

    @override
    def generate_trace_id(self) -> int:
        return _number(self._inquiry, "trace", 16)


def _named(inquiry: Inquiry) -> dict[str, str]:
    """What every span says of its inquiry: never a text of it."""
    return {
        "upcall.inquiry.id": inquiry.id,
        "upcall.inquiry.kind": inquiry.kind.value,
        "upcall.inquiry.agent": inquiry.origin.agent,
        "upcall.inquiry.door": inquiry.origin.door,
    }


def _number(inquiry: str, what: str, size: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{inquiry} {what}".encode()).digest()[:size])


def _ns(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
