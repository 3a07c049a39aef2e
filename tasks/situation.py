"""The situation of an agent that chooses an action: the host's brief, and the current items of its plan."""

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
    situation: dict[str, Any] = {}
    for name in ("location", "activity"):
        if isinstance(text := moment.brief.get(name), str) and text:
            situation[name] = text
    status = moment.brief.get("status")
    if isinstance(status, Mapping):
        situation["status"] = meter_params(status)
    for name, most in (("near", MOST_NEAR), ("actions", MOST_ACTIONS)):
        if isinstance(given := moment.brief.get(name), list | tuple) and given:
            situation[name] = [str(one)[:500] for one in given[:most]]
    plan = moment.stream.current_plan(moment.minute)
    items = moment.stream.plan_items(plan) if plan is not None else []
    now, later = present_items(items, moment.minute)
    if now is not None:
        situation["item"] = _item_params(now)
    if later is not None:
        situation["later"] = _item_params(later)
    return situation


def _item_params(item: PlanItem) -> dict[str, Any]:
    params = {"id": item.id, "description": item.description, "minute": item.minute, "status": item.status}
    return params | ({"location": item.location} if item.location else {})


def item_of(situation: Situation, name: str) -> PlanItem | None:
    """Return the plan item "item" or "later" of a situation; None if it has none."""
    params = situation.get(name)
    if not isinstance(params, Mapping):
        return None
    return PlanItem(
        id=str(params.get("id", "")),
        description=str(params.get("description", "")),
        location=str(params.get("location") or "") or None,
        minute=params["minute"] if isinstance(params.get("minute"), int) else None,
        status="active" if params.get("status") == "active" else "pending",
    )


def format_item(item: PlanItem | None, names: Mapping[str, str]) -> str:
    """Return a plan item with its time and place, as "9:00 AM bake bread (Hobbs Cafe)"; "" without an item."""
    if item is None:
        return ""
    at = f"{clock_time(item.minute)} " if item.minute is not None else ""
    return f"{at}{item.description}" + (f" ({resolve_name(item.location, names)})" if item.location else "")


def text_of(situation: Situation, name: str) -> str:
    """Return a text of a situation; "" if it has none."""
    text = situation.get(name, "")
    return text if isinstance(text, str) else ""


def texts_of(situation: Situation, name: str) -> list[str]:
    """Return a list of texts of a situation; an empty one if it has none."""
    given = situation.get(name, ())
    return [str(one) for one in given] if isinstance(given, list | tuple) else []


def meters_of(situation: Situation) -> dict[str, Meter]:
    """Return the meters of a situation by name."""
    return read_meters(situation.get("status"))
