"""Run experiments: the same run under several conditions, several times each, within one limit."""

from cogitate.ops.experiment.results import RunTables, Table
from cogitate.ops.experiment.runner import Progress
from cogitate.ops.experiment.sweeping import Sweep, sweep
from cogitate.simulation.world import StillWorld, World

__all__ = ["Progress", "RunTables", "StillWorld", "Sweep", "Table", "World", "sweep"]
