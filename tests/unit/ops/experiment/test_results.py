"""Tables of results, and the page that shows them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from cogitate.memory.errors import InputError
from cogitate.ops.experiment.plan import read_experiment
from cogitate.ops.experiment.results import Results, Table, read_measures
from cogitate.ops.experiment.runner import Progress
from cogitate.ops.experiment.statistics import compare
from cogitate.ops.experiment.summary import page_of, progress_line
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.ledger.real_day import DaySpending
from cogitate.tasks.job import Cost

FIGURES: dict[str, Any] = {
    "by_model": 4,
    "by_heuristic": 1,
    "calls": 4,
    "tokens": 90,
    "usd": None,
    "memories": 7,
    "reflections": 2,
}


def results(values: dict[str, list[float]]) -> Results:
    """Results of one measure by condition; the first is the base."""
    found = Results(Table(), Table())
    for number, (condition, measured) in enumerate(values.items()):
        for replicate, value in enumerate(measured, 1):
            run = {"run": f"c{number}-r{replicate}", "condition": condition, "base": number == 0}
            row = run | {"replicate": replicate, "seed": replicate - 1, "world.weather": condition}
            found.runs.append(row | {"tick": 9, "digest": "ab"} | FIGURES)
            found.measures.append(row | {"measure": "votes", "value": value})
    return found


def spending(**given: Any) -> DaySpending:
    spent = {"reserved": Cost(), "spent": Cost(tokens=500, usd_micros=2_000_000), "overrun": Cost(), "refused": 0}
    return DaySpending(**{"date": "experiment", "limit_tokens": None, "limit_usd_micros": None} | spent | given)


def test_both_tables_are_written_with_a_column_for_each_parameter(tmp_path: Path) -> None:
    found = results({"sun": [1.0, 2.0], "rain": [3.0]})
    written = found.write(tmp_path)
    assert sorted(path.name for path in written) == ["measures.csv", "measures.parquet", "runs.csv", "runs.parquet"]
    rows = parquet.read_table(tmp_path / "measures.parquet").to_pylist()
    assert rows == list(found.measures)
    head, first, *_ = (tmp_path / "runs.csv").read_text().splitlines()
    assert head.split(",")[:8] == ["run", "condition", "base", "replicate", "seed", "world.weather", "tick", "digest"]
    assert first.endswith(",4,1,4,90,,7,2")


def test_without_pyarrow_the_tables_are_written_as_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    written = results({"sun": [1.0]}).write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in written)
    assert [path.name for path in written] == ["runs.csv", "measures.csv"]


def test_tables_become_data_frames_where_these_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = results({"sun": [1.0, 2.0]})
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InputError, match="polars is not installed: pip install"):
        found.runs.polars()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pandas is not installed: pip install"):
        found.runs.pandas()


def test_the_page_shows_conditions_as_text(tmp_path: Path) -> None:
    found = results({"sun": [1.0, 2.0, 1.5], "<b>rain": [3.0, 4.5, 2.5]})
    comparisons = compare(found.measures)
    progress = Progress(6, 6, 0, 1.0, spending(limit_tokens=1_000), ())
    html = page_of("votes", progress, found, comparisons).html()
    assert "&lt;b&gt;rain" in html
    assert "<b>rain" not in html
    assert "500 of 1,000 tokens spent" in html
    assert "24 thoughts by a model, 6 by heuristics" in html
    assert "3 pairs are too few" in html
    assert 'class="limit"' in html  # where the difference is 0


def test_progress_tells_what_is_left_in_time_and_in_the_unit_of_the_limit() -> None:
    line = progress_line(Progress(4, 12, 2, 30.0, spending(limit_usd_micros=10_000_000), ()))
    assert line == "4 of 12 runs · $2.0000 of $10.00 spent · about 2 min left · about $6.00 in all"
    line = progress_line(Progress(4, 12, 4, 30.0, spending(limit_tokens=9_000), ()))
    assert line == "4 of 12 runs · 500 of 9,000 tokens spent"
    assert progress_line(Progress(12, 12, 0, 30.0, spending(), ())) == "12 of 12 runs"


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        (["os:no_such"], "'os:no_such' cannot be imported"),
        (["no_such_module:a"], "'no_such_module:a' cannot be imported"),
        (["os:getcwd", "posix:getcwd"], "must have different names"),
    ],
)
def test_unknown_measures_are_refused(measures: list[str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read_measures(read_experiment({"town": 3, "measures": measures}))
