"""Whatever lies in the files of a recording: it is refused by name, or played as entries that a run takes."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cogitate.scheduler.intake.checks import check_owner, check_profile
from cogitate.scheduler.intake.observations import check_entry
from cogitate.simulation.recorded.player import RecordedWorld
from cogitate.simulation.recorded.recording import RecordingError

HOSTILE = ("", "../..", "/etc/passwd", "a:b|c/d{}", "\ud800", "\x00\x1b[2J", "\u202ename", "n" * 300, "word " * 3_000)
WORDS = st.text(max_size=12) | st.sampled_from(HOSTILE)
DATES = st.sampled_from(("February 13, 2023", "2023-02-13 07:00:10", "0001-01-01 00:00:00", "9999-12-31 23:59:59", ""))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | DATES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
META = {
    "start_date": DATES | JSON,
    "curr_time": DATES | JSON,
    "sec_per_step": st.integers(-1, 90_000) | JSON,
    "persona_names": st.lists(WORDS | JSON, max_size=3) | JSON,
}
SCRATCH = dict.fromkeys(("name", "innate", "learned", "currently", "lifestyle", "living_area"), WORDS | JSON) | {
    "age": st.integers() | JSON,
    "f_daily_schedule": st.lists(st.lists(WORDS | st.integers(), max_size=3), max_size=4) | JSON,
    "importance_trigger_max": st.integers() | JSON,
}
NODE = {
    "type": st.sampled_from(("event", "chat", "thought")) | JSON,
    "created": DATES | JSON,
    "subject": WORDS | JSON,
    "object": WORDS | JSON,
    "description": WORDS | JSON,
    "poignancy": st.integers() | JSON,
    "keywords": st.lists(WORDS, max_size=3) | JSON,
    "filling": st.lists(st.lists(WORDS, max_size=3), max_size=3) | JSON,
}
FINE: dict[str, Any] = {
    "start_date": "February 13, 2023",
    "curr_time": "February 13, 2023, 01:00:00",
    "sec_per_step": 10,
    "persona_names": ["Ann", "ann", "李"],
}
NODES = st.dictionaries(
    st.integers(0, 9).map("node_{}".format) | WORDS, st.fixed_dictionaries({}, optional=NODE) | JSON
)


@settings(max_examples=80)
@given(
    meta=st.just(FINE) | st.fixed_dictionaries({}, optional=META),
    scratch=st.fixed_dictionaries({}, optional=SCRATCH),
    nodes=NODES,
)
@example(meta=FINE, scratch={"living_area": ":::"}, nodes={"node_1": {"type": "chat", "filling": [["a"]]}})
def test_a_recording_is_refused_or_played(meta: dict[str, Any], scratch: dict[str, Any], nodes: dict[str, Any]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "meta.json").write_text(json.dumps(meta))
        for persona in FINE["persona_names"]:
            memory = folder / "personas" / persona / "bootstrap_memory" / "associative_memory"
            memory.mkdir(parents=True)
            (memory.parent / "scratch.json").write_text(json.dumps(scratch))
            (memory / "nodes.json").write_text(json.dumps(nodes))
        world, refused = read(folder)
    if world is None:
        assert name in refused
        assert len(refused) < 1_000
        return
    for owner, profile in world.owners().items():
        check_owner(owner)
        check_profile(owner, profile)
        world.brief(owner)
    for minute in sorted({*world._feed, world.start_minute + 60}):
        world._state.minute = minute - 1  # the minutes between have nothing to tell
        for owner, entry in world.step(minute, minute):
            check_entry(owner, entry, entry.minute)
    world.load(world.dump())


@given(st.binary(max_size=200))
@example(b"[" * 100_000)
@example(b"9" * 10_000)
@example(b"\xff\xfe{")
def test_a_file_of_anything_is_refused_by_name(content: bytes) -> None:
    with TemporaryDirectory() as name:
        file = Path(name) / "meta.json"
        file.write_bytes(content)
        world, refused = read(file.parent)
    assert world is None
    assert str(file) in refused


def read(folder: Path) -> tuple[RecordedWorld | None, str]:
    """The world, or what the refusal says."""
    try:
        return RecordedWorld(folder), ""
    except RecordingError as error:
        return None, str(error)
