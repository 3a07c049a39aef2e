"""Modules of kinds that cannot be imported: which, why, and where; never a traceback, never a silent end."""

from __future__ import annotations

from pathlib import Path

import pytest

from cogitate.scheduler.config import kind_modules
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.settings import ConfigurationError, PinnedSettings, Settings
from cogitate.tasks.kind_check import KindError


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
        ("x = 1\nraise KeyError('x')", r"KeyError at .*bad_kinds_1\.py, line 2"),
        ("x = (", r"SyntaxError at .*bad_kinds_2\.py, line 1"),
        ("x = 1\x00", "cannot be imported"),
        ("raise SyntaxError('odd')", r"SyntaxError at .*bad_kinds_4\.py, line 1: SyntaxError\('odd'\)"),
        ("raise SystemExit(9)", r"SystemExit at .*bad_kinds_5\.py, line 1"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, body: str, said: str
) -> None:
    number = request.node.callspec.indices["body"]
    name = f"bad_kinds_{number}"
    (tmp_path / f"{name}.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match=f"kinds: '{name}' cannot be imported.*{said}|{said}"):
        load_kinds(Settings(kinds=(name,)))


@pytest.mark.parametrize("name", ["", ".relative", "a b", "\x00"])
def test_an_invalid_module_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be imported"):
        load_kinds(Settings(kinds=(name,)))


def test_only_ctrl_c_goes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "interrupted_kinds.py").write_text("raise KeyboardInterrupt")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        load_kinds(Settings(kinds=("interrupted_kinds",)))


def test_a_module_with_an_unusable_kind_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unusable_kinds.py").write_text("from cogitate.tasks.registry import register\nregister(5)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match=r"kinds: 'unusable_kinds' registers an unusable kind: ") as refused:
        load_kinds(Settings(kinds=("unusable_kinds",)))
    assert isinstance(refused.value.__cause__, KindError)


def test_every_module_is_imported_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("sound_kinds_1", "sound_kinds_2"):
        (tmp_path / f"{name}.py").write_text(f"import builtins\nbuiltins.said.append('{name}')\n")
    said: list[str] = []
    monkeypatch.setattr("builtins.said", said, raising=False)
    load_kinds(Settings())
    load_kinds(Settings(kinds=("sound_kinds_2", "sound_kinds_1")))
    assert said == ["sound_kinds_2", "sound_kinds_1"]


def test_workers_receive_the_modules_of_a_hosts_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = PinnedSettings(kinds=("json", "math"))
    monkeypatch.setattr(kind_modules, "declaring_modules", lambda: ["string", "json"])
    assert kind_modules.hand_on_kinds(settings).kinds == ("json", "math", "string"), "each once"
    assert settings.kinds == ("json", "math")
    monkeypatch.setattr(kind_modules, "declaring_modules", lambda: ["string", ""])
    with pytest.raises(
        ConfigurationError, match="the script that runs declares a kind of job, and workers cannot import the script"
    ):
        kind_modules.hand_on_kinds(settings)
