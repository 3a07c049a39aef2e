"""The answers that a run records with `record`: the prompt of each attempt, and its outcome.

Keys under the run's prefix:
    recorded        hash    "<job key>#<attempt>" -> `RecordedAnswer`, JSON
    recorded_at     zset    the same fields, by the time of recording
    recorded_bytes  string  total bytes of the answers
    origin_answers  hash    in a fork: question -> usable answer that its source recorded, JSON
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from cogitate.memory import typed_json
from cogitate.tasks.job import Cost

MOST_ANSWER = 100_000  # characters of an answer that a record stores at most


class RecordedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt of one attempt, and its outcome."""

    attempt: int
    model: str
    question: str = ""  # hash of model, seed, parameters, prompt and schema
    system: str
    user: str
    answer: str = ""
    failure: str = ""  # why the answer is unusable or missing
    fault: str = ""  # the fault of an unusable answer, in the words of the next prompt
    saved: bool = False  # whether it is the answer of an identical call, or of a fork's source
    usage: Cost = Cost()  # of the call; for a saved answer, of the original call
    ticks: int = 0  # from the request of the job to the answer


def answers_by_question(recorded: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield the questions that have a usable answer, each with the answer of its first job.

    Args:
        recorded: pairs of job and attempt, and the answer as JSON.
    """
    answers: dict[str, bytes] = {}
    for _, raw in sorted(recorded):
        answer = typed_json.decode(raw, RecordedAnswer)
        if answer.question and answer.answer and not answer.failure and len(answer.answer) < MOST_ANSWER:
            answers.setdefault(answer.question, raw)
    yield from answers.items()
