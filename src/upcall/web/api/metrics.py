"""`GET /metrics`: numbers to watch, for a scraper. They name channels and kinds, and no question, agent or person."""

from collections.abc import Mapping, Sequence

from starlette.responses import Response

from upcall.broker.broker import Broker
from upcall.dispatch.dispatcher import Dispatch
from upcall.domain.run.resume import RESUME
from upcall.telemetry.exposition import OPEN_METRICS, PROMETHEUS, exposed, wants_open_metrics
from upcall.telemetry.inquiries import InquiryMetrics
from upcall.telemetry.metrics import Family, Sample, counted, gauge
from upcall.web.call import Call

CHANNEL_QUEUES = ("show", "refresh", "say")
"""The jobs of a channel that are done as soon as possible. Others wait for their time, as a reminder does."""


class MetricsHandlers:
    """The handler of `/metrics`."""

    def __init__(
        self, broker: Broker, dispatch: Dispatch | None, counted: InquiryMetrics, version: str
    ) -> None:
        self._broker = broker
        self._dispatch = dispatch
        self._counted = counted
        self._version = version

    async def metrics(self, call: Call) -> Response:
        """Numbers to watch, in Prometheus' text format or in OpenMetrics."""
        open_metrics = wants_open_metrics(call.header(b"accept") or "")
        text = exposed(await self.families(), open_metrics=open_metrics)
        return Response(
            text, media_type=OPEN_METRICS if open_metrics else PROMETHEUS, headers={"Vary": "Accept"}
        )

    async def families(self) -> Sequence[Family]:
        """Everything that is counted or looked up."""
        store = self._broker.store
        return [
            gauge("upcall_build_info", "The version that runs.", 1, version=self._version),
            gauge("upcall_open_inquiries", "Inquiries waiting for a person.", await store.count_open()),
            gauge(
                "upcall_waiting_callers",
                "Callers blocked until an inquiry is settled, at this daemon.",
                self._broker.waiting,
            ),
            gauge("upcall_last_event", "Number of the latest event in the log.", await store.last_seq()),
            *await self._counted.families(),
            self._queues(await store.count_jobs()),
            counted(
                "upcall_channel_errors",
                "Calls of a channel that failed, at this daemon.",
                ("channel", "side"),
                {} if self._dispatch is None else self._dispatch.errors(),
            ),
        ]

    def _queues(self, jobs: Mapping[str, int]) -> Family:
        channels = () if self._dispatch is None else self._dispatch.names
        queues = [(queue, channel) for channel in channels for queue in CHANNEL_QUEUES] + [(RESUME, "")]
        samples = [
            Sample("", {"queue": queue, "channel": channel}, jobs.get(f"{queue}:{channel}".rstrip(":"), 0))
            for queue, channel in queues
        ]
        return Family(
            name="upcall_queue_jobs",
            kind="gauge",
            meaning="Jobs that are to be done as soon as possible: messages to show, refresh or say, sessions to resume.",
            samples=samples,
        )
