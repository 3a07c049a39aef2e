"""The page of settings says what the class says: names, defaults, choices, and what a run keeps."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from cogitate.scheduler.budget.settings_checks import check_limits, check_spending
from cogitate.scheduler.config.embedding import EmbeddingSettings
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.facts import KEPT
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.config.settings_faults import read_tables
from cogitate.scheduler.config.tables import TABLE_OF
from cogitate.tasks.registry import kinds
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "reference" / "configuration.md").read_text()
ROWS = [
    [cell.strip() for cell in line.split("|")[1:-1]]
    for line in PAGE.splitlines()
    if line.startswith("| `") and line.count("|") == 7
]
DOCUMENTED = {row[0].strip("`"): row for row in ROWS}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("COGITATE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def choices(annotation: Any) -> set[str]:
    """The words that a setting may be, wherever they stand in its type."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    return {choice for part in get_args(annotation) for choice in choices(part)}


def test_every_setting_has_a_row_in_the_order_of_the_class() -> None:
    assert list(DOCUMENTED) == list(Settings.model_fields)
    assert len(ROWS) == len(DOCUMENTED)


def test_each_row_stands_under_the_name_of_its_table() -> None:
    table, found = "", {}
    for line in PAGE.splitlines():
        if named := re.fullmatch(r"In `cogitate\.toml`: `\[(\w+)\]`\.", line):
            table = named[1]
        elif row := re.match(r"\| `(\w+)` \| `COGITATE_", line):
            found[row[1]] = table
    assert found == TABLE_OF


def test_a_row_matches_its_class(subtests: pytest.Subtests) -> None:
    for name in Settings.model_fields:
        with subtests.test(name=name):
            _, variable, default, _, meaning, kept = DOCUMENTED[name]
            assert variable == f"`COGITATE_{name.upper()}`"
            value = Settings.model_fields[name].get_default(call_default_factory=True)
            if value is None:
                assert default == "not set"
            else:
                documented = tomllib.loads(f"{name} = {default.strip('`')}")
                assert getattr(Settings.tuned(**documented), name) == value
            assert meaning
            if get_origin(Settings.model_fields[name].annotation) is not dict:
                assert all(f'`"{choice}"`' in meaning for choice in choices(Settings.model_fields[name].annotation))
            assert kept == ("kept" if name in KEPT else "")


def used(example: str) -> Settings:
    """The settings of an example, which a run could be started with."""
    Path("cogitate.toml").write_text(example)
    settings = Settings()
    assert read_tables().keys() == settings.model_fields_set
    check_limits(settings, kinds())
    check_spending(settings)
    return settings


def test_the_examples_of_the_page_can_be_used() -> None:
    first, models = re.findall(r"^```toml\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert used(first).memory_limits().policy_of("npc:smith") == "tokens"
    several = used(models)
    assert several.endpoint_table()["local"].concurrency == 16
    assert several.model_table()["large"].cached_input_price == 1_250_000
    assert [model.name for model in several.asked_models()] == ["large", "small"]


@pytest.mark.parametrize(
    ("heading", "model"),
    [("of an endpoint", Endpoint), ("of a model", ModelSettings), ("of `embeddings`", EmbeddingSettings)],
)
def test_the_tables_of_the_page_have_each_field_and_its_default(heading: str, model: type[BaseModel]) -> None:
    table = PAGE.split(f"| {heading} |")[1].split("\n\n")[0]
    cells = [[cell.strip(" `") for cell in line.split("|")] for line in table.splitlines()[2:]]
    rows = {row[1]: row[2] for row in cells}
    for name, field in model.model_fields.items():
        wanted = (
            "must be set" if field.is_required() else "not set" if field.default is None else json.dumps(field.default)
        )
        assert rows.pop(name) == wanted
    assert not rows


def test_one_key_of_a_table_can_be_a_variable_as_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    ((name, value),) = re.findall(r"`(COGITATE_\w+__\w+)=(\w+)`", PAGE)
    monkeypatch.setenv(name, value)
    assert Settings().latency == {"plan": 10}


def test_only_the_file_refuses_unknown_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGITATE_WROKERS", "3")
    assert Settings().workers == 2
    Path("cogitate.toml").write_text("wrokers = 3\n")
    with pytest.raises(ConfigurationError, match="wrokers"):
        Settings()
