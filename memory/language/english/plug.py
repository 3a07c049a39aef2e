"""English as a language of `cogitate.memory.language.port`: this module is the plug."""

from __future__ import annotations

from cogitate.memory.language.english.appointments import is_called_off, leaves_open, moved_to, persons, proposes
from cogitate.memory.language.english.certainty import (
    accepts,
    declines,
    is_intent,
    is_refusal,
    is_tale,
    subject_of,
    tells_done,
    tells_trouble,
)
from cogitate.memory.language.english.clauses import split_clauses as clauses
from cogitate.memory.language.english.courtesies import is_small_talk as is_courtesy
from cogitate.memory.language.english.deadlines import ends_in_a_day, is_deadline, is_often
from cogitate.memory.language.english.memorable import changes_a_life, leaning
from cogitate.memory.language.english.notes import heard, noted, quoted, says_i, tells_state, with_subject
from cogitate.memory.language.english.promises import deed_words, is_account, is_done, may_vow, outcome, tells_outcome
from cogitate.memory.language.english.promises import find_vow as vow
from cogitate.memory.language.english.references import leans_on_others, resolved
from cogitate.memory.language.english.retelling import retold
from cogitate.memory.language.english.tense import told_after
from cogitate.memory.language.sentences import all_of

__all__ = [
    "accepts",
    "all_of",
    "changes_a_life",
    "clauses",
    "declines",
    "deed_words",
    "ends_in_a_day",
    "heard",
    "is_account",
    "is_called_off",
    "is_courtesy",
    "is_deadline",
    "is_done",
    "is_intent",
    "is_often",
    "is_refusal",
    "is_tale",
    "leaning",
    "leaves_open",
    "may_vow",
    "moved_to",
    "noted",
    "outcome",
    "persons",
    "proposes",
    "quoted",
    "resolved",
    "retold",
    "says_i",
    "stands_alone",
    "subject_of",
    "tells_done",
    "tells_outcome",
    "tells_state",
    "tells_trouble",
    "told_after",
    "vow",
    "with_subject",
]


def stands_alone(sentence: str) -> bool:
    """Return whether no pronoun refers to an earlier sentence."""
    return not leans_on_others(sentence)
