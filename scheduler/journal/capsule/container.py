"""The container of a capsule: a ZIP archive with a fixed layout, whose comment is a checksum of every byte before it.

Any program for ZIP archives can read it. The members are deflated and follow one another without gaps, all with the
same date and mode, so the same members give the same bytes. The archive's comment holds the SHA-256 of the bytes before
it, so a reader finds any altered byte before it decompresses anything.
"""

from __future__ import annotations

import hashlib
import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from cogitate.memory.errors import CogitateError, quoted

MOST_BYTES = 2**30  # of one member, decompressed
MOST_FILE = 2**32  # bytes of the file
MOST_LINE = 2**26  # bytes of one line of a member, because a reader decodes it at once
MOST_MEMBERS = 100
MOST_DIRECTORY = 2**16  # bytes of the archive's directory, because a reader reads it at once

_MARK = b"cogitate capsule, SHA-256 "
_COMMENT = len(_MARK) + 64
_END = struct.Struct("<4s4H2LH")  # the archive's last record, before its comment
_LOCAL = 30  # bytes of a member's header without its name
_DATE = (1980, 1, 1, 0, 0, 0)
_CHUNK = 2**20
_MEMBER = re.compile(r"[a-z][a-z_]{0,40}\.jsonl?|prompts/[A-Za-z0-9_-]{1,80}\.j2")


class CapsuleError(CogitateError, ValueError):
    """A file is not a capsule, or was altered; the message names the fault and a remedy."""


class Member(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The size and the hash of a member's content."""

    bytes: int
    sha256: str


AGAIN = "get it again from its author"


def changed(path: Path, what: str) -> CapsuleError:
    """Return the error for an altered or incomplete file."""
    return CapsuleError(f"{path}: {what}: the file was changed or is incomplete: {AGAIN}")


class ContainerWriter:
    """Writes a container; a context manager.

    Args:
        draft: an empty file to write to and to read from.
    """

    def __init__(self, draft: BinaryIO) -> None:
        self._draft = draft
        self._archive = zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, allowZip64=False)
        self.members: dict[str, Member] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    @contextmanager
    def member(self, name: str) -> Iterator[Callable[[bytes], None]]:
        """Yield a function that adds bytes to a new member.

        Raises:
            CapsuleError: if the member becomes too large.
        """
        info = zipfile.ZipInfo(name, _DATE)
        info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o600 << 16
        size, digest = 0, hashlib.sha256()
        with self._archive.open(info, "w") as member:

            def add(data: bytes) -> None:
                nonlocal size
                size += len(data)
                if size > MOST_BYTES:
                    raise CapsuleError(f"{name} has more than {MOST_BYTES:,} bytes, too many for a capsule")
                digest.update(data)
                member.write(data)

            yield add
        self.members[name] = Member(bytes=size, sha256=digest.hexdigest())

    def finish(self, out: BinaryIO) -> None:
        """Complete the container and write it."""
        self._archive.close()
        left = self._draft.tell() - 2  # without the last field, the length of the so far empty comment
        self._draft.seek(0)
        digest = hashlib.sha256()
        while left:
            chunk = self._draft.read(min(_CHUNK, left))
            left -= len(chunk)
            digest.update(chunk)
            out.write(chunk)
        length = struct.pack("<H", _COMMENT)
        digest.update(length)
        out.write(length + _MARK + digest.hexdigest().encode())


