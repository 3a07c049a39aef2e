"""Logs one warning per outage of a broker, however often a host tries to send hints."""

from __future__ import annotations

import structlog

log = structlog.get_logger()


class OutageLog:
    """The log of a broker's outages, as one sender sees them."""

    def __init__(self) -> None:
        self.away = False

    def failed(self, jobs: int, error: str) -> None:
        """Log that the broker took none of these hints: a warning the first time, afterwards a debug message."""
        (log.debug if self.away else log.warning)("hint.failed", jobs=jobs, error=error)
        self.away = True

    def taken(self, jobs: int) -> None:
        """Log that the broker takes hints again, if an outage ends."""
        if self.away:
            log.info("hint.restored", jobs=jobs)
            self.away = False
