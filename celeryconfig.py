"""Every broker and worker setting, each with its reason. Values that an operator may change come from `Settings`.

The message of a job is a hint that there is work; the truth is in the ledger. So these settings do not make messages
reliable: they keep a lost, repeated or stalled message cheap.
"""

from __future__ import annotations

from kombu.entity import Exchange, Queue

from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.urls import is_amqp_url
from cogitate.tasks.registry import kinds
from cogitate.workers.jobs.model_lane import SPARE
from cogitate.workers.processes.worker_process import adopt_import_paths
from cogitate.workers.transport.broker_url import kombu_url, tls
from cogitate.workers.transport.hints import ASKING, QUICK


def __getattr__(name: str) -> object:
    """Return a value that depends on the host's own settings and kinds, at the time of access.

    One queue per kind, so that no kind waits behind another and no priority is needed (the transport's priority steps
    would put 5 before 3). Every queue has a name here: a misspelt one is an error instead of a queue without workers.
    """
    if name == "task_queues":
        return [Queue(kind.name, Exchange(kind.name, type="direct"), routing_key=kind.name) for kind in kinds()]
    if name == "task_routes":
        return {kind.name: {"queue": kind.name} for kind in kinds()}
    if name == "task_default_queue":  # must be one of the queues; every task has a route, so nothing falls back to it
        return kinds()[0].name
    if name == "broker_url":  # private socket, COGITATE_REDIS_URL's next database, or COGITATE_BROKER_URL
        return kombu_url(_settings.messages_url())
    if name == "broker_use_ssl":
        return tls(_settings.messages_url())
    # A worker's queue of remote commands on RabbitMQ must not be exclusive: a worker whose network was lost comes back
    # before RabbitMQ has given up its old connection, and would end because the queue is locked. A durable queue
    # expires; newer versions of RabbitMQ refuse one that is neither.
    if name in ("control_queue_durable", "control_queue_exclusive"):
        given = _settings.broker_url  # RabbitMQ is always named; the embedded server of another folder may be unknown
        by_amqp = given is not None and is_amqp_url(given.get_secret_value())
        return by_amqp == (name == "control_queue_durable")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_settings = Settings()
adopt_import_paths()
load_kinds(_settings)

# Messages are JSON only. Pickle would let anyone who can write to Redis run code in a worker.
task_serializer = "json"
accept_content = ["json"]
result_accept_content = ["json"]
event_serializer = "json"

# Results go to the ledger. A result backend would keep them twice, leak a subscription per call and grow without end.
result_backend = None
task_ignore_result = True

task_create_missing_queues = False  # see task_queues above

# Pool: a job waits for a model most of its time, so threads. They ignore Celery's time limits, which is why none are
# set: the HTTP client keeps the deadline of a job. One more slot is for jobs without a model
# (cogitate.workers.jobs.model_lane).
worker_pool = "threads"
worker_concurrency = _settings.concurrency + SPARE
worker_prefetch_multiplier = 1  # what a worker holds without running it, no other worker can run

# Acknowledged when it starts. A job whose worker dies is found by its lease and hinted again; late acknowledgement
# would only add a second, slower way to run it twice.
task_acks_late = False
task_reject_on_worker_lost = False
task_track_started = True  # Flower shows running tasks

# Reconnect for ever, at the start too: the supervisor may start workers before the server answers.
broker_connection_retry_on_startup = True
broker_connection_max_retries = None
broker_connection_timeout = _settings.socket_timeout
worker_cancel_long_running_tasks_on_connection_loss = True  # concerns late acknowledgement only; unset, Celery warns

broker_transport_options = {  # each transport ignores those of the other
    # Redis: separates our keys from others' in a shared database.
    "global_keyprefix": "cogitate:",
    # kombu would record each message that a worker holds in Redis and delete it again, two round trips a job, to
    # redeliver it when the worker vanishes. The host repeats hints anyway, and sooner.
    "ack_emulation": False,
    # Two lists a queue (cogitate.workers.transport.hints); the default of four makes each BRPOP twice as long.
    "priority_steps": [QUICK, ASKING],
    # Without these a stalled server blocks for as long as it stalls. Above kombu's own BRPOP of one second.
    "socket_timeout": max(2.0, _settings.socket_timeout),
    "socket_connect_timeout": _settings.socket_timeout,
    "socket_keepalive": True,
    "health_check_interval": 10,  # seconds after which a half-open connection is noticed
    # RabbitMQ, which takes nothing more while its memory or disk is full
    "write_timeout": max(2.0, _settings.socket_timeout),
}
broker_heartbeat = 10  # seconds; RabbitMQ and its clients notice a half-open connection after two of these
# The transport declares quorum queues and limits what a worker holds (cogitate.workers.transport.amqp_transport).
# Celery would declare 28 exchanges and queues for tasks with a delay, which no hint has.
worker_detect_quorum_queues = False

# Publishing fails soon: the host repeats hints for as long as their job is open.
task_publish_retry = True
task_publish_retry_policy = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1}

# Connections of one process. Flower sends each worker eight requests at once with two connections each; with a
# smaller pool its requests wait for each other and it shows no worker at all.
broker_pool_limit = 64

worker_disable_rate_limits = True  # a limit of Celery's is one worker's own; those of endpoints hold for all of them

# Events for Flower. Workers' own events carry name, arguments, state and runtime, so the host sends none: a
# "task-sent" event would cost a second message per job.
worker_send_task_events = True
task_send_sent_event = False

# No eta, countdown or retry anywhere: due ticks live in the ledger, and a delay beyond the visibility timeout loops.
enable_utc = True
timezone = "UTC"

worker_hijack_root_logger = False  # the host's and structlog's handlers stay
worker_redirect_stdouts = False  # printed text stays as it is
worker_enable_remote_control = True  # Flower and `celery inspect` ask workers over it
