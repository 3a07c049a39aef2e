"""Minds for the agents of a Mesa model, which stays as it is. Install it with `pip install cogitate[mesa]`."""

from cogitate.hosting.mesa_minds import Mind, Minds, Thought, think

__all__ = ["Mind", "Minds", "Thought", "think"]
