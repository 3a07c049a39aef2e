"""The town's weather, one for each day."""

from __future__ import annotations

from simulation.town.chance import Chance

SKIES: tuple[tuple[str, str, str], ...] = (  # a day in words, what one says about it, the answer
    ("a clear, cold", "My fingers are frozen, and not a cloud in the sky.", "Put your gloves on, it stays cold."),
    ("a foggy", "You can hardly see your own feet in this fog.", "The ferry will be late, I am sure."),
    ("a rainy", "This rain does not want to stop.", "The gardens need it, I keep telling myself."),
    ("a warm and sunny", "What sunshine! One should be outside all day.", "I wish I could sit by the fountain."),
    ("a windy", "The wind almost carried off my hat.", "Hold on to it, there is a storm coming."),
    ("a mild and cloudy", "Not warm, not cold, what kind of weather is this?", "The kind one forgets, I suppose."),
)


def sky(seed: int, day: int) -> tuple[str, str, str]:
    """The day's weather: in words ("a foggy"), a remark about it, and an answer to that."""
    return Chance(seed, "weather", day).pick(SKIES)
