"""Faults of an answer that is well-formed and still no thought: nothing of it belongs into a memory.

Small models, and large ones that decline in prose, fill a schema with placeholders, the prompt's own words, one thing
over and over, or words about something else. Each rule looks at the answer and its prompt alone, so an answer is judged
alike in every worker. The model is shown the fault once (`workers.jobs.repair`); then the heuristic takes its place.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations, takewhile
from typing import Any

from pydantic import BaseModel

from memory.language.text import FUNCTION_WORDS, stem, stems
from memory.language.text import words as words_of
from prompts.answers import (
    HELD_PHRASE,
    ActionAnswer,
    DailyPlan,
    IntegratedAnswer,
    ReflectionAnswer,
    SummaryAnswer,
)
from tasks.kind import Prompt

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LATIN = re.compile(r"[a-zß-ɏ]{5,}")
_CAPITALIZED = re.compile(r"\b[A-ZÀ-ÖØ-ÞА-Я]\w*")
_FILLER = frozenset({"lorem ipsum", "null", "placeholder", "string", "tbd", "todo"})
_TIME = re.compile(r"\d{1,2}(:\d\d)? ?([ap]\.?m\.?)?", re.IGNORECASE)
_DECLINES = re.compile(
    r"\b(as|i am|i['’]m|being) (an? |just an? )?(ai|artificial intelligence|(large )?language model)\b|"
    r"\bi(['’]m| am) (sorry|unable|not able)\b[^.!?]{0,60}\b(assist|comply|fulfill?|generate|help|provide|reflect)\b|"
    r"\bi (cannot|can['’]t|can not) (assist|comply|fulfill?|generate|help with|provide|reflect)\b",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"you (?:decide|plan|reflect) (?:for|as)\b", re.IGNORECASE)  # as prompts address the model
_ROLE = re.compile(
    r"\b(?:the|this|a) character\b(?! (?:of|in an? |in the |from))|\bJSON\b|\b(?:previous|earlier) answer\b|"
    r"\b(?:previous|prior) instructions\b|\bsystem prompt\b",
    re.IGNORECASE,
)
_ASKED = re.compile(r"^You (?:decide|plan|reflect) (?:for|as) ([^,.\n]+)", re.MULTILINE)  # as built-in prompts begin
_NEAR = re.compile(r"^Near [^:\n]+: (.+)$", re.MULTILINE)
_IDENTIFIER = re.compile(r"\b[^\W_]+_\w+|\b(?:agent|location|world):\w+")  # owners are "agent:ada"
_MARKUP = re.compile(  # of a page, of a prompt, of a model's template
    r"</[a-z][\w-]{0,30}>|<\|[\w ]{1,30}\|>|\[/?INST\]|\A(?:assistant|system|user): ", re.IGNORECASE
)
_CLOCK = re.compile(r"\b(?:today|it) is day \d|\bit is \d{1,2}:\d\d [AP]M", re.IGNORECASE)
_NO_DEED = re.compile(
    r"day \d|(?:a|my|the|this) (?:\w+ )?(?:day|plan) (?:begin|end|start)s\b", re.IGNORECASE
)  # of a plan's item
_FORM = "with JSON only"  # as questions and repairs end
_DIGITS = re.compile(r"\d+(?:st|nd|rd|th)?")
_BROKEN = re.compile(r"[.,;:|…\[\]{}*#_]|.*[,;:|(\[{]\s*$", re.DOTALL)
_TYPE = re.compile(r" \([^()]*\)$")
_SLOT = re.compile(
    r"[\[{<](?:insert\b[^\]}>]{0,60}|(?:(?:your|my|the|a|first|last|full|character(?:['’]s)?)[ _])?"
    r"(?:activity|agent|character|date|day|event|friend|location|name|person|place|time))[\]}>]",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[^<>]{1,40}>")
_FENCE = re.compile(r"^</?\w+>$", re.MULTILINE)
_STAMP = re.compile(r"\d{4}[-/.]\d|\d[-/.]\d{4}|\d{8}")
_ISO = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+-]+Z?")  # whose letters are no words
_WHEN = re.compile(r"(?:on )?day \d+,?(?: (?:at )?\d{1,2}:\d\d ?(?:[ap]\.?m\.?)?)?", re.IGNORECASE)
_NO_LETTER = re.compile(r"[\W_]+")
_ENDED = re.compile(r"([^.!?…]+)([.!?…]*)")  # a sentence and its end
_TWO_DAYS = re.compile(
    r"\b(yesterday|today|tonight|tomorrow) (?!\1)(yesterday|today|tonight|tomorrow)\b", re.IGNORECASE
)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»")
_YOU = re.compile(r"\byou(?:rs?|rself|['’]\w+)?\b", re.IGNORECASE)
_ONESELF = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?…]+")
_RUN = 6  # words in a row that nobody writes twice by chance
_COPIED = 0.5  # share of a text's words within such runs of the instructions
_SAID_TWICE = 6  # words of a sentence that nobody says twice
_LONG = 16  # words from which on a text is looked at for loops
_VARIED = 0.7  # share of different groups of three words among all: prose is above 0.9
_FEW = 4  # equal items that a day may have: "Work" before lunch, after it, after tea, …
_SAME = 0.75  # share of equal items that a day may have
_TOPICAL = 12  # words of content from which on at least one must be among what was shown
_DRAWN = 3  # words that an insight has in common with one memory, names counted twice
_OF_TIME = frozenset(map(stem, ("day", "today", "tonight", "tomorrow", "yesterday", "morning", "evening", "night")))
_FEW_WORDS = 4  # different words of content from which on a summary is compared with what it tells of
_TOLD = 1 / 3  # share of them that what it tells of must have
_ENGLISH = 1 / 3  # share of function words from which a text counts as English
_PARTLY_ENGLISH = 0.2  # … and what a prompt shows, which has names and times
_STEM = 5  # letters by which words are compared
_ASKS_FOR_ONESELF = "in the first person"  # as the instructions of a reflection do, unless a run has its own
_ASKS_FOR_FACTS = "facts that the memories name"
_OWN = (ActionAnswer, DailyPlan, ReflectionAnswer)  # what a character thinks and does; a host's kinds may hold speech


def fault_of(answer: BaseModel, prompt: Prompt) -> str | None:
    """Return what is wrong with an answer, in words for the model, or None."""
    value, choices = answer.model_dump(), _choices(prompt)
    named = _names_of(choices, prompt)
    chosen = {one.field: one.choices for one in prompt.constraints if one.choices}
    texts = [
        text
        for field, text in _texts(value)
        if text and not _TIME.fullmatch(text)
        and not (field in chosen and (text in chosen[field] or _name(text) in named))
    ]  # fmt: skip
    material = prompt.user.replace(_FORM, "").lower()
    for text in texts:
        words = _WORD.findall(text.lower())
        if not any(character.isalnum() for character in text) or " ".join(words) in _FILLER:
            return f"{text[:40]!r} is a placeholder; write what the character would"
        if (found := _SLOT.search(text) or _TAG.fullmatch(text)) is not None:
            return f"{found[0]!r} is a placeholder; write what the character would"
        if _is_date(text, words):
            return f"{text[:40]!r} is a date or a number; write what the character would"
        if _name(text) in named:
            return f"{text[:40]!r} only names a place or a person; say what happens"
        if _BROKEN.match(text):
            return f"{text[:40]!r} is only a part of a sentence"
        if (found := _CLOCK.search(text)) is not None:
            return f"{found[0]!r} tells the time, which the character knows"
        if (found := _DECLINES.search(text)) is not None and found[0].lower() not in prompt.user.lower():
            return f"{found[0]!r} is not what the character would say; stay in the character's world"
        if (found := _ROLE.search(text)) is not None and found[0].lower() not in material:
            return f"{found[0]!r} speaks of the task; write what happens in the character's world"
        if (found := _IDENTIFIER.search(text)) is not None and found[0].lower() not in material:
            return f"{found[0]!r} is no word; write what the character would"
        if text.count("{") != text.count("}") or text.count("[") != text.count("]"):
            return "a bracket in it has no other half"
        if _ADDRESSED.match(text) is not None or _copies(words, prompt.system):
            return "it repeats the instructions instead of following them"
        if isinstance(answer, _OWN) and (fault := _fault_of_thought(text)) is not None:
            return fault
        if _repeats_a_sentence(text) or (len(words) >= _LONG and _variety(words) < _VARIED):
            return "it says the same words over and over"
    if (twice := _said_in_two_fields(value, choices)) is not None:
        return f"{twice[0]!r} and {twice[1]!r} say the same"
    for items in _lists(value, choices):
        most = max(Counter(items).values())
        if most >= _FEW and most > _SAME * len(items):
            return f"{most} of {len(items)} items are the same"
        if 2 * len(set(items)) < len(items):
            return f"only {len(set(items))} of {len(items)} items differ"
    if not _relates(texts, prompt):
        return "nothing in it is about what you were shown"
    if isinstance(answer, DailyPlan):
        return _fault_of_plan(answer)
    if any(_YOU.search(_QUOTED.sub("", reason)) for reason in _reasons(answer)):
        return "a reason speaks to 'you'; say why the character does it"
    if isinstance(answer, SummaryAnswer | IntegratedAnswer):
        return _fault_of_summary(answer.summary, prompt)
    return _fault_of_insight(answer.insight, prompt) if isinstance(answer, ReflectionAnswer) else None


def _is_date(text: str, words: list[str]) -> bool:
    """Return whether a text is a time or a number and nothing else."""
    if _ISO.fullmatch(text) or _WHEN.fullmatch(text.strip(" .")):
        return True
    return set(words) <= {"am", "pm"} and _STAMP.search(text) is not None


def _fault_of_thought(text: str) -> str | None:
    """Return why a text is nothing that a character thinks, does or has for a reason."""
    sentences = [one for one in _ENDED.findall(_QUOTED.sub("", text)) if any(map(str.isalnum, one[0]))]
    if sentences and all("?" in end and ":" not in said for said, end in sentences):
        return f"{text[:40]!r} only asks; say what the character thinks or does"
    if (found := _TWO_DAYS.search(text)) is not None:
        return f"{found[0]!r} names two days at once"
    if (found := _MARKUP.search(text)) is not None:
        return f"{found[0].strip()!r} is no word; write what the character would"
    if len(text) == HELD_PHRASE and text[-1].isalnum():  # where a server held it to the schema
        return f"{text[:40]!r} is cut off after {HELD_PHRASE} characters; be brief"
    return None


def _fault_of_plan(plan: DailyPlan) -> str | None:
    """Return why an item of a plan is nothing to be done."""
    told = next((item.description for item in plan.activities if _NO_DEED.match(item.description)), None)
    return None if told is None else f"{told[:40]!r} tells of the day; say what the character does"


def _fault_of_summary(summary: str, prompt: Prompt) -> str | None:
    """Return that a summary in English, of memories in English, has hardly a word of them.

    A host's own kind, whose prompt may show anything anywhere, is held to it where that stands between tags.
    """
    said, shown = set(stems(summary)), _fenced(prompt.user)
    if len(said) < _FEW_WORDS or _in_english([summary]) < _ENGLISH or _in_english([shown]) < _PARTLY_ENGLISH:
        return None
    told = len(said.intersection(stems(shown))) >= _TOLD * len(said)
    return None if told else "it tells of something else than what you were shown"


def _fenced(user: str) -> str:
    """Return what a prompt shows between tags, such as "<memories>", without the tags; "" where it has none."""
    first, last = _FENCE.search(user), user.rfind("</")
    return "" if first is None or last < first.end() else _FENCE.sub("", user[first.end() : last])


def _fault_of_insight(insight: str, prompt: Prompt) -> str | None:
    """Return why an insight is not what the instructions ask for, or nothing new."""
    if _ASKS_FOR_ONESELF in prompt.system and not _is_about_oneself(insight):
        return "the insight is not in the first person; write it as the character"
    if _bare(insight) in _concluded(prompt):
        return "the character has concluded this before; go beyond it"
    if any(_bare(insight) in _bare(text) for text in _remembered(prompt)):
        return "it only repeats a memory; say what follows from it"
    if _ASKS_FOR_FACTS in prompt.system and not _is_drawn_from_memories(insight, prompt):
        return "the insight is not about what the memories say: name persons, places and facts of them"
    return None


def _is_about_oneself(insight: str) -> bool:
    """Return whether an insight is more about oneself than about "you", or in another language than English.

    What is quoted does not count, nor a "you" that follows a colon.
    """
    own = _QUOTED.sub("", insight)
    addressed = len(_YOU.findall(own.partition(":")[0]))
    return len(_ONESELF.findall(own)) > addressed or _in_english([own]) < _ENGLISH


def _concluded(prompt: Prompt) -> frozenset[str]:
    """Return what the prompt shows as concluded before: lines such as "- [day 1, 4:08 PM] I miss the mill."."""
    shown = prompt.user.partition("<reflections>")[2].partition("</reflections>")[0]
    return frozenset(_bare(line.partition("] ")[2]) for line in shown.splitlines() if line.startswith("- ["))


def _remembered(prompt: Prompt) -> list[str]:
    """Return what the prompt shows as remembered, without times: lines such as "- [day 1, 4:08 PM] Saw the mill."."""
    shown = prompt.user.partition("<memories>")[2].partition("</memories>")[0]
    return [line.partition("] ")[2] for line in shown.splitlines()]


def _is_drawn_from_memories(insight: str, prompt: Prompt) -> bool:
    """Return whether an insight names a person, or takes up what one of the memories says, as it was asked to.

    A common word or two are not enough: "the most important thing today is time". One of few words, two at least, may
    have one of its own, and one in another language than the memories need not have any of theirs.
    """
    said, remembered = set(stems(insight)) - _OF_TIME, _remembered(prompt)
    some_english = any(word in FUNCTION_WORDS for text in remembered for word in words_of(text))
    if not some_english or _in_english([insight]) < _ENGLISH:
        return True
    named = _capitalized(insight)
    if not named.isdisjoint(word for name in _people(prompt) for word in _capitalized(name)):
        return True
    if len(said) < 2:
        return False
    wanted = min(_DRAWN, len(said) - 1)
    for text in remembered:
        shared = said.intersection(stems(text))
        if len(shared) + len(shared & named & _capitalized(text)) >= wanted:
            return True
    return False


def _people(prompt: Prompt) -> list[str]:
    """Return the names of the people that a prompt lists, such as "- agent:ben: Ben Arkwright"."""
    listed = prompt.user.partition("People (id: name):\n")[2].splitlines()
    return [line.rpartition(": ")[2] for line in takewhile(lambda line: line.startswith("- "), listed)]


def _capitalized(text: str) -> set[str]:
    """Return the stems of the words with a capital: names, and whatever begins a sentence."""
    return {stem(word.casefold()) for word in _CAPITALIZED.findall(text)}


def _reasons(answer: BaseModel) -> list[str]:
    if isinstance(answer, ActionAnswer):
        return [answer.reason]
    return [change.reason for change in answer.relationship_changes] if isinstance(answer, ReflectionAnswer) else []


def _in_english(texts: Iterable[str]) -> float:
    """Return the share of English function words among the words of texts: of English prose it is about a half."""
    found = [word for text in texts for word in words_of(text)]
    return sum(word in FUNCTION_WORDS for word in found) / len(found) if found else 0.0


def _choices(prompt: Prompt) -> frozenset[str]:
    """Return the values that the answer's fields may be chosen from."""
    return frozenset(choice for one in prompt.constraints for choice in one.choices)


