"""Audit of ended jobs that count in full, and of the attempts whose usage will correct them."""

from __future__ import annotations

from collections.abc import Mapping

from cogitate.memory import typed_json
from cogitate.scheduler.engine.corrections import Charged
from cogitate.scheduler.inspection.snapshot import AccountsSnapshot
from cogitate.scheduler.journal.run_totals import Charge
from cogitate.scheduler.ledger.answers import read_learned


def wrong_corrections(ledger: AccountsSnapshot, charged: Mapping[str, Charge]) -> list[str]:
    """Return the violations among the jobs that count in full, and among the stored corrections.

    Args:
        charged: the jobs that count in full by the journal.
    """
    found = []
    if ledger.charged.keys() != charged.keys():
        found.append(
            "the ended jobs that count in full differ from the journal's: "
            f"{sorted(ledger.charged.keys() ^ charged.keys())[:5]}"
        )
    awaited = ledger.unsettled.keys() | ledger.corrections.keys()
    for key, raw in sorted(ledger.charged.items()):
        kept = typed_json.decode(raw, Charged)
        said = charged.get(key)
        if said is not None and (kept.ended, kept.reserved, kept.cells) != (
            said.ended,
            said.note.reserved,
            said.note.cells,
        ):
            found.append(f"job {key}: counts as {kept.reserved} since tick {kept.ended}, but as {said} by the journal")
        # A day's window is dropped together with its attempts whose usage never arrived.
        if key not in awaited and all(c.window in ledger.windows for c in kept.cells if c.period == "day"):
            found.append(f"job {key}: counts in full, but no attempt or correction will report its usage")
    for key, token in sorted(ledger.unsettled.items()):
        attempt = ledger.attempts.get(token) or ledger.lost.get(token)
        if attempt is None or attempt["job"] != key:
            found.append(f"job {key}: is to be corrected by {token}, which is not one of its unsettled attempts")
        if key not in ledger.charged:
            found.append(f"job {key}: is to be corrected, but does not count in full")
    flat = [part for key, raw in sorted(ledger.corrections.items()) for part in (key.encode(), raw)]
    read = {known.key.text(): known for known in read_learned(flat)}
    for key in sorted(ledger.corrections):
        if key not in read:
            found.append(f"job {key}: its correction cannot be read")
        elif key in ledger.jobs or read[key].at > ledger.tick:
            found.append(f"job {key}: has a correction before its end")
    return found
