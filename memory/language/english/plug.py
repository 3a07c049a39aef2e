"""English as a `Language`: its words, and rules where words alone do not tell."""

from __future__ import annotations

from cogitate.memory.language.english import appointments, certainty, deadlines, memorable, notes, promises
from cogitate.memory.language.english.certainty import WORDS
from cogitate.memory.language.english.clauses import split_clauses
from cogitate.memory.language.english.courtesies import is_small_talk
from cogitate.memory.language.english.references import stands_alone
from cogitate.memory.language.english.retelling import retold
from cogitate.memory.language.english.tense import told_after
from cogitate.memory.language.language import Language


class English(Language):
    """English, which says more by its rules than other languages by their words."""

    is_courtesy = staticmethod(is_small_talk)
    stands_alone = staticmethod(stands_alone)
    clauses = staticmethod(split_clauses)
    retold = staticmethod(retold)
    told_after = staticmethod(told_after)
    says_i = staticmethod(notes.says_i)
    noted = staticmethod(notes.noted)
    quoted = staticmethod(notes.quoted)
    with_subject = staticmethod(notes.with_subject)
    tells_state = staticmethod(notes.tells_state)
    heard = staticmethod(notes.heard)
    leaning = staticmethod(memorable.leaning)
    changes_a_life = staticmethod(memorable.changes_a_life)
    leaves_open = staticmethod(appointments.leaves_open)
    persons = staticmethod(appointments.persons)
    proposes = staticmethod(appointments.proposes)
    is_called_off = staticmethod(appointments.is_called_off)
    moved_to = staticmethod(appointments.moved_to)
    is_refusal = staticmethod(certainty.is_refusal)
    is_tale = staticmethod(certainty.is_tale)
    is_intent = staticmethod(certainty.is_intent)
    declines = staticmethod(certainty.declines)
    subject_of = staticmethod(certainty.subject_of)
    tells_trouble = staticmethod(certainty.tells_trouble)
    may_vow = staticmethod(promises.may_vow)
    vow = staticmethod(promises.find_vow)
    deed_words = staticmethod(promises.deed_words)
    tells_outcome = staticmethod(promises.tells_outcome)
    outcome = staticmethod(promises.outcome)
    is_account = staticmethod(promises.is_account)
    is_deadline = staticmethod(deadlines.is_deadline)
    ends_in_a_day = staticmethod(deadlines.ends_in_a_day)
    is_often = staticmethod(deadlines.is_often)


english = English(WORDS)
