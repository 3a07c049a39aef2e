"""The tokens that a load test spent: as the ledger charges them, and as the stand-in endpoint counts them."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import NamedTuple

from cogitate.scheduler.budget.budget_lines import WHOLE_RUN, accounts_of
from cogitate.scheduler.ledger.run_store import RunStore

SETTLED = 10.0  # seconds within which attempts that are in flight at the end must have settled


class SpentTokens(NamedTuple):
    """The tokens of a whole test, its warm-up included."""

    charged: int
    served: int | None  # by the stand-in; None: an endpoint of the user's own


def spent_tokens(store: RunStore, endpoint: str | None) -> SpentTokens:
    """Wait until no attempt is in flight, then return the tokens of the run.

    After ten seconds it omits the tokens of attempts still in flight.

    Args:
        endpoint: the stand-in's base URL; None: the user's endpoint.
    """
    deadline = time.monotonic() + SETTLED
    while True:
        before = _served(endpoint)
        idle = not store.values("attempts")
        account = accounts_of({WHOLE_RUN: store.window(WHOLE_RUN)}).get((WHOLE_RUN, "run", "tokens"), {})
        after = _served(endpoint)
        if (idle and before == after) or time.monotonic() > deadline:
            return SpentTokens(account.get("spent", 0), after)
        time.sleep(0.1)  # between two reads, since the end of an attempt sends no event


def _served(endpoint: str | None) -> int | None:
    if endpoint is None:
        return None
    with urllib.request.urlopen(endpoint.removesuffix("/v1") + "/stats", timeout=SETTLED) as answer:
        stats = json.load(answer)
    return int(stats["prompt_tokens"]) + int(stats["completion_tokens"])
