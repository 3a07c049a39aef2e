"""The journal: every byte is guarded by the chain, and the digest covers what a run did but not what it cost."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.effects import Append
from memory.entry import Entry
from scheduler.journal.lines import (
    Core,
    Ended,
    EndNote,
    JournalError,
    TickNotes,
    next_chain,
    pack_line,
    read_line,
    unpack_line,
    write_line,
)
from tasks.job import Cost, JobKey

KEY = JobKey(1, "plan", "agent:ä/b", 0, 0)


def core(tick: int, text: str = "a thought") -> Core:
    effects = (Append(owner=KEY.owner, entry=Entry(type="reflection", text=text, minute=tick)),)
    return Core(tick=tick, minute=tick, ended=(Ended(key=KEY, end="applied", effects=effects),))


def notes(tokens: int = 5, epoch: int = 1) -> TickNotes:
    return TickNotes(
        epoch=epoch, ended=(EndNote(key=KEY, source="llm", usage=Cost(calls=1, tokens=tokens), attempts=1),)
    )


def journal(ticks: int) -> list[bytes]:
    lines, digest, chain = [], "", ""
    for tick in range(1, ticks + 1):
        line, digest, chain = write_line(core(tick), notes(), digest, chain, 1)
        lines.append(line)
    return lines


LINES = journal(4)


def check(lines: list[bytes]) -> int:
    """Read a whole journal; the number of ticks."""
    digest = chain = ""
    for tick, stored in enumerate(lines, 1):
        line = read_line(stored, tick, digest, chain)
        digest, chain = line.digest, line.chain
    return len(lines)


def test_what_is_written_reads_back() -> None:
    line = read_line(LINES[0], 1, "", "")
    assert (line.core, line.notes) == (core(1), notes())
    assert check(LINES) == 4


@given(st.integers(0, 3), st.booleans(), st.data())
def test_any_changed_byte_is_found_at_its_tick(which: int, plain: bool, data: st.DataObject) -> None:
    """Plain lines are those of older versions, and of files. A compressed one has a few bits that mean nothing."""
    chain, body = unpack_line(LINES[which])
    stored = bytearray(chain.encode() + b" " + body if plain else LINES[which])
    stored[data.draw(st.integers(0, len(stored) - 1))] ^= data.draw(st.integers(1, 255))
    lines = [*LINES[:which], bytes(stored), *LINES[which + 1 :]]
    if not plain and says(stored) == (chain, body):
        assert check(lines) == len(LINES)
        return
    with pytest.raises(JournalError, match=f"^tick {which + 1}: "):
        check(lines)


def says(stored: bytes) -> tuple[str, bytes] | None:
    try:
        return unpack_line(bytes(stored))
    except JournalError:
        return None


def test_a_line_is_not_unpacked_beyond_what_a_server_could_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.ledger.packing.MOST_BYTES", len(unpack_line(LINES[0])[1]) - 1)
    with pytest.raises(JournalError, match=r"^tick 1: the journal was changed"):
        check(LINES)


@pytest.mark.parametrize(
    ("lines", "tick"),
    [
        ([LINES[1]], 1),
        ([LINES[0], LINES[2]], 2),
        ([LINES[0], LINES[0]], 2),
        ([LINES[0], b""], 2),
        ([LINES[0], LINES[1][:-1]], 2),
        ([LINES[0], LINES[1] + b" "], 2),
    ],
)
def test_a_line_out_of_place_is_found(lines: list[bytes], tick: int) -> None:
    with pytest.raises(JournalError, match=f"^tick {tick}: "):
        check(lines)


def test_a_line_forged_with_its_chain_breaks_the_digest() -> None:
    """Who recomputes the chain must recompute the digest too; the digest itself is kept elsewhere."""
    forged, _, chain = write_line(core(1, "another thought"), notes(), "", "", 1)
    old = msgspec.json.decode(unpack_line(LINES[0])[1])["digest"]
    new = msgspec.json.decode(unpack_line(forged)[1])["digest"]
    body = unpack_line(forged)[1].replace(new.encode(), old.encode())
    with pytest.raises(JournalError, match="does not follow"):
        read_line(pack_line(next_chain("", body), body), 1, "", "")
    assert chain


def test_the_digest_leaves_out_what_may_differ() -> None:
    _, digest, chain = write_line(core(1), notes(), "", "", 1)
    _, same, other = write_line(core(1), notes(tokens=900, epoch=7), "", "", 1)
    assert same == digest
    assert other != chain
    assert write_line(core(1, "else"), notes(), "", "", 1)[1] != digest
    assert write_line(core(1), notes(), "before", "", 1)[1] != digest