class Container:
    """Reads a container that is complete and laid out as `ContainerWriter` writes it."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._directory = _check_whole(path, file)
        try:  # `zipfile` raises NotImplementedError for a version or a compression that it does not know
            self._archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, struct.error) as error:
            raise CapsuleError(f"{path} is not a capsule: {error}") from error
        self._infos = self._checked_layout()

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Self]:
        """Yield the container in a file.

        Raises:
            OSError: if the file cannot be read.
            CapsuleError: if it is not a capsule, or was changed.
        """
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or not _END.size + _COMMENT <= status.st_size <= MOST_FILE:
            raise CapsuleError(f"{path} is not a capsule: give a file that `cogitate export --format capsule` wrote")
        with path.open("rb") as file:
            yield cls(path, file)

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the members."""
        return frozenset(self._infos)

    def check(self, name: str, expected: Member) -> None:
        """Check the content of a member without decoding it.

        Raises:
            CapsuleError: if it is missing, or differs from the manifest.
        """
        if name not in self._infos:
            raise changed(self.path, f"{name} is missing")
        size, digest = 0, hashlib.sha256()
        with self._reading(name) as member:
            while chunk := member.read(_CHUNK):
                size += len(chunk)
                digest.update(chunk)
        if (size, digest.hexdigest()) != (expected.bytes, expected.sha256):
            raise changed(self.path, f"{name} is not what the manifest says")

    def read(self, name: str, most: int = MOST_LINE) -> bytes:
        """Return the content of a member.

        Raises:
            CapsuleError: if it is missing, cannot be decompressed, or has more than `most` bytes.
        """
        if name not in self._infos:
            raise changed(self.path, f"{name} is missing")
        with self._reading(name) as member:
            content = member.read(most + 1)
        if len(content) > most:
            raise CapsuleError(f"{self.path}: {name} has more than {most:,} bytes: Cogitate writes no such capsule")
        return content

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a member, without their ends.

        Raises:
            CapsuleError: if one is too long, has no end, or cannot be decompressed.
        """
        with self._reading(name) as member, io.BufferedReader(member, _CHUNK) as lines:
            while line := lines.readline(MOST_LINE + 1):
                if len(line) > MOST_LINE:
                    raise CapsuleError(
                        f"{self.path}: {name} has a line of more than {MOST_LINE:,} bytes: "
                        "Cogitate writes no such capsule"
                    )
                if not line.endswith(b"\n"):
                    raise changed(self.path, f"{name} ends in the middle of a line")
                yield line[:-1]

    @contextmanager
    def _reading(self, name: str) -> Iterator[zipfile.ZipExtFile]:
        try:
            with self._archive.open(self._infos[name]) as member:
                yield member  # type: ignore[misc]
        # `zipfile` raises NotImplementedError for an unknown version, and RuntimeError for an encrypted member.
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise changed(self.path, f"{name} cannot be decompressed ({error})") from error

    def _checked_layout(self) -> dict[str, zipfile.ZipInfo]:
        """Return the members by name after checking that they follow one another without gaps."""
        at, members = 0, dict[str, zipfile.ZipInfo]()
        for info in self._archive.infolist():
            name = info.filename
            if not _MEMBER.fullmatch(name) or info.orig_filename != name or name in members:
                raise CapsuleError(f"{self.path}: {quoted(name)} is not part of a capsule: {AGAIN}")
            if info.file_size > MOST_BYTES:
                raise CapsuleError(
                    f"{self.path}: {name} would have {info.file_size:,} bytes, at most {MOST_BYTES:,} fit: "
                    "Cogitate writes no such capsule"
                )
            usual = (info.compress_type, info.flag_bits, info.extra, info.comment, info.date_time)
            if usual != (zipfile.ZIP_DEFLATED, 0, b"", b"", _DATE) or info.header_offset != at:
                raise changed(self.path, f"{name} is not laid out as in a capsule")
            at += _LOCAL + len(name) + info.compress_size
            members[name] = info
        if at != self._directory:
            raise changed(self.path, "there is data between its members")
        return members


def _check_whole(path: Path, file: BinaryIO) -> int:
    """Check the comment of an archive, and return the offset of its directory."""
    size = file.seek(-_END.size - _COMMENT, io.SEEK_END) + _END.size + _COMMENT
    end, comment = file.read(_END.size), file.read(_COMMENT)
    magic, disk, first_disk, here, members, directory, begins, length = _END.unpack(end)
    if magic != b"PK\5\6" or not comment.startswith(_MARK):
        raise CapsuleError(
            f"{path} is not a capsule, or its end is missing: give a complete file that "
            "`cogitate export --format capsule` wrote"
        )
    file.seek(0)
    digest, left = hashlib.sha256(), size - _COMMENT
    while chunk := file.read(min(_CHUNK, left)):
        left -= len(chunk)
        digest.update(chunk)
    if comment != _MARK + digest.hexdigest().encode():
        raise changed(path, "its bytes do not match its checksum")
    whole = (disk, first_disk, length, begins + directory) == (0, 0, _COMMENT, size - _END.size - _COMMENT)
    if not whole or here != members or members > MOST_MEMBERS or directory > MOST_DIRECTORY:
        raise CapsuleError(f"{path}: its directory is not that of a capsule: {AGAIN}")
    return int(begins)
