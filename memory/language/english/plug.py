"""English as a language of `cogitate.memory.language.port`: this module is the plug."""

from __future__ import annotations

from cogitate.memory.language.english.appointments import is_called_off, leaves_open, moved_to, persons, proposes
from cogitate.memory.language.english.certainty import (
    accepts,
    declines,
    is_intent,
    is_refusal,
    is_tale,
    names_other_day,
    puts_off,
    subject_of,
    tells_trouble,
)
from cogitate.memory.language.english.clauses import split_clauses as clauses
from cogitate.memory.language.english.courtesies import is_small_talk as is_courtesy
from cogitate.memory.language.english.deadlines import ends_in_a_day, is_deadline, is_often
from cogitate.memory.language.english.memorable import changes_a_life, leaning
from cogitate.memory.language.english.notes import heard, noted, quoted, says_i, tells_state, with_subject
from cogitate.memory.language.english.promises import deed_words, is_account, may_vow, outcome, tells_outcome
from cogitate.memory.language.english.promises import find_vow as vow
from cogitate.memory.language.english.references import stands_alone
from cogitate.memory.language.english.retelling import retold
from cogitate.memory.language.english.tense import told_after

__all__ = [
    "accepts",
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
    "is_intent",
    "is_often",
    "is_refusal",
    "is_tale",
    "leaning",
    "leaves_open",
    "may_vow",
    "moved_to",
    "names_other_day",
    "noted",
    "outcome",
    "persons",
    "proposes",
    "puts_off",
    "quoted",
    "retold",
    "says_i",
    "stands_alone",
    "subject_of",
    "tells_outcome",
    "tells_state",
    "tells_trouble",
    "told_after",
    "vow",
    "with_subject",
]
