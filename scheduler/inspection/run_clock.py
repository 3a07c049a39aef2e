"""The clock of a run, by which texts about it name its times."""

from __future__ import annotations

from cogitate.memory.clock import Clock
from cogitate.memory.typed_json import decoder
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.ledger.run_store import RunStore

_FACTS = decoder(Facts)


def kept_facts(store: RunStore) -> Facts:
    """Return the newest constants of a run; those of a usual run if it is deleted meanwhile."""
    kept = {int(version): raw for version, raw in store.mapping("facts").items()}
    return _FACTS.decode(kept[max(kept)]) if kept else Facts()


def clock_of(store: RunStore) -> Clock:
    """Return the clock of a run."""
    return kept_facts(store).clock
