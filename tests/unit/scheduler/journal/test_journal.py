"""The journal: every byte is guarded by the chain, and the digest covers what a run did but not what it cost."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory import typed_json
from cogitate.memory.effects import Append, SetCounter
from cogitate.memory.entry import Entry
from cogitate.memory.unreadable import UnreadableEntry
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.journal.checkpoint import content_hash
from cogitate.scheduler.journal.lines import (
    Core,
    Ended,
    EndNote,
    JournalError,
    JournalLine,
    TickNotes,
    next_chain,
    next_digest,
    pack_line,
    read_line,
    unpack_line,
    write_line,
)
from cogitate.scheduler.journal.outline import DecisionOutline, EndOutline, read_outline
from cogitate.tasks.job import Cost, JobKey

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
        line, digest, chain = write_line(core(tick), notes(), digest, chain, SCHEMA)
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


def test_a_line_survives_a_round_trip() -> None:
    line = read_line(LINES[0], 1, "", "")
    assert (line.core, line.notes) == (core(1), notes())
    assert check(LINES) == 4


@given(st.integers(0, 3), st.booleans(), st.data())
def test_any_changed_byte_is_found_at_its_tick(which: int, plain: bool, data: st.DataObject) -> None:
    """Plain lines are those of exported files. A compressed one has a few bits that mean nothing."""
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


def test_a_line_is_decompressed_up_to_a_servers_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogitate.scheduler.ledger.run_store.MOST_BYTES", len(unpack_line(LINES[0])[1]) - 1)
    with pytest.raises(JournalError, match=r"^tick 1: the journal was changed: a line of it is cut short"):
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
    forged, _, chain = write_line(core(1, "another thought"), notes(), "", "", SCHEMA)
    old = typed_json.decode(unpack_line(LINES[0])[1])["digest"]
    new = typed_json.decode(unpack_line(forged)[1])["digest"]
    body = unpack_line(forged)[1].replace(new.encode(), old.encode())
    with pytest.raises(JournalError, match="does not follow"):
        read_line(pack_line(next_chain("", body), body), 1, "", "")
    assert chain


def test_the_digest_excludes_fields_that_may_differ() -> None:
    _, digest, chain = write_line(core(1), notes(), "", "", SCHEMA)
    _, same, other = write_line(core(1), notes(tokens=900, epoch=7), "", "", SCHEMA)
    assert same == digest
    assert other != chain
    assert write_line(core(1, "else"), notes(), "", "", SCHEMA)[1] != digest
    assert write_line(core(1), notes(), "before", "", SCHEMA)[1] != digest


# -- unreadable values of earlier kinds --------------------------------------------------------------

SOUND = {"type": "append", "owner": "agent:a", "entry": {"type": "reflection", "text": "So.", "minute": 1}}
ODD_ENTRY = SOUND | {"entry": {"type": "dream", "text": "Sheep.", "minute": 1}, "cut": 3}
ODD_COUNTER = {"type": "counter", "owner": "agent:a", "name": "naps", "value": "many"}


def line_of(**parts: list[list[object]]) -> bytes:
    """The line of a tick whose ends and late answers have these effects."""
    body = {"tick": 1, "minute": 1} | {
        part: [{"key": KEY, "end": "applied", "effects": effects} for effects in ends] for part, ends in parts.items()
    }
    raw = msgspec.json.encode(body)
    digest = next_digest("", raw)
    notes = {part: (EndNote(key=KEY, source="llm"),) * len(ends) for part, ends in parts.items()}
    line = JournalLine(v=SCHEMA, core=msgspec.Raw(raw), notes=TickNotes(epoch=1, **notes), digest=digest)  # type: ignore[arg-type]
    encoded = msgspec.json.encode(line)
    return pack_line(next_chain("", encoded), encoded)


@pytest.mark.parametrize("part", ["ended", "late"])
def test_unreadable_effects_keep_their_places(part: str) -> None:
    ends = [[SOUND, ODD_ENTRY, SOUND], [SOUND], [ODD_COUNTER, SOUND, ODD_ENTRY]]
    read = read_line(line_of(**{part: ends, "ended" if part == "late" else "late": [[SOUND]]}), 1, "", "").core
    found = getattr(read, part)
    sound = Append(owner="agent:a", entry=Entry(type="reflection", text="So.", minute=1))
    odd = found[0].effects[1]
    assert (odd.owner, odd.cut, odd.entry.type, odd.entry.text) == ("agent:a", 3, "dream", "Sheep.")
    assert isinstance(odd.entry, UnreadableEntry)
    counter = SetCounter(owner="agent:a", name="naps", value="many")  # type: ignore[arg-type]  # as it was written
    assert [end.effects for end in found] == [(sound, odd, sound), (sound,), (counter, sound, odd)]
    assert [(end.key, end.end) for end in found] == [(KEY, "applied")] * 3
    (other,) = read.late if part == "ended" else read.ended
    assert other.effects == (sound,)


@pytest.mark.parametrize(
    "effect",
    [
        7,
        {"type": "fly"},
        {"owner": "agent:a"},
        SOUND | {"entry": 5},
        SOUND | {"entry": {"type": "dream"}},
        {"type": "append", "entry": ODD_ENTRY["entry"]},
    ],
)
def test_anything_but_an_effect_is_refused(effect: object) -> None:
    with pytest.raises(JournalError, match="tick 1: the journal cannot be read"):
        read_line(line_of(ended=[[effect]]), 1, "", "")


def test_every_other_unreadable_value_is_refused() -> None:
    raw = msgspec.json.encode({"tick": 1, "minute": 1, "left": 5})
    line = JournalLine(v=SCHEMA, core=msgspec.Raw(raw), notes=TickNotes(epoch=1), digest=next_digest("", raw))
    encoded = msgspec.json.encode(line)
    with pytest.raises(JournalError, match="tick 1: the journal cannot be read"):
        read_line(pack_line(next_chain("", encoded), encoded), 1, "", "")


# -- what a line hands to the world ------------------------------------------------------------------


@pytest.mark.parametrize("part", ["ended", "late"])
def test_a_line_without_a_note_for_each_end_is_refused(part: str) -> None:
    end, note = Ended(key=KEY, end="applied"), EndNote(key=KEY, source="llm")
    line, digest, _ = write_line(
        Core(tick=1, minute=1, **{part: (end, end)}), TickNotes(epoch=1, **{part: (note,)}), "", "", SCHEMA
    )  # type: ignore[arg-type]
    assert digest
    with pytest.raises(JournalError, match=f"tick 1: {part} has 2 jobs and 1 notes"):
        read_line(line, 1, "", "")


# -- in outline --------------------------------------------------------------------------------------


def test_an_outline_counts_without_reading_effects() -> None:
    odd = msgspec.json.encode({"effects": 7})  # that is never read
    raw = msgspec.json.encode(
        {
            "tick": 3,
            "minute": 30,
            "ended": [{"key": KEY, "end": "applied", "reason": "late", "effects": msgspec.Raw(odd)}],
            "decided": [{"key": KEY, "decision": "dropped", "refused": "day:0 run calls"}],
        }
    )
    body = msgspec.json.encode(JournalLine(v=4, core=msgspec.Raw(raw), notes=notes(), digest="d"))
    found = read_outline(pack_line("c", body))
    assert (found.v, found.core.tick, found.core.minute) == (4, 3, 30)
    assert found.core.ended == (EndOutline(key=KEY, end="applied", reason="late"),)
    assert found.core.decided == (DecisionOutline(key=KEY, decision="dropped", refused="day:0 run calls"),)
    assert found.notes.ended == notes().ended


@pytest.mark.parametrize("body", [b"{", b"{}", b'{"v": 1}', b"\xff"])
def test_an_invalid_line_has_no_outline(body: bytes) -> None:
    with pytest.raises(JournalError, match="the journal was changed"):
        read_outline(b"chain " + body)


def test_a_line_that_cannot_be_decompressed_is_named() -> None:
    with pytest.raises(JournalError, match="the journal was changed: a line of it cannot be decompressed"):
        unpack_line(b"chain odd")
    assert unpack_line(b'chain {"v": 1}') == ("chain", b'{"v": 1}'), "those of files are not compressed"


def test_hashes_are_the_same_in_every_version() -> None:
    assert content_hash(b"{}") == "2afb9b83f9314e5d029766197f539792"
    assert next_digest("ab", b"{}") == next_chain("ab", b"{}") == "f5934ad22177462e4994cdf078b036e9"
