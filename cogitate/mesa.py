"""Minds for the agents of an unchanged Mesa model. Install it with `pip install cogitate[mesa]`."""

from cogitate.hosting.mesa_minds import Mind, Minds, Thought, think

__all__ = ["Mind", "Minds", "Thought", "think"]
