"""The trades of the town's people: hours and places of work, visible activities, and possible events."""

from __future__ import annotations

import msgspec

from cogitate.simulation.tables import read_table

Episodes = tuple[tuple[str, int], ...]  # events, with their importance


class Trade(msgspec.Struct, frozen=True):
    """An occupation. Times are minutes after 00:00."""

    title: str
    article: str
    place: str  # kind of a public place, or "home"
    start: int
    end: int
    duty: str  # "who …", for the background
    activities: tuple[str, ...]  # visible activities, "-ing" forms
    episodes: Episodes  # at work
    shares: tuple[str, ...]  # remarks about work
    ages: tuple[int, int] = (22, 64)
    asked: str = "How is work"  # opens the question that others ask about it


class _Table(msgspec.Struct, frozen=True):
    common_episodes: Episodes
    indoor_episodes: Episodes
    trades: tuple[Trade, ...]


_TABLE = read_table(__package__, "trades", _Table)
TRADES = _TABLE.trades
COMMON_EPISODES = _TABLE.common_episodes  # at any work
INDOOR_EPISODES = _TABLE.indoor_episodes  # only under a roof
