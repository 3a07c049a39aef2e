"""Window: facts that survive compression, and the prompt that asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cogitate.memory.effects import ReplaceSummary, SetCharacter
from cogitate.memory.entry import format_character
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.window import buffer_tokens
from cogitate.memory.summaries.long_term import cut_oldest, estimate_tokens, fold
from cogitate.prompts.render import Templates
from cogitate.tasks.kind import Case
from cogitate.tasks.summarise import Summarise
from tests.unit.memory.window_case import KNOWN, LIMITS, at_length, briefly, stream_of, ten_words
from tests.unit.tasks.policy_cases import KIND, OGILVY, Host

STORY = [
    "Theron the ranger met Elara in Oakhaven.",
    "Rain fell on the inn all evening.",
    "Elara asked Theron to recover the Sunstone from the Crypt of Vael before midwinter.",
    "Theron rolled a 17 on perception and noticed a draft.",
    "They ate stew and slept.",
    "Theron bought two healing potions from Marla for 30 gold.",
    "The road was long and muddy.",
    "Borin the dwarf joined the party at the Stone Bridge.",
    "Borin is the brother of the smith Durnan.",
    "Theron rolled a 4 on stealth and slipped on the stairs.",
    "Wolves howled somewhere in the hills.",
    "Theron carries a silver dagger that belonged to his father.",
    "They made camp beside a stream.",
    "Borin betrayed the party and took the map to Castle Grim.",
    "The fire went out twice in the night.",
    "The quest now: find Borin at Castle Grim and win back the map.",
    "Elara trusts Theron like a brother.",
    "A crow watched them from a branch.",
    "Elara found a rusty key under the altar.",
    "The fog lifted around noon.",
    "Theron promised Elara to return to Oakhaven by the full moon.",
    "They walked until their feet hurt.",
    "Durnan owes Theron a favour.",
    "Initiative: Theron 12, Borin 9; the saving throw failed.",
]
CRITICAL = {
    "names": ["Theron", "Elara", "Borin", "Marla", "Durnan", "Oakhaven", "Castle Grim", "Crypt of Vael"],
    "objectives": ["recover the Sunstone", "win back the map", "return to Oakhaven by the full moon"],
    "relationships": ["brother of the smith", "betrayed the party", "trusts Theron", "owes Theron"],
    "inventory": ["silver dagger", "two healing potions", "rusty key"],
}


def kept(text: str, part: str) -> float:
    return sum(fact in text for fact in CRITICAL[part]) / len(CRITICAL[part])


@pytest.fixture(scope="module")
def half() -> str:
    """The story in half its tokens, compressed in one go."""
    entries = stream_of(*STORY).live()
    return fold("", entries, {}, buffer_tokens(entries) // 2)


# -- what matters survives -------------------------------------------------------------------------


def test_character_names_preserved(half: str) -> None:
    assert kept(half, "names") == 1


def test_quest_objectives_preserved(half: str) -> None:
    assert kept(half, "objectives") == 1


def test_relationships_preserved(half: str) -> None:
    assert kept(half, "relationships") == 1


def test_inventory_preserved(half: str) -> None:
    assert kept(half, "inventory") == 1


def test_important_memories_survive_repeated_compression() -> None:
    whole = buffer_tokens(stream_of(*STORY).live())
    limits = MemoryLimits(policy="tokens", token_limit=whole * 9 // 10)
    host = Host(limits)
    for sentence in STORY:
        host.live({OGILVY: [sentence]})
    stream = host.streams[OGILVY]
    told = " ".join([stream.head.summary, *(entry.text for entry in stream.live())])
    assert stream.head.summary_version > 1
    assert estimate_tokens(stream.head.summary) < whole * 0.42
    assert [kept(told, part) for part in CRITICAL] == [1, 1, 1, 1]


def test_dice_and_rules_are_discarded_first(half: str) -> None:
    assert "rolled" not in half
    assert "saving throw" not in half


def test_facts_survive_every_compression() -> None:
    host = Host(LIMITS, at_length)
    host.change((SetCharacter(OGILVY, KNOWN),))
    for number in range(40):
        host.live({OGILVY: [ten_words(number)]})
    assert host.streams[OGILVY].head.character == KNOWN
    assert "recover the Sunstone" in format_character(host.streams[OGILVY].head.character)


def a_case() -> Case:
    host = Host(MemoryLimits(policy="tokens", token_limit=150), briefly)
    host.change((SetCharacter(OGILVY, KNOWN), ReplaceSummary(OGILVY, "Elara left home.", 0)))
    host.live({OGILVY: [*map(ten_words, range(9)), "Borin slept."]})
    return host.open[OGILVY]


# -- the prompt ------------------------------------------------------------------------------------


def test_the_janitors_prompt_states_what_to_preserve_and_discard() -> None:
    prompt = KIND.prompt(a_case())
    for word in ("names", "relationships", "inventory", "quests", "objectives", "verbatim dialogue", "dice"):
        assert word in prompt.system
    assert "Elara left home." in prompt.user
    assert "Objectives: recover the Sunstone" in prompt.user
    assert "Elara walked 0 miles" in prompt.user


def test_a_hosts_janitor_template_replaces_the_built_in_one(tmp_path: Path) -> None:
    (tmp_path / "compress.j2").write_text(
        "{% block system %}Terse.{% endblock %}{% block user %}{{ words }}"
        "{% for memory in memories %} {{ memory.text }}{% endfor %}{% endblock %}"
    )
    assert Summarise(Templates(tmp_path)).prompt(a_case()).system == "Terse."


def test_the_oldest_part_is_cut_first() -> None:
    text = "One is old. Two is newer. Three is the newest."
    assert cut_oldest(text, 100) == text
    assert cut_oldest(text, 11) == "Two is newer. Three is the newest."
    assert cut_oldest(text, 3) == "the newest."
    assert cut_oldest(text, 0) == ""
