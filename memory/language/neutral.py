"""Any language without rules of its own here: a sentence is told as it was said, with what a pack knows."""

from __future__ import annotations

from collections.abc import Collection

from cogitate.memory.language.commitments import MAX_WHAT, Appointed, Vow, are_alike
from cogitate.memory.language.endings import QUESTIONS, SPACED, UNSPACED, has_end, joined, with_end
from cogitate.memory.language.packs import Pack, fold
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.talk import Speakers, Speech, Talk
from cogitate.memory.language.text import stems, words
from cogitate.memory.language.times import anchor_days, days_named, find_times
from cogitate.memory.language.truncation import shorten

LONGEST = 2_000  # characters searched: texts mention life-changing events early
NEUTRAL = 2.9  # leaning of a text that is neither mundane nor memorable


class Neutral:
    """A language by its pack."""

    def __init__(self, pack: Pack) -> None:
        self._pack = pack

    def is_courtesy(self, sentence: str, speakers: Speakers) -> bool:
        """Return whether a sentence holds nothing but greetings, thanks and the like, and names of those who talk."""
        known, rest = self._pack.courtesies, fold(speakers.without_names(sentence))
        if known.runs_on:
            for phrase in known.phrases:
                rest = rest.replace(phrase, "")
            return bool(known.phrases) and sum(map(str.isalnum, rest)) < 2
        return bool(known.words) and all(w in known.words or speakers.is_part_of_name(w) for w in words(rest))

    def stands_alone(self, sentence: str) -> bool:
        """Return True: what a pronoun is, is not known."""
        return True

    def clauses(self, sentence: str) -> list[str]:
        """Return the sentence alone."""
        return [sentence]

    def retold(self, clause: str, speech: Speech, talk: Talk) -> str:
        """Return what was said after its speaker; "" for a word, a courtesy, and a question without a figure."""
        said = clause if has_end(clause) else with_end(clause)
        if not speech.speaker:
            return said
        asks = clause.endswith(QUESTIONS) and not any(map(str.isdigit, clause))
        if asks or len(words(clause)) < 2 or self.is_courtesy(clause, talk.speakers):
            return ""
        return self._pack.labelled(speech.speaker, said)

    def told_after(self, sentence: str, minute: int) -> str:
        """Return the sentence."""
        return sentence

    def resolved(self, sentence: str, before: str) -> str:
        """Return the sentence."""
        return sentence

    def says_i(self, text: str) -> bool:
        """Return False: the word for "I" is not known."""
        return False

    def noted(self, sentence: str, me: str, name: str, names: Collection[str], doers: Collection[str]) -> str:
        """Return the sentence."""
        return sentence

    def quoted(self, said: str, speaker: str, listener: str, is_mine: bool, minute: int | None) -> str:
        """Return what was said between quotation marks, after its speaker and the day in brackets."""
        day = "" if minute is None else self._pack.day(minute)
        return self._pack.labelled(self._pack.bracketed(speaker, day), self._pack.quoted(said))

    def with_subject(self, text: str, subject: str) -> str:
        """Return the text."""
        return text

    def leaning(self, stemmed: frozenset[str], of_itself: bool) -> float:
        """Return the neutral leaning, a little more of oneself."""
        return NEUTRAL + 0.5 * of_itself

    def appointed(self, sentence: str, minute: int, place: str) -> Appointed | None:
        """Return a sentence that names a day and an hour, with the day by its number."""
        if sentence.endswith(QUESTIONS) or self._pack.leaves_open(sentence):
            return None
        dated = anchor_days(sentence, minute, self._pack)
        days, times = days_named(dated, self._pack), find_times(dated, self._pack)
        if not days or not times:
            return None
        return Appointed(times[0].minute, days[0], shorten(dated.rstrip(SPACED + UNSPACED), MAX_WHAT, "…"))

    def is_called_off(self, sentence: str) -> bool:
        """Return whether a sentence has words by which one refuses or calls off."""
        return self._pack.refusals is not None and self._pack.refusals.search(fold(sentence)) is not None

    is_refusal = is_called_off

    def is_tale(self, sentence: str) -> bool:
        """Return False: by what words one opens a story, is not known."""
        return False

    def subject_of(self, sentence: str) -> str:
        """Return the sentence."""
        return sentence

    def may_vow(self, text: str) -> bool:
        """Return whether a text has words by which one promises."""
        return self._pack.vows is not None and self._pack.vows.search(fold(text)) is not None

    def vow(self, sentence: str, spoken: bool) -> Vow | None:
        """Return the sentence as the promise of the one who says it, if it has such words."""
        return Vow("I", "", sentence, True) if self.may_vow(sentence) else None

    def deed_words(self, deed: str) -> frozenset[str]:
        """Return the stems of a deed."""
        return frozenset(stems(deed))

    def tells_outcome(self, text: str) -> str:
        """Return "": by what words one tells it, is not known."""
        return ""

    def is_account(self, sentence: str, deed: str, giver: str, by_giver: bool) -> bool:
        """Return whether a sentence has most words of the deed, and promises nothing."""
        told = not sentence.endswith(QUESTIONS) and not self.may_vow(sentence)
        return told and are_alike(self.deed_words(deed), frozenset(stems(sentence)))

    def is_done(self, sentence: str, deed: str) -> bool:
        """Return False: the form of a verb is not known."""
        return False

    def heard(self, text: str, speaker: str, listener: str) -> str:
        """Return each sentence after its speaker."""
        return joined(self._pack.labelled(speaker, sentence) for sentence in split_sentences(text))

    def changes_a_life(self, text: str) -> bool:
        """Return whether a text has words for an event that changes a life."""
        return self._pack.grave is not None and self._pack.grave.search(fold(text[:LONGEST])) is not None
