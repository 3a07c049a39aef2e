"""The kinds that a process knows, and the error for an unknown one."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from cogitate import prompts
from cogitate.tasks import registry
from cogitate.tasks.registry import UnknownKind, kind_of, kinds
from tests.unit.tasks.kind_cases import case_of, observation, stream_of

BUILT_IN = ["rate", "plan", "act", "reflect", "integrate", "summarise", "recount", "prune"]


def test_built_in_kinds_are_registered_in_order_of_admission() -> None:
    known = [kind for kind in kinds() if kind.name in BUILT_IN]
    assert [kind.name for kind in known] == BUILT_IN
    assert [kind.order for kind in kinds()] == sorted(kind.order for kind in kinds())
    for kind in known:
        assert kind_of(kind.name) is kind


def test_an_unregistered_kind_is_refused_with_the_registered_names() -> None:
    with pytest.raises(UnknownKind, match=r"there is no kind of job 'sing'; known kinds: .*plan"):
        kind_of("sing")


def test_a_hosts_template_replaces_the_built_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = (resources.files(prompts) / "reflect.j2").read_text()
    (tmp_path / "reflect.j2").write_text(ours.replace("{% block user %}", "{% block user %}As the host has it."))
    monkeypatch.setattr(registry, "_kinds", {})
    registry.register_builtin(tmp_path)
    assert [kind.name for kind in kinds()] == BUILT_IN
    said = kind_of("reflect").prompt(case_of(kind_of("reflect"), stream_of(observation("Tea.", 1)), 600))
    assert said.user.startswith("As the host has it.")
