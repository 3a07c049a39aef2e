"""The version of a kind's code: it changes with each file that the kind consists of."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cogitate.tasks import registry
from cogitate.tasks.own import code_version as module
from cogitate.tasks.own.code_version import code_version
from cogitate.tasks.plan import Plan

KIND = "from cogitate.tasks.plan import Plan\n\nclass Own(Plan):\n    name = 'own'\n"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder from which modules are imported; what was read of their sources is forgotten."""
    known = {*sys.modules}
    monkeypatch.syspath_prepend(str(tmp_path))
    module._hash_of.cache_clear()
    yield tmp_path
    module._hash_of.cache_clear()
    for name in {*sys.modules} - known:
        del sys.modules[name]


def again(name: str, kind: Any) -> str:
    """Return the version that a process started now would find."""
    module._hash_of.cache_clear()
    invalidate_caches()
    imported: ModuleType = import_module(name)
    return code_version(imported.Own(registry.templates()) if kind is None else kind)


def test_the_built_in_kinds_have_one_that_stays_as_it_was_at_the_start() -> None:
    plan = registry.kind_of("plan")
    assert {code_version(kind) for kind in registry.kinds() if type(kind).__module__.startswith("cogitate.tasks.")} == {
        code_version(plan)
    }
    assert len(code_version(plan)) == 16
    assert code_version(Plan(registry.templates())) == code_version(plan)


def test_a_kind_of_a_single_module_changes_with_it(sources: Path) -> None:
    (sources / "own_kind_alone.py").write_text(KIND)
    before = again("own_kind_alone", None)
    assert before not in ("", code_version(registry.kind_of("plan")))
    assert again("own_kind_alone", None) == before
    (sources / "own_kind_alone.py").write_text(KIND + "    order = 7\n")
    assert again("own_kind_alone", None) not in ("", before)


def test_a_kind_of_a_package_changes_with_each_file_of_it(sources: Path) -> None:
    folder = sources / "own_kinds" / "minds"
    folder.mkdir(parents=True)
    (folder / "own.py").write_text(KIND)
    found = [again("own_kinds.minds.own", None)]
    for name in ("helping.py", "minds/other.py"):
        (sources / "own_kinds" / name).write_text("LOW = 1\n")
        found.append(again("own_kinds.minds.own", None))
    (sources / "own_kinds" / "helping.py").write_text("LOW = 2\n")
    found.append(again("own_kinds.minds.own", None))
    (sources / "own_kinds" / "helping.py").rename(sources / "own_kinds" / "helping_out.py")
    found.append(again("own_kinds.minds.own", None))
    assert len({*found, ""}) == 6, "each is another, and none is empty"


def test_a_declared_kind_has_that_of_the_module_in_which_it_is_declared(sources: Path) -> None:
    lines = (
        "import cogitate",
        "@cogitate.kind(reads=cogitate.newest(3))",
        "class Muse:",
        "    def instead(self, case, memories):",
        "        return 'Hm.'",
    )
    text = "\n".join(lines)
    (sources / "declared_alone.py").write_text(text)
    import_module("declared_alone")
    kind = registry.kind_of("muse")
    before = code_version(kind)
    (sources / "declared_alone.py").write_text(text + "\n")
    assert again("declared_alone", kind) not in ("", before)
    assert before


def test_a_kind_whose_source_cannot_be_found_has_none(sources: Path) -> None:
    class Own(Plan):
        """A kind of a script, or of a module that nobody finds."""

    for name in ("__main__", "no_module_of_that_name"):
        Own.__module__ = name
        module._hash_of.cache_clear()
        assert code_version(Own(registry.templates())) == ""
