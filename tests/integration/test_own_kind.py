"""A host's own kind of job, the one that docs/extending.md shows, run by real workers."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cogitate import ConfigurationError, Profile, Settings, TickLoop
from scheduler.audit import audit
from tasks import registry

EXTENDING = Path(__file__).parent.parent.parent / "docs" / "extending.md"


@pytest.fixture
def own_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module with the page's example, which this process can import."""
    examples = re.findall(r"^```python\n(.*?)^```$", EXTENDING.read_text(), flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "humming.py").write_text(next(body for body in examples if "register(Hum())" in body))
    monkeypatch.syspath_prepend(tmp_path)
    yield "humming"
    sys.modules.pop("humming", None)


@pytest.fixture
def without_own_kind() -> Iterator[None]:
    """The registry as it was, whatever the test registers."""
    before = dict(registry._kinds)
    yield
    registry._kinds.clear()
    registry._kinds.update(before)


def test_workers_know_the_kinds_that_the_settings_name(tmp_path: Path, own_kind: str, without_own_kind: None) -> None:
    settings = Settings(data_dir=tmp_path / "data", kinds=(own_kind,), workers=1)
    owners = {"agent:ada": Profile(name="Ada")}
    with TickLoop(run="humming", owners=owners, settings=settings, ticks=130) as loop:
        heard = [change for tick in loop for change in tick.applied if change.kind == "hum"]
        assert [(change.source, change.reason) for change in heard] == [("heuristic", "none")] * 2
        assert audit(loop.ledger.client, "humming") == []


def test_a_module_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, kinds=("no_such_module",))
    with pytest.raises(ConfigurationError, match="no_such_module"):
        TickLoop(run="x", owners={}, settings=settings, inline=True)
