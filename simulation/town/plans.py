"""Progress of a plan's items in a world: pending, active, completed or cancelled."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from cogitate.memory.effects import SetPlanStatus
from cogitate.memory.entry import Entry, PlanItem, PlanStatus


class Agenda(msgspec.Struct, kw_only=True):
    """An agent's present plan as its world knows it."""

    items: list[PlanItem] = msgspec.field(default_factory=list)  # with their present status
    valid_until: int = 0

    def replace(self, plan: Entry, places: Collection[str]) -> None:
        """Take over a new plan; an item at a place that does not exist can be done anywhere."""
        self.items = [
            item if item.location in places else msgspec.structs.replace(item, location=None) for item in plan.items
        ]
        self.valid_until = plan.valid_until

    def set_status(self, effect: SetPlanStatus) -> None:
        """Take over a status that was applied, unless the item has moved on since."""
        self.items = [
            msgspec.structs.replace(item, status=effect.status)
            if item.id == effect.item and item.status == effect.expects
            else item
            for item in self.items
        ]

    def current(self, minute: int) -> PlanItem | None:
        """Return the item whose time has come last, unless it is completed or cancelled (streams design, task 7)."""
        if self.valid_until <= minute:
            return None
        found: PlanItem | None = None
        for item in self.items:
            if (item.minute or 0) <= minute and (found is None or (item.minute or 0) >= (found.minute or 0)):
                found = item
        return found if found is not None and found.status in ("pending", "active") else None

    def follow(self, owner: str, minute: int, place: str, asleep: bool) -> list[SetPlanStatus]:
        """Move the items on and say so as effects.

        An item becomes active when its time has come and its place is reached, completed when the next one's time
        comes or the agent goes to sleep, and cancelled when its time passed without the agent getting there.
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
