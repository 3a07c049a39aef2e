"""What hosts may import, and that importing it is safe."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
import structlog

import cogitate
from cogitate import Profile, Settings, TickLoop
from cogitate.errors import InputError
from tests.patience import LONGEST
from tests.repository import ROOT

NAMES = [
    "Change",
    "CogitateError",
    "Event",
    "EventRule",
    "Fork",
    "JobEnd",
    "Location",
    "MemoryView",
    "Observation",
    "Profile",
    "Settings",
    "Tick",
    "TickLoop",
    "__version__",
    "daily",
    "drawn",
    "every",
    "kind",
    "newest",
    "open",
]
MODULES = (
    cogitate.comparison,
    cogitate.effects,
    cogitate.errors,
    cogitate.experiment,
    cogitate.forks,
    cogitate.kinds,
    cogitate.memory,
)
PLACES = {name: cogitate for name in NAMES if name != "__version__"}
PLACES |= {name: module for module in MODULES for name in module.__all__ if name not in NAMES}


def test_the_root_has_these_names_and_no_others() -> None:
    assert sorted(cogitate.__all__) == sorted(NAMES)
    assert all(hasattr(cogitate, name) for name in NAMES)
    modules = {name for name, value in vars(cogitate).items() if isinstance(value, ModuleType)}  # such as `mesa`
    public = {name for name in vars(cogitate) if not name.startswith(("_", "@"))}  # "@…": pytest's own, at times
    assert public - modules <= {*NAMES, "app"}


def test_the_root_names_the_module_of_a_missing_name(subtests: pytest.Subtests) -> None:
    for name in [name for name, module in PLACES.items() if module is not cogitate]:
        with subtests.test(name=name):
            place = PLACES[name].__name__
            with pytest.raises(ImportError, match=f"`cogitate` has no {name}: import it from {re.escape(place)}$"):
                getattr(cogitate, name)


def test_importing_a_moved_name_names_its_new_place() -> None:
    with pytest.raises(ImportError, match=r"import it from cogitate\.effects$"):
        exec("from cogitate import Profile, Entry")


def test_an_unknown_name_is_an_attribute_error() -> None:
    for module in (cogitate, cogitate.memory):
        assert not hasattr(module, "Entrance")


def test_the_version_is_that_of_the_distribution() -> None:
    assert cogitate.__version__ == version("cogitate")


def test_the_reference_describes_each_of_them_once() -> None:
    page = ROOT / "docs" / "reference" / "api.md"
    modules = "comparison|effects|errors|experiment|forks|kinds|memory"
    described = re.findall(rf"^::: (cogitate(?:\.(?:{modules}))?\.\w+)$", page.read_text(), re.MULTILINE)
    assert sorted(described) == sorted(f"{module.__name__}.{name}" for name, module in PLACES.items())


def test_the_package_is_marked_as_typed() -> None:
    assert (Path(cogitate.__file__).parent / "py.typed").is_file()


def test_every_name_has_a_docstring(subtests: pytest.Subtests) -> None:
    for name in sorted(PLACES.keys() - {"Effect"}):
        with subtests.test(name=name):
            assert getattr(PLACES[name], name).__doc__


def test_every_error_is_a_cogitate_error_and_its_former_class() -> None:
    found = [value for name, module in PLACES.items() if isinstance(value := getattr(module, name), type)]
    listed = {getattr(cogitate.errors, name) for name in cogitate.errors.__all__}
    assert {one for one in found if issubclass(one, Exception)} == listed
    assert [error for error in listed if not issubclass(error, cogitate.CogitateError)] == []
    assert issubclass(cogitate.errors.InputError, ValueError)
    assert issubclass(cogitate.errors.ConfigurationError, ValueError)
    assert issubclass(cogitate.errors.JournalError, ValueError)
    assert issubclass(cogitate.errors.LedgerError, RuntimeError)
    assert issubclass(cogitate.errors.WorldDiverged, RuntimeError)


def test_the_reference_shows_the_errors_as_they_descend_from_each_other() -> None:
    page = (ROOT / "docs" / "reference" / "api.md").read_text()
    listed = page.partition("\n## Errors\n")[2].partition("\n::: ")[0]
    documented: dict[str, str] = {}  # name -> the name above it
    above: list[str] = []
    for indent, line in re.findall(r"^( *)- (.*)$", listed, flags=re.MULTILINE):
        names = re.findall(r"`([A-Z]\w+)`", line)
        above = above[: len(indent) // 4]
        documented |= dict.fromkeys(names, above[-1] if above else "CogitateError")
        above.append(names[-1])

    def descend(error: type[Exception]) -> dict[str, type[Exception]]:
        return {error.__name__: error} | {n: e for sub in error.__subclasses__() for n, e in descend(sub).items()}

    known = descend(cogitate.CogitateError)
    for name, parent in documented.items():
        assert issubclass(known[name], known[parent]), name
        assert {one.__name__ for one in known[name].__mro__[1:]} & set(documented) <= {
            parent,
            *_above(documented, parent),
        }
    assert set(documented) == set(cogitate.errors.__all__)
    drawn = re.findall(r"^[^\w\n]*((?:[A-Z]\w+, )*[A-Z]\w+)(?: +| \(.*|$)", cogitate.errors.__doc__ or "", re.MULTILINE)
    assert set(cogitate.errors.__all__) <= {name for names in drawn for name in names.split(", ")}


def _above(documented: dict[str, str], name: str) -> set[str]:
    return set() if documented[name] == name else {documented[name], *_above(documented, documented[name])}


@pytest.mark.parametrize(
    ("used", "unused"),
    [
        ("import cogitate", ("asyncio", "jinja2", "pydantic", "redis", "snowballstemmer", "structlog")),
        (
            "from cogitate import TickLoop",
            ("celery", "flower", "jinja2", "openai", "snowballstemmer", "typer", "cogitate.simulation"),
        ),
    ],
)
def test_an_import_loads_nothing_that_a_host_does_not_use(used: str, unused: tuple[str, ...]) -> None:
    code = (
        f"import sys; {used}; loaded = [name for name in {unused!r} if name in sys.modules]; assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_a_loop_configures_no_logging() -> None:
    code = "import structlog; from cogitate import TickLoop; assert not structlog.is_configured()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stderr


def test_the_plugin_imports_no_cogitate_module_in_a_project_with_modules_of_the_same_names(tmp_path: Path) -> None:
    for name in ("ops", "tasks", "workers", "memory"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("mine = True\n")
    (tmp_path / "test_mine.py").write_text(
        "import sys, ops, tasks\n"
        "def test_mine():\n"
        "    assert ops.mine and tasks.mine\n"
        "    assert not {'cogitate', 'scheduler', 'fakeredis', 'pydantic'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_fixture_makes_isolated_loops_with_the_same_digest(cogitate_loop: Callable[..., TickLoop]) -> None:
    digests = []
    for _ in range(2):
        loop = cogitate_loop(owners={"agent:ada": Profile(name="Ada Smith")}, ticks=380)
        kinds = [change.kind for tick in loop for change in tick.applied]
        assert "plan" in kinds
        digests.append(loop.digest)
    assert digests[0] == digests[1]


def test_the_fixture_uses_no_model_despite_file_and_environment(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as endpoint:
        endpoint.setblocking(False)
        url = f"http://127.0.0.1:{endpoint.getsockname()[1]}/v1"
        (tmp_path / "cogitate.toml").write_text(
            f'[model]\nllm = "openai"\nbase_url = "{url}"\n[budget]\nlimit_tokens = 100000\n[time]\nmorning = 60\n'
        )
        monkeypatch.chdir(tmp_path)
        for name, value in {"COGITATE_LLM": "openai", "COGITATE_LIMIT_USD": "1", "COGITATE_API_KEY": "key"}.items():
            monkeypatch.setenv(name, value)
        assert (Settings().llm, Settings().morning) == ("openai", 60)
        loop = cogitate_loop(owners={"agent:ada": Profile(name="Ada Smith")}, ticks=400)
        plans = [tick.minute for tick in loop for change in tick.applied if change.kind == "plan"]
        assert (loop.settings.llm, len(plans)) == ("heuristic", 1)
        assert plans[0] > 360
        with pytest.raises(BlockingIOError):
            endpoint.accept()  # there was no connection


def test_settings_that_a_test_gives_are_used_as_they_are(cogitate_loop: Callable[..., TickLoop]) -> None:
    given = Settings(morning=60)
    assert cogitate_loop(settings=given).settings is given


def test_a_loop_leaves_the_logging_of_its_host_alone(cogitate_loop: Callable[..., TickLoop]) -> None:
    structlog.configure(processors=[structlog.processors.KeyValueRenderer()])
    try:
        cogitate_loop(ticks=1)
        assert isinstance(structlog.get_config()["processors"][0], structlog.processors.KeyValueRenderer)
    finally:
        structlog.reset_defaults()


def test_a_loop_refuses_a_name_that_no_run_can_have(cogitate_loop: Callable[..., TickLoop]) -> None:
    with pytest.raises(cogitate.errors.ConfigurationError, match="'a b' is not a run name"):
        cogitate_loop(run="a b")


def test_a_run_remembers_its_hosts_description(cogitate_loop: Callable[..., TickLoop]) -> None:
    from cogitate.hosting.opening import description_of

    loop = cogitate_loop(describe={"world": "mine", "size": "3"})
    assert description_of(loop.ledger.client, "test") == {"world": "mine", "size": "3"}


def test_stop_commits_the_present_tick_and_leaves_a_resumable_run(cogitate_loop: Callable[..., TickLoop]) -> None:
    owners = {"agent:ada": Profile(name="Ada Smith")}
    loop = cogitate_loop(owners=owners, ticks=20)
    for tick in loop:
        if tick.number == 7:
            loop.stop()
    assert loop.tick == 7
    client = loop.ledger.client
    assert client.hget(loop.ledger.store.key("state"), "status") == b"stopped"
    resumed = cogitate_loop(owners={}, ticks=20, exist="resume", client=client)
    for _ in resumed:
        pass
    straight = cogitate_loop(owners=owners, ticks=20)
    for _ in straight:
        pass
    assert resumed.tick == 20
    assert resumed.digest == straight.digest
    assert client.hget(loop.ledger.store.key("state"), "status") == b"finished"


def test_unknown_owners_and_kinds_are_named_and_nothing_is_lost(cogitate_loop: Callable[..., TickLoop]) -> None:
    loop = cogitate_loop(owners={"agent:ada": Profile(name="Ada Smith")}, ticks=2)
    for _ in loop:
        with pytest.raises(InputError, match="agent:nobody"):
            loop.observe("agent:nobody", {"text": "Hello.", "minute": 1})
        with pytest.raises(InputError, match="'daydream'"):
            loop.request("daydream", "agent:ada")
        loop.observe("agent:ada", {"text": "Hello.", "minute": 1})
    assert loop.state.streams["agent:ada"].head.last_number >= 1
    assert loop.tick == 2


def test_a_missing_template_folder_stops_a_run_at_its_start(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path
) -> None:
    with pytest.raises(cogitate.errors.TemplateError, match="nowhere"):
        cogitate_loop(settings=Settings(prompts=tmp_path / "nowhere"))
