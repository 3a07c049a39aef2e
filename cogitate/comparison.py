"""Compare two runs: their first difference, its cause, and how it spreads."""

from cogitate.ops.commands.compare import read_comparison as compare
from cogitate.scheduler.inspection.compared.first_difference import FirstDifference
from cogitate.scheduler.inspection.compared.run import ComparedRun
from cogitate.scheduler.inspection.comparison import Comparison, KindFigures, OwnerDifference, Thought, Window

__all__ = [
    "ComparedRun",
    "Comparison",
    "FirstDifference",
    "KindFigures",
    "OwnerDifference",
    "Thought",
    "Window",
    "compare",
]
