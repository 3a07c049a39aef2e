"""One call to a model, and the shape of the layers that it passes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import NamedTuple, Protocol

import msgspec
from pydantic import BaseModel

from cogitate.prompts.constraints import Constraint
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.real_day import Held
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Case, Prompt
from cogitate.workers.gate.gate import Refused
from cogitate.workers.llm.replies.failures import ModelAnswer
from cogitate.workers.llm.requests.hashing import hashed
from cogitate.workers.llm.requests.schema import narrowed_schema


class CachedQuestion(NamedTuple):
    """Everything that is sent to a model. Equal questions are the same request."""

    endpoint: str
    model: str
    seed: int | None
    parameters: str
    system: str
    user: str
    answer: type[BaseModel]
    enforced: tuple[Constraint, ...]
    output_cap: int

    def digest(self) -> str:
        """Return a hash that is the same in every process."""
        as_json = encode_basestring_ascii  # as `json.dumps` encodes a text
        sent = [as_json(self.endpoint), as_json(self.model), json.dumps(self.seed)]
        sent += [as_json(self.system), as_json(self.user)]
        sent += [_schema_as_json(self.answer, self.enforced), str(self.output_cap)]
        if self.parameters:  # without parameters, digests equal those of earlier versions
            sent.append(json.dumps(self.parameters))
        return hashed(f"[{', '.join(sent)}]".encode(), 16).hexdigest()


_ENCODER = msgspec.json.Encoder(order="deterministic")


def inputs_digest(case: Case, question: CachedQuestion) -> str:
    """Hash everything that a job's outcome depends on: what it may read, and what is sent to its model.

    The hash is the same in every process and every run. A fork reuses a job's outcome from its source if the hashes are
    equal. Reservations and corrections of estimates drift with every answer of a run, so they count only if they change
    the prompt.
    """
    job = msgspec.structs.replace(
        case.job,
        run="",
        priority=0,
        facts=0,  # a version; the facts themselves count
        correction=1_000,
        correction_others=1_000,
        reserved=Cost(),
        ahead=0,
        refused="",
        valued=None,
    )
    read = _ENCODER.encode((job, case.profile, case.world.digest, case.memories, question.digest()))
    return hashed(read, 12).hexdigest()


@lru_cache(maxsize=512)  # the size of the cache of schemas
def _schema_as_json(answer: type[BaseModel], enforced: tuple[Constraint, ...]) -> str:
    return json.dumps(narrowed_schema(answer, enforced))


BATCHED = "batched"  # no answer yet: a batch has the request, and a worker gets the job again with its answer


class BatchAnswer(NamedTuple):
    """The answer to a request that was in a batch file."""

    digest: str  # of the question
    size: int  # bytes of the request
    body: bytes  # the completion
    held: Held  # the reservation in the real day


class Call(NamedTuple):
    """One question of an attempt to one model."""

    claim: Claim
    prompt: Prompt
    model: Model
    output_cap: int  # the most tokens that the answer may have, reasoning included
    deadline: float  # instant of `time.monotonic()` by which it ends
    service_tier: str = ""  # the tier to ask in; "": the one that the model's parameters name

    @property
    def question(self) -> CachedQuestion:
        """Return everything that is sent to the model, except the service tier."""
        prompt, model = self.prompt, self.model
        return CachedQuestion(
            model.endpoint,
            model.model,
            model.seed,
            model.parameters,
            prompt.system,
            prompt.user,
            prompt.answer,
            prompt.enforced,
            self.output_cap,
        )


Ask = Callable[[Call], ModelAnswer | Refused]


class Layer(Protocol):
    """A step between an attempt and its model. Thread-safe."""

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Return the answer, or why there is none; `following` asks through the layers behind this one."""


def through(layers: Sequence[Layer], ask: Ask) -> Ask:
    """Return a function that passes a call through these layers in order, and then to `ask`."""
    for layer in reversed(layers):
        ask = _before(layer, ask)
    return ask


def _before(layer: Layer, following: Ask) -> Ask:
    def ask(call: Call) -> ModelAnswer | Refused:  # unlike a `partial`, it uses no C stack in each thread
        return layer.ask(call, following)

    return ask
