"""The answers that a run records with `record`: what each attempt asked a model, and what came of it.

Keys under the run's prefix:
    recorded        hash    "<job key>#<attempt>" -> `RecordedAnswer`, JSON
    recorded_at     zset    the same fields, by the time of recording
    recorded_bytes  string  bytes of all of them
    origin_answers  hash    of a fork: question -> usable answer that its source recorded, JSON
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from cogitate.memory import typed_json
from cogitate.tasks.job import Cost

MOST_ANSWER = 100_000  # characters of an answer that are recorded


class RecordedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt of one attempt, and its outcome."""

    attempt: int
    model: str
    question: str = ""  # hash of model, seed, parameters, prompt and schema
    system: str
    user: str
    answer: str = ""
    failure: str = ""  # why the answer is unusable or missing
    fault: str = ""  # the fault of an unusable answer, as explained to the model
    saved: bool = False  # that of an identical call, or of the source of a fork
    usage: Cost = Cost()  # of the call; of a saved answer what the original call took
    ticks: int = 0  # from the request of its job to the answer


def answers_by_question(recorded: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield the questions to which there is a usable answer, each with that of its first job.

    Args:
        recorded: answers as JSON, each with its job and attempt.
    """
    found: dict[str, bytes] = {}
    for _, raw in sorted(recorded):
        one = typed_json.decode(raw, RecordedAnswer)
        if one.question and one.answer and not one.failure and len(one.answer) < MOST_ANSWER:
            found.setdefault(one.question, raw)
    yield from found.items()
