"""What goes into a tick of a run, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from memory.effects import Effect, Loss, losses
from memory.entry import MAX_TEXT, Entry
from memory.profile import Profile
from memory.stream import Stream
from scheduler.controls import Asked
from scheduler.due_ticks import Bounds
from scheduler.journal import Core, Correction, EndNote, Retried
from scheduler.open_jobs import OpenJob
from scheduler.throttle import ThrottleRules
from scheduler.tiers import TIERS, Offer, Tier, TierRule, usual_tier
from scheduler.timed import Timed
from scheduler.triggers import Trigger
from tasks.job import JobKey, Request
from tasks.kind import Kind, Moment
from tasks.registry import UnknownKind


class Deferred(msgspec.Struct, frozen=True):
    """A request that is tried again at a later tick."""

    at: int
    request: Request


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How this run turns requests into jobs."""

    kinds: Sequence[Kind]
    offers_of: Callable[[Kind, Tier], Sequence[Offer]]  # at least one, the tier's own first, then down the ladder
    latency_of: Callable[[Kind], int]  # ticks from admission to due, where they are fixed
    brief: Callable[[str], Mapping[str, Any]]
    bounds_of: Callable[[Kind], Bounds | None] = lambda kind: None  # of due ticks that follow the model's latency
    tier_of: TierRule = usual_tier
    disabled: frozenset[str] = frozenset()  # kinds that are never due and may not be asked for
    rate_share: float = 0.0  # of entries without a rating: those that a model is asked about
    repair_from: int = 1440  # minutes after 00:00 from which provisional entries are repaired; 1440: never
    throttle: ThrottleRules = ThrottleRules()
    coalesce: bool = True  # count repeats of an observation on the entry they repeat, instead of storing them
    max_text: int = MAX_TEXT  # characters of what is observed
    waits: bool = True  # boundaries wait for what is due: nothing may depend on how far a worker was

    def kind_of(self, name: str) -> Kind:
        """The kind of that name.

        Raises:
            UnknownKind: when this process does not know it, although the run does.
        """
        for kind in self.kinds:
            if kind.name == name:
                return kind
        raise UnknownKind(f"this run has jobs of kind {name!r}: register that kind before the run is opened")

    def model_of(self, kind: Kind) -> str:
        """The model that a kind asks in the ordinary way; empty: the heuristic is what is asked for."""
        return self.offers_of(kind, "routine")[0].model

    def offers(self, request: Request, moment_of: Callable[[str], Moment]) -> Sequence[Offer]:
        """What a request may be given, the best first.

        Args:
            moment_of: an owner as it is now.
        """
        kind = self.kind_of(request.kind)
        if len(strong := self.offers_of(kind, "strong")) == 1:
            return strong
        tier = self.tier_of(request, moment_of(request.owner))
        return strong if tier == "strong" else self.offers_of(kind, "routine")

    def models_of(self, name: str) -> Sequence[str]:
        """Return the models that the kind of that name may ask; one that is empty asks none."""
        kind = self.kind_of(name)
        return tuple(dict.fromkeys(offer.model for tier in TIERS for offer in self.offers_of(kind, tier)))

    def latency(self, name: str) -> int:
        """Ticks from enqueue to due of the kind of that name, where they are fixed."""
        return max(1, self.latency_of(self.kind_of(name)))


@dataclass(kw_only=True)
class WorldTurn:
    """What the world did in its turn."""

    joins: dict[str, Profile] = field(default_factory=dict)
    leaves: list[str] = field(default_factory=list)
    asked: list[Effect] = field(default_factory=list)
    observed: list[tuple[str, Entry]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)
    controls: Sequence[Asked | None] = ()  # what operators ask for


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A finished tick, ready to be committed."""

    core: Core
    notes: tuple[EndNote, ...]
    late: tuple[EndNote, ...]
    corrected: tuple[Correction, ...]
    retried: tuple[Retried, ...]
    timed: tuple[Timed, ...]
    closed: tuple[JobKey, ...]
    opened: tuple[OpenJob, ...]
    streams: tuple[Stream, ...]  # those that may have changed

    def losses(self) -> Iterator[Loss]:
        """What was given up in this tick."""
        for ended in self.core.ended:
            if ended.end == "applied":
                yield from losses(ended.effects)
        yield from losses(self.core.cuts)
