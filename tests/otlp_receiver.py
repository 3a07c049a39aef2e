"""A receiver of OpenTelemetry traces and metrics, by OTLP over HTTP on loopback."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue


class ReceivedSpan(NamedTuple):
    """A received span."""

    service: str
    name: str
    trace: str
    span: str
    parent: str  # "" for a root span
    began: int
    ended: int
    failed: bool
    attributes: dict[str, Any]


def _values(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair) for pair in pairs}


def _value(pair: KeyValue) -> Any:
    return getattr(pair.value, str(pair.value.WhichOneof("value")))


@dataclass
class OtlpReceiver:
    """A receiver that runs for a `with` block; if `mute`, it accepts requests and never answers."""

    mute: bool = False
    raw: list[bytes] = field(default_factory=list)  # bodies and headers, as they came
    spans: list[ReceivedSpan] = field(default_factory=list)
    points: dict[str, list[tuple[str, Any, dict[str, Any], Any]]] = field(default_factory=dict)  # newest by process

    def __enter__(self) -> Self:
        self._ended = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.raw += [body, str(self.headers).encode()]
                if receiver.mute:
                    receiver._ended.wait()
                    return
                {"/v1/traces": receiver._take_traces, "/v1/metrics": receiver._take_metrics}[self.path](body)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    def named(self, start: str) -> list[ReceivedSpan]:
        """Return the spans whose names begin with `start`."""
        return [span for span in self.spans if span.name.startswith(start)]

    def _take_traces(self, body: bytes) -> None:
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = _values(group.resource.attributes)["service.name"]
            for scope in group.scope_spans:
                self.spans += [
                    ReceivedSpan(
                        service,
                        one.name,
                        one.trace_id.hex(),
                        one.span_id.hex(),
                        one.parent_span_id.hex(),
                        one.start_time_unix_nano,
                        one.end_time_unix_nano,
                        one.status.code == one.status.STATUS_CODE_ERROR,
                        _values(one.attributes),
                    )
                    for one in scope.spans
                ]

    def _take_metrics(self, body: bytes) -> None:
        for group in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            resource = _values(group.resource.attributes)
            process = f"{resource['service.name']} {resource.get('service.instance.id')}"
            for metric in (metric for scope in group.scope_metrics for metric in scope.metrics):
                others = [point for point in self.points.get(metric.name, []) if point[0] != process]
                new = [(process, metric.unit, _values(one.attributes), one) for one in metric.histogram.data_points]
                self.points[metric.name] = others + new
