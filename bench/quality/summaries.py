"""Summaries without a model: sessions, answers from meetings and pieces of games against references by people.

One summary per session, at most as many words as its reference. ROUGE F1 with stemming (`rouge-score`), mean over
sessions. Entities of a reference are its words capitalised elsewhere than at a sentence's start and its words with
digits; hard ones are neither a speaker nor part of the session's date. Their recall is pooled over sessions.

Where many speak: the turns that answer a question on a meeting (QMSum) against the answer, and the turns of a piece of
a game (CRD3) against its summary, again in at most as many words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.carry.questions import recorded
from bench.quality.recordings import RecordedConversation, Turn, load_conversations
from bench.table import Cell, Row, Table
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.talk import Utterance
from cogitate.memory.language.text import FUNCTION_WORDS, stems, words
from cogitate.memory.summaries.summary import summarise

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer

_PUBLISHED: tuple[tuple[str, tuple[Cell, ...]], ...] = (
    ("canned sentence", (0.080, 0.011, 0.061, 0.0)),
    ("lead-3", (0.258, 0.055, 0.153, 0.27)),
    ("LexRank", (0.282, 0.054, 0.166, 0.29)),
    ("TextRank", (0.289, 0.058, 0.172, 0.30)),
    ("TF-IDF centroid with MMR", (0.303, 0.062, 0.178, 0.35)),
    ("greedy coverage of entities and content words", (0.316, 0.079, 0.191, 0.89)),
    ("… + small talk filter, third person, header", (0.452, 0.147, 0.262, 0.79)),
    ("facts written by a large model, cut", (0.473, 0.154, 0.269, 0.72)),
    ("best extraction, third person, header (sees the reference)", (0.554, 0.227, 0.337, 0.66)),
)
_TOKEN = re.compile(r"[^\W_]+")


class Session(NamedTuple):
    """A session with its reference summary."""

    speakers: tuple[str, str]
    when: str  # "1:56 pm on 8 May, 2023"
    turns: tuple[Turn, ...]
    reference: str

    @property
    def limit(self) -> int:
        """Return the most words that a summary may have."""
        return len(self.reference.split())


Method = Callable[[Session], str]


def tables(data: Path) -> list[Table]:
    """Return figures per conversation and over all sessions; no table without conversations."""
    talks = load_conversations(data)
    if not talks:
        return _of_many(data)
    columns = ("R1", "R2", "RL", "hard entities")
    from rouge_score.rouge_scorer import RougeScorer  # imports SciPy

    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    groups = {talk.name: sessions(talk) for talk in talks}
    everything = [session for group in groups.values() for session in group]
    rows = [Row(label, measure(everything, method, scorer)) for label, method in METHODS]
    per_talk = [
        Row(f"{name}: {label}", measure(group, method, scorer))
        for name, group in groups.items()
        for label, method in METHODS[-1:]
    ]
    published = [Row(label, cells, published=True) for label, cells in _PUBLISHED]
    return [
        Table("Session summaries", columns, (*rows, *published), f"{len(everything)} sessions."),
        Table("Session summaries by conversation", columns, tuple(per_talk)),
        *_of_many(data),
    ]


def _of_many(data: Path) -> list[Table]:
    """Return figures on meetings and games; no table without such recordings."""
    from rouge_score.rouge_scorer import RougeScorer  # imports SciPy

    answers = [
        ([Utterance(turns[at]["sp"], turns[at]["text"], 0) for at in question["ev"]], question["a"])
        for meeting in recorded(data / "qmsum")
        for turns in [meeting["turns"]]
        for question in meeting["qs"]
    ]
    pieces = [
        ([Utterance(who, text, 0) for who, text in piece["turns"]], piece["ref"]) for piece in recorded(data / "crd3")
    ]
    groups = [group for group in (answers, pieces) if group]
    scorer = RougeScorer(["rouge1", "rouge2"], use_stemmer=True)
    rows = []
    for label, method in _METHODS_OF_MANY:
        cells: list[Cell] = []
        for group in groups:
            scores = [scorer.score(reference, method(lines, len(reference.split()))) for lines, reference in group]
            cells += [sum(score[name].fmeasure for score in scores) / len(scores) for name in ("rouge1", "rouge2")]
        rows.append(Row(label, tuple(cells)))
    columns = ("answers R1", "R2", "pieces R1", "R2") if len(groups) == 2 else ("R1", "R2")
    note = f"{len(answers)} answers from meetings, {len(pieces)} pieces of games."
    return [Table("Summaries where many speak", columns, tuple(rows), note)] if groups else []


def _first(lines: Sequence[Utterance], limit: int) -> str:
    """Return the first words."""
    return " ".join(" ".join(line.text for line in lines).split()[:limit])


def _central(lines: Sequence[Utterance], limit: int) -> str:
    """Return the sentences nearest to the TF-IDF centre of all lines, as they were said."""
    frequency = Counter(word for line in lines for word in set(stems(line.text)))
    centre = Counter(word for line in lines for word in stems(line.text))
    rare = {word: math.log(1 + len(lines) / count) for word, count in frequency.items()}

    def nearness(sentence: str) -> float:
        vector = {word: count * rare[word] for word, count in Counter(stems(sentence)).items() if word in rare}
        length = math.sqrt(sum(value * value for value in vector.values()))
        return sum(value * centre[word] * rare[word] for word, value in vector.items()) / length if length else 0.0

    left, chosen = limit, list[str]()
    for sentence in sorted((one for line in lines for one in split_sentences(line.text)), key=nearness, reverse=True):
        if (size := len(sentence.split())) <= left:
            chosen.append(sentence)
            left -= size
    return " ".join(chosen)


_METHODS_OF_MANY: tuple[tuple[str, Callable[[Sequence[Utterance], int], str]], ...] = (
    ("first words", _first),
    ("sentences nearest to the TF-IDF centre", _central),
    ("summarise", lambda lines, limit: summarise(lines, max_words=limit)),
)


def sessions(talk: RecordedConversation) -> list[Session]:
    """Return the sessions that have a reference summary."""
    return [
        Session(talk.speakers, talk.times[n], talk.sessions[n], reference) for n, reference in talk.summaries.items()
    ]


def measure(group: Sequence[Session], method: Method, scorer: RougeScorer) -> tuple[Cell, ...]:
    """Return mean ROUGE-1, -2 and -L, and pooled recall of hard entities. Raise ValueError for an overlong summary."""
    rouge = [0.0, 0.0, 0.0]
    found = wanted = 0
    for session in group:
        text = method(session)
        if len(text.split()) > session.limit:
            raise ValueError(f"a summary has {len(text.split())} words, at most {session.limit} fit: {text!r}")
        for at, score in enumerate(scorer.score(session.reference, text).values()):
            rouge[at] += score.fmeasure
        hard = hard_entities(session)
        wanted += len(hard)
        found += len(hard & {w.lower() for w in _TOKEN.findall(text)})
    return (*(total / len(group) for total in rouge), found / wanted if wanted else None)


def hard_entities(session: Session) -> set[str]:
    """Return the lower-case names and numbers of the reference, without speakers and parts of the session's date."""
    known = {w.lower() for w in _TOKEN.findall(" ".join((*session.speakers, session.when)))}
    found: set[str] = set()
    for sentence in split_sentences(session.reference):
        for at, word in enumerate(_TOKEN.findall(sentence)):
            if any(c.isdigit() for c in word) or (at > 0 and word[0].isupper() and word != "I"):
                found.add(word.lower())
    return {word for word in found if word not in known and re.sub(r"(?<=\d)(st|nd|rd|th)$", "", word) not in known}


