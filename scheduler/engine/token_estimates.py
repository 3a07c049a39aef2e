"""Corrections of token estimates: how many tokens a model really counts in its prompts, learned from what was applied.

`cogitate.workers.llm.requests.tokens` estimates on the safe side for every tokenizer, which is far too high for most.
What models report of the prompts whose results were applied is counted here, in the order of boundaries, and a job
carries the correction as it stood when it was made: so every worker renders the same prompt at any time.

For each model there is a histogram of reported by estimated tokens, in percent. The correction is the smallest
percentage that at most 1 in 1,000 of the prompts passed, and a margin; it goes below 1 only after a hundred prompts,
and never below 0.7 (other scripts: 0.3). A count of more than twice the estimate is a mistake of the endpoint, since
the estimate is high already, unless most prompts of the model have such a count. Old prompts are forgotten by halving
all counts, rounded up, so that a rare high one is remembered longest.

The tokens of other scripts than Latin are estimated and corrected apart. Prompts that hold hardly any teach the
correction of all others; prompts with more teach the one for other scripts, from what is left of their count when at
least half of the estimate for their Latin part is taken off: instructions in English are never estimated at more than
twice their tokens. So a high estimate for one part makes up for a low one of the other in prompts of the same mixture.

The run keeps it in `state`, field "tokens", and a resumed run continues with it.

The room that a model's reasoning takes beyond an answer is learned too, from answers that reached their cap amid
reasoning, and admission reserves it. It is in `state`, field "headrooms".
"""

from __future__ import annotations

import msgspec

from cogitate.memory import typed_json
from cogitate.scheduler.engine.boundary import Closing
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.ledger.claims import PromptCount
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Correction

HEADROOMS = "headrooms"  # the field of the run's state
NEUTRAL = 1_000  # thousandths
LEAST, LEAST_OTHERS, MOST = 700, 300, 4_000  # thousandths
_FEW = 50  # one token in so many of another script leaves a prompt plain
_MUCH = 5  # one in so many teaches what the other script takes
_LATIN_TAKES = 500  # thousandths of its estimate, at least
_OTHERS = "\0others"  # in the name of a model's histogram of other scripts
_ENOUGH = 100  # prompts before estimates are trusted to be too high
_PASSED = 1_000  # one prompt in so many may be above
_MARGIN = 105  # percent
_ODD = 200  # percent; a higher count is believed only once it is the usual one
_USUAL = 3  # prompts before any count is the usual one
_REMEMBERED = 4_000  # prompts of a model
_MOST_HEADROOM = 32_000  # tokens


class TokenEstimates(Part):
    """The counts of prompts from which one run has learned how its models count tokens."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[int, int]] = {}  # model -> percent -> prompts
        self._headrooms: dict[str, int] = {}  # model -> tokens that its reasoning may take beyond an answer
        self._changed = False

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Learn from the prompt of a job, and warn of a call whose usage is a guess or more than was reserved."""
        note, warnings = closing.note, tick.run.warnings
        if note.count is not None:
            self.learn(note.model, note.count)
        if note.reasoning and note.model:
            answered = note.usage.tokens - note.embedded
            written = answered - note.count.reported if note.count is not None else note.reasoning
            self.learn_headroom(note.model, note.reasoning, written, item.job.output_cap, note.failure == "truncated")
        if note.saved:
            return
        if note.unreported:
            warnings["job.usage_unreported"] += 1
        if note.usage.tokens > item.job.reserved.tokens and note.model:
            warnings["job.overrun"] += 1

    def learn(self, model: str, count: PromptCount) -> None:
        """Note one prompt whose result was applied."""
        if count.others * _FEW <= count.estimated:
            self._note(model, count.reported, count.estimated)
        elif count.others * _MUCH >= count.estimated:
            left = count.reported - (count.estimated - count.others) * _LATIN_TAKES // 1_000
            self._note(model + _OTHERS, max(1, left), count.others)

    def learn_headroom(self, model: str, reasoning: int, written: int, cap: int, truncated: bool) -> None:
        """Note the reasoning of one answer; if it took most of one that reached its cap, the next gets twice as much.

        Args:
            reasoning: its tokens.
            written: the tokens of the whole answer.
            cap: the most tokens of an answer for which the job reserved.
        """
        known = self._headrooms.get(model, 0)
        if truncated and 2 * reasoning >= written:
            learned = min(2 * max(written, cap), _MOST_HEADROOM)
        else:
            learned = reasoning if written > cap else 0
        if learned > known:
            self._headrooms[model] = learned
            self._changed = True

    def headroom(self, model: str) -> int:
        """Return the tokens that the reasoning of a model was seen to need beyond an answer; 0 if none."""
        return self._headrooms.get(model, 0)

    def correction(self, model: str) -> Correction:
        """Return the factors for an estimate."""
        return Correction(self._factor(model, LEAST), self._factor(model + _OTHERS, LEAST_OTHERS))

    def _note(self, name: str, reported: int, estimated: int) -> None:
        seen = self._seen.setdefault(name, {})
        percent = min(-(-100 * reported // estimated), MOST // 10)
        seen[percent] = seen.get(percent, 0) + 1
        if sum(seen.values()) > _REMEMBERED:
            self._seen[name] = {percent: (prompts + 1) // 2 for percent, prompts in sorted(seen.items())}
        self._changed = True

    def _factor(self, name: str, least: int) -> int:
        seen = _believed(self._seen.get(name, {}))
        if not seen:
            return NEUTRAL
        total, above = sum(seen.values()), 0
        for percent in sorted(seen, reverse=True):
            above += seen[percent]
            if above > total // _PASSED:
                break
        correction = min(max(-(-percent * 10 * _MARGIN // 100), least), MOST)
        return correction if total >= _ENOUGH else max(correction, NEUTRAL)

    # -- with the ledger -----------------------------------------------------------------------------

    def take_writes(self) -> list[Write]:
        if not self._changed:
            return []
        self._changed = False
        ordered = {model: dict(sorted(seen.items())) for model, seen in sorted(self._seen.items())}
        writes = [Write("HSET", "state", ("tokens", msgspec.json.encode(ordered)))]
        if self._headrooms:
            learned = msgspec.json.encode(dict(sorted(self._headrooms.items())))
            writes.append(Write("HSET", "state", (HEADROOMS, learned)))
        return writes

    def load(self, store: RunStore) -> None:
        kept = store.field("state", "tokens")
        self._seen = typed_json.decode(kept, dict[str, dict[int, int]]) if kept else {}
        headrooms = store.field("state", HEADROOMS)
        self._headrooms = typed_json.decode(headrooms, dict[str, int]) if headrooms else {}


def _believed(seen: dict[int, int]) -> dict[int, int]:
    """Return the counts without odd ones, unless these are the usual ones."""
    odd = sum(prompts for percent, prompts in seen.items() if percent > _ODD)
    total = sum(seen.values())
    if not odd or (total >= _USUAL and 2 * odd > total):
        return seen
    return {percent: prompts for percent, prompts in seen.items() if percent <= _ODD}
