"""The results of an experiment: a row for each run, and a row for each of its measures."""

from __future__ import annotations

import csv
import importlib
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from redis import Redis

from cogitate.memory.errors import InputError, how_to_install, quoted
from cogitate.ops.experiment.host import found
from cogitate.ops.experiment.plan import Experiment, Parameters, PlannedRun, text_of
from cogitate.ops.run_tables import Row, rows_of, write_parquet
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.summary import RunSummary, summarise_run
from cogitate.scheduler.journal.private_files import private_file

FIGURES = {  # figures of every run, which are also measures
    "by_model": "int64",  # jobs whose result a model wrote
    "by_heuristic": "int64",  # jobs whose result a heuristic wrote
    "calls": "int64",
    "tokens": "int64",
    "usd": "float64",
    "memories": "int64",  # live entries of all owners
    "reflections": "int64",  # live ones
}
RUN = {"run": "string", "condition": "string", "base": "bool", "replicate": "int64", "seed": "int64"}


class RunTables:
    """A run's tables, for measures. Each is read on first use.

    Attributes:
        run: the run's name.
        parameters: the parameters that conditions vary: "world.rain" -> value.
        seed: the seed of its world.
    """

    def __init__(self, client: Redis, run: str, data_dir: Path, parameters: Parameters, seed: int) -> None:
        self.run = run
        self.parameters = parameters
        self.seed = seed
        self._client = client
        self._data_dir = data_dir

    @cached_property
    def memories(self) -> list[Row]:
        """A row for each entry of each owner, including archived ones."""
        return list(rows_of(self._client, self.run, "memories", self._data_dir))

    @cached_property
    def jobs(self) -> list[Row]:
        """A row for each job."""
        return list(rows_of(self._client, self.run, "jobs", self._data_dir))

    @cached_property
    def journal(self) -> list[Row]:
        """A row for each tick."""
        return list(rows_of(self._client, self.run, "journal", self._data_dir))


#: Returns a number, or several by name; None if the run has no value.
Measure = Callable[[RunTables], float | Mapping[str, float | None] | None]


class Table(list[Row]):
    """Rows of results: dictionaries by column name."""

    def pandas(self) -> Any:
        """Return the rows as a `pandas.DataFrame`.

        Raises:
            InputError: when pandas is not installed.
        """
        return self._frame("pandas")

    def polars(self) -> Any:
        """Return the rows as a `polars.DataFrame`.

        Raises:
            InputError: when polars is not installed.
        """
        return self._frame("polars")

    def _frame(self, library: Literal["pandas", "polars"]) -> Any:
        try:
            return importlib.import_module(library).DataFrame(list(self))
        except ImportError as error:
            raise InputError(f"{library} is not installed: {how_to_install(library)}") from error


class Results(NamedTuple):
    """The runs of an experiment that have ended, and their measures."""

    runs: Table
    measures: Table

    def write(self, folder: Path) -> list[Path]:
        """Write both tables as CSV, and as Parquet if pyarrow is installed; return the files."""
        return [
            path
            for name, rows, columns in (
                ("runs", self.runs, self._columns(RUN, {"tick": "int64", "digest": "string"} | FIGURES)),
                ("measures", self.measures, self._columns(RUN, {"measure": "string", "value": "float64"})),
            )
            for path in _write(folder / name, columns, rows)
        ]

    def _columns(self, before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
        varied = [name for name in (self.runs[0] if self.runs else ()) if "." in name]
        return {**before, **dict.fromkeys(varied, "string"), **after}


def read_measures(experiment: Experiment) -> dict[str, Measure]:
    """Return the experiment's own measures by name.

    Raises:
        ConfigurationError: when a measure cannot be imported, or two have the same name.
    """
    measures = {name.partition(":")[2]: found(name) for name in experiment.measures}
    if len(measures) < len(experiment.measures) or measures.keys() & FIGURES.keys():
        raise ConfigurationError(f"measures must have different names, and none of {', '.join(FIGURES)}")
    return measures


def read_results(
    client: Redis, experiment: Experiment, data_dir: Path, done: set[str], measures: Mapping[str, Measure]
) -> Results:
    """Return the results of the runs that have ended, in the order of the plan.

    Raises:
        ConfigurationError: when a measure fails, or returns anything but numbers.
    """
    results = Results(Table(), Table())
    for run in experiment.runs():
        if run.name not in done:
            continue
        tables = RunTables(client, run.name, data_dir, run.condition.parameters, run.seed)
        row = _described(run)
        summary = summarise_run(client, run.name)
        figures = _figures(tables, summary)
        results.runs.append(row | {"tick": summary.tick, "digest": summary.digest} | figures)
        measured = figures | _own(tables, measures)
        results.measures.extend(
            Row(row | {"measure": name, "value": float(value)}) for name, value in measured.items() if value is not None
        )
    return results


def _described(run: PlannedRun) -> Row:
    return {
        "run": run.name,
        "condition": run.condition.label,
        "base": run.condition.number == 0,
        "replicate": run.replicate,
        "seed": run.seed,
        **{name: text_of(value) for name, value in run.condition.parameters.items()},
    }


def _figures(tables: RunTables, summary: RunSummary) -> dict[str, float | None]:
    spent = summary.spent  # includes jobs that were still open at the end
    sources = Counter(job["source"] for job in tables.jobs if job["state"] == "applied")
    live = Counter(memory["type"] for memory in tables.memories if memory["live"])
    return {
        "by_model": sources["llm"] + sources["cached"],
        "by_heuristic": sources["heuristic"],
        "calls": spent.calls,
        "tokens": spent.tokens,
        "usd": None if summary.unpriced else spent.usd_micros / 1e6,
        "memories": live.total(),
        "reflections": live["reflection"],
    }


def _own(tables: RunTables, measures: Mapping[str, Measure]) -> dict[str, float | None]:
    measured: dict[str, float | None] = {}
    for name, measure in measures.items():
        try:
            value = measure(tables)
            numbers = (
                {f"{name}.{part}": number for part, number in value.items()}
                if isinstance(value, Mapping)
                else {name: value}
            )
            measured |= {key: None if number is None else float(number) for key, number in numbers.items()}
        except Exception as error:  # the host's own code
            raise ConfigurationError(
                f"measure {name!r} failed on run {tables.run!r}: {type(error).__name__}: {quoted(str(error))}"
            ) from error
    return measured


def _write(stem: Path, columns: Mapping[str, str], rows: Sequence[Row]) -> list[Path]:
    path = stem.with_suffix(".csv")
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    with private_file(path) as file:
        file.write(text.getvalue().encode())
    written = [path]
    try:
        with private_file(stem.with_suffix(".parquet")) as file:
            write_parquet(file, columns, rows, "a Parquet table")
        written.append(stem.with_suffix(".parquet"))
    except InputError:  # without pyarrow, the CSV must do
        pass
    return written
