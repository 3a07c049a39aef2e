"""The items of a plan at a moment: which one is under way, and which comes next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cogitate.memory.entry import PlanItem


class PresentItems(NamedTuple):
    """The item that is under way, and the next one."""

    now: PlanItem | None
    later: PlanItem | None


def present_items(items: Iterable[PlanItem], minute: int) -> PresentItems:
    """Return the item whose time came last, unless it is done or cancelled, and the first pending one to come.

    Earlier items are over. An item without a time counts as begun. Without any times, items come one
    after another: the first that is open is under way.
    """
    items = list(items)
    if all(item.minute is None for item in items):
        left = [item for item in items if item.status in ("pending", "active")]
        return PresentItems(*[*left, None, None][:2])
    known = [(item, item.minute or 0) for item in items]
    begun = [(item, at) for item, at in known if at <= minute]
    coming = [(item, at) for item, at in known if at > minute and item.status == "pending"]
    last = max(begun, key=lambda pair: pair[1])[0] if begun else None
    under_way = last is not None and last.status in ("pending", "active")
    return PresentItems(last if under_way else None, min(coming, key=lambda pair: pair[1])[0] if coming else None)
