"""The state of each endpoint: its breaker, its calls in flight, and the outcomes of all calls so far.

It comes from the state of the workers' gate (`workers/lua/enter.lua` lists the keys). The counts cover all runs
together and only inform operators; a run's spending is in its ledger.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from redis import Redis

from cogitate.scheduler.ledger.connect import read_list, read_members, server_time
from cogitate.scheduler.ledger.keys import ENDPOINTS, endpoint_keys

_SECOND = 1_000_000  # microseconds
#: The gate's counters.
_COUNTED = (
    "calls",
    "requests",
    "tokens",
    "estimated",
    "reasoning",
    "waits",
    "openings",
    "discount",
)

BreakerState = Literal["closed", "open", "half-open"]


class EndpointVitals(msgspec.Struct, frozen=True, kw_only=True):
    """One endpoint. Times are seconds."""

    endpoint: str
    server: str = ""  # the address that the newest caller named; "": unknown
    breaker: BreakerState  # half-open: a call may probe the endpoint, or is probing it
    why: str  # class of the failure that opened the breaker
    changed: float | None  # time since the breaker opened or closed; None: it was never open
    next_probe: float | None  # time until a call may probe; None: closed, or a probe is running
    set_aside: dict[str, str]  # models that the gate currently refuses, with the class of the failure
    held: float  # time until the end of the longest pause that the endpoint requested
    usual: float | None  # usual duration of a successful call
    p50: float | None = None  # over the latest successful calls, at most 200; None: none yet
    p95: float | None = None
    in_flight: int  # calls; counted only if the endpoint has a limit on them
    calls: int
    requests: int  # HTTP requests that were sent
    tokens: int
    estimated: int  # tokens that the endpoint did not report, of `tokens`
    reasoning: int  # reasoning tokens that the endpoint reported, of `tokens`
    failures: dict[str, int]  # calls by class of failure; "flex_refused": the standard service tier took them
    #: Calls by the service tier that answered, if the endpoint names it.
    service_tiers: dict[str, int] = msgspec.field(default_factory=dict)
    discount: int = 0  # micro-dollars saved against the standard service tier
    refused: dict[str, int]  # jobs that continued without a call, by reason
    waits: int  # calls that had to wait
    waited: float  # total waiting time of these calls
    openings: int  # how often the breaker opened


def endpoint_vitals(client: Redis) -> list[EndpointVitals]:
    """Return every endpoint that was ever called, by name."""
    names = sorted(raw.decode() for raw in read_members(client, ENDPOINTS))
    clocks = [server_time(client, endpoint_keys(name)[0]) for name in names]
    now = [seconds * _SECOND + microseconds for seconds, microseconds in clocks]
    pipeline = client.pipeline(transaction=False)
    for name, at in zip(names, now, strict=True):
        gate, slots, counters, times, *_ = endpoint_keys(name)
        pipeline.hgetall(gate)
        pipeline.hgetall(counters)
        pipeline.zcount(slots, at, "+inf")
        pipeline.lrange(times, 0, -1)
    read = pipeline.execute()
    return [_vitals(name, now[at], *read[4 * at : 4 * at + 4]) for at, name in enumerate(names)]


class EndpointChange(NamedTuple):
    """A change of an endpoint's breaker, or of whether the gate admits calls to one of its models."""

    endpoint: str
    at: float  # seconds since 1970
    what: Literal["opened", "closed", "set_aside", "asked_again"]
    why: str = ""  # class of the failure; only for "opened" and "set_aside"
    model: str = ""  # only for "set_aside" and "asked_again"


def endpoint_changes(client: Redis, endpoints: Iterable[str]) -> list[EndpointChange]:
    """Return the latest changes of these endpoints, at most a hundred of each, oldest first."""
    changes = [_change(name, line.decode()) for name in endpoints for line in read_list(client, endpoint_keys(name)[4])]
    return sorted(changes, key=lambda change: change.at)


