"""Tracks a plan's items in a world: pending, active, completed or cancelled."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from cogitate.memory.effects import Append, SetPlanStatus
from cogitate.memory.entry import Entry, PlanItem, PlanStatus
from cogitate.simulation.world import AppliedChange


class Agenda(msgspec.Struct, kw_only=True):
    """An agent's current plan in its world."""

    items: list[PlanItem] = msgspec.field(default_factory=list)  # with their current status
    valid_until: int = 0

    def apply(self, change: AppliedChange, places: Collection[str]) -> None:
        """Adopt a new plan or an item's status; ignore other changes."""
        match change.effect:
            case Append(entry=planned) if planned.type == "plan":
                self.replace(change.entry or planned, places)
            case SetPlanStatus():
                self.set_status(change.effect)
            case _:
                pass

    def replace(self, plan: Entry, places: Collection[str]) -> None:
        """Adopt a new plan; an item at an unknown place can be done anywhere."""
        self.items = [
            item if item.location in places else msgspec.structs.replace(item, location=None) for item in plan.items
        ]
        self.valid_until = plan.valid_until

    def set_status(self, effect: SetPlanStatus) -> None:
        """Adopt an applied status, unless the item has progressed since."""
        self.items = [
            msgspec.structs.replace(item, status=effect.status)
            if item.id == effect.item and item.status == effect.expects
            else item
            for item in self.items
        ]

    def current(self, minute: int) -> PlanItem | None:
        """Return the latest item whose time has come, unless it is completed or cancelled (streams design, task 7)."""
        if self.valid_until <= minute:
            return None
        found: PlanItem | None = None
        for item in self.items:
            if (item.minute or 0) <= minute and (found is None or (item.minute or 0) >= (found.minute or 0)):
                found = item
        return found if found is not None and found.status in ("pending", "active") else None

    def follow(self, owner: str, minute: int, place: str, asleep: bool) -> list[SetPlanStatus]:
        """Advance the items, and return the changes as effects.

        An item becomes active when its time has come and the agent is at its place, completed when the next item's time
        comes or the agent goes to sleep, and cancelled when its time passes without the agent's arrival.
        """
        if self.valid_until <= minute:
            return []
        now = self.current(minute)
        effects: list[SetPlanStatus] = []
        for index, item in enumerate(self.items):
            status: PlanStatus = item.status
            if status not in ("pending", "active") or (item.minute or 0) > minute:
                continue
            if item is not now:
                status = "completed" if status == "active" else "cancelled"
            elif status == "pending":
                status = "active" if item.location in (None, "", place) else status
            elif asleep:
                status = "completed"
            if status != item.status:
                effects.append(SetPlanStatus(owner=owner, item=item.id, status=status, expects=item.status))
                self.items[index] = msgspec.structs.replace(item, status=status)
        return effects
