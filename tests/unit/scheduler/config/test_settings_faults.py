"""What is said of settings that cannot be used, fault by fault, and of what only looks like a setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_settings import SettingsError

from cogitate.scheduler.config import settings_faults
from cogitate.scheduler.config.settings_faults import (
    ConfigurationError,
    Fault,
    SettingsRefused,
    called,
    check_file,
    misspelt_variables,
    refusal,
)

KNOWN: dict[str, Any] = {"workers": int, "tick_rate": float, "kind_modules": tuple[str, ...], "limits": dict[str, int]}


def test_misspelled_variables_are_named_with_a_suggestion(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "COGITATE_WORKRS",
        "COGITATE_WORKERS",
        "COGITATE_TICKRATE",
        "COGITATE_NOTHING",
        "OTHER_WORKRS",
        "COGITATE_LIMIT__DAY",
        "COGITATE_LIMITS__DAY",
    ):
        monkeypatch.setenv(name, "1")
    assert misspelt_variables(KNOWN) == [
        ("COGITATE_LIMIT__DAY", "COGITATE_LIMITS"),
        ("COGITATE_TICKRATE", "COGITATE_TICK_RATE"),
        ("COGITATE_WORKRS", "COGITATE_WORKERS"),
    ]
    assert misspelt_variables([]) == []


@pytest.mark.parametrize(("size", "fine"), [(0, True), (1_000_000, True), (1_000_001, False)])
def test_a_file_of_a_million_bytes_may_be_one_of_settings(size: int, fine: bool) -> None:
    Path("cogitate.toml").write_bytes(b"#" * size)
    if fine:
        check_file()
    else:
        with pytest.raises(ConfigurationError, match="has more than 1,000,000 bytes"):
            check_file()


@pytest.mark.parametrize("what", ["folder", "link to nothing"])
def test_a_missing_file_is_fine_and_an_unreadable_one_refused(what: str) -> None:
    check_file()
    if what == "folder":
        Path("cogitate.toml").mkdir()
    else:
        Path("cogitate.toml").symlink_to("nowhere")
    with pytest.raises(ConfigurationError, match=r"cogitate\.toml is not a file: remove it"):
        check_file()


FIVE = "f0: is odd; f1: is odd; f2: is odd; f3: is odd; f4: is odd"


def faults(count: int) -> list[Fault]:
    return [Fault(f"f{number}", f"f{number}", " is odd") for number in range(count)]


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "f0: is odd"),
        (2, "f0: is odd; f1: is odd"),
        (5, FIVE),
        (6, f"{FIVE}; and 1 more"),
        (1_234, f"{FIVE}; and 1,229 more"),
    ],
)
def test_the_first_five_faults_are_named_and_the_others_counted(count: int, said: str) -> None:
    refused = SettingsRefused(faults(count))
    assert (str(refused), len(refused.faults)) == (said, count)


def test_faults_are_named_as_the_user_calls_the_setting() -> None:
    refused = SettingsRefused(faults(2))
    assert refused.line(lambda fault: "--flag" if fault.field == "f1" else "") == "f0: is odd; --flag: is odd"


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("COGITATE_LIMITS", "limits.day (from COGITATE_LIMITS)"),
        ("COGITATE_LIMITS__DAY", "limits.day (from COGITATE_LIMITS__DAY)"),
        ("COGITATE_LIMITS_DAY", "limits.day"),
        ("LIMITS", "limits.day"),
    ],
)
def test_a_setting_is_called_by_its_name_and_the_variable_that_sets_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, name: str
) -> None:
    monkeypatch.setenv(variable, "1")
    assert called(Fault("limits", "limits.day", "")) == name


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            UnicodeDecodeError("utf-8", b"ab\xff", 2, 3, "odd"),
            "cogitate.toml is not UTF-8 (at byte 2): save it as UTF-8",
        ),
        (ValueError("no value"), "cogitate.toml cannot be read as TOML: no value"),
        (RecursionError("deep"), "cogitate.toml cannot be read as TOML: it is nested too deep"),
        (PermissionError(13, "Permission denied"), "cogitate.toml cannot be read: Permission denied"),
        (OSError("odd"), "cogitate.toml cannot be read: odd"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(error: Exception, said: str) -> None:
    found = refusal(error, {}, KNOWN)
    assert str(found) == f"{Path.cwd()}/{said}"
    assert not isinstance(found, SettingsRefused)


@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        (
            "kind_modules",
            "mine,yours",
            "='mine,yours' cannot be read: it must be a list in JSON, such as '[\"mine\", \"yours\"]'",
        ),
        (
            "kind_modules",
            "a b c d",
            '=\'a b c d\' cannot be read: it must be a list in JSON, such as \'["a", "b", "c"]\'',
        ),
        ("kind_modules", "", "='' cannot be read: it must be a list in JSON, such as '[\"a\"]'"),
        ("limits", "x", "='x' cannot be read: it must be a table in JSON, such as '{\"a\": 1}'"),
        ("endpoints", "secret", " cannot be read: it must be a table in JSON, such as '{\"a\": 1}'"),
    ],
)
def test_a_variable_that_holds_no_json_is_shown_unless_it_may_be_secret(
    monkeypatch: pytest.MonkeyPatch, field: str, given: str, said: str
) -> None:
    monkeypatch.setenv(f"COGITATE_{field.upper()}", given)
    error = SettingsError(f'error parsing value for field "{field}" from source "EnvSettingsSource"')
    assert str(refusal(error, {}, KNOWN)) == f"COGITATE_{field.upper()}{said}"


def test_an_error_without_a_field_names_the_settings() -> None:
    assert str(refusal(SettingsError("odd"), {}, KNOWN)).startswith("COGITATE_SETTINGS='' cannot be read")


@pytest.mark.parametrize(
    ("found", "given", "fault"),
    [
        (
            {"type": "extra_forbidden", "loc": ("workrs",), "msg": "", "input": 1},
            {},
            ("workrs", "workrs", " there is no such setting in cogitate.toml; did you mean 'workers'?"),
        ),
        (
            {"type": "extra_forbidden", "loc": ("workrs",), "msg": "", "input": 1},
            {"workrs": 1},
            ("workrs", "workrs", " there is no such setting; did you mean 'workers'?"),
        ),
        (
            {"type": "extra_forbidden", "loc": ("zzz",), "msg": "", "input": 1},
            {"zzz": 1},
            ("zzz", "zzz", " there is no such setting; remove it, and `cogitate config` lists the settings"),
        ),
        (
            {"type": "extra_forbidden", "loc": ("workers", "a"), "msg": "", "input": 1},
            {"workers": 1},
            ("workers", "workers.a", " there is no such setting; remove it, and `cogitate config` lists the settings"),
        ),
        (
            {"type": "int_type", "loc": ("workers",), "msg": "Input should be a number", "input": "x"},
            {},
            ("workers", "workers", " 'x': input should be a number"),
        ),
        (
            {"type": "value_error", "loc": ("limits", "day"), "msg": "Value error, It is odd", "input": "x"},
            {},
            ("limits", "limits.day", " it is odd"),
        ),
        (
            {"type": "int_type", "loc": ("endpoints", "a"), "msg": "Odd", "input": "secret"},
            {},
            ("endpoints", "endpoints.a", " odd"),
        ),
        (
            {"type": "dict_type", "loc": ("limits",), "msg": "Input", "input": 7},
            {},
            (
                "limits",
                "limits",
                " 7: input should be a table: give it as JSON in braces, as `cogitate config` shows it",
            ),
        ),
        (
            {"type": "value_error", "loc": (), "msg": "Value error, Odd", "input": 7},
            {},
            ("settings", "settings", " odd"),
        ),
    ],
)
def test_a_fault_names_the_setting_and_its_value_unless_that_may_be_secret(
    found: Any, given: dict[str, object], fault: tuple[str, str, str]
) -> None:
    assert settings_faults._fault(found, given, KNOWN) == Fault(*fault)
