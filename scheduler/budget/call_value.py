"""The expected value of a call, by which admission paces a day's limits where `spending = "value"`.

The value of a call is the owner's weight, times how much a model is expected to change what the heuristic would give,
times 1 plus how much has happened and how old the owner's last thought of the kind is, each between 0 and 1. A request
with a priority above 0 counts that many times more. What happened in the same words counts once.

How much models change heuristics is learned by kind: of each answer that was applied, the share of the heuristic's
words that it does not have. Few answers count as one half. This decides between kinds alone: of the requests of one
kind, an answer that shares least with the heuristic is no better, and often rests on older memories.

Admission expects a demand for each daily limit, and for a limit of a run with a known end: the requests of the previous
day from this hour on, or those of today so far. If the remaining amount covers only a share of that demand, admission
grants the same share of the requests: those with the highest values seen so far. One call in `CHECKS`, drawn by
the key of its request, passes whatever its value; for these the run reports expected and found changes, free of
selection bias.

All amounts are integers, so equal inputs give equal decisions on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from itertools import takewhile
from typing import NamedTuple

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY, day_of
from cogitate.memory.effects import Append, Effect, Rate, ReplaceSummary, Tell
from cogitate.memory.entry import rating
from cogitate.memory.language.text import stems
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.budget import BudgetView, Cell, amounts
from cogitate.scheduler.config.limits import LIMIT_UNITS, LimitUnit
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, JobKey, Request, Valued

LOW_VALUE = "low_value"  # the refusal of a request whose value is below what the limits afford
FIELD = "call_values"  # of the run's state
CHECKS = 16  # one call in so many checks the estimate
FULL = 1_000  # thousandths
_HOURS = 24
_MORNING = 360  # minutes after 00:00; a day that a run began later tells nothing of the next
_UNKNOWN = 4  # answers that the expectation of one half counts as
_REMEMBERED = 1_000  # answers after which old ones begin to be forgotten
_RECENT = 200  # requests after which old ones begin to be forgotten: values change with what is learned
_MILLION = 1_000_000


class Worth(NamedTuple):
    """The expected value of one request, in thousandths."""

    need: int  # the value of a call that would change all that the heuristic gives
    value: int

    @property
    def step(self) -> int:
        """The need on a scale of 16 steps an octave."""
        return _step(self.need)


class Checked(msgspec.Struct, frozen=True):
    """The answers that checked the estimate: expected and found changes, in thousandths, summed."""

    answers: int = 0
    expected: int = 0
    found: int = 0


class ValueState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The learned values that a run stores: counts by kind."""

    day: int = -1
    began: int = 0  # minute of the day at which its counts begin
    asked: dict[str, list[int]] = msgspec.field(default_factory=dict)  # requests of the day, by hour
    before: dict[str, list[int]] = msgspec.field(default_factory=dict)  # the same of the day before
    steps: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)  # requests by the step of their need
    changes: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)  # answers and the sum of changes
    costs: dict[str, tuple[int, int, int]] = msgspec.field(default_factory=dict)  # answers, their tokens and money
    checked: Checked = Checked()


def happened_since(stream: Stream, tick: int) -> int:
    """Return the importance of what a stream has received after a tick: thoughts left out, and each text once."""
    newer = takewhile(lambda entry: entry.tick > tick, reversed(stream.entries.values()))
    return sum({entry.text: rating(entry) for entry in newer if entry.type in ("observation", "message")}.values())


def change_of(answer: Iterable[Effect], heuristic: Iterable[Effect]) -> int:
    """Return how much a model's answer differs from the heuristic's, in thousandths: by its ratings, or its words."""
    answer, heuristic = tuple(answer), tuple(heuristic)
    rated, guessed = _ratings(answer), _ratings(heuristic)
    if common := rated.keys() & guessed.keys():
        return FULL * sum(abs(rated[one] - guessed[one]) for one in common) // (9 * len(common))
    said, other = _content(answer), _content(heuristic)
    if not said and not other:
        return FULL * (answer != heuristic)
    return FULL - 2 * FULL * len(said & other) // (len(said) + len(other))


