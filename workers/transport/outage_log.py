"""The log of a broker that does not take hints: one warning for each outage, however often a host tries."""

from __future__ import annotations

import structlog

log = structlog.get_logger()


class OutageLog:
    """The outages of a broker, as senders see them."""

    def __init__(self) -> None:
        self.away = False

    def failed(self, jobs: int, error: str) -> None:
        """Log that the broker took none of these hints; a warning the first time, else for debugging."""
        (log.debug if self.away else log.warning)("hint.failed", jobs=jobs, error=error)
        self.away = True

    def taken(self, jobs: int) -> None:
        """Log that the broker takes hints again, if it did not before."""
        if self.away:
            log.info("hint.restored", jobs=jobs)
            self.away = False
