"""Every broker and worker setting, each with its reason. Values that an operator may change come from `Settings`.

A job's message only hints that there is work; the ledger has the job. So these settings do not make messages reliable:
they make a lost, repeated or stalled message cheap.
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
    """Return a value that depends on the host's settings and kinds at the time of access.

    Each kind has its own queue, so that no kind waits behind another and none needs a priority (the transport's
    priority steps would put 5 before 3). All queues are named here: a misspelt name is an error, not a queue without
    workers.
    """
    if name == "task_queues":
        return [Queue(kind.name, Exchange(kind.name, type="direct"), routing_key=kind.name) for kind in kinds()]
    if name == "task_routes":
        return {kind.name: {"queue": kind.name} for kind in kinds()}
    if name == "task_default_queue":  # must be one of the queues; unused, since every task has a route
        return kinds()[0].name
    if name == "broker_url":  # private socket, COGITATE_REDIS_URL's next database, or COGITATE_BROKER_URL
        return kombu_url(_settings.messages_url())
    if name == "broker_use_ssl":
        return tls(_settings.messages_url())
    # On RabbitMQ a worker's queue for remote commands must not be exclusive: a worker that has lost its network
    # reconnects before RabbitMQ drops the old connection, and would exit because the queue is locked. A durable queue
    # expires; newer versions of RabbitMQ refuse a queue that is neither exclusive nor durable.
    if name in ("control_queue_durable", "control_queue_exclusive"):
        url = _settings.broker_url  # RabbitMQ always has a URL here; the embedded server may not be running yet
        on_rabbitmq = url is not None and is_amqp_url(url.get_secret_value())
        return on_rabbitmq == (name == "control_queue_durable")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_settings = Settings()
adopt_import_paths()
load_kinds(_settings)

# Messages are JSON only. Pickle would let anyone who can write to Redis run code in a worker.
task_serializer = "json"
accept_content = ["json"]
result_accept_content = ["json"]
event_serializer = "json"

# Results go to the ledger. A result backend would store them twice, leak a subscription per call and grow forever.
result_backend = None
task_ignore_result = True

task_create_missing_queues = False  # see task_queues above

# Threads, since a job spends most of its time waiting for a model. They ignore Celery's time limits, so none is set:
# the HTTP client enforces a job's deadline. The extra slot is for jobs without a model
# (cogitate.workers.jobs.model_lane).
worker_pool = "threads"
worker_concurrency = _settings.concurrency + SPARE
worker_prefetch_multiplier = 1  # no other worker can run a job that this worker holds but does not run

# A message is acknowledged when its job starts. If the worker dies, the job's lease expires and the host sends another
# hint; late acknowledgement would only add a second, slower way to run the job twice.
task_acks_late = False
task_reject_on_worker_lost = False
task_track_started = True  # Flower shows running tasks

# Retry the connection forever, also at the start: the supervisor may start workers before the server answers.
broker_connection_retry_on_startup = True
broker_connection_max_retries = None
broker_connection_timeout = _settings.socket_timeout
worker_cancel_long_running_tasks_on_connection_loss = True  # concerns late acknowledgement only; unset, Celery warns

broker_transport_options = {  # each transport ignores the options of the other
    # Redis: separates our keys from others' in a shared database.
    "global_keyprefix": "cogitate:",
    # To redeliver the messages of a worker that vanishes, kombu would record each one in Redis and delete it again: two
    # round trips per job. The host repeats hints anyway, and sooner.
    "ack_emulation": False,
    # Two lists per queue (cogitate.workers.transport.hints); the default of four makes each BRPOP twice as long.
    "priority_steps": [QUICK, ASKING],
    # Without timeouts, a stalled server blocks the worker. They exceed the one second of kombu's own BRPOP.
    "socket_timeout": max(2.0, _settings.socket_timeout),
    "socket_connect_timeout": _settings.socket_timeout,
    "socket_keepalive": True,
    "health_check_interval": 10,  # seconds after which a half-open connection is noticed
    # RabbitMQ, which reads nothing while its memory or disk is full
    "write_timeout": max(2.0, _settings.socket_timeout),
}
broker_heartbeat = 10  # seconds; RabbitMQ and its clients notice a half-open connection after two of these
# The transport declares quorum queues and limits the messages that a worker holds
# (cogitate.workers.transport.amqp_transport). Celery would declare 28 exchanges and queues for delayed tasks; no hint
# has a delay.
worker_detect_quorum_queues = False

# Publishing fails early, since the host repeats hints as long as their job is open.
task_publish_retry = True
task_publish_retry_policy = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1}

# Connections per process. Flower sends each worker eight requests at once, each over two connections; in a smaller pool
# these requests wait for each other, and Flower shows no worker.
broker_pool_limit = 64

worker_disable_rate_limits = True  # Celery limits each worker alone; the gate limits endpoints for all workers

# Events for Flower. Workers' own events carry name, arguments, state and runtime, so the host sends none: a
# "task-sent" event would cost a second message per job.
worker_send_task_events = True
task_send_sent_event = False

# No eta, countdown or retry anywhere: due ticks live in the ledger, and a delay beyond the visibility timeout loops.
enable_utc = True
timezone = "UTC"

worker_hijack_root_logger = False  # keep the host's and structlog's handlers
worker_redirect_stdouts = False  # printed text is no log message
worker_enable_remote_control = True  # Flower and `celery inspect` ask workers over it
