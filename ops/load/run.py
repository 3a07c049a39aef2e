"""Runs a load test: a town under a profile's phases, with a real server, workers and HTTP endpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.effects import Effect
from cogitate.memory.errors import CogitateError
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import MODEL
from cogitate.ops.load.endpoint import LoadEndpoint
from cogitate.ops.load.figures import (
    LoadRecorder,
    TickFigures,
    evidence_share,
    figures,
    spent_tokens,
    unreported_tokens,
)
from cogitate.ops.load.profiles import Demanded, LoadProfile, Phase
from cogitate.ops.world_choice import WorldChoice, settings_for
from cogitate.ops.world_driver import drive, loop_of
from cogitate.scheduler.config.controls import FULL, SetCadence
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.inspection.vitals import open_kinds
from cogitate.scheduler.intake.observations import Observation
from cogitate.scheduler.steering.operators import ask
from cogitate.scheduler.steering.throttle import KIND
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.simulation.town.perception import Seen
from cogitate.simulation.town.town import Town
from cogitate.simulation.world import World

RUN = "load"
INPUT_PRICE, OUTPUT_PRICE = 150_000, 600_000  # of the stand-in model, in micro-dollars per million tokens
QUEUE_SAMPLES = 150  # per test
READY = 90.0  # seconds within which workers must have started
Watch = Callable[[Phase, TickFigures], None]


class WorkersMissing(CogitateError, RuntimeError):
    """The workers of a load test did not start in time."""


def load_settings(profile: LoadProfile, data_dir: Path, **over: Any) -> Settings:
    """Return the settings of a test, with no limits but those in `over`, and with a breaker as fast as the ticks."""
    fixed: dict[str, Any] = {
        "data_dir": data_dir,
        "redis_url": None,
        "redis_urls": (),
        "broker_url": None,
        "llm": "openai",
        "limits": {},
        "seconds_per_tick": 60 * profile.minutes_per_tick,
        "reflection_interval": profile.reflection_interval,
        "throttle_interval": profile.throttle_interval,
        "act_interval": profile.act_interval // profile.minutes_per_tick,
        "act_per_tick": max(1, profile.agents),
        "latency": dict(profile.latency),
        "wait": profile.wait,
        "spread": profile.spread,
        "tick_rate": profile.tick_rate * profile.phases[0].speed,
        "real_day_tokens": None,
        "real_day_usd": None,
        "job_deadline": 2.0,
        "breaker_failures": 3,
        "breaker_pause": 0.2,
        "breaker_longest_pause": 0.4,
        "repair_from": 1440,
        "journal_keep": None,
    }
    own = {
        "model": MODEL,
        "input_price": INPUT_PRICE,
        "output_price": OUTPUT_PRICE,
        "api_key": "any",
        "limit_tokens": 10**12,
        "endpoints": {},
        "models": {},
        "tiers": {},
        "kind_tiers": {},
    }
    return Settings.tuned(**(fixed | ({} if "base_url" in over else own) | over))


class GrowingTown(Town):
    """A town that reports only its first `present` agents, for new runs only.

    `present` may only grow, since an owner that has left a run cannot return.
    """

    present = 1

    def owners(self) -> Mapping[str, Profile]:
        return dict(islice(super().owners().items(), self.present))

    def step(self, tick: int, minute: int) -> list[Seen]:
        """Advance, and return the observations of the present agents."""
        present = self.owners()
        return [seen for seen in super().step(tick, minute) if seen[0] in present]

    def take_effects(self) -> list[Effect]:
        present = self.owners()
        return [effect for effect in super().take_effects() if effect.owner in present]


class LoadTest:
    """A load test. `run` returns when all phases are over, or after `stop`."""

    def __init__(
        self, profile: LoadProfile, settings: Settings, watch: Watch | None = None, longest: float | None = None
    ) -> None:
        """Prepare a test.

        Args:
            watch: called with each tick.
            longest: seconds after which the test stops.
        """
        self.profile = profile
        self.settings = settings
        self.recorder = LoadRecorder()
        self._watch = watch
        self._longest = longest
        self._endpoint: LoadEndpoint | None = None
        self._phase = -1
        self._begun = 0.0
        self._queue: int | None = None
        self._loop: TickLoop
        self._world: World
        self._growing: GrowingTown | None = None  # the world, if it is a town
        self._demand = list(profile.demand)

    def run(self) -> dict[str, Any]:
        """Run all phases and return the figures."""
        profile, settings = self.profile, self.settings
        minutes, start = profile.minutes_per_tick, profile.start_minute
        world: World
        if profile.story:
            world = WorldChoice(story=True, minutes_per_tick=minutes, start_minute=start).open()
        else:
            world = self._growing = GrowingTown(profile.agents, minutes_per_tick=minutes, start_minute=start)
            self._growing.present = self._present(profile.phases[0])
        settings = settings_for(world, settings)
        self._world = world
        with ExitStack() as stack:
            if settings.base_url is None:
                self._endpoint = stack.enter_context(LoadEndpoint())
                settings = settings.model_copy(update={"base_url": self._endpoint.url})
            self._loop = loop = stack.enter_context(
                loop_of(world, RUN, settings, ticks=profile.ticks, watchers=[self._committed])
            )
            wait_for_workers(loop.ledger.client, settings.workers)
            earlier = unreported_tokens(loop.ledger.client)
            drive(loop, world, on_tick=self._turn)
            assert loop.pool is not None, "a load test has workers"
            loop.pool.stop()  # once the workers have exited, every call has reported its tokens
            stand_in = self._endpoint.url if self._endpoint is not None else None
            spent = spent_tokens(loop.ledger.store, stand_in, earlier)
            return figures(
                profile,
                self.recorder,
                open_reflections=sum(key.kind == KIND for key in loop.state.open),
                waiting=loop.state.steering.throttle.postponing.waiting,
                interval=settings.tuning.throttle_interval,
                evidence=evidence_share(loop.state.streams.values(), profile.begin),
                spent=spent,
            )

    def stop(self) -> None:
        """Stop after the current tick; before the first tick, at once."""
        if not self._begun:
            raise KeyboardInterrupt
        self._loop.stop()

    def _turn(self, tick: Tick) -> None:
        """End the world's turn: begin a phase, send its requests, and sample the queues."""
        number, phase = self.profile.at(tick.minute)
        now = time.monotonic()
        if self._phase < 0:
            self._begun = now
        if self._longest is not None and now - self._begun > self._longest:
            self._loop.stop()
        if number != self._phase:
            self._enter(number, phase)
        while self._demand and self._demand[0].minute <= tick.minute:
            self._ask(self._demand.pop(0), tick)
        every = max(1, self.profile.ticks // QUEUE_SAMPLES)
        self._queue = None
        if tick.number % every == 0:
            ledger = self._loop.ledger
            opened = open_kinds(ledger.store, RUN, tick.number)
            self._queue = max((one.age for one in opened.values()), default=0)

    def _enter(self, number: int, phase: Phase) -> None:
        before = self.profile.phases[self._phase] if self._phase >= 0 else None
        self._phase = number
        if before is not None and before.speed != phase.speed:
            self._loop.change_pace(self.profile.tick_rate * phase.speed)
        if self._growing is not None:
            self._growing.present = max(self._growing.present, self._present(phase))
        if self._endpoint is not None:
            self._endpoint.behave(
                {
                    "latency": phase.latency,
                    "jitter": phase.jitter,
                    "faults": dict(phase.faults),
                    "requests_per_minute": phase.requests_per_minute,
                }
            )
        if phase.cadence is not None or (before is not None and before.cadence is not None):
            share = phase.cadence if phase.cadence is not None else 1.0
            pinned = phase.cadence is not None
            control = SetCadence(kind=KIND, factor=round(share * FULL), pinned=pinned)
            ask(self._loop.ledger.client, RUN, [control], wait=0.0)
            self.recorder.pinned(share)

    def _present(self, phase: Phase) -> int:
        return max(1, round(phase.agents * self.profile.agents))

    def _ask(self, demanded: Demanded, tick: Tick) -> None:
        """Request the recorded jobs of a minute: ratings and reflections, for one agent after another."""
        owners = sorted(owner for owner in self._world.owners() if owner.startswith("agent:"))
        for n in range(demanded.ratings):
            owner = owners[(tick.number + n) % len(owners)]
            text = f"{self._world.owners()[owner].name} noticed thing number {tick.number * 31 + n} of the day."
            self._loop.observe(owner, Observation(text=text, minute=tick.minute))
        for n in range(demanded.reflections):
            self._loop.request(KIND, owners[(tick.number + n) % len(owners)])

    def _committed(self, tick: int, outcome: FinishedTick, seconds: float) -> None:
        row = self.recorder.committed(tick, outcome.core.minute, outcome, time.monotonic() - self._begun, seconds)
        row.queue, row.behind = self._queue, self._loop.behind
        if self._watch is not None:
            self._watch(self.profile.phases[self._phase], row)


def wait_for_workers(client: Redis, count: int) -> None:
    """Wait until all workers listen for messages; otherwise the test would measure their start.

    Raises:
        WorkersMissing: when they do not start in time.
    """
    deadline = time.monotonic() + READY
    while True:
        ready = sum(each.get("cmd") == "brpop" for each in client.client_list())
        if ready >= count:
            return
        if time.monotonic() > deadline:
            raise WorkersMissing(f"only {ready} of {count} workers were ready within {READY:.0f} s; see worker-N.log")
        time.sleep(0.1)  # between two reads: Redis does not announce a new client