def _change(endpoint: str, line: str) -> EndpointChange:
    at, what, *rest = line.split(" ", 3 if " set_aside " in line else 2)
    seconds = int(at) / _SECOND
    match what, rest:
        case "opened", [why]:
            return EndpointChange(endpoint, seconds, "opened", why)
        case "set_aside", [why, model]:
            return EndpointChange(endpoint, seconds, "set_aside", why, model)
        case "asked_again", [model]:
            return EndpointChange(endpoint, seconds, "asked_again", model=model)
        case _:
            return EndpointChange(endpoint, seconds, "closed")


def usual_seconds(client: Redis, servers: Mapping[str, str]) -> dict[str, float]:
    """Return the usual seconds of a successful call, by endpoint.

    Args:
        servers: endpoint -> address that the workers call, if known; what was measured at another does not count.
    """
    every = vitals_at(client, servers)
    return {vitals.endpoint: vitals.usual for vitals in every if vitals.usual is not None}


def unreachable_endpoints(client: Redis, among: Collection[str], servers: Mapping[str, str]) -> list[str]:
    """Return those of these endpoints whose breaker is open, by name; `servers` as for `usual_seconds`."""
    every = vitals_at(client, servers)
    return [vitals.endpoint for vitals in every if vitals.endpoint in among and vitals.breaker != "closed"]


def vitals_at(client: Redis, servers: Mapping[str, str]) -> list[EndpointVitals]:
    """Return every endpoint that was called, without those whose state comes from another address than in `servers`."""
    return [one for one in endpoint_vitals(client) if one.server in ("", servers.get(one.endpoint, one.server))]


def _vitals(
    name: str, now: int, gate: dict[bytes, bytes], counters: dict[bytes, bytes], in_flight: int, times: list[bytes]
) -> EndpointVitals:
    def at(field: str) -> float | None:
        value = gate.get(field.encode())
        return float(value) if value else None

    def left(field: str) -> float:
        return max(0.0, ((at(field) or 0.0) - now) / _SECOND)

    counts = {field.decode(): int(value) for field, value in counters.items()}
    is_open = gate.get(b"state") == b"open"
    trying = bool(gate.get(b"probe")) and left("probe_until") > 0
    breaker: BreakerState = "closed"
    if is_open:
        breaker = "half-open" if trying or not left("probe_at") else "open"
    since, usual = at("since"), at("usual")
    ordered = sorted(int(took) / _SECOND for took in times)
    return EndpointVitals(
        endpoint=name,
        server=gate.get(b"server", b"").decode(),
        breaker=breaker,
        why=gate.get(b"why", b"").decode() if is_open else "",
        changed=None if since is None else round((now - since) / _SECOND, 3),
        next_probe=round(left("probe_at"), 3) if is_open and not trying else None,
        set_aside={
            field.decode().removeprefix("aside:"): value.split()[1].decode()
            for field, value in sorted(gate.items())
            if field.startswith(b"aside:")
        },
        held=round(max(left(field.decode()) for field in [b"hold", *gate] if field.startswith(b"hold")), 3),
        usual=None if usual is None else round(usual / _SECOND, 3),
        p50=percentile(ordered, 50),
        p95=percentile(ordered, 95),
        in_flight=in_flight,
        failures=_named(counts, "failures:"),
        service_tiers=_named(counts, "tier:"),
        refused=_named(counts, "refused:"),
        waited=counts.get("waited_ms", 0) / 1000,
        **{name: counts.get(name, 0) for name in _COUNTED},
    )


def percentile(ordered: Sequence[float], percent: int) -> float | None:
    """Return a percentile (nearest rank) of sorted seconds; None if there are none."""
    return round(ordered[max(0, -(-len(ordered) * percent // 100) - 1)], 3) if ordered else None


def _named(counts: dict[str, int], prefix: str) -> dict[str, int]:
    named = ((name.removeprefix(prefix), count) for name, count in counts.items() if name.startswith(prefix))
    return dict(sorted(named, key=lambda pair: (-pair[1], pair[0])))
