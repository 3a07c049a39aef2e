"""Everything that runs outside the tick loop: the Celery app, its transport and messages, jobs and child processes.

`celery -A cogitate` finds the app in the public package; inside a clone, `celery -A workers` finds it here. The first
access creates the app, so that a host that runs its jobs inline does not load Celery.
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
