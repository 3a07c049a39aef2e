"""Write files with memories of agents: readable only by their owner, and written completely or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PART = ".part"  # suffix of an unfinished file


@contextmanager
def private_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file to write; at the end of the block, with the content on disk, the file gets its name.

    After an error in the block, the path has its former content. A path that is not a regular file, such as a pipe, is
    written directly.

    Raises:
        OSError: if it cannot be written.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    target, part = _target_and_part(path)
    try:
        part.unlink(missing_ok=True)  # left by a killed process; reopening it would keep its mode
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
        part.unlink(missing_ok=True)  # exists only after an error


def open_private_log(path: Path) -> BinaryIO:
    """Open a log to append to, and restrict reading to its owner.

    Raises:
        OSError: if it cannot be opened, or belongs to another user.
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
    """Yield a folder to fill; at the end of the block it replaces a missing or empty one.

    An error in the block removes it.

    Raises:
        OSError: if it cannot be made.
    """
    target, part = _target_and_part(path)
    shutil.rmtree(part, ignore_errors=True)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir(mode=0o700)
        yield part
        part.replace(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)  # exists only after an error


def _target_and_part(path: Path) -> tuple[Path, Path]:
    target = path.resolve()
    return target, target.with_name(f".{os.getpid()}{PART}")
