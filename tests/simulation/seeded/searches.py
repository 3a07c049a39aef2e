"""Searches for planted bugs: which faults are frequent, which scenes can show the bug, and the first seed to try."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.seeded.faults import CANCELS
from tests.simulation.seeded.scene import Scene

#: Faults that are to be frequent, so that few seeds are enough.
FOCUS: dict[str, tuple[str, ...]] = {
    "a repeated claim begins an attempt that is over": ("call landed late", "reply lost", "worker stopped"),
    "a seal is of more than there is": ("host stopped",),
    "a cancelled job is left open": (CANCELS,),
    "a cancelled job's reservation is not returned": (CANCELS,),
    "a cancelled job's answer is used": (CANCELS, "request slow"),
    "latencies are forgotten on resume": ("second host",),
    "a guess is not journalled": ("request slow",),
    "host steps have no sequence": ("server restarted", "broker wiped"),
    "an idle heuristic reads later entries": ("request slow",),
    "leases follow the wall clock": ("wall clock jumped",),
    "a fenced host sends heartbeats": ("host stopped", "second host"),
    "any attempt may settle": ("worker stopped",),
    "a result after collect keeps its job open": ("host stopped", "request slow"),
    "further attempts have no pool": ("request failed",),
    "hints are limited": ("message lost", "broker wiped"),
    "a correction is of the attempt before": ("request failed", "request slow", "worker killed"),
}


def _adapts(scene: Scene) -> bool:
    """Return whether a scene learns latencies: fixed due ticks show nothing of them."""
    return scene.settings.adapts()


def _paced(scene: Scene) -> bool:
    """Return whether the host of a scene has idle time."""
    return scene.settings.tick_rate is not None


def _asks_flex(scene: Scene) -> bool:
    """Return whether a scene asks in the flex tier."""
    return scene.asks_flex


def _batches(scene: Scene) -> bool:
    """Return whether a scene asks in batch files."""
    return scene.batches


def _may_be_late(scene: Scene) -> bool:
    """Return whether answers may come late in a scene."""
    return not scene.patient


def _packs(scene: Scene) -> bool:
    """Return whether a scene packs calls."""
    return scene.packs


#: Bugs that not every scene can show, and the scenes that can.
WANTED: dict[str, Callable[[Scene], bool]] = {
    "latencies are forgotten on resume": _adapts,
    "an answer is timed again": _adapts,
    "a guess is not journalled": _adapts,
    "an idle heuristic reads later entries": _paced,
    "a pack's answers go by their place": _packs,
    "shares of a pack do not add up": _packs,
    "a batch is recorded after it was sent": _batches,
    "a batch's answer to an ended job is free": _batches,
    "an answer is charged as it was asked": _asks_flex,
    "an attempt pays for flex and falls back": _asks_flex,
    "a fork forgets late answers": _may_be_late,
}

#: The seed that finds each bug that seed 0 does not show: `make simulate PLANTED=…` names the first that does.
FOUND: dict[str, int] = {
    "host steps name no epoch": 0,
    "host steps have no sequence": 65,
    "a lost reply is answered by doing it again": 4,
    "any attempt may settle": 53,
    "a claimed job is handed out again": 8,
    "refused claims count as attempts": 9,
    "a repeated claim begins an attempt that is over": 231,
    "hints are limited": 3,
    "a tick is written in two steps": 1,
    "what collect saw decides what attempts hold": 2,
    "a result after collect keeps its job open": 123,
    "a late answer is awaited for ever": 2,
    "a correction is applied twice": 3,
    "corrections are forgotten on resume": 65,
    "a correction is of the attempt before": 3,
    "a correction does not wait for the usage": 2,
    "a cancelled job is left open": 1,
    "a cancelled job's reservation is not returned": 1,
    "a cancelled job's answer is used": 108,
    "latencies are forgotten on resume": 319,
    "an answer is timed again": 62,
    "a guess is not journalled": 2,
    "an idle heuristic reads later entries": 19,
    "a fenced host sends heartbeats": 1,
    "an unread reply counts as read": 1,
    "a seal is of more than there is": 18,
    "what was not shown is archived": 9,
    "a cursor passes what was not shown": 19,
    "entries are deleted early": 19,
    "further attempts have no pool": 19,
    "leases follow the wall clock": 7,
    "a host that is gone sends heartbeats": 27,
    "a pack's answers go by their place": 9,
    "shares of a pack do not add up": 9,
    "an answer is charged as it was asked": 13,
    "an attempt pays for flex and falls back": 13,
    "a batch is recorded after it was sent": 237,
    "a batch's answer to an ended job is free": 257,
    "a lost attempt is free": 1,
    "a fork forgets late answers": 429,
    "a fork forgets corrections": 263,
}