def _names_of(choices: frozenset[str], prompt: Prompt) -> frozenset[str]:
    """Return the names of the one who is asked and of those near, and the choices with the names listed for them.

    A prompt lists them as "- cafe: The Copper Kettle (cafe)".
    """
    people = (*_ASKED.findall(prompt.user), *(who for near in _NEAR.findall(prompt.user) for who in near.split(", ")))
    listed = (line[2:].partition(": ") for line in prompt.user.splitlines() if choices and line.startswith("- "))
    return frozenset(map(_name, (*choices, *(name for choice, _, name in listed if choice in choices), *people))) - {""}


def _name(text: str) -> str:
    """Return what makes a name: "the Town_Hall (office)" is "townhall", and "Café" is "cafe"."""
    letters = _NO_LETTER.sub("", _TYPE.sub("", _bare(text)))
    if letters.isascii():
        return letters
    return "".join(c for c in unicodedata.normalize("NFD", letters) if not unicodedata.combining(c))


def _bare(text: str) -> str:
    return text.casefold().strip(" .!?").removeprefix("the ")


def _repeats_a_sentence(text: str) -> bool:
    said = [" ".join(words) for part in _SENTENCE.findall(text.casefold()) if len(words := part.split()) >= _SAID_TWICE]
    return len(said) != len(set(said))


