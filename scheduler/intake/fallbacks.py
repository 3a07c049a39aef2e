"""Fallbacks: what jobs' heuristics give, as workers stage it while models are asked.

A host that takes one must get what it would have computed itself, to the byte. So a fallback names the code that made
it, and hosts leave alone what other code made.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import structlog

from cogitate.memory.effects import Effect
from cogitate.scheduler.intake.effects import check_bounds
from cogitate.scheduler.intake.kind_effects import KindEffects, made_without_model
from cogitate.tasks.job import JobKey
from cogitate.tasks.kind import Case, Kind
from cogitate.tasks.own.code_version import code_version

MOST_BYTES = 16_384  # of a fallback; the host computes what has more, instead of reading it

log = structlog.get_logger()


class _Staged(msgspec.Struct, frozen=True):
    code: str
    effects: msgspec.Raw


_STAGED = msgspec.json.Decoder(_Staged)
_EFFECTS = msgspec.json.Decoder(tuple[Effect, ...])


class Fallbacks:
    """The fallbacks of some kinds, made and read by the code of this process as it was at its start."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._codes = {kind.name: code_version(kind) for kind in kinds}

    def make(self, kind: Kind, case: Case) -> bytes:
        """Return the fallback of a job; b"" where there is none to stage: it is refused, or too long."""
        code = self._codes.get(kind.name, "")
        made = made_without_model(kind, case) if code else None
        if made is None or made.refusal:
            return b""
        raw = msgspec.json.encode(_Staged(code, msgspec.Raw(msgspec.json.encode(made.effects))))
        return raw if len(raw) <= MOST_BYTES else b""

    def read(self, key: JobKey, raw: bytes) -> KindEffects | None:
        """Return what was staged for a job; None if that is nothing, of other code, or nothing that can be used."""
        if not raw:
            return None
        try:
            if len(raw) > MOST_BYTES:
                raise ValueError(f"it has {len(raw)} bytes, at most {MOST_BYTES} fit")
            staged = _STAGED.decode(raw)
            if not staged.code or staged.code != self._codes.get(key.kind):
                return None
            effects = _EFFECTS.decode(staged.effects)
            check_bounds(effects)
        except (ValueError, RecursionError) as error:
            log.warning("ledger.unreadable", what="a fallback", job=key.text(), error=str(error)[:200])
            return None
        return KindEffects(effects)
