"""Memories, reflections and plans for the agents of mesa-llm. Install it with `pip install cogitate[mesa-llm]`."""

from cogitate.memory.errors import how_to_install

try:
    from cogitate.hosting.mesa_llm_minds import CogitateMemory, think, unless_down
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"cogitate.mesa_llm needs mesa-llm ({error}): on Python 3.12 or newer, {how_to_install('mesa-llm')}"
    ) from error

__all__ = ["CogitateMemory", "think", "unless_down"]
