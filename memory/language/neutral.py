"""Any language without its own rules: sentences are told as they were said, with the words of a pack."""

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


class Neutral:
    """A language by its pack, with the verbs of `port.Language`."""

    def __init__(self, pack: Pack) -> None:
        self._pack = pack

    def is_courtesy(self, sentence: str, speakers: Speakers) -> bool:
        known, rest = self._pack.courtesies, fold(speakers.without_names(sentence))
        if known.runs_on:
            for phrase in known.phrases:
                rest = rest.replace(phrase, "")
            return bool(known.phrases) and sum(map(str.isalnum, rest)) < 2
        return bool(known.words) and all(w in known.words or speakers.is_part_of_name(w) for w in words(rest))

    def stands_alone(self, sentence: str) -> bool:
        return True  # the pronouns are unknown

    def clauses(self, sentence: str) -> list[str]:
        return [sentence]

    def retold(self, clause: str, speech: Speech, talk: Talk) -> str:
        if not speech.speaker:
            return clause if has_end(clause) else with_end(clause)
        asks = clause.endswith(QUESTIONS) and not any(map(str.isdigit, clause))
        if asks or len(words(clause)) < 2 or self.is_courtesy(clause, talk.speakers):
            return ""
        listener = speech.listener or talk.speakers.other_than(speech.speaker)
        return talk.quoted(speech.quote, speech.speaker, listener, False, speech.minute)

    def told_after(self, sentence: str, minute: int) -> str:
        return sentence

    def says_i(self, text: str) -> bool:
        return False  # the word for "I" is unknown

    def noted(self, sentence: str, me: str, name: str, names: Collection[str], doers: Doers) -> str:
        return sentence

    def quoted(self, said: str, speaker: str, listener: str, is_mine: bool, minute: int | None) -> str:
        day = "" if minute is None else self._pack.day(minute)
        return self._pack.speech.report(said, speaker, "" if listener == "me" else listener, day)  # "me" is unknown

    def with_subject(self, text: str, subject: str) -> str:
        return text

    def tells_state(self, rest: str) -> bool:
        return rest.partition(" ")[0] in self._pack.ways("not_subject")

    def leaning(self, stemmed: frozenset[str], of_itself: bool) -> float:
        return NEUTRAL + 0.5 * of_itself

    def leaves_open(self, sentence: str) -> bool:
        return self._pack.leaves_open(sentence)

    def persons(self, sentence: str) -> frozenset[Person]:
        return self._pack.persons(sentence)

    def moved_to(self, sentence: str, minute: int) -> tuple[int, int | None] | None:
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
        return self._pack.says("refusals", sentence) or self._pack.moved_to(sentence) is not None

    is_refusal = is_called_off

    def is_tale(self, sentence: str) -> bool:
        return False  # the words that open a story are unknown

    def subject_of(self, sentence: str) -> str:
        return sentence

    def may_vow(self, text: str) -> bool:
        return self._pack.says("vows", text)

    def vow(self, sentence: str, spoken: bool) -> Vow | None:
        return Vow("I", "", self._pack.without_vow(sentence), True) if self.may_vow(sentence) else None

    def deed_words(self, deed: str) -> frozenset[str]:
        undated = anchor_days(deed, 0, self._pack)
        for time in reversed(find_times(undated, self._pack)):
            undated = undated[: time.start] + undated[time.end :]
        if self._pack.days.numbered is not None:
            undated = self._pack.days.numbered.sub(" ", undated)
        return frozenset(stems(undated))

    def tells_outcome(self, text: str) -> str:
        told = not text.endswith(QUESTIONS) and (self._pack.says("kept", text) or self._pack.says("broken", text))
        return "?" if told else ""  # the giver is unknown

    def outcome(self, sentence: str) -> Outcome:
        is_broken = self._pack.says("broken", sentence) and not sentence.endswith(QUESTIONS)
        return "broken" if is_broken or self._pack.says("undone", sentence) else "kept"

    def is_account(self, sentence: str, deed: str, giver: str, by_giver: bool) -> bool:
        told = not (sentence.endswith(QUESTIONS) or self.may_vow(sentence) or self._pack.says("undone", sentence))
        return told and are_alike(self.deed_words(deed), frozenset(stems(sentence)))

    def is_deadline(self, text: str) -> bool:
        return self._pack.says("up_to", text)

    def ends_in_a_day(self, text: str) -> bool:
        return self._pack.ends_in_a_day(text)

    def is_often(self, text: str) -> bool:
        return self._pack.says("often", text)

    def is_intent(self, sentence: str) -> bool:
        asks = sentence.endswith(QUESTIONS)
        return not asks and not self._pack.leaves_open(sentence) and self._pack.says("own", sentence)

    def proposes(self, sentence: str) -> Doer:
        return self._pack.proposes(sentence)

    def accepts(self, sentence: str) -> bool:
        return self._pack.says("assents", sentence)

    def declines(self, sentence: str) -> bool:
        return self._pack.says("declines", sentence) or self.puts_off(sentence) or self._pack.leaves_open(sentence)

    def puts_off(self, sentence: str) -> bool:
        return self._pack.says("puts_off", sentence)

    def names_other_day(self, sentence: str) -> bool:
        return self._pack.says("other_days", sentence)

    def tells_trouble(self, sentence: str) -> bool:
        is_done = not sentence.endswith(QUESTIONS) and self._pack.tells_done(sentence)
        return self._pack.tells_trouble(sentence) and not is_done

    def heard(self, text: str, speaker: str, listener: str) -> str:
        return joined(self._pack.labelled(speaker, sentence) for sentence in split_sentences(text))

    def changes_a_life(self, text: str) -> bool:
        return self._pack.grave is not None and self._pack.grave.search(fold(text[:LONGEST])) is not None
