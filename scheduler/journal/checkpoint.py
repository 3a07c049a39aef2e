"""Checkpoints of the journal. A checkpoint replaces all lines up to its tick, so the host can remove them.

It is a chained entry between the line of its tick and the next. The chain covers it, the digest does not. The entry
holds the totals of the lines (`cogitate.scheduler.journal.run_totals`) and the content hash of each stream; a separate
hash holds the streams. Keys under the run's prefix, `<t>` being the tick:
    journal_checkpoints     hash  tick -> the chained entry
    journal_checkpoint:<t>  hash  owner -> its stream at the end of that tick, JSON, compressed
    state                   hash  trimmed: last tick whose line was removed; it has a checkpoint
                                  checkpointing: tick of a checkpoint whose streams the host is writing
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.snapshot import dump, load
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.journal.lines import JournalError, next_chain, wrong_version
from cogitate.scheduler.journal.run_totals import RunTotals
from cogitate.scheduler.ledger.run_store import RunStore, pack, unpack

PAGE = 100  # streams per round trip


class JournalCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A point from which readers can read the journal without the lines before it."""

    v: int
    tick: int
    digest: str  # of the run at that tick
    after: str  # the chain before this entry
    totals: RunTotals = msgspec.field(name="standing")
    streams: dict[str, str]  # owner -> content hash of its stream
    retired: dict[str, str]  # likewise, for owners that have left


_CHECKPOINT = typed_json.decoder(JournalCheckpoint)


def packed(stream: bytes) -> bytes:
    """Return a stream's JSON in the form that a checkpoint stores, compressed to about an eighth."""
    return pack(stream, 6)


def content_hash(stream: bytes) -> str:
    """Return the hash of a stream in the form of `cogitate.memory.snapshot.dump`."""
    return hashlib.blake2b(stream, digest_size=16).hexdigest()


def write_checkpoint(checkpoint: JournalCheckpoint) -> tuple[bytes, str]:
    """Return the stored entry, which begins with the chain after it, and that chain."""
    body = msgspec.json.encode(checkpoint)
    chain = next_chain(checkpoint.after, body)
    return chain.encode() + b" " + body, chain


def read_checkpoint(stored: bytes, tick: int, chain: str | None = None) -> tuple[JournalCheckpoint, str]:
    """Verify and decode the checkpoint of `tick`; return it and the chain after it.

    Args:
        chain: the chain before it; None if the line before it was removed.
    """
    written, _, body = stored.partition(b" ")
    try:
        checkpoint = _CHECKPOINT.decode(body)
    except msgspec.DecodeError as error:
        raise JournalError(f"tick {tick}: the journal's checkpoint cannot be read: {error}") from error
    if checkpoint.v != SCHEMA:
        raise JournalError(f"tick {tick}: the journal's checkpoint {wrong_version(checkpoint.v)}")
    now = next_chain(checkpoint.after if chain is None else chain, body)
    if written.decode("ascii", "replace") != now or checkpoint.tick != tick:
        raise JournalError(f"tick {tick}: the journal's checkpoint was changed: chain {now}, written {written[:40]!r}")
    return checkpoint, now


def trimmed_tick(store: RunStore) -> int:
    """Return the last tick whose line was trimmed; 0 for an untrimmed journal."""
    trimmed = store.field("state", "trimmed")
    return int(trimmed or 0)


def load_checkpoint(store: RunStore, tick: int) -> JournalCheckpoint | None:
    """Return the checkpoint of a tick after checking its hash; None if there is none."""
    stored = store.field("journal_checkpoints", str(tick))
    return read_checkpoint(stored, tick)[0] if stored is not None else None


def load_base(store: RunStore) -> JournalCheckpoint | None:
    """Return the checkpoint that a trimmed journal begins with; None for an untrimmed one."""
    while trimmed := trimmed_tick(store):
        base = load_checkpoint(store, trimmed)
        if base is not None:
            return base
        if trimmed_tick(store) == trimmed:  # otherwise the host has just trimmed it further
            raise JournalError(f"tick {trimmed}: the journal was trimmed up to here, but its checkpoint is missing")
    return None


def load_checkpoint_streams(store: RunStore, checkpoint: JournalCheckpoint | None) -> dict[str, Stream]:
    """Return the streams of the owners that were present at a checkpoint; none without a checkpoint."""
    streams: dict[str, Stream] = {}
    if checkpoint is None:
        return streams
    owners = sorted(checkpoint.streams)
    for start in range(0, len(owners), PAGE):
        page = owners[start : start + PAGE]
        bodies = store.checkpoint_streams(checkpoint.tick, page)
        for owner, body in zip(page, bodies, strict=True):
            stream = _unpacked(body)
            if content_hash(stream) != checkpoint.streams[owner]:
                raise JournalError(f"tick {checkpoint.tick}: the stream of {owner!r} is not what the checkpoint says")
            streams[owner] = load(stream)
    return streams


def _unpacked(body: bytes | None) -> bytes:
    try:
        return unpack(body or b"")
    except ValueError:
        return b""  # no stream has this content


def check_streams(
    checkpoint: JournalCheckpoint,
    streams: Mapping[str, Stream],
    retired: Mapping[str, Stream],
    base: JournalCheckpoint | None,
) -> None:
    """Check that rebuilt streams equal those of a checkpoint.

    Args:
        retired: streams of owners that have left since `base`.
        base: the checkpoint from which the streams were rebuilt.
    """
    before = base.retired if base is not None else {}
    for kept, rebuilt, known in ((checkpoint.streams, streams, {}), (checkpoint.retired, retired, before)):
        hashes = {owner: content_hash(dump(stream)) for owner, stream in rebuilt.items()} | known
        for owner in sorted(kept.keys() | hashes.keys()):
            if kept.get(owner) != hashes.get(owner):
                raise JournalError(
                    f"tick {checkpoint.tick}: the stream of {owner!r} is not what the journal's checkpoint says"
                )
