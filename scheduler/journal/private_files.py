"""Files with memories of agents: only their owner may read them, and they are written completely or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PART = ".part"  # ends the name of a file that is being written


@contextmanager
def private_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file to write, which takes its name when the block ends and its content is on disk.

    After an error in the block, the path has its former content. A path that is not a regular file, such as a pipe, is
    written directly.

    Raises:
        OSError: when it cannot be written.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    target, part = _target_and_part(path)
    try:
        part.unlink(missing_ok=True)  # of a process that was killed: a file keeps its mode
        file = open(part, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None  # the caller does not know the part's name
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)  # after an error: otherwise it has its name by now


def open_private_log(path: Path) -> BinaryIO:
    """Open a log to append to, and restrict reading to its owner.

    Raises:
        OSError: when it cannot be opened, or belongs to another user.
    """
    file = open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
    try:
        os.fchmod(file.fileno(), 0o600)
    except BaseException:
        file.close()
        raise
    return file


@contextmanager
def private_folder(path: Path) -> Iterator[Path]:
    """Yield a folder to fill, which takes the place of a missing or empty one when the block ends.

    An error in the block removes it.

    Raises:
        OSError: when it cannot be made.
    """
    target, part = _target_and_part(path)
    shutil.rmtree(part, ignore_errors=True)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir(mode=0o700)
        yield part
        part.replace(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)  # after an error: otherwise it has its name by now


def _target_and_part(path: Path) -> tuple[Path, Path]:
    target = path.resolve()
    return target, target.with_name(f".{os.getpid()}{PART}")
