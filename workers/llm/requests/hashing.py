"""Hashes in processes with hundreds of threads."""

from __future__ import annotations

import hashlib

# For more bytes at once `hashlib` releases the interpreter lock, and a thread gets it back behind all others that are
# ready: that takes longer than the hash of a prompt.
_AT_ONCE = 2_047


def hashed(content: bytes, digest_size: int) -> hashlib.blake2b:
    """Return the BLAKE2b hash of some kilobytes, computed without a switch of threads."""
    made = hashlib.blake2b(digest_size=digest_size)
    for start in range(0, len(content), _AT_ONCE):
        made.update(content[start : start + _AT_ONCE])
    return made
