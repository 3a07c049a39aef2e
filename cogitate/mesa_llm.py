"""Memories, reflections and plans for the agents of mesa-llm. Install it with `pip install cogitate[mesa-llm]`."""

from hosting.mesa_llm_memory import CogitateMemory
from hosting.mesa_llm_minds import think, unless_down

__all__ = ["CogitateMemory", "think", "unless_down"]
