"""Calls that may be packed, and a stand-in that answers them without HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.completions import complete, error
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.ledger.claims import Claim
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Case, Prompt, WorldFacts
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Call
from cogitate.workers.jobs.packs.prompt import cases_in
from cogitate.workers.jobs.packs.request import ask_together
from cogitate.workers.jobs.packs.sizes import PackSizes
from cogitate.workers.llm.replies.error_responses import from_status
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer
from cogitate.workers.llm.replies.reply import Reply, charge_of, read_completion, validated
from cogitate.workers.llm.requests.dialect import Dialect
from tests.unit.tasks.own_kind_case import Own, Said

RESERVED = Cost(calls=1, tokens=1_050, usd_micros=200)
MODEL = Model(name="default", model="m", input_price=150_000, output_price=600_000, pack="auto")
WEAK = msgspec.structs.replace(MODEL, reasons=False)
WORLD = "Places:\n- Harbour (port)\n- Mill (work)\n\n"
OWNERS = ("ada", "ben", "cleo", "dan")


class Packs(Own):
    """A kind of a host that allows packs."""

    packs = True


PACKS, ALONE = Packs(output_cap=50), Own(name="whistle", order=91, output_cap=50)


def memory_of(owner: str) -> str:
    """Return what only this owner remembers."""
    return f"{owner} hid the letter of the seventh of May under the third board of the floor at {owner}'s"


def call_of(
    owner: str,
    text: str = "",
    *,
    number: int = 1,
    due: int = 9,
    model: Model = MODEL,
    reserved: Cost = RESERVED,
    system: str = "Hum a tune.",
    run: str = "town",
    packs: bool = True,
) -> Call:
    """Return the first question of one owner's job."""
    kind = PACKS if packs else ALONE
    job = Job(
        run=run,
        key=JobKey(3, kind.name, f"agent:{owner}", 0, 0),
        minute=3,
        due=due,
        reads=(),
        model=model.name,
        prompt_cap=1_000,
        output_cap=50,
        reserved=reserved,
    )
    case = Case(job=job, profile=Profile(name=owner), world=WorldFacts(), memories={})
    claim = Claim(incarnation="now", token="t", number=number, cap=4, tick=4, case=case, model=model)
    user = f"{WORLD}You hum for {owner}.\n<memories>\n- [day 1] {text or memory_of(owner)}.\n</memories>"
    prompt = Prompt(system=system, user=user, answer=Said, version="1")
    return Call(claim, prompt, model, 50, time.monotonic() + 60)


Says = Callable[[str, list[tuple[int, str, str]]], str | Failure | Refused | None]


class StandIn:
    """The layers behind, down to a stand-in for the model.

    Args:
        says: returns the answer to a prompt of these cases (none: an ordinary one), a failure of the call, or None for
            what the stand-in answers.
        faults: of the stand-in, one a request, in turn.
    """

    def __init__(self, says: Says = lambda user, cases: None, faults: Sequence[str | None] = ()) -> None:
        self._says, self._faults = says, [*faults]
        self.asked: list[Call] = []
        self.sizes: list[int] = []
        self.spent: list[Cost] = []

    def __call__(self, call: Call) -> ModelAnswer | Refused:
        self.asked.append(call)
        prompt = call.prompt
        cases = cases_in(prompt.system, prompt.user)
        self.sizes.append(len(cases) or 1)
        said = self._says(prompt.user, cases)
        if isinstance(said, Refused):
            return said
        request: Mapping[str, Any] = {"model": "m", **Dialect().body(prompt, call.output_cap)}
        if isinstance(said, Failure):
            reply = Reply(failure=said)
        elif said is not None:
            reply = Reply(text=said, unreported="text")
        else:
            fault = self._faults.pop(0) if self._faults else None
            response = error(400, "content_filter", "no") if fault == "400" else complete(request, 0, fault)
            if response.status == 200:
                reply = read_completion(response.body, {})
            else:
                reply = Reply(failure=from_status(response.status, json.loads(response.body), {}))
        usage, estimated, _ = charge_of(call.model, prompt, reply, 1, call.output_cap)
        self.spent.append(usage)
        value, failure = validated(reply, prompt.answer)
        return ModelAnswer(
            usage=usage,
            estimated=estimated,
            value=value,
            failure=failure,
            text=reply.text,
            prompt_tokens=reply.usage.prompt if reply.usage is not None else 0,
        )


def ask_all(calls: Sequence[Call], stand_in: StandIn) -> list[ModelAnswer]:
    """Return the answers to calls that are asked together, none of which is refused."""
    answers = [answer for _, answer in sorted(ask_together(calls, stand_in, PackSizes()), key=itemgetter(0))]
    found = [one for one in answers if isinstance(one, ModelAnswer)]
    assert len(found) == len(calls)
    return found


def total(costs: Sequence[Cost]) -> Cost:
    return Cost(sum(one.calls for one in costs), sum(one.tokens for one in costs), sum(one.usd_micros for one in costs))
