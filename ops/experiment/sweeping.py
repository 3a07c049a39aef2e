"""An experiment from its file to its results, for the command line and for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cogitate.hosting import logs
from cogitate.ops.experiment.plan import read_experiment
from cogitate.ops.experiment.results import Results, Table, read_measures, read_results
from cogitate.ops.experiment.runner import ExperimentFolder, Progress, Runner
from cogitate.ops.experiment.statistics import Comparison, compare
from cogitate.ops.experiment.summary import page_of, write_plot
from cogitate.scheduler.config.settings import ConfigurationError


class Sweep(NamedTuple):
    """The outcome of an experiment so far."""

    progress: Progress
    results: Results
    comparisons: list[Comparison]
    stopped: bool  # whether its limit stopped it
    files: list[Path]

    @property
    def complete(self) -> bool:
        """Return whether all runs have ended."""
        return self.progress.done == self.progress.runs

    @property
    def runs(self) -> Table:
        """A row for each run."""
        return self.results.runs

    @property
    def measures(self) -> Table:
        """A row for each measure of a run."""
        return self.results.measures

    @property
    def summary(self) -> Table:
        """A row for each measure and condition: means, differences from the base, and their intervals."""
        rows = Table()
        for one in self.comparisons:
            row = {"measure": one.measure, "condition": one.condition, "base": one.base} | one.value._asdict()
            difference = one.difference._asdict() if one.difference is not None else {}
            named = ("n", "mean", "low", "high")
            rows.append(row | {f"difference_{name}": difference.get(name) for name in named})
        return rows


def sweep(
    experiment: Path | str | Mapping[str, Any],
    *,
    out: Path | str | None = None,
    watch: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Sweep:
    """Run the remaining runs of an experiment, and write and return all its results.

    Args:
        experiment: the file, or a mapping of the same form.
        out: the folder of the runs and results; by default the file's name without its suffix.
        watch: called whenever a run has ended.
        stop: polled continually; once it returns True, the experiment leaves all runs, which can be continued.

    Raises:
        ConfigurationError: when the file or a setting is invalid, or the folder is of another experiment.
        LedgerUnavailable: when its server is away for longer than `outage_wait`, or once `stop` returns True.
    """
    logs.quiet()
    folder = _folder_of(experiment, out)
    if not isinstance(experiment, Mapping):
        experiment = Path(experiment)
        if (beside := str(experiment.parent.resolve())) not in sys.path:
            sys.path.insert(0, beside)  # where the modules of measures, worlds and kinds are
    planned = read_experiment(experiment)
    measures = read_measures(planned)
    kept = ExperimentFolder(folder.absolute())
    runner = Runner(planned, kept, watch, stop)
    with runner.opened():
        progress = runner.run()
        results = runner.outage.read(lambda: read_results(runner.client, planned, kept.data, kept.done(), measures))
    comparisons = compare(results.measures)
    files = results.write(kept.path)
    page = kept.path / "summary.html"
    page_of(folder.name, progress, results, comparisons).write(page)
    files.append(page)
    if write_plot(kept.path / "plot.svg", comparisons):
        files.append(kept.path / "plot.svg")
    return Sweep(progress, results, comparisons, runner.stopped, files)


def _folder_of(experiment: Path | str | Mapping[str, Any], out: Path | str | None) -> Path:
    """Return the folder of an experiment.

    Raises:
        ConfigurationError: when the folder does not follow from the file's name.
    """
    if out is not None:
        return Path(out)
    if isinstance(experiment, Mapping):
        raise ConfigurationError("an experiment without a file has no folder: give out")
    folder = Path(experiment).with_suffix("")
    if folder == Path(experiment):
        raise ConfigurationError(f"the name {experiment} has no suffix, so its folder would have the same: give out")
    return folder
