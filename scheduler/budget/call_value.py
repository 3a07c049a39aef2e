"""The expected value of a call, by which admission paces a day's limits where `spending = "value"`.

The value of a call is the owner's weight, times how much a model is expected to change what the heuristic would give,
times 1 plus how much has happened, between 0 and 1. A request with a priority above 0 counts that many times more. What
happened in the same words counts once.

An owner's first thought of a kind in a day counts twice. Thoughts have diminishing returns: a later one covers in part
what an earlier one has covered, so that value is a submodular function of the calls that are made. The choice that
always takes the call that adds most reaches at least 1 - 1/e of the best one (Nemhauser, Wolsey and Fisher, "An
analysis of approximations for maximizing submodular set functions", 1978). Where nothing is known of how returns
diminish, the harmonic series gives each its share of what is to be had (Thiele, 1895): 1 for the first, 1/2 for the
second. It ends there, since further thoughts of a day follow new events, which count by themselves.

How much models change heuristics is learned by kind: of each answer that was applied, the share of the heuristic's
words that it does not have. Few answers count as one half. This decides between kinds alone: of the requests of one
kind, an answer that shares least with the heuristic is not better, and often rests on older memories.

All amounts are integers, so equal inputs give equal decisions on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import NamedTuple

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY, day_of
from cogitate.memory.effects import Append, Effect, Rate, ReplaceSummary, Tell
from cogitate.memory.entry import rating
from cogitate.memory.language.text import stems
from cogitate.memory.stream import Stream
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Request, Valued

FIELD = "call_values"  # of the run's state
CHECKS = 16  # one call in so many checks the estimate
FULL = 1_000  # thousandths
FIRST = 2  # times that an owner's first thought of a kind in a day counts
_HOURS = 24
_MORNING = 360  # minutes after 00:00; a day that a run began later tells nothing of the next
_UNKNOWN = 4  # answers that the expectation of one half counts as
_REMEMBERED = 1_000  # answers after which old ones begin to be forgotten
_RECENT = 200  # requests after which old ones begin to be forgotten: values change with what is learned


class Worth(NamedTuple):
    """The expected value of one request, in thousandths."""

    need: int  # the value that a further call of its owner that day would have if it changed all
    value: int
    is_first: bool  # of its owner and kind that day

    @property
    def step(self) -> int:
        """The need on a scale of 16 steps an octave."""
        return step_of(self.need)


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
    firsts: dict[str, int] = msgspec.field(default_factory=dict)  # calls of the day that were an owner's first
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

    def worth(self, request: Request, *, weight: float, happened: int, enough: int, is_first: bool) -> Worth:
        """Return the value of a call.

        Args:
            weight: of the owner, to the host.
            happened: importance of what the owner has perceived since its last thought of the kind.
            enough: the importance at which half of everything has happened.
            is_first: whether the owner has had no thought of the kind that day.
        """
        filled = FULL * happened // (happened + enough)
        need = round(FULL * weight) * (FULL + filled) * (1 + max(0, request.priority)) // FULL
        return Worth(need, self.valued(request.kind, need, is_first=is_first), is_first)

    def valued(self, kind: str, need: int, *, is_first: bool) -> int:
        """Return the value of a call with this need."""
        return (FIRST if is_first else 1) * (need * self.expected(kind) // FULL)

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
            state.firsts = {}
            state.day, state.began = day_of(minute), 0 if follows or state.day >= 0 else minute % DAY
        state.asked.setdefault(kind, [0] * _HOURS)[minute % DAY // 60] += 1
        steps = state.steps.setdefault(kind, {})
        steps[step] = steps.get(step, 0) + 1
        if sum(steps.values()) > _RECENT:
            state.steps[kind] = {one: (count + 1) // 2 for one, count in sorted(steps.items())}
        self.changed = True

    def count_first(self, kind: str) -> None:
        """Count a call that is its owner's first of a kind that day."""
        self.state.firsts[kind] = self.state.firsts.get(kind, 0) + 1
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


def step_of(amount: int) -> int:
    """Return an amount on a scale of 16 steps an octave."""
    octave = (amount + 16).bit_length() - 5
    return 16 * octave + ((amount + 16 >> octave) & 15)


def least_of(step: int) -> int:
    """Return the least amount of a step."""
    return (16 + step % 16 << step // 16) - 16


def _fading(answers: int, *sums: int) -> tuple[int, ...]:
    """Return sums over answers, halved once they are many, so that newer answers count more."""
    return (answers, *sums) if answers <= _REMEMBERED else tuple(one // 2 for one in (answers, *sums))


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
