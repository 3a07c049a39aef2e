"""Correct token estimates: learn from applied results how many tokens a model counts in its prompts.

`cogitate.workers.llm.requests.tokens` gives an upper bound for every tokenizer, which is far too high for most. This
part collects, in the order of boundaries, what models report for prompts whose results were applied. A job carries the
correction at the time of its admission, so every worker renders the same prompt at any time.

For each model there is a histogram of the ratio of reported to estimated tokens, in percent. The correction is the
smallest percentage that at most 1 in 1,000 prompts exceeded, plus a margin. It falls below 1 only after a hundred
prompts and never below 0.7 (0.3 for other scripts). A count above twice the estimate is taken for a fault of the
endpoint, because the estimate is high already, unless most prompts of the model have such counts. To forget old
prompts, all counts are halved and rounded up, so a rare high ratio is remembered longest.

Tokens of scripts other than Latin are estimated and corrected separately. Prompts with hardly any of them train the
correction for Latin; prompts with many train the one for other scripts, from their count minus half of the estimate for
the Latin part. Half is the least that this part takes, because the estimate for English instructions is never more than
twice their tokens. So in prompts of the same mixture, a high estimate for one part compensates for a low one for the
other.

The run stores the histograms in `state`, field "tokens", and a resumed run continues with them.

The part also learns how many tokens a model's reasoning needs in addition to the answer, from answers that reached
their cap amid reasoning. Admission reserves them. They are in `state`, field "headrooms".
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
_FEW = 50  # up to 1 token in 50 of other scripts, a prompt trains the correction for Latin
_MUCH = 5  # from 1 token in 5 of other scripts on, it trains their correction
_LATIN_LEAST = 500  # thousandths of its estimate that the Latin part takes at least
_OTHERS = "\0others"  # suffix of a model's name for its histogram of other scripts
_ENOUGH = 100  # prompts before a correction may fall below 1
_EXCEEDING = 1_000  # one prompt in 1,000 may exceed the correction
_MARGIN = 105  # percent
_ODD = 200  # percent; higher ratios count only if most prompts have them
_USUAL = 3  # prompts before odd ratios can be the majority
_REMEMBERED = 4_000  # prompts of a model after which all counts are halved
_MOST_HEADROOM = 32_000  # tokens


class TokenEstimates(Part):
    """Learns from the prompts of one run how its models count tokens."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[int, int]] = {}  # model -> percent -> prompts
        self._headrooms: dict[str, int] = {}  # model -> tokens for reasoning in addition to an answer
        self._changed = False

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Learn from a job's prompt, and warn if its call's usage is unreported or exceeds the reservation."""
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
        """Learn from one prompt whose result was applied."""
        if count.others * _FEW <= count.estimated:
            self._note(model, count.reported, count.estimated)
        elif count.others * _MUCH >= count.estimated:
            left = count.reported - (count.estimated - count.others) * _LATIN_LEAST // 1_000
            self._note(model + _OTHERS, max(1, left), count.others)

    def learn_headroom(self, model: str, reasoning: int, written: int, cap: int, truncated: bool) -> None:
        """Learn from the reasoning of one answer. If most of a truncated answer is reasoning, reserve twice its tokens.

        Args:
            reasoning: tokens of the reasoning.
            written: tokens of the whole answer.
            cap: tokens that the job reserved for its answer.
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
        """Return the tokens that a model's reasoning has needed in addition to an answer; 0 if none."""
        return self._headrooms.get(model, 0)

    def correction(self, model: str) -> Correction:
        """Return the factors for a model's token estimates."""
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
            if above > total // _EXCEEDING:
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
    """Return a histogram without odd ratios, unless most prompts have them."""
    odd = sum(prompts for percent, prompts in seen.items() if percent > _ODD)
    total = sum(seen.values())
    if not odd or (total >= _USUAL and 2 * odd > total):
        return seen
    return {percent: prompts for percent, prompts in seen.items() if percent <= _ODD}
