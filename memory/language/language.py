"""The rules of a language, by its pack: sentences are told as they were said.

`english.plug.English` overrides most of them.
"""

from __future__ import annotations

from collections.abc import Collection

from cogitate.memory.language.commitments import Doer, Outcome, Person, Vow, are_alike
from cogitate.memory.language.packs import Pack, fold
from cogitate.memory.language.sentences import CLAUSES, QUESTIONS, has_end, joined, split_sentences, with_end
from cogitate.memory.language.talk import Doers, Speakers, Speech, Talk
from cogitate.memory.language.text import stems, words
from cogitate.memory.language.times import anchor_days, days_named, find_times

LONGEST = 2_000  # characters searched: texts mention life-changing events early
NEUTRAL = 2.9  # leaning of a text that is neither mundane nor memorable


class Language:
    """The rules of a language: what a sentence means, and how to retell it."""

    def __init__(self, pack: Pack) -> None:
        self._pack = pack

    def is_courtesy(self, sentence: str, speakers: Speakers) -> bool:
        """Return whether a sentence holds nothing but thanks, praise and encouragement."""
        known, rest = self._pack.courtesies, fold(speakers.without_names(sentence))
        if known.runs_on:
            for phrase in known.phrases:
                rest = rest.replace(phrase, "")
            return bool(known.phrases) and sum(map(str.isalnum, rest)) < 2
        return bool(known.words) and all(w in known.words or speakers.is_part_of_name(w) for w in words(rest))

    def stands_alone(self, sentence: str) -> bool:
        """Return whether no pronoun of a sentence refers to an earlier one."""
        return True  # the pronouns are unknown

    def clauses(self, sentence: str) -> list[str]:
        """Return the parts of a sentence that may stand alone."""
        return [sentence]

    def retold(self, clause: str, speech: Speech, talk: Talk) -> str:
        """Return a clause as a sentence of a summary; "" if it is not worth telling, or unclear what it means.

        Only English is told in the third person, to readers of English. All else is quoted in the readers' language.
        """
        if not speech.speaker:
            return clause if has_end(clause) else with_end(clause)
        asks = clause.endswith(QUESTIONS) and not any(map(str.isdigit, clause))
        if asks or len(words(clause)) < 2 or self.is_courtesy(clause, talk.speakers):
            return ""
        listener = speech.listener or talk.speakers.other_than(speech.speaker)
        return talk.quoted(speech.quote, speech.speaker, listener, False, speech.minute)

    def told_after(self, sentence: str, minute: int) -> str:
        """Return a sentence with plans that are over at game time `minute` in the past tense."""
        return sentence

    def says_i(self, text: str) -> bool:
        """Return whether a text calls the one who wrote it "I"."""
        return False  # the word for "I" is unknown

    def noted(self, sentence: str, me: str, name: str, names: Collection[str], doers: Doers) -> str:
        """Return a note as it is told later.

        Args:
            me: how to call its owner: "I", or its name.
            name: the owner's name.
            names: all names that the note may mention.
            doers: finds the names of those of whom the same was noted.
        """
        return sentence

    def quoted(self, said: str, speaker: str, listener: str, is_mine: bool, minute: int | None) -> str:
        """Return what was said, quoted, with who said it to whom.

        Args:
            listener: the only one who was spoken to; "me", or "" for several.
            is_mine: "I" said it.
            minute: game time whose day is told as well, if any.
        """
        day = "" if minute is None else self._pack.day(minute)
        return self._pack.speech.report(said, speaker, "" if listener == "me" else listener, day)  # "me" is unknown

    def with_subject(self, text: str, subject: str) -> str:
        """Return an observation with the subject that it leaves out: "Saw a cat" becomes "Ada saw a cat"."""
        return text

    def tells_state(self, rest: str) -> bool:
        """Return whether the words after a name tell of a state or a finding of who has it rather than of a deed."""
        return rest.partition(" ")[0] in self._pack.ways("not_subject")

    def leaning(self, stemmed: frozenset[str], of_itself: bool) -> float:
        """Return how memorable a text seems by its stems and whether it is about its owner; 2.9 is neutral."""
        return NEUTRAL + 0.5 * of_itself

    def leaves_open(self, sentence: str) -> bool:
        """Return whether a sentence denies, doubts or refuses what it tells, or tells of others or of what is past."""
        return self._pack.leaves_open(sentence)

    def persons(self, sentence: str) -> frozenset[Person]:
        """Return whom a sentence is about: who says it, all who talk, or those whom it is said to."""
        return self._pack.persons(sentence)

    def moved_to(self, sentence: str, minute: int) -> tuple[int, int | None] | None:
        """Return the new time of day of an appointment that a sentence moves, and the day if named; else None.

        Args:
            minute: game time at which it was said.
        """
        dated = anchor_days(sentence, minute, self._pack)
        if (new := self._pack.moved_to(dated)) is None:
            return None
        timed = (clause for clause in CLAUSES.split(new) if find_times(clause, self._pack))
        said = next(timed, dated)
        days, times = days_named(said, self._pack), find_times(said, self._pack)
        if not times or (said is dated and len(times) == 1):  # its old hour
            return None
        return times[-1].minute, days[-1] if days else None

    def is_called_off(self, sentence: str) -> bool:
        """Return whether a sentence calls an appointment off, or gives it another hour."""
        return self._pack.says("refusals", sentence) or self._pack.moved_to(sentence) is not None

    def is_refusal(self, sentence: str) -> bool:
        """Return whether a sentence refuses or calls off what the one before it proposes."""
        return self.is_called_off(sentence)

    def is_tale(self, sentence: str) -> bool:
        """Return whether a sentence opens a story or a dream, to which the rest of its text belongs."""
        return False  # the words that open a story are unknown

    def subject_of(self, sentence: str) -> str:
        """Return a sentence without the words that name its teller."""
        return sentence

    def may_vow(self, text: str) -> bool:
        """Return whether a text has a word of promising, which is cheap to look for."""
        return self._pack.says("vows", text)

    def vow(self, sentence: str, spoken: bool) -> Vow | None:
        """Return the promise that a sentence gives, or tells of.

        Args:
            spoken: somebody says the sentence.
        """
        return Vow("I", "", self._pack.without_vow(sentence), True) if self.may_vow(sentence) else None

    def deed_words(self, deed: str) -> frozenset[str]:
        """Return the stems of a deed without the day and the hour at which it is due."""
        undated = anchor_days(deed, 0, self._pack)
        for time in reversed(find_times(undated, self._pack)):
            undated = undated[: time.start] + undated[time.end :]
        if self._pack.days.numbered is not None:
            undated = self._pack.days.numbered.sub(" ", undated)
        return frozenset(stems(undated))

    def tells_outcome(self, text: str) -> str:
        """Return who kept or broke a promise, if a text says so in so many words.

        "I" is the speaker, "you" a listener, "?" a third person, "" no one.
        """
        told = not text.endswith(QUESTIONS) and (self._pack.says("kept", text) or self._pack.says("broken", text))
        return "?" if told else ""  # the giver is unknown

    def outcome(self, sentence: str) -> Outcome:
        """Return the outcome of a promise that a sentence tells."""
        is_broken = self._pack.says("broken", sentence) and not sentence.endswith(QUESTIONS)
        return "broken" if is_broken or self._pack.says("undone", sentence) else "kept"

    def is_account(self, sentence: str, deed: str, giver: str, by_giver: bool) -> bool:
        """Return whether a sentence tells that the giver of a promise did the deed, or did not.

        Args:
            by_giver: the giver tells it.
        """
        told = not (sentence.endswith(QUESTIONS) or self.may_vow(sentence) or self._pack.says("undone", sentence))
        return told and are_alike(self.deed_words(deed), frozenset(stems(sentence)))

    def is_deadline(self, text: str) -> bool:
        """Return whether a text has a word for a deadline: "before", "until"."""
        return self._pack.says("up_to", text)

    def ends_in_a_day(self, text: str) -> bool:
        """Return whether a text has a deadline at a part of every day: "before supper"."""
        return self._pack.ends_in_a_day(text)

    def is_often(self, text: str) -> bool:
        """Return whether a text tells of something that recurs, such as every day."""
        return self._pack.says("often", text)

    def is_intent(self, sentence: str) -> bool:
        """Return whether a statement is about its speaker, and no question, denial, doubt or cancellation."""
        asks = sentence.endswith(QUESTIONS)
        return not asks and not self._pack.leaves_open(sentence) and self._pack.says("own", sentence)

    def proposes(self, sentence: str) -> Doer:
        """Return who is to do what a sentence proposes, asks for or offers; "" if it does none of these."""
        return self._pack.proposes(sentence)

    def accepts(self, sentence: str) -> bool:
        """Return whether a sentence agrees to what another proposed before it."""
        return self._pack.says("assents", sentence)

    def declines(self, sentence: str) -> bool:
        """Return whether a sentence refuses what another proposed before it, or leaves it open."""
        return self._pack.says("declines", sentence) or self.puts_off(sentence) or self._pack.leaves_open(sentence)

    def puts_off(self, sentence: str) -> bool:
        """Return whether a sentence, or a question, wishes that what another proposed were done some other day."""
        return self._pack.says("puts_off", sentence)

    def names_other_day(self, sentence: str) -> bool:
        """Return whether a sentence names a day that game time does not count, such as a day of the week."""
        return self._pack.says("other_days", sentence)

    def tells_trouble(self, sentence: str) -> bool:
        """Return whether a sentence tells that something is broken, missing or in danger, or may do so."""
        is_done = not sentence.endswith(QUESTIONS) and self._pack.tells_done(sentence)
        return self._pack.tells_trouble(sentence) and not is_done

    def heard(self, text: str, speaker: str, listener: str) -> str:
        """Return what another said as its listener retells it: with the speaker's name for "I", and no "you".

        Args:
            listener: the name of the only listener, who retells it; "" if there were several.
        """
        return joined(self._pack.labelled(speaker, sentence) for sentence in split_sentences(text))

    def changes_a_life(self, text: str) -> bool:
        """Return whether a text tells of an event that people remember for life."""
        return self._pack.grave is not None and self._pack.grave.search(fold(text[:LONGEST])) is not None
