"""The situation of an agent that chooses an action: the host's brief, and the present items of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from cogitate.memory.clock import clock_time
from cogitate.memory.entry import MAX_TEXT, PlanItem, present_items, resolve_name
from cogitate.tasks.kind import Moment
from cogitate.tasks.meters import Meter, meter_params, read_meters

MOST_NEAR, MOST_ACTIONS = 20, 30

#: JSON: "location", "activity", "status", "near", "actions", "item" and "later", where known.
Situation = Mapping[str, Any]
_Short = Annotated[str, msgspec.Meta(max_length=500)]


class ActParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a host's request: the agent's situation."""

    location: Annotated[str, msgspec.Meta(max_length=500)] = ""  # id
    activity: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)] = ""
    status: dict[str, float | Meter] = {}
    near: Annotated[tuple[_Short, ...], msgspec.Meta(max_length=MOST_NEAR)] = ()  # owners or names
    actions: Annotated[tuple[_Short, ...], msgspec.Meta(max_length=MOST_ACTIONS)] = ()  # available ones


def situation_of(moment: Moment) -> dict[str, Any]:
    """Return the host's brief and the state of the plan, which a job cannot look up as of its tick."""
    found: dict[str, Any] = {}
    for name in ("location", "activity"):
        if isinstance(said := moment.brief.get(name), str) and said:
            found[name] = said
    status = moment.brief.get("status")
    if isinstance(status, Mapping):
        found["status"] = meter_params(status)
    for name, most in (("near", MOST_NEAR), ("actions", MOST_ACTIONS)):
        if isinstance(given := moment.brief.get(name), list | tuple) and given:
            found[name] = [str(one)[:500] for one in given[:most]]
    plan = moment.stream.current_plan(moment.minute)
    items = moment.stream.plan_items(plan) if plan is not None else []
    now, later = present_items(items, moment.minute)
    if now is not None:
        found["item"] = _kept(now)
    if later is not None:
        found["later"] = _kept(later)
    return found


def _kept(item: PlanItem) -> dict[str, Any]:
    kept = {"id": item.id, "description": item.description, "minute": item.minute, "status": item.status}
    return kept | ({"location": item.location} if item.location else {})


def item_of(situation: Situation, name: str) -> PlanItem | None:
    kept = situation.get(name)
    if not isinstance(kept, Mapping):
        return None
    return PlanItem(
        id=str(kept.get("id", "")),
        description=str(kept.get("description", "")),
        location=str(kept.get("location") or "") or None,
        minute=kept["minute"] if isinstance(kept.get("minute"), int) else None,
        status="active" if kept.get("status") == "active" else "pending",
    )


def format_item(item: PlanItem | None, names: Mapping[str, str]) -> str:
    if item is None:
        return ""
    at = f"{clock_time(item.minute)} " if item.minute is not None else ""
    return f"{at}{item.description}" + (f" ({resolve_name(item.location, names)})" if item.location else "")


def text_of(situation: Situation, name: str) -> str:
    said = situation.get(name, "")
    return said if isinstance(said, str) else ""


def texts_of(situation: Situation, name: str) -> list[str]:
    given = situation.get(name, ())
    return [str(one) for one in given] if isinstance(given, list | tuple) else []


def meters_of(situation: Situation) -> dict[str, Meter]:
    return read_meters(situation.get("status"))
