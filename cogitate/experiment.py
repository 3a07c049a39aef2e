"""Run experiments: the same run under several conditions, several times each, within one limit."""

from cogitate.ops.experiment.results import RunTables, Table
from cogitate.ops.experiment.runner import Progress
from cogitate.ops.experiment.sweeping import Sweep, sweep

__all__ = ["Progress", "RunTables", "Sweep", "Table", "sweep"]
