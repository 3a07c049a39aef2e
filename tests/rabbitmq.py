"""Debian's RabbitMQ on loopback, with its own folder, ports and port mapper."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any, Self
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
import trustme

from tests.patience import LONGEST, wait_until
from tests.ports import free_ports

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # the one on the PATH runs for root and the user rabbitmq only
HOST = "127.0.0.1"


class RabbitMQ:
    """A broker that starts with a `with` block and is killed at its end. It keeps its queues across restarts."""

    def __init__(self, *, tls: bool = False) -> None:
        if shutil.which("rabbitmq-server") is None or not PROGRAM.exists():
            pytest.skip("needs the package rabbitmq-server")
        self.folder = Path(tempfile.mkdtemp(prefix="cogitate-rabbitmq-"))
        self.port = free_ports(5)
        mapper, distribution, management = range(self.port + 1, self.port + 4)
        self._management = f"http://{HOST}:{management}/api"
        self.management = f"http://guest:guest@{HOST}:{management}/api/"
        (self.folder / "plugins").write_text("[rabbitmq_management].\n")
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.default = {HOST}:{self.port}\n"
            f"management.tcp.ip = {HOST}\n"
            f"management.tcp.port = {management}\n"
            "log.console = true\nlog.file = false\nvm_memory_high_watermark.absolute = 512MiB\n"
        )
        if tls:
            self._listen_by_tls()
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),  # of the Erlang cookie
            "ERL_EPMD_ADDRESS": HOST,
            "ERL_EPMD_PORT": str(mapper),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "none"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "queues"),
            "RABBITMQ_NODENAME": f"cogitate{self.port}@localhost",
            # One scheduler thread: a test's broker serves few messages, and the tests share the machine.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}",
        }
        self._mapper: subprocess.Popen[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@{HOST}:{self.port}//"

    @property
    def tls_url(self) -> str:
        return f"amqps://guest:guest@{HOST}:{self.port + 4}//"

    @property
    def authority(self) -> Path:
        """Return the file of the certificate authority that signed the broker's certificate."""
        return self.folder / "authority.pem"

    def _listen_by_tls(self) -> None:
        authority, certificate, key = trustme.CA(), self.folder / "certificate.pem", self.folder / "key.pem"
        issued = authority.issue_cert(HOST)
        authority.cert_pem.write_to_path(str(self.authority))
        issued.cert_chain_pems[0].write_to_path(str(certificate))
        issued.private_key_pem.write_to_path(str(key))
        with (self.folder / "rabbitmq.conf").open("a") as configuration:
            configuration.write(
                f"listeners.ssl.default = {HOST}:{self.port + 4}\n"
                f"ssl_options.cacertfile = {self.authority}\n"
                f"ssl_options.certfile = {certificate}\n"
                f"ssl_options.keyfile = {key}\n"
                "ssl_options.verify = verify_none\n"
            )

    def start(self) -> None:
        """Start or restart the broker; a restart keeps its queues."""
        with (self.folder / "said").open("ab") as said:
            self._process = subprocess.Popen(
                [str(PROGRAM)],
                env=self._environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,  # a process group of the shell, Erlang and its children, which end together
            )
        wait_until(lambda: self._answers() or self._process_ended(), "RabbitMQ to answer")
        assert not self._process_ended(), self.said()

    def kill(self) -> None:
        """Kill the broker at once."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Suspend the broker: it accepts connections and answers nothing."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP)

    def limit_memory(self, share: str) -> None:
        """Limit the broker to a share of the machine's memory; above that, it blocks publishers."""
        tool, node = PROGRAM.with_name("rabbitmqctl"), self._environment["RABBITMQ_NODENAME"]
        command = [tool, "--node", node, "set_vm_memory_high_watermark", share]
        subprocess.run(command, env=self._environment, check=True, stdout=subprocess.DEVNULL)

    def said(self) -> str:
        """Return the broker's log."""
        return (self.folder / "said").read_text(errors="replace")

    def ask(self, path: str, method: str = "GET", body: object = None) -> Any:
        """Call the management API, and return its answer."""
        request = Request(f"{self._management}/{path}", method=method)
        request.add_header("Authorization", f"Basic {b64encode(b'guest:guest').decode()}")
        request.add_header("Content-Type", "application/json")
        data = None if body is None else json.dumps(body).encode()
        with urlopen(request, data, timeout=LONGEST) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def __enter__(self) -> Self:
        mapper = ["epmd", "-address", HOST, "-port", self._environment["ERL_EPMD_PORT"]]
        self._mapper = subprocess.Popen(mapper, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        if self._mapper is not None:
            self._mapper.kill()
            self._mapper.wait()
        shutil.rmtree(self.folder)

    def _process_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), 1):
                return bool(self.ask("overview"))
        except (OSError, URLError):
            return False
