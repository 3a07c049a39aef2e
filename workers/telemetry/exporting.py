"""Starts and stops this process's export of telemetry, if it is configured.

Imports OpenTelemetry only if its variables ask for an export.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

import structlog
from structlog.typing import EventDict

if TYPE_CHECKING:
    from cogitate.workers.telemetry.spans import Telemetry

SIGNALS = ("traces", "metrics")
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"

log = structlog.get_logger()

_lock = threading.Lock()
_started: Telemetry | None = None  # of this process


def exported_signals(environment: Mapping[str, str]) -> set[str]:
    """Return those of `SIGNALS` that OpenTelemetry's variables ask to export."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return set()
    return {
        signal
        for signal in SIGNALS
        if (environment.get(_ENDPOINT) or environment.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"))
        and environment.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp").strip() in ("", "otlp")
    }


def start(service: str) -> Telemetry | None:
    """Return this process's telemetry, which the first call starts; None if it is off or cannot start.

    Args:
        service: the service's name, unless OpenTelemetry's variables give one.
    """
    global _started
    with _lock:
        if _started is None and (signals := exported_signals(os.environ)):
            try:
                from cogitate.workers.telemetry.spans import Telemetry

                _started = Telemetry(service, signals)
            except ImportError as error:
                log.warning("telemetry.not_installed", missing=error.name, remedy="pip install 'cogitate[telemetry]'")
            except Exception as error:  # such as an invalid number; its text may quote a header with a key
                log.warning("telemetry.not_started", error=type(error).__name__, remedy="check the OTEL_* variables")
        return _started


def started() -> Telemetry | None:
    """Return this process's telemetry; None if it is off."""
    return _started


def stop() -> None:
    """Export what is pending if the receiver answers soon, and end this process's telemetry."""
    global _started
    with _lock:
        ended, _started = _started, None
    if ended is not None:
        ended.close()


def add_trace_ids(logger: object, method: str, event: EventDict) -> EventDict:
    """Add to an event the ids of the open span, or else of the trace of the job that the event names."""
    if _started is not None:
        event.update(_started.ids_for_log(event.get("job")))
    return event
