"""What may go wrong, how often in a seed's run, and in which states of jobs and host it was tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from redis import Redis

from cogitate.scheduler.ledger.keys import incarnation_key, run_base
from tests.simulation.seeded.scene import RUN

#: Between two steps: weight of each, when its kind is on in a seed.
BETWEEN = {
    "host killed": 3,
    "host stopped": 2,
    "second host": 2,
    "worker killed": 4,
    "worker stopped": 4,
    "message lost": 5,
    "message doubled": 5,
    "message delayed": 5,
    "messages reordered": 2,
    "broker wiped": 2,
    "server stalled": 2,
    "server restarted": 2,
    "wall clock jumped": 2,
    "older worker": 2,
}
#: Of one call to the server.
OF_CALLS = ("call refused", "call delayed", "call landed late", "reply lost")
#: Of one request to the model.
OF_REQUESTS = ("request failed", "request slow", "worker killed by request")
_DRAWN = (*BETWEEN, *OF_CALLS, *OF_REQUESTS)
#: Of operators, in seeds that have one.
CANCELS = "jobs cancelled"
FAULTS = (*_DRAWN, CANCELS)

JOB_STATES = ("unclaimed", "running", "freed", "staged", "dead", "held")
HOST_STATES = ("absent", "read", "acquire", "collect", "wait", "advance", "reply", "idle", "finish")
STATES = (*(f"job {state}" for state in JOB_STATES), *(f"host {state}" for state in HOST_STATES))

#: A host that is not there cannot be killed or stopped.
PAIRS = tuple(
    (state, fault)
    for state in STATES
    for fault in FAULTS
    if not (state == "host absent" and fault in ("host killed", "host stopped"))
)

Coverage = Counter[tuple[str, str]]  # (state, fault)

_STATES = """
local incarnation = redis.call('GET', KEYS[1])
if not incarnation then return {} end
local run, found = ARGV[1] .. incarnation .. ':', {}
for _, key in ipairs(redis.call('SMEMBERS', run .. 'jobs')) do
  local job = redis.call('HMGET', run .. 'job:' .. key, 'state', 'token', 'claims')
  local state = job[1] or 'missing'
  if state == 'open' then
    state = 'unclaimed'
    if job[2] ~= '' then state = 'running' elseif job[3] ~= '0' then state = 'freed' end
  end
  found[state] = 1
end
local names = {}
for state in pairs(found) do names[#names + 1] = state end
return names
"""


class Rates:
    """The faults of a seed and their probabilities. Many seeds have few: all faults together hide bugs."""

    def __init__(self, draw: Random, focus: Sequence[str] = ()) -> None:
        calm = draw.random() < 0.05
        on = [] if calm else [name for name in _DRAWN if draw.random() < draw.choice((0.25, 0.6, 0.9))]
        self.between = {name: BETWEEN[name] for name in on if name in BETWEEN}
        self.each_step = draw.choice((0.003, 0.01, 0.03)) if self.between else 0.0
        self.of_calls = {name: draw.choice((0.003, 0.01, 0.03)) for name in on if name in OF_CALLS}
        self.of_requests = {name: draw.choice((0.05, 0.2)) for name in on if name in OF_REQUESTS}
        if "worker killed by request" in self.of_requests:
            self.of_requests["worker killed by request"] = 0.04
        for name in focus:
            if name == CANCELS:
                continue
            if name in OF_CALLS:
                self.of_calls[name] = 0.1
            elif name in OF_REQUESTS:
                self.of_requests[name] = 0.3
            else:
                self.between[name] = 30
                self.each_step = 0.05
        self._names, self._weights = list(self.between), list(self.between.values())

    def between_steps(self, draw: Random) -> str | None:
        """Return the fault that happens now, if any."""
        if draw.random() >= self.each_step:
            return None
        return draw.choices(self._names, self._weights)[0]

    @staticmethod
    def one_of(rates: dict[str, float], draw: Random) -> str | None:
        """Return the fault that happens to one call or request, if any."""
        for name, rate in rates.items():
            if draw.random() < rate:
                return name
        return None


class JobStates:
    """The states of the run's jobs."""

    def __init__(self, client: Redis) -> None:
        self._script = client.register_script(_STATES)

    def now(self) -> list[str]:
        """Return the states of the open jobs."""
        found: Any = self._script(keys=[incarnation_key(RUN)], args=[run_base(RUN)])
        return sorted(f"job {name.decode()}" for name in found)


def empty_pairs(coverage: Coverage) -> list[str]:
    """Return the pairs of a state and a fault that never occurred together."""
    return [f"{fault} while {state}" for state, fault in PAIRS if not coverage[state, fault]]
