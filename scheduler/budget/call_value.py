"""The expected value of a call, by which admission paces a day's limits if `spending = "value"`.

The value of a call is a product of three factors: the owner's weight, how much the model's answer is expected to differ
from the heuristic's, and 1 plus how much has happened (from 0 to 1). A priority p above 0 multiplies it by 1 + p.
Events with the same text count once.

An owner's first thought of a kind in a day counts twice. Thoughts have diminishing returns: a later one partly covers
what an earlier one covered, so value is a submodular function of the calls made. A greedy choice, which always takes
the call that adds most, reaches at least 1 - 1/e of the optimum (Nemhauser, Wolsey and Fisher, "An analysis of
approximations for maximizing submodular set functions", 1978). The rate at which returns diminish is unknown, so the
weights follow the harmonic series (Thiele, 1895): 1 for the first thought, 1/2 for the second. They stop there, because
later thoughts of a day follow new events, which count by themselves.

The expected difference is learned by kind: for each applied answer, the share of words that answer and heuristic do not
have in common. With few answers it stays near one half. It only compares kinds, not requests of one kind: there, an
answer that shares less with the heuristic is not better, and often rests on older memories.

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
CHECKS = 16  # one call in 16 checks the estimate
FULL = 1_000  # thousandths
FIRST = 2  # weight of an owner's first thought of a kind in a day
_HOURS = 24
_MORNING = 360  # minutes after 00:00; a first day that began later predicts nothing about the next
_PRIOR_ANSWERS = 4  # answers that the prior, an expected change of one half, counts as
_MOST_ANSWERS = 1_000  # the counts are halved beyond so many answers, so newer ones weigh more
_MOST_REQUESTS = 200  # the same for requests; fewer, because values change as the run learns


class Worth(NamedTuple):
    """The expected value of one request, in thousandths."""

    need: int  # the value if the answer shared nothing with the heuristic's and were not the owner's first that day
    value: int
    is_first: bool  # whether the owner has had no thought of the kind that day

    @property
    def step(self) -> int:
        """Return the need on a scale of 16 steps an octave."""
        return step_of(self.need)


class Checked(msgspec.Struct, frozen=True):
    """The answers that checked the estimate, with the sums of their expected and found changes in thousandths."""

    answers: int = 0
    expected: int = 0
    found: int = 0


class ValueState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The counts by kind from which a run estimates values; the run stores them."""

    day: int = -1
    began: int = 0  # minute of the day at which its counts begin
    asked: dict[str, list[int]] = msgspec.field(default_factory=dict)  # requests of the day, by hour
    before: dict[str, list[int]] = msgspec.field(default_factory=dict)  # requests of the previous day, by hour
    steps: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)  # requests by the step of their need
    changes: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)  # answers and the sum of their changes
    costs: dict[str, tuple[int, int, int]] = msgspec.field(default_factory=dict)  # answers, their tokens and money
    firsts: dict[str, int] = msgspec.field(default_factory=dict)  # the day's calls that are their owner's first
    checked: Checked = Checked()


def happened_since(stream: Stream, tick: int) -> int:
    """Return the total importance of what a stream received after a tick; each text counts once, thoughts do not."""
    newer = takewhile(lambda entry: entry.tick > tick, reversed(stream.entries.values()))
    return sum({entry.text: rating(entry) for entry in newer if entry.type in ("observation", "message")}.values())


def change_of(answer: Iterable[Effect], heuristic: Iterable[Effect]) -> int:
    """Return how much a model's answer differs from the heuristic's, in thousandths.

    Ratings are compared by their distance, texts by the words that they share (Dice coefficient).
    """
    answer, heuristic = tuple(answer), tuple(heuristic)
    rated, guessed = _ratings(answer), _ratings(heuristic)
    if common := rated.keys() & guessed.keys():
        return FULL * sum(abs(rated[number] - guessed[number]) for number in common) // (9 * len(common))
    words, other_words = _content(answer), _content(heuristic)
    if not words and not other_words:
        return FULL * (answer != heuristic)
    return FULL - 2 * FULL * len(words & other_words) // (len(words) + len(other_words))


def read_values(store: RunStore) -> ValueState:
    """Return a run's learned estimates of the values of its calls; empty if it does not spend by value."""
    kept = store.field("state", FIELD)
    return ValueState() if kept is None else typed_json.decode(kept, ValueState)


