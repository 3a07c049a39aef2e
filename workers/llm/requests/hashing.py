"""Hashes for processes with hundreds of threads."""

from __future__ import annotations

import hashlib

# For more bytes at once, `hashlib` releases the interpreter lock, and the thread then waits behind all other ready
# threads to get it back: longer than the hash of a prompt takes.
_AT_ONCE = 2_047


def hashed(content: bytes, digest_size: int) -> hashlib.blake2b:
    """Return the BLAKE2b hash of some kilobytes without releasing the interpreter lock."""
    digest = hashlib.blake2b(digest_size=digest_size)
    for start in range(0, len(content), _AT_ONCE):
        digest.update(content[start : start + _AT_ONCE])
    return digest