def canned(session: Session) -> str:
    """Return the fallback of the streams design: a sentence without content."""
    return f"Had a conversation with {session.speakers[1]}. Topics discussed included various matters."


def lead(session: Session) -> str:
    """Return the first three turns, cut to the limit."""
    return " ".join(" ".join(turn.text for turn in session.turns[:3]).split()[: session.limit])


def raw_coverage(session: Session) -> str:
    """Sentences as they were said, chosen for the entities and content words that they add per word."""
    left = [s for turn in session.turns for s in split_sentences(turn.text)]
    gains = [
        {w.lower(): 5.0 for at, w in enumerate(_TOKEN.findall(s)) if (at and w[0].isupper()) or w[0].isdigit()}
        for s in left
    ]
    for sentence, gain in zip(left, gains, strict=True):
        for word in words(sentence):
            if word not in FUNCTION_WORDS:
                gain.setdefault(word, 1.0)
    chosen: list[int] = []
    covered: set[str] = set()
    room = session.limit
    while True:
        best, best_value = -1, 0.0
        for at, gain in enumerate(gains):
            size = len(left[at].split())
            value = sum(v for w, v in gain.items() if w not in covered) / max(1, size)
            if size <= room and at not in chosen and value > best_value:
                best, best_value = at, value
        if best < 0:
            return " ".join(left[at] for at in sorted(chosen))
        chosen.append(best)
        covered.update(gains[best])
        room -= len(left[best].split())


def ours(session: Session) -> str:
    """`cogitate.memory.summaries.summary.summarise` with a header that says who and when."""
    lines = [Utterance(turn.speaker, turn.text, 0) for turn in session.turns]
    header = f"{session.speakers[0]} and {session.speakers[1]} had a conversation at {session.when}."
    return summarise(lines, max_words=session.limit, header=header)


METHODS: tuple[tuple[str, Method], ...] = (
    ("canned sentence", canned),
    ("lead-3", lead),
    ("raw coverage", raw_coverage),
    ("summarise", ours),
)