def _said_in_two_fields(value: Any, choices: frozenset[str]) -> tuple[str, str] | None:
    """Return two text fields of one object of which one repeats the other, or begins with it; None if none do."""
    if isinstance(value, list):
        return next((found for part in value if (found := _said_in_two_fields(part, choices)) is not None), None)
    if not isinstance(value, dict):
        return None
    texts = {name: _bare(text) for name, text in value.items() if isinstance(text, str) and text not in choices}
    for (one, said), (other, again) in combinations(texts.items(), 2):
        short, long = sorted((said, again), key=len)
        if len(short.split()) > 1 and long.startswith(short):
            return one, other
    return _said_in_two_fields(list(value.values()), choices)


def _texts(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Yield all texts of an answer, each with its field as a constraint names it."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _texts(part, f"{field}.{name}" if field else name)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, field)


def _lists(value: Any, choices: frozenset[str]) -> Iterator[list[str]]:
    """Yield the texts of each list of objects: one for each object, without times, figures and choices."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _lists(part, choices)
    elif isinstance(value, list) and value:
        rows = [
            " ".join(
                _DIGITS.sub("", t.casefold()) for _, t in _texts(part) if t not in choices and not _TIME.fullmatch(t)
            )
            for part in value
        ]
        if any(rows):
            yield rows


def _copies(words: list[str], instructions: str) -> bool:
    if len(words) < _RUN:
        return False
    known = _runs_of(instructions)
    covered: set[int] = set()
    for start in range(len(words)):
        if tuple(words[start : start + _RUN]) in known:
            covered.update(range(start, start + _RUN))
    return len(covered) > _COPIED * len(words)


@lru_cache(maxsize=16)  # the jobs of a kind have the same instructions
def _runs_of(instructions: str) -> set[tuple[str, ...]]:
    return _runs(_WORD.findall(instructions.lower()), _RUN)


def _runs(words: list[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


def _variety(words: list[str]) -> float:
    return len(_runs(words, 3)) / (len(words) - 2)


def _relates(texts: list[str], prompt: Prompt) -> bool:
    """Return whether an answer has a word of content in common with what it was asked about, or few of its own."""
    content = {word for text in texts for word in _stems(text)}
    return len(content) < _TOPICAL or not content.isdisjoint(_stems(prompt.user))


def _stems(text: str) -> set[str]:
    """Return the beginnings of a text's long words; scripts without spaces have none that could be compared."""
    return {word[:_STEM] for word in _LATIN.findall(text.lower())}
