"""Everything that runs outside the tick loop: the Celery app, its transport and messages, jobs, child processes.

`celery -A cogitate` finds the app by the public face; in the folder of a clone, `celery -A workers` finds it here. The
first access creates it, so that a host that only computes jobs itself does not load Celery.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from celery import Celery


def __getattr__(name: str) -> Celery:
    if name == "app":
        from cogitate.workers.celery_app import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