def read_values(store: RunStore) -> ValueState:
    """Return what a run has learned of its calls' values; nothing where spending is fair."""
    kept = store.field("state", FIELD)
    return ValueState() if kept is None else typed_json.decode(kept, ValueState)


def value_lines(state: ValueState) -> list[str]:
    """Return in words how much models change each kind's heuristic, and how well that was expected."""
    lines = []
    for kind, (answers, total) in sorted(state.changes.items()):
        lines.append(
            f"models changed {total / FULL / answers:.0%} of what the heuristic of {kind} gives ({answers:,} answers)"
        )
    if answers := state.checked.answers:
        found, expected = state.checked.found / FULL / answers, state.checked.expected / FULL / answers
        lines.append(f"checked by {answers:,} calls of any value: {found:.0%} changed, {expected:.0%} expected")
    return lines


class CallValues:
    """The values of one run's calls: what it has learned, and what it expects."""

    def __init__(self, state: ValueState | None = None) -> None:
        self.state = state or ValueState()
        self.changed = False

    def worth(self, request: Request, *, weight: float, happened: int, enough: int, stale: int | None) -> Worth:
        """Return the value of a call.

        Args:
            weight: of the owner, to the host.
            happened: importance of what the owner has perceived since its last thought of the kind.
            enough: the importance at which half of everything has happened.
            stale: game minutes since that thought; None for the first.
        """
        filled = FULL * happened // (happened + enough)
        old = FULL if stale is None else FULL * max(0, stale) // (max(0, stale) + DAY)
        need = round(FULL * weight) * (FULL + filled + old) * (1 + max(0, request.priority)) // FULL
        return Worth(need, self.valued(request.kind, need))

    def valued(self, kind: str, need: int) -> int:
        """Return the value of a call with this need."""
        return need * self.expected(kind) // FULL

    def expected(self, kind: str) -> int:
        """Return by how much a model is expected to change the heuristic of a kind, in thousandths."""
        answers, total = self.state.changes.get(kind, (0, 0))
        return (total + _UNKNOWN * FULL // 2) // (answers + _UNKNOWN)

    def learn(self, kind: str, valued: Valued, change: int, cost: Cost) -> None:
        """Learn from a model's answer how much it changed, and what it cost."""
        state = self.state
        if valued.is_check:
            was = state.checked
            expected = was.expected + self.expected(kind)
            state.checked = Checked(was.answers + 1, expected, was.found + change)
        answers, total = state.changes.get(kind, (0, 0))
        answers, total = _fading(answers + 1, total + change)
        state.changes[kind] = answers, total
        answers, tokens, usd = state.costs.get(kind, (0, 0, 0))
        answers, tokens, usd = _fading(answers + 1, tokens + cost.tokens, usd + cost.usd_micros)
        state.costs[kind] = answers, tokens, usd
        self.changed = True

    def count(self, kind: str, step: int, minute: int) -> None:
        """Count a request."""
        state = self.state
        if state.day != day_of(minute):
            follows = state.day == day_of(minute) - 1 and state.began <= _MORNING
            state.before, state.asked = (state.asked if follows else {}), {}
            state.day, state.began = day_of(minute), 0 if follows or state.day >= 0 else minute % DAY
        state.asked.setdefault(kind, [0] * _HOURS)[minute % DAY // 60] += 1
        steps = state.steps.setdefault(kind, {})
        steps[step] = steps.get(step, 0) + 1
        if sum(steps.values()) > _RECENT:
            state.steps[kind] = {one: (count + 1) // 2 for one, count in sorted(steps.items())}
        self.changed = True

    def demand(self, kind: str, minute: int, *, once: int | None, last: int | None) -> int:
        """Return how many requests of a kind are expected after a minute of game time, that day or until the last.

        Args:
            once: the number of owners, of a kind that each has once a day; None: of any other kind.
            last: the run's last minute; the days until then count too. None: only today.
        """
        asked, before, now = self.state.asked.get(kind), self.state.before.get(kind), minute % DAY
        end = DAY if last is None else min(DAY, now + max(0, last - minute))
        total = sum(asked or ())
        if before:
            today = sum(
                count * max(0, min(end, 60 * hour + 60) - max(now, 60 * hour)) for hour, count in enumerate(before)
            )
            today, daily = -(-today // 60), sum(before)
        elif once is not None and total <= once:  # unless the host asks it oftener
            today, daily = once - total, once
        else:
            first = next((hour for hour, count in enumerate(asked or ()) if count), _HOURS)
            today = total * max(0, end - now) // max(60, now - 60 * first)
            daily = total + today
        later = max(0, (last or 0) - (day_of(minute) + 1) * DAY)
        return today + daily * later // DAY


class ValueRound:
    """The values of the requests of one tick, and which of them the limits afford."""

    def __init__(
        self,
        values: CallValues,
        view: BudgetView,
        minute: int,
        *,
        worth_of: Callable[[Request], Worth | None],
        kinds: Mapping[str, bool],
        owners: int,
        last: int | None,
    ) -> None:
        """Begin the round of a tick.

        Args:
            worth_of: returns the value of a request; None: its kind asks no model.
            kinds: those that ask a model, and whether each owner has them once a day.
            owners: how many there are.
            last: the run's last minute, if it has one.
        """
        self._values, self._view, self._minute = values, view, minute
        self._worth_of, self._kinds, self._owners, self._last = worth_of, kinds, max(1, owners), last
        self._worths: dict[int, Worth | None] = {}
        self._checks: set[JobKey] = set()
        self._new: Counter[str] = Counter()  # requests of this tick by kind
        self._demands: dict[tuple[str, LimitUnit, bool], int] = {}
        self._steps: dict[str, tuple[int, Mapping[int, int]]] = {}

    def begin(self, requests: Iterable[Request]) -> None:
        """Count all requests of the tick before any is decided."""
        for request in requests:
            worth = self._worths[id(request)] = self._worth_of(request)
            if worth is not None and not request.trial:
                self._values.count(request.kind, worth.step, self._minute)
                self._new[request.kind] += 1

    def of(self, request: Request) -> Worth | None:
        """Return the value of a request of this tick."""
        return self._worths[id(request)]

    def affords(self, key: JobKey, request: Request, cost: Cost, cells: Iterable[Cell]) -> bool:
        """Return whether the limits afford a call of this value; a kind's guarantee and checks always pass."""
        worth = self.of(request)
        if worth is None:
            return True
        shares = {}
        if not self._view.is_guaranteed(key.kind, self._minute, cost):
            shares = {cell: self._share(key.kind, cell, cost) for cell in cells if self._is_paced(cell)}
        if _drawn(key, b"check") % _MILLION * CHECKS < min(shares.values(), default=_MILLION):
            self._checks.add(key)
            return True
        return all(
            share >= _MILLION or self._is_among(key, worth.step, cell.scope, share) for cell, share in shares.items()
        )

    def valued(self, key: JobKey, request: Request) -> Valued | None:
        """Return how a call that the limits afford was valued; None: its kind asks no model."""
        worth = self.of(request)
        return None if worth is None else Valued(key in self._checks)

    def _is_paced(self, cell: Cell) -> bool:
        paced = cell.period == "day" or (cell.period == "run" and self._last is not None)
        return paced and self._view.table.limited(cell.period, cell.scope)

    def _share(self, kind: str, cell: Cell, cost: Cost) -> int:
        """Return the share of the expected requests that a limit affords, in millionths."""
        share = _MILLION
        for unit, amount in zip(LIMIT_UNITS, (*amounts(cost), 1), strict=True):
            spare = self._view.spare(cell, unit, kind, self._minute) if amount else None
            if spare is not None:
                demand = self._demand(cell.scope, unit, amount, whole_run=cell.period == "run")
                share = min(share, _MILLION * max(0, spare) // demand)
        return share

    def _is_among(self, key: JobKey, step: int, scope: str, share: int) -> bool:
        """Return whether a need is among this share, in millionths, of the highest values expected; ties are drawn."""
        seen, steps = self._known_steps(scope)
        total, own = sum(steps.values()), self._value_step(key.kind, step)
        higher = sum(count for one, count in steps.items() if one > own) + total // (seen + 1)
        allowed = share * total - higher * _MILLION
        return allowed > 0 and _drawn(key, b"tie") % _MILLION * steps.get(own, 1) < allowed

    def _known_steps(self, scope: str) -> tuple[int, Mapping[int, int]]:
        """Return how many requests were seen, and the steps of value that a limit has to expect: by each kind's demand.

        Beyond the highest of `seen` values, one in `seen` + 1 is to be expected.
        """
        name = scope if scope.startswith("kind:") else ""
        if name not in self._steps:
            seen, steps = 0, Counter[int]()
            for kind, known in self._values.state.steps.items():
                if name in ("", f"kind:{kind}") and kind in self._kinds:
                    expected, of_kind = FULL * self._expected(kind, whole_run=False), sum(known.values())
                    for step, count in known.items():
                        steps[self._value_step(kind, step)] += count * expected // of_kind
                    seen += of_kind
            self._steps[name] = seen, steps
        return self._steps[name]

    def _value_step(self, kind: str, step: int) -> int:
        """Return the step of the value of calls of a kind whose need is of this step."""
        return _step(self._values.valued(kind, _least(step)))

    def _expected(self, kind: str, *, whole_run: bool) -> int:
        """Return the expected requests of a kind, of this tick and later."""
        once, last = self._owners if self._kinds[kind] else None, self._last if whole_run else None
        return self._new[kind] + self._values.demand(kind, self._minute, once=once, last=last)

    def _demand(self, scope: str, unit: LimitUnit, amount: int, *, whole_run: bool) -> int:
        """Return the expected use of a limit by the requests of this tick and later, at least 1."""
        scope = "owner" if scope.startswith("owner:") else scope
        found = self._demands.get((scope, unit, whole_run))
        if found is None:
            kinds = (kind for kind in self._kinds if scope in ("run", "owner", f"kind:{kind}"))
            found = sum(
                self._expected(kind, whole_run=whole_run) * self._mean_cost(kind, unit, amount) for kind in kinds
            )
            self._demands[scope, unit, whole_run] = found = found // (self._owners if scope == "owner" else 1)
        return max(found, 1)

    def _mean_cost(self, kind: str, unit: LimitUnit, amount: int) -> int:
        if unit in ("calls", "jobs"):
            return 1
        answers, tokens, usd = self._values.state.costs.get(kind, (0, 0, 0))
        return (tokens if unit == "tokens" else usd) // answers if answers else amount


def _step(amount: int) -> int:
    """Return an amount on a scale of 16 steps an octave."""
    octave = (amount + 16).bit_length() - 5
    return 16 * octave + ((amount + 16 >> octave) & 15)


def _least(step: int) -> int:
    """Return the least amount of a step."""
    return (16 + step % 16 << step // 16) - 16


def _fading(answers: int, *sums: int) -> tuple[int, ...]:
    """Return sums over answers, halved once they are many, so that newer answers count more."""
    return (answers, *sums) if answers <= _REMEMBERED else tuple(one // 2 for one in (answers, *sums))


def _drawn(key: JobKey, purpose: bytes) -> int:
    return int.from_bytes(blake2b(key.text().encode(), digest_size=8, person=purpose).digest(), "big")


def _ratings(effects: Iterable[Effect]) -> dict[int, int]:
    return {
        number: given
        for effect in effects
        if isinstance(effect, Rate)
        for number, given in zip(effect.numbers, effect.ratings, strict=True)
    }


def _content(effects: Iterable[Effect]) -> set[str]:
    """Return the words that effects write or tell, without function words."""
    found: list[str] = []
    for effect in effects:
        match effect:
            case Append(entry=entry):
                found += [entry.text, *(item.description for item in entry.items)]
            case ReplaceSummary(text=text):
                found.append(text)
            case Tell(data=data):
                found += [value for value in data.values() if isinstance(value, str)]
            case _:
                pass
    return {word for text in found for word in stems(text)}
