"""The preparation of a worker process before its first message: a worker that cannot run jobs exits instead.

A worker with a broken template, or with settings that its runner refuses, would fail on every message, although other
workers could run the jobs. It exits with one line that says why, and records the reason in place of its heartbeat, so
that `cogitate status`, `cogitate doctor` and Flower report it.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from celery import signals
from celery.worker import state
from redis.exceptions import RedisError

from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.connect import connect
from cogitate.scheduler.ledger.worker_signs import WorkerTrouble, give_sign
from cogitate.workers.processes import lifeline
from cogitate.workers.processes.before_claim import BEFORE_CLAIM, reason_of
from cogitate.workers.transport import redis_transport


def register() -> None:
    """Make workers prepare before they take messages, and exit if they turn out unable to run jobs."""
    signals.celeryd_after_setup.connect(_prepare)
    signals.worker_process_init.connect(_warm_up)


def _prepare(sender: str, instance: Any, **_: object) -> None:
    """Load what jobs need, which takes a second, or exit."""
    try:
        if "prefork" in getattr(instance.pool_cls, "__module__", str(instance.pool_cls)):
            from cogitate.tasks.registry import use_prompts  # imported here: neither publishing nor Flower needs it

            use_prompts(Settings().prompts)  # threads do not survive a fork: each child makes its runner
        else:
            _warm_up()
    except (RedisError, OSError):  # the server is down: the first job tries again
        pass
    except Exception as error:
        why = reason_of(error)
        print(f"cogitate: this worker cannot run jobs: {why}", file=sys.stderr, flush=True)
        _leave_mark(sender, why)
        raise SystemExit(lifeline.CANNOT_START) from None
    BEFORE_CLAIM.end_with(_end)


def _warm_up(**_: object) -> None:
    from cogitate.workers.jobs.runner import warm_up  # here, for the same reason

    warm_up()


def _end() -> None:
    """Take no further messages, finish the running jobs, and exit."""
    redis_transport.take_within(lambda: 0)
    state.should_stop = lifeline.USELESS


def _leave_mark(worker: str, why: str) -> None:
    settings = Settings()
    with contextlib.suppress(RedisError, OSError, ConfigurationError):  # the log still says why
        client = connect(settings.state_url(), settings.socket_timeout, retries=0)
        give_sign(client, worker, lifeline.supervisor(), (), WorkerTrouble(why=why, ended=True))
        client.close()
