"""Rates the importance of entries that their host left unrated (streams design, task 4), many in one call.

Only entries that are worth a call reach this kind (`cogitate.scheduler.engine.rating`); until rated they count as
ordinary. The request carries the run's predictions, which apply to entries that the model does not rate.

If a model's answers to a batch are unusable, the batch is halved: its entries stay unrated, and the owner's next
batches have half the size (the counter "rate.batch" of its head) until one succeeds; then the size doubles again.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel

from cogitate.memory.effects import Effect, Rate, SetCounter
from cogitate.memory.entry import UNRATED, Entry
from cogitate.memory.importance import rate_by_rule
from cogitate.memory.language.text import normal
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import RatingsAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks import timing
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Kind, Moment, NoParams, Prompt, WorldFacts
from cogitate.tasks.recall import brief, persona, share_of, without_repeats

BATCH = 20  # entries of one call
LEAST = 5  # smallest batch: a model that cannot rate so few is not worth more calls
SIZE = "rate.batch"  # counter: entries of the owner's next call after a batch failed
FEWEST = 8  # entries worth a call before the oldest has waited long: the owner's, or all owners' if they share turns
EVERY = 10  # ticks between two turns of an owner


class RateImportance(Kind):
    """Due when a batch of unrated entries is full, and at the owner's turns if enough wait or one has waited long.

    Where owners share turns, since calls are packed, the entries of all owners count, and all ask at the same turn.
    """

    name = "rate"
    params = NoParams
    order = 5
    latency = "5m"
    latency_least, latency_most = 2, 180  # game minutes: long before pruning and reflection use the rating
    prompt_cap = 2_500
    output_cap = 400
    packs = True
    batches = True
    gathers = True

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return a request for the oldest unrated entries."""
        waiting, size = moment.stream.unrated(), moment.stream.head.counters.get(SIZE, BATCH)
        if not waiting or (len(waiting) < size and not timing.is_turn(moment, EVERY, moment.turn_of(self.name))):
            return ()
        if len(waiting) < min(size, FEWEST) and not self._is_late(moment):
            return ()
        taken = waiting[:size]
        estimates = {str(n): moment.estimate(moment.stream.entries[n]) for n in taken}
        params = {"estimates": estimates} | ({"size": size} if size < BATCH else {})
        return (Request(kind=self.name, owner=moment.owner, numbers=tuple(taken), params=params),)

    def _is_late(self, moment: Moment) -> bool:
        """Return whether entries too few for a call, the owner's or those of all owners, have waited long enough."""
        if moment.turn_of(self.name) == 1:
            return moment.minute >= _patient_until(moment)
        backlog = moment.unrated()
        longest = moment.world.limits.reflection_interval // 3  # twice as long as alone, yet on average they wait less
        return backlog.entries >= FEWEST or moment.minute >= backlog.oldest + longest

    def wake(self, moment: Moment) -> int | None:
        """Return the owner's next turn while enough entries wait, or the first at which the oldest has waited long."""
        waiting, size = moment.stream.unrated(), moment.stream.head.counters.get(SIZE, BATCH)
        if not waiting:
            return None
        enough = len(waiting) >= min(size, FEWEST)
        return timing.next_turn(moment, EVERY, 0 if enough else timing.tick_at(moment, _patient_until(moment)))

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return whether an observed entry is unrated."""
        return entry.importance == UNRATED

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return a prompt with the entries by number, each text once."""
        entries = share_of(without_repeats(case.entries), memory_share)
        rendered = self._templates.render(
            self.name,
            {
                **persona(case),
                "memories": [{"number": e.number, "text": brief(e.text)} for e in entries],
            },
        )
        return Prompt.of(rendered, RatingsAnswer, entries)

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return the ratings of the answer, for all entries of the same text, and predictions for the rest.

        Raises:
            ValueError: if no rating refers to a shown entry.
        """
        assert isinstance(answer, RatingsAnswer)
        texts = {e.number: normal(e.text) for e in case.entries if e.number in set(used)}
        given = {texts[r.number]: r.importance for r in answer.ratings if r.number in texts}
        if not given:
            raise ValueError(f"none of {len(answer.ratings)} ratings refers to a memory in the prompt")
        rated = [e for e in case.entries if normal(e.text) in given]
        paid = Rate(
            owner=case.job.key.owner,
            numbers=tuple(e.number for e in rated),
            ratings=tuple(given[normal(e.text)] for e in rated),
            paid=True,
        )
        return paid, *_predicted(case, [e for e in case.entries if normal(e.text) not in given]), *_doubled(case)

    def halve(self, case: Case) -> tuple[Effect, ...]:
        """Return the effect that halves the owner's next batches, or the predictions if this batch is the smallest."""
        half = len(case.entries) // 2
        return self.heuristic(case) if half < LEAST else (SetCounter(case.job.key.owner, SIZE, half),)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the predictions."""
        return _predicted(case, case.entries)


def _patient_until(moment: Moment) -> int:
    """Return the game time until which the owner's oldest unrated entry waits for others."""
    return moment.stream.entries[moment.stream.unrated()[0]].minute + moment.world.limits.reflection_interval // 6


def _doubled(case: Case) -> tuple[Effect, ...]:
    """Return the effect that doubles the next batch after a success."""
    size = case.job.param("size", 0)
    if not 0 < size < BATCH:
        return ()
    return (SetCounter(case.job.key.owner, SIZE, min(BATCH, 2 * size)),)


def _predicted(case: Case, entries: Iterable[Entry]) -> tuple[Effect, ...]:
    estimates: dict[str, object] = case.job.param("estimates", {})
    ratings = {
        e.number: rating
        if isinstance(rating := estimates.get(str(e.number)), int) and 1 <= rating <= 10
        else rate_by_rule(e)
        for e in entries
    }
    if not ratings:
        return ()
    return (Rate(owner=case.job.key.owner, numbers=tuple(ratings), ratings=tuple(ratings.values())),)
