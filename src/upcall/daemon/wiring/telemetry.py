"""Metrics, and spans where `tracing` is on."""

import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from upcall import __version__
from upcall.config.settings import Config
from upcall.home.program import installing
from upcall.ports.store import Store
from upcall.telemetry.inquiries import InquiryMetrics

log = logging.getLogger("upcall.telemetry")


@asynccontextmanager
async def watched(
    store: Store, config: Config, channels: Callable[[], Collection[str]]
) -> AsyncIterator[InquiryMetrics]:
    """Count what the log says, and report it as spans where that is wanted.

    Spans are for those who look after Upcall: without their library questions are asked and answered all the same.
    """
    metrics = InquiryMetrics(store, channels)
    spans = None
    if config.tracing:
        try:
            # An extra, and loading it takes longer than everything else here.
            from upcall.telemetry.tracing import InquirySpans  # noqa: PLC0415 - see above
        except ImportError as error:
            log.warning("tracing is off: %s; %s", error, installing("otel"))
        else:
            spans = InquirySpans(store, __version__)
    await metrics.start()
    try:
        if spans is not None:
            await spans.start()
        yield metrics
    finally:
        await metrics.close()
        if spans is not None:
            await spans.close()
