"""What two people feel for each other, -100 to 100, and how it touches their mood."""

from __future__ import annotations

from simulation.town.state import FULL, State

MOOD_PER_WARMTH = 30  # hundredths of a per cent


def warm(state: State, one: str, other: str, change: int) -> None:
    """Change what two feel for each other, and their mood with it."""
    for owner, towards in ((one, other), (other, one)):
        body = state.bodies[owner]
        body.feelings[towards] = max(-100, min(100, body.feelings.get(towards, 0) + change))
        body.mood = max(0, min(FULL, body.mood + change * MOOD_PER_WARMTH))


def acquaint(state: State, one: str, other: str, feeling: int) -> None:
    """Let two people have known and liked each other for long."""
    for owner, towards in ((one, other), (other, one)):
        state.bodies[owner].feelings[towards] = min(100, state.bodies[owner].feelings.get(towards, 0) + feeling)
