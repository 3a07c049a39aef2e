"""The port of heuristics to languages: `language_of(text)` returns the `Language` of a text.

English has rules that, for example, retell statements in the third person and recognise courtesies. `Neutral` serves
every other language by its pack: it changes only the words for days, and quotes instead of retelling.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Protocol

from cogitate.memory.language.commitments import Doer, Outcome, Person, Vow
from cogitate.memory.language.english import plug as english
from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, languages_of
from cogitate.memory.language.markup import prose
from cogitate.memory.language.neutral import Neutral
from cogitate.memory.language.packs import forget_with_packs, pack_of, packs
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.talk import Doers, Speakers, Speech, Talk

_PARTS = re.compile(r"[:;：；]\s*")


class Language(Protocol):
    """The rules of a language: what a sentence means, and how to retell it."""

    def is_courtesy(self, sentence: str, speakers: Speakers) -> bool:
        """Return whether a sentence holds nothing but thanks, praise and encouragement."""

    def stands_alone(self, sentence: str) -> bool:
        """Return whether no pronoun of a sentence refers to an earlier one."""

    def clauses(self, sentence: str) -> list[str]:
        """Return the parts of a sentence that may stand alone."""

    def retold(self, clause: str, speech: Speech, talk: Talk) -> str:
        """Return a clause as a sentence of a summary; "" if it is not worth telling, or unclear what it means.

        Only English is told in the third person, to readers of English. All else is quoted in the readers' language.
        """

    def told_after(self, sentence: str, minute: int) -> str:
        """Return a sentence with plans that are over at game time `minute` in the past tense."""

    def says_i(self, text: str) -> bool:
        """Return whether a text calls the one who wrote it "I"."""

    def noted(self, sentence: str, me: str, name: str, names: Collection[str], doers: Doers) -> str:
        """Return a note as it is told later.

        Args:
            me: how to call its owner: "I", or its name.
            name: the owner's name.
            names: all names that the note may mention.
            doers: finds the names of those of whom the same was noted.
        """

    def quoted(self, said: str, speaker: str, listener: str, is_mine: bool, minute: int | None) -> str:
        """Return what was said, quoted, with who said it to whom.

        Args:
            listener: the only one who was spoken to; "me", or "" for several.
            is_mine: "I" said it.
            minute: game time whose day is told as well, if any.
        """

    def with_subject(self, text: str, subject: str) -> str:
        """Return an observation with the subject that it leaves out: "Saw a cat" becomes "Ada saw a cat"."""

    def tells_state(self, rest: str) -> bool:
        """Return whether the words after a name tell of a state or a finding of who has it rather than of a deed."""

    def leaning(self, stemmed: frozenset[str], of_itself: bool) -> float:
        """Return how memorable a text seems by its stems and whether it is about its owner; 2.9 is neutral."""

    def leaves_open(self, sentence: str) -> bool:
        """Return whether a sentence denies, doubts or refuses what it tells, or tells of others or of what is past."""

    def persons(self, sentence: str) -> frozenset[Person]:
        """Return whom a sentence is about: who says it, all who talk, or those whom it is said to."""

    def is_called_off(self, sentence: str) -> bool:
        """Return whether a sentence calls an appointment off, or gives it another hour."""

    def moved_to(self, sentence: str, minute: int) -> tuple[int, int | None] | None:
        """Return the new time of day of an appointment that a sentence moves, and the day if named; else None.

        Args:
            minute: game time at which it was said.
        """

    def is_refusal(self, sentence: str) -> bool:
        """Return whether a sentence refuses or calls off what the one before it proposes."""

    def is_tale(self, sentence: str) -> bool:
        """Return whether a sentence opens a story or a dream, to which the rest of its text belongs."""

    def subject_of(self, sentence: str) -> str:
        """Return a sentence without the words that name its teller."""

    def may_vow(self, text: str) -> bool:
        """Return whether a text has a word of promising, which is cheap to look for."""

    def vow(self, sentence: str, spoken: bool) -> Vow | None:
        """Return the promise that a sentence gives, or tells of.

        Args:
            spoken: somebody says the sentence.
        """

    def deed_words(self, deed: str) -> frozenset[str]:
        """Return the stems of a deed without the day and the hour at which it is due."""

    def tells_outcome(self, text: str) -> str:
        """Return who kept or broke a promise, if a text says so in so many words.

        "I" is the speaker, "you" a listener, "?" a third person, "" no one.
        """

    def outcome(self, sentence: str) -> Outcome:
        """Return the outcome of a promise that a sentence tells."""

    def is_account(self, sentence: str, deed: str, giver: str, by_giver: bool) -> bool:
        """Return whether a sentence tells that the giver of a promise did the deed, or did not.

        Args:
            by_giver: the giver tells it.
        """

    def is_deadline(self, text: str) -> bool:
        """Return whether a text has a word for a deadline: "before", "until"."""

    def ends_in_a_day(self, text: str) -> bool:
        """Return whether a text has a deadline at a part of every day: "before supper"."""

    def is_often(self, text: str) -> bool:
        """Return whether a text tells of something that recurs, such as every day."""

    def is_intent(self, sentence: str) -> bool:
        """Return whether a statement is about its speaker, and no question, denial, doubt or cancellation."""

    def proposes(self, sentence: str) -> Doer:
        """Return who is to do what a sentence proposes, asks for or offers; "" if it does none of these."""

    def accepts(self, sentence: str) -> bool:
        """Return whether a sentence agrees to what another proposed before it."""

    def declines(self, sentence: str) -> bool:
        """Return whether a sentence refuses what another proposed before it, or leaves it open."""

    def puts_off(self, sentence: str) -> bool:
        """Return whether a sentence, or a question, wishes that what another proposed were done some other day."""

    def names_other_day(self, sentence: str) -> bool:
        """Return whether a sentence names a day that game time does not count, such as a day of the week."""

    def tells_trouble(self, sentence: str) -> bool:
        """Return whether a sentence tells that something is broken, missing or in danger, or may do so."""

    def heard(self, text: str, speaker: str, listener: str) -> str:
        """Return what another said as its listener retells it: with the speaker's name for "I", and no "you".

        Args:
            listener: the name of the only listener, who retells it; "" if there were several.
        """

    def changes_a_life(self, text: str) -> bool:
        """Return whether a text tells of an event that people remember for life."""


def language_of(text: str, around: str = UNDETERMINED) -> Language:
    """Return the language of a text; English by default.

    Args:
        around: language of the surrounding text, which decides if the text shows none or may be in it.
    """
    found = languages_of(text)
    return language_called(around if found[0] == UNDETERMINED or around in found else found[0])


def language_called(code: str) -> Language:
    """Return the language with an ISO 639 code."""
    return english if code in (ENGLISH, UNDETERMINED) else Neutral(pack_of(code))


def is_courtesy(sentence: str, speakers: Speakers) -> bool:
    """Return whether a sentence holds nothing but thanks, praise and encouragement, in any language it may be in."""
    return any(language.is_courtesy(sentence, speakers) for language in _possible(sentence))


def changes_a_life(text: str) -> bool:
    """Return whether a text tells of an event that people remember for life, in any language it may be in."""
    return any(language.changes_a_life(text) for language in _possible(text))


@lru_cache(maxsize=65_536)  # an owner's memories are read again by each plan
def tells_trouble(text: str, around: str) -> bool:
    """Return whether a part of a text tells of trouble; a part in an unknown language is read as `around`."""
    return any(
        known.tells_trouble(part)
        for sentence in split_sentences(prose(text))
        for known in (language_called(around) if languages_of(sentence)[0] == OTHER else language_of(sentence, around),)
        for part in _PARTS.split(sentence)
    )


forget_with_packs(tells_trouble.cache_clear)


def knows_trouble(code: str) -> bool:
    """Return whether the pack of a language (ISO 639 code) has words for trouble."""
    return code == ENGLISH or bool(pack_of(code).phrase("harms") and pack_of(code).phrase("lacks"))


def calls_by_short_name(code: str) -> bool:
    """Return whether a language (ISO 639 code) calls people by a part of their full name."""
    return code in (ENGLISH, UNDETERMINED) or bool(pack_of(code).phrase("called_by"))


def _possible(text: str) -> Iterator[Language]:
    """Yield the languages that a text may be in: all with a pack if it shows none."""
    found = languages_of(text)
    yield language_called(found[0])
    if found[0] == ENGLISH:
        return
    others = packs() if found[0] in (OTHER, UNDETERMINED) else found[1:]
    yield from (Neutral(pack_of(code)) for code in others)
