"""The system programs that some tests need, and a PATH without them: `python tests/system_programs.py FOLDER`.

Needs only Python, so CI can compute that PATH before it installs anything.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: Programs that only tests marked `system` may use.
_SERVERS = {"rabbitmq-server", "redis-cli", "redis-server", "valkey-cli", "valkey-server"}
SYSTEM_PROGRAMS = frozenset({"chromium", "docker-compose", "nginx", "prometheus", "promtool"} | _SERVERS)


def path_without_system_programs(path: str, folder: Path) -> str:
    """Return `path` without system programs: links in `folder` replace a directory that has some."""
    kept = []
    for number, directory in enumerate(path.split(os.pathsep)):
        if any(os.path.lexists(os.path.join(directory, name)) for name in SYSTEM_PROGRAMS):  # noqa: PTH118
            rest = folder / str(number)
            rest.mkdir(parents=True)
            for program in Path(directory).iterdir():
                if program.name not in SYSTEM_PROGRAMS:
                    (rest / program.name).symlink_to(program.absolute())
            directory = str(rest)
        kept.append(directory)
    return os.pathsep.join(kept)


if __name__ == "__main__":
    print(path_without_system_programs(os.environ["PATH"], Path(sys.argv[1])))
