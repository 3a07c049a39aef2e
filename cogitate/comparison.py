"""Where two runs part, why, and how the difference spreads."""

from cogitate.ops.commands.compare import read_comparison as compare
from cogitate.scheduler.inspection.comparison import Comparison, KindFigures, OwnerDifference, Thought, Window
from cogitate.scheduler.inspection.first_difference import FirstDifference

__all__ = ["Comparison", "FirstDifference", "KindFigures", "OwnerDifference", "Thought", "Window", "compare"]