def value_lines(state: ValueState) -> list[str]:
    """Describe how much models change each kind's heuristic, and how good the estimate was, one line per fact."""
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
    """Estimates the values of one run's calls from its answers and requests so far."""

    def __init__(self, state: ValueState | None = None) -> None:
        self.state = state or ValueState()
        self.changed = False

    def worth(self, request: Request, *, weight: float, happened: int, enough: int, is_first: bool) -> Worth:
        """Return the value of a call.

        Args:
            weight: of the owner, as the host sets it.
            happened: total importance of what the owner perceived since its last thought of the kind.
            enough: the importance at which the factor "how much has happened" is one half.
            is_first: whether the owner has had no thought of the kind that day.
        """
        filled = FULL * happened // (happened + enough)
        need = round(FULL * weight) * (FULL + filled) * (1 + max(0, request.priority)) // FULL
        return Worth(need, self.valued(request.kind, need, is_first=is_first), is_first)

    def valued(self, kind: str, need: int, *, is_first: bool) -> int:
        """Return the value of a call with this need."""
        return (FIRST if is_first else 1) * (need * self.expected(kind) // FULL)

    def expected(self, kind: str) -> int:
        """Return how much a model's answer is expected to differ from the heuristic of a kind, in thousandths."""
        answers, total = self.state.changes.get(kind, (0, 0))
        return (total + _PRIOR_ANSWERS * FULL // 2) // (answers + _PRIOR_ANSWERS)

    def learn(self, kind: str, valued: Valued, change: int, cost: Cost) -> None:
        """Record how much a model's answer changed, and what it cost."""
        state = self.state
        if valued.is_check:
            was = state.checked
            expected = was.expected + self.expected(kind)
            state.checked = Checked(was.answers + 1, expected, was.found + change)
        answers, total = state.changes.get(kind, (0, 0))
        answers, total = _halved_if_many(answers + 1, total + change)
        state.changes[kind] = answers, total
        answers, tokens, usd = state.costs.get(kind, (0, 0, 0))
        answers, tokens, usd = _halved_if_many(answers + 1, tokens + cost.tokens, usd + cost.usd_micros)
        state.costs[kind] = answers, tokens, usd
        self.changed = True

    def count(self, kind: str, step: int, minute: int) -> None:
        """Count a request by its kind, the step of its need, and its hour."""
        state = self.state
        if state.day != day_of(minute):
            follows = state.day == day_of(minute) - 1 and state.began <= _MORNING
            state.before, state.asked = (state.asked if follows else {}), {}
            state.firsts = {}
            state.day, state.began = day_of(minute), 0 if follows or state.day >= 0 else minute % DAY
        state.asked.setdefault(kind, [0] * _HOURS)[minute % DAY // 60] += 1
        steps = state.steps.setdefault(kind, {})
        steps[step] = steps.get(step, 0) + 1
        if sum(steps.values()) > _MOST_REQUESTS:
            state.steps[kind] = {step: (count + 1) // 2 for step, count in sorted(steps.items())}
        self.changed = True

    def count_first(self, kind: str) -> None:
        """Count a call as its owner's first of a kind that day."""
        self.state.firsts[kind] = self.state.firsts.get(kind, 0) + 1
        self.changed = True

    def demand(self, kind: str, minute: int, *, once: int | None, last: int | None) -> int:
        """Return how many requests of a kind to expect after a minute of game time, on that day or until `last`.

        Args:
            once: the number of owners if each has the kind once a day; None: another kind.
            last: the run's last minute, up to which later days count too; None: only today.
        """
        asked, before, now = self.state.asked.get(kind), self.state.before.get(kind), minute % DAY
        end = DAY if last is None else min(DAY, now + max(0, last - minute))
        total = sum(asked or ())
        if before:
            today = sum(
                count * max(0, min(end, 60 * hour + 60) - max(now, 60 * hour)) for hour, count in enumerate(before)
            )
            today, daily = -(-today // 60), sum(before)
        elif once is not None and total <= once:  # above `once`, the host requests the kind more often
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
    """Return the lowest amount of a step."""
    return (16 + step % 16 << step // 16) - 16


def _halved_if_many(answers: int, *sums: int) -> tuple[int, ...]:
    """Return a count of answers and sums over them, halved above `_MOST_ANSWERS`."""
    return (answers, *sums) if answers <= _MOST_ANSWERS else tuple(amount // 2 for amount in (answers, *sums))


def _ratings(effects: Iterable[Effect]) -> dict[int, int]:
    return {
        number: given
        for effect in effects
        if isinstance(effect, Rate)
        for number, given in zip(effect.numbers, effect.ratings, strict=True)
    }


def _content(effects: Iterable[Effect]) -> set[str]:
    """Return the stems of the words that effects write or tell, without function words."""
    texts: list[str] = []
    for effect in effects:
        match effect:
            case Append(entry=entry):
                texts += [entry.text, *(item.description for item in entry.items)]
            case ReplaceSummary(text=text):
                texts.append(text)
            case Tell(data=data):
                texts += [value for value in data.values() if isinstance(value, str)]
            case _:
                pass
    return {word for text in texts for word in stems(text)}
