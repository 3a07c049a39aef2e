"""The stand-in endpoint of a load test in a separate process, so that its work does not count as the host's.

The child first writes a line with its URL. The parent writes a line of JSON for each change of behaviour (fields of
`cogitate.ops.fake_llm.server.Options`). When the parent ends, the child's input closes and the child ends too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from cogitate.ops.fake_llm.server import FakeEndpoint, Options


class LoadEndpoint:
    """A stand-in endpoint whose behaviour changes while it runs. Usage: `with LoadEndpoint() as endpoint:`.

    Raises:
        RuntimeError: on entering, when it does not start.
    """

    def __init__(self) -> None:
        self.url = ""  # for `base_url`: ends in /v1
        self._process: subprocess.Popen[str]

    def __enter__(self) -> LoadEndpoint:
        command = [sys.executable, "-m", f"{__package__}.endpoint"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(f"the stand-in endpoint did not start: exit code {self._process.wait()}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def behave(self, behaviour: Mapping[str, Any]) -> None:
        """Set the behaviour from now on; unnamed fields get their defaults."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(dict(behaviour)) + "\n")
        self._process.stdin.flush()


def main() -> None:
    with FakeEndpoint() as endpoint:
        print(endpoint.url, flush=True)
        for line in sys.stdin:
            endpoint.behave(Options(**json.loads(line)))


if __name__ == "__main__":
    main()
