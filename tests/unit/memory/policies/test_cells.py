"""Cells: which entries are cells, when summaries are due, and the prompt for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from cogitate.memory.apply import unmet
from cogitate.memory.effects import Archive, ForgetWaiting, ReplaceSummary, TakeWaiting
from cogitate.memory.entry import Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.cells import SUMMARY_TOKENS, cells, enforce, has_space, surplus_cells, update_summary
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.long_term import estimate_tokens
from cogitate.prompts.answers import SummaryAnswer
from cogitate.prompts.render import Templates
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.tasks.kind import Case
from cogitate.tasks.shown import effects_of
from cogitate.tasks.summarise import Summarise
from tests.unit.memory.cells_case import LIMITS, filled, texts, writes
from tests.unit.tasks.policy_cases import HENDERSON, KIND, OGILVY, Host

# -- the answer ------------------------------------------------------------------------------------


def test_summary_response_creation() -> None:
    assert SummaryAnswer(summary="Ogilvy found a cylinder.").summary == "Ogilvy found a cylinder."


def test_summary_response_unicode() -> None:
    text = "Огилви нашёл цилиндр на пустоши."
    assert SummaryAnswer.model_validate_json(f'{{"summary": "{text}"}}').summary == text


def test_summary_response_empty_rejected() -> None:
    with pytest.raises(ValidationError):
        SummaryAnswer(summary="")


# -- partitioning and cells ------------------------------------------------------------------------


def test_partition_mixed() -> None:
    host = Host(LIMITS, writes, owners=(OGILVY, HENDERSON))
    for number in range(3):
        host.live({OGILVY: [f"Event {number}."]})
    host.live({OGILVY: ["One more."], HENDERSON: ["A first one."]})
    assert not has_space(host.streams[OGILVY], LIMITS)
    assert has_space(host.streams[HENDERSON], LIMITS)
    assert list(host.open) == [OGILVY]


def test_partition_empty_cells() -> None:
    stream = Stream(OGILVY)
    assert has_space(stream, LIMITS)
    assert cells(stream) == []
    assert surplus_cells(stream, LIMITS) == []
    assert stream.head.summary == ""


def test_add_cell_at_front() -> None:
    host = filled(Host(LIMITS), 2)
    host.live({OGILVY: ["The newest."]})
    assert cells(host.streams[OGILVY])[0].text == "The newest."
    assert cells(host.streams[OGILVY])[0].tick == 3


def test_add_cell_preserves_order() -> None:
    host = filled(Host(LIMITS))
    assert texts(host.streams[OGILVY]) == ["Event 3.", "Event 2.", "Event 1."]


def test_k_is_read_from_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGITATE_POLICY", "cells")
    monkeypatch.setenv("COGITATE_CELLS", "7")
    assert Settings().memory_limits().cells == 7
    assert Settings().memory_limits().policy_of(OGILVY) == "cells"
    assert MemoryLimits().cells == 5


def test_summaries_are_due_when_k_are_full() -> None:
    for k in (1, 2, 7):
        limits = MemoryLimits(policy="cells", cells=k)
        host = filled(Host(limits, writes), k)
        assert not host.open
        host.live({OGILVY: ["One more."]})
        assert list(host.open) == [OGILVY]


def test_a_policy_is_set_for_an_owner_or_its_scope() -> None:
    limits = MemoryLimits(
        policy="cells", policies={"npc": "tokens", "agent:borin": "stream", "location:crypt": "cells"}
    )
    assert [limits.policy_of(o) for o in ("agent:ogilvy", "npc:smith", "agent:borin")] == ["cells", "tokens", "stream"]
    assert [limits.policy_of(o) for o in ("location:crypt", "location:inn", "world")] == ["cells", "stream", "stream"]
    with pytest.raises(ConfigurationError, match="name an owner such as 'npc:smith'"):
        Settings(policies={"smith": "cells"})


def a_case() -> Case:
    host = filled(Host(LIMITS, writes), 4)
    host.live({OGILVY: ["Event 5."]})
    return host.open[OGILVY]


# -- the prompt ------------------------------------------------------------------------------------


def test_the_prompt_shows_the_old_summary_and_the_dropping_cell() -> None:
    prompt = KIND.prompt(a_case())
    assert "Summary 1: Event 1." in prompt.user
    assert "Event 2." in prompt.user
    assert "Event 3." not in prompt.user
    assert prompt.used == (2,)


def test_a_hosts_template_replaces_the_built_in_one(tmp_path: Path) -> None:
    (tmp_path / "summarise_cells.j2").write_text(
        "{% block system %}Mars.{% endblock %}{% block user %}{{ summary }} then {{ memories[0].text }}{% endblock %}"
    )
    prompt = Summarise(Templates(tmp_path)).prompt(a_case())
    assert (prompt.system, prompt.user) == ("Mars.", "Summary 1: Event 1. then Event 2.")
    assert prompt.version != KIND.prompt(a_case()).version


def test_the_effects_hold_only_while_the_summary_stands() -> None:
    host = filled(Host(LIMITS, writes), 4)
    case = host.open[OGILVY]
    effects = effects_of(KIND, case, SummaryAnswer(summary="New."), KIND.prompt(case))
    assert [type(effect) for effect in effects] == [ReplaceSummary, Archive, TakeWaiting]
    host.change((ReplaceSummary(OGILVY, "Another one.", 0),))
    assert unmet(host.streams, effects) == "summary is at version 1, not 0"


def test_no_more_can_be_taken_or_forgotten_than_waits() -> None:
    stream = Stream(OGILVY)
    stream.wait(Entry(type="observation", text="One.", minute=1))
    streams = {OGILVY: stream}
    assert unmet(streams, (TakeWaiting(OGILVY, 1),)) is None
    assert unmet(streams, (TakeWaiting(OGILVY, 2),)) == "1 entries wait, not 2"
    assert unmet(streams, (TakeWaiting(OGILVY, 1), ForgetWaiting(OGILVY, 1))) == "0 entries wait, not 1"
    assert unmet(streams, (Archive(OGILVY, (1,)),)) == "entry 1 is not live"
    assert unmet(streams, (TakeWaiting(OGILVY, 1), Archive(OGILVY, (1,)))) is None


def test_a_summary_without_a_model_keeps_the_old_text_and_adds_archived_cells() -> None:
    gone = [Entry(type="observation", text="Elara found the silver dagger.", minute=1, number=1)]
    told, _ = update_summary("Borin promised to guard the old bridge.", gone, {})
    assert "Borin promised to guard the old bridge" in told
    assert "silver dagger" in told
    endless = [Entry(type="observation", text="north " * 1_000, minute=1, number=1)]
    told, cut = update_summary("Borin promised to guard the old bridge.", endless, {})
    assert "Borin promised to guard the old bridge" in told
    assert "north north" in told.lower(), "where the sentence does not fit, a part of it is told"
    assert cut > estimate_tokens(endless[0].text) / 2, "and the rest is counted"
    assert estimate_tokens(told) <= SUMMARY_TOKENS
    assert update_summary("", [], {}) == ("", 0)


def test_tokens_cut_from_the_summary_are_counted() -> None:
    stream = Stream(OGILVY)
    for number in range(1, LIMITS.cells + 2):
        stream.append(Entry(type="observation", text=f"Saw {number} " + "geese " * 600, minute=number), number)
    archived, replaced = enforce(stream, LIMITS, {})
    assert archived == Archive(OGILVY, (1,), into_summary=True)
    assert isinstance(replaced, ReplaceSummary)
    assert (replaced.text, replaced.cut) == update_summary("", [stream.entries[1]], {})
    assert replaced.cut > 0
