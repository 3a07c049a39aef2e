"""Seals: incremental checksums of a stream, which show whether a stored copy is still complete and unchanged.

The holder of a stream adds and subtracts what changes; a reader computes the sums again. Each sum adds hashes of parts
modulo 2^128, so the order of the parts does not matter. A seal detects damage, not forgery.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from cogitate.memory.entry import Archived, Entry, Marks

PARTS = ("entries", "archive", "marks", "heads")

_MODULUS = 1 << 128
_encode = msgspec.json.Encoder().encode


class Seal:
    """The sums of one stream."""

    __slots__ = ("_archived", "_entries", "_marks", "_sums")

    def __init__(self) -> None:
        self._entries = self._archived = self._marks = 0
        self._sums = ""  # as text; "": outdated

    def entry(self, entry: Entry, sign: int) -> bytes:
        """Add an entry (`sign` 1), or subtract it (-1); return its JSON."""
        written = _encode(entry)
        self._entries += sign * _hashed(entry.number, written)
        self._sums = ""
        return written

    def archived(self, number: int, record: Archived, sign: int) -> None:
        """Add the record of an archived entry, or subtract it."""
        self._archived += sign * _hashed(number, _encode(record))
        self._sums = ""

    def marks(self, number: int, marks: Marks, sign: int) -> None:
        """Add the marks of an entry, or subtract them."""
        self._marks += sign * _hashed(number, _encode(marks))
        self._sums = ""

    def text(self, head: bytes) -> str:
        """Return the seal with this head, in JSON: a word for each of `PARTS`."""
        if not self._sums:
            entries, archived, marks = self._entries % _MODULUS, self._archived % _MODULUS, self._marks % _MODULUS
            self._sums = f"{entries:x} {archived:x} {marks:x}"
        return f"{self._sums} {_digest(head)}"


def digest_of(value: Any) -> str:
    """Return the hash of a value that is stored whole."""
    return _digest(_encode(value))


def _digest(written: bytes) -> str:
    return blake2b(written, digest_size=16).hexdigest()


def broken_parts(found: str, expected: str) -> list[str]:
    """Return the parts in which a seal differs from the stored one; all parts if the stored one is invalid."""
    words = expected.split(" ")
    if len(words) != len(PARTS):
        return list(PARTS)
    return [part for part, one, other in zip(PARTS, found.split(" "), words, strict=True) if one != other]


def _hashed(number: int, written: bytes) -> int:
    return int.from_bytes(blake2b(b"%d " % number + written, digest_size=16).digest())
