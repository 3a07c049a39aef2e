"""Whatever stands in the configuration is a setting or is refused with its name: nothing else is ever raised."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogitate.ops.error_messages import error_message
from cogitate.scheduler.config.limits import MAX_LIMIT
from cogitate.scheduler.config.settings import ConfigurationError, Settings, check_run_name

NAMES = sorted(Settings.model_fields)
HOSTILE = (0, -1, 10**9, 2**63, 2**2000, math.inf, -math.inf, math.nan, 1e308, 1e-308, "redis://", "\x00", "x" * 10**5)
VALUES = (
    st.integers()
    | st.floats()
    | st.booleans()
    | st.none()
    | st.text(max_size=30)
    | st.sampled_from(HOSTILE)
    | st.lists(st.text(max_size=5), max_size=3)
    | st.dictionaries(st.text(max_size=20), st.integers() | st.floats(), max_size=3)
)


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1, max_size=3))
def test_settings_are_valid_or_refused(given_values: dict[str, Any]) -> None:
    hold_or_are_refused(given_values)


def test_values_too_large_for_any_machine_are_refused(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        with subtests.test(name=name):
            for value in HOSTILE:
                hold_or_are_refused({name: value})


def is_said_in_one_line(error: Exception) -> None:
    said = error_message(error)
    assert said is not None, repr(error)
    assert "\n" not in said.line
    assert len(said.line) < 5_000


def hold_or_are_refused(given_values: dict[str, Any]) -> None:
    try:
        found = Settings(**given_values)
    except ConfigurationError as error:
        is_said_in_one_line(error)
        return
    for cell, limit in found.limit_table():
        assert 0 <= limit <= MAX_LIMIT, cell
    found.memory_limits()
    found.routing()
    assert 0 <= found.wait_seconds() < math.inf
    for seconds in (found.job_deadline, found.socket_timeout):
        assert 0 < seconds < math.inf
    with suppress(ConfigurationError):
        found.messages_url()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=200).map(str.encode)
    | st.binary(max_size=60)
    | st.sampled_from(
        [b"[budget]\nlimits = 3", b"[budget.limits]\nx=-1", b"\xff\xfe", b'model = "caf\xe9"', b"x=" + b"[" * 5_000]
    )
)
def test_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cogitate.toml").write_bytes(raw)
    try:
        Settings()
    except ConfigurationError as error:
        is_said_in_one_line(error)


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cogitate.toml").write_bytes(b'model = "caf\xe9"\n')
    with pytest.raises(ConfigurationError, match=r"/cogitate\.toml is not UTF-8 \(at byte 12\)"):
        Settings()


def make_folder(path: Path) -> None:
    path.mkdir()


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (make_folder, "is not a file"),
        (make_loop, "is not a file"),
        (os.mkfifo, "is not a file"),
        (lambda path: path.write_bytes(b"#" * 1_000_001), "more than 1,000,000 bytes"),
        (lambda path: path.write_text("workers = 1" + "0" * 5_000), "cannot be read as TOML"),
        (lambda path: path.write_text("".join(f"wrong_{i} = 1\n" for i in range(7))), "; and 2 more"),
        (lambda path: path.write_text("[workers]\nworkers = true"), "workers: true and false are not numbers"),
        (
            lambda path: path.write_text('[budget]\nlimits = { "day.run.calls" = true }'),
            "true and false are not numbers",
        ),
    ],
)
def test_an_invalid_settings_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], object], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make(Path("cogitate.toml"))
    with pytest.raises(ConfigurationError, match=said) as refused:
        Settings()
    is_said_in_one_line(refused.value)


@pytest.mark.parametrize("name", ["model", "base_url", "metrics_address", "api_key"])
def test_a_lone_surrogate_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}:.* character"):
        Settings(**{name: "a\ud800"})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.sampled_from(NAMES),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60)
    | st.sampled_from(["{", "[]", "1e999", "NaN", "-0", "null", '{"a": {"b": []}}', "[" * 500]),
)
def test_any_variable(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    with monkeypatch.context() as patch:
        patch.setenv(f"COGITATE_{name.upper()}", text)
        try:
            Settings()
        except ConfigurationError as error:
            is_said_in_one_line(error)


@given(st.text(max_size=80))
def test_each_run_name_makes_a_unique_key(name: str) -> None:
    try:
        check_run_name(name)
    except ConfigurationError as error:
        is_said_in_one_line(error)
        return
    assert name.isascii()
    assert not set(name) & set("{}:/*?[]\\ \n")


class Mute(ConfigurationError):
    """An error of somebody's own that cannot say anything."""

    def __str__(self) -> str:
        raise RuntimeError("nothing to say")


def test_an_error_that_cannot_speak_is_named_by_its_class() -> None:
    said = error_message(Mute())
    assert said is not None
    assert said.line == "Mute"
