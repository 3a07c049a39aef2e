"""Finds the fault of an answer that is valid JSON but useless, so that the answer never reaches a memory.

Small models, and large ones that decline in prose, fill a schema with placeholders, the prompt's own words,
repetitions, or unrelated text. Each rule depends only on the answer and its prompt, so every worker reaches the same
verdict. A worker shows the model the fault once (`cogitate.workers.jobs.judging`); then the heuristic takes over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

from pydantic import BaseModel

from cogitate.memory.language.quotations import without_quotations
from cogitate.memory.language.sentences import QUESTIONS, split_sentences
from cogitate.memory.language.text import MARKS
from cogitate.memory.language.text import words as words_of
from cogitate.prompts import answers
from cogitate.prompts.constraints import Constraint
from cogitate.tasks.kind import Prompt
from cogitate.workers.answer_faults.prompt_content import ASKED, PromptContent, bare, is_about, name_of


class Fault(str):
    """A fault of an answer, worded for the model; `check` names the check that found it.

    The text may quote the answer, so only the name of the check is stored and logged.
    """

    check: str

    def __new__(cls, text: str, check: str) -> Fault:
        """Return a fault with the name of its check, an identifier."""
        fault = super().__new__(cls, text)
        fault.check = check
        return fault


_COMPARED = 3  # content words that a summary needs to be compared with what it summarises


def fault_of(answer: BaseModel, prompt: Prompt) -> Fault | None:
    """Return the first fault of an answer, worded for the model, or None.

    An answer of a host's own class is checked against its prompt's constraints only: it may contain speech, figures or
    another language.
    """
    if isinstance(answer, answers.Answer):
        return next(_faults_of(answer, PromptContent(prompt)), None)
    return next(_faults_of_constraints(answer.model_dump(), prompt.constraints), None) if prompt.constraints else None


def _faults_of(answer: answers.Answer, content: PromptContent) -> Iterator[Fault]:
    value = answer.model_dump()
    for field, text in _parts_of(value):
        if not isinstance(text, str) or not text or _TIME.fullmatch(text):
            continue
        choices = content.choices_of.get(field)
        if choices is None or (text not in choices and name_of(text) not in content.names):
            yield from _faults_of_thought(text, field) if isinstance(answer, THOUGHTS) else ()
            yield from _faults_of_text(text, content)
    yield from _faults_of_fields(value, content.choices)
    if isinstance(answer, answers.SummaryAnswer | answers.IntegratedAnswer) and not is_about(
        answer.summary, [content.fenced], content, least=_COMPARED
    ):
        yield Fault("it is about something other than what you were shown", "summary")
    if isinstance(answer, answers.ReflectionAnswer):
        yield from _faults_of_insight(answer.insight, content)


_TIME = re.compile(r"\d{1,2}(:\d\d)? ?([ap]\.?m\.?)?", re.IGNORECASE)


def _parts_of(value: Any, field: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a value and everything nested in it, each with its field in a constraint's notation: "items.place"."""
    yield field, value
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _parts_of(part, f"{field}.{name}" if field else name)
    elif isinstance(value, list):
        for part in value:
            yield from _parts_of(part, field)


# A host's own kind may contain speech, and is not checked.
THOUGHTS = (answers.ActionAnswer, answers.DailyPlan, answers.ReflectionAnswer, answers.StepPlan)
_QUESTION = re.compile(f"[^:：]*[{''.join(QUESTIONS)}][^:：]*")
_MARKUP = re.compile(  # from a web page, a prompt or a model's chat template
    r"</[a-z][\w-]{0,30}>|<\|[\w ]{1,30}\|>|\[/?INST\]|\A(?:assistant|system|user): ", re.IGNORECASE
)


def _faults_of_thought(text: str, field: str) -> Iterator[Fault]:
    """Yield why a text is not a thought, action or reason of a character."""
    asking = without_quotations(text) if any(mark in text for mark in QUESTIONS) else ""
    sentences = [sentence for sentence in split_sentences(asking) if any(map(str.isalnum, sentence))]
    if sentences and all(map(_QUESTION.fullmatch, sentences)):
        yield Fault(f"{text[:40]!r} only asks; say what the character thinks or does", "no_thought")
    if (markup := _MARKUP.search(text)) is not None:
        yield Fault(f"{markup[0].strip()!r} is not a word; write what the character would", "no_thought")
    is_cut = len(text) == answers.HELD_PHRASE and text[-1].isalnum()  # the server cut it to fit the schema
    if is_cut and field != "insight":
        yield Fault(f"{text[:40]!r} is cut off after {answers.HELD_PHRASE} characters; be brief", "no_thought")


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_FILLER = frozenset({"lorem ipsum", "null", "placeholder", "string", "tbd", "todo"})
_SLOT = re.compile(r"[\[{<][^\W\d][^\[\]{}<>\d]{1,40}[\]}>]")


class _AnyCase:
    """A case-insensitive pattern, written in lower case.

    Python's case-insensitive search takes ten times as long as a search of the lower-case text, which is equivalent
    for ASCII.
    """

    def __init__(self, pattern: str) -> None:
        self._lower = re.compile(pattern)
        self._any = re.compile(pattern, re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match. Its position is right; its text may be in lower case."""
        return self._lower.search(text.lower()) if text.isascii() else self._any.search(text)


_DECLINES = _AnyCase(
    r"\b(as|i am|i['’]m|being) (an? |just an? )?(ai|artificial intelligence|(large )?language model)\b|"
    r"\bi(['’]m| am) (sorry|unable|not able)\b[^.!?]{0,60}\b(assist|comply|fulfill?|generate|help|provide|reflect)\b|"
    r"\bi (cannot|can['’]t|can not) (assist|comply|fulfill?|generate|help with|provide|reflect)\b"
)
_MODEL = _AnyCase(  # "language model" in other languages, as models call themselves
    r"语言模型|語言模型|言語モデル|언어 ?모델|языков\w{2,3} модел|мовн\w{1,2} модел|sprachmodell|taalmodel|språkmodell|"
    r"modèle de langage|modelo de linguagem|modelo de lenguaje|modello linguistico|model językow|jazykov\w{1,2} model|"
    r"نموذج لغ|مدل زبانی|מודל שפה|भाषा मॉडल|dil modeli|kielimalli|mô hình ngôn ngữ|แบบจำลองภาษา|โมเดลภาษา"
)
_ROLE = _AnyCase(
    r"\b(?:the|this|a) character\b(?! (?:of|in an? |in the |from))|\bjson\b|\b(?:previous|earlier) answer\b|"
    r"\b(?:previous|prior) instructions\b|\bsystem prompt\b"
)
_IDENTIFIER = re.compile(r"\b[^\W_]+_\w+|\b(?:agent|location|world):\w+")  # owners are "agent:ada"
_AS_MODEL = "is not what the character would say; stay in the character's world"
_FOREIGN = (  # has no place in an answer, unless the prompt contains it too
    (_SLOT, "placeholder", "is a placeholder; write what the character would"),
    (_DECLINES, "declined", _AS_MODEL),
    (_MODEL, "declined", _AS_MODEL),
    (_ROLE, "wording", "speaks of the task; write what happens in the character's world"),
    (_IDENTIFIER, "wording", "is not a word; write what the character would"),
)
_BROKEN = re.compile(r"[.,;:|…\[\]{}*#_，；：。、]|.*[,;:|(\[{，；：、،؛（]\s*$", re.DOTALL)
_STAMP = re.compile(r"\d{4}[-/.]\d|\d[-/.]\d{4}|\d{8}|\bday \d", re.IGNORECASE)
_OF_STAMPS = frozenset({"a", "am", "at", "day", "m", "on", "p", "pm", "t", "z"})  # "T" and "Z" of ISO 8601 included
_RUN = 6  # consecutive words that do not recur by chance
_COPIED = 0.5  # share of a text's words in such runs of the instructions that makes it a copy


def _words_in(text: str) -> list[str]:
    """Return the words of a text in lower case: runs of letters in ASCII text, otherwise the words of retrieval."""
    return _WORD.findall(text.lower()) if text.isascii() else words_of(text)


def _faults_of_text(text: str, content: PromptContent) -> Iterator[Fault]:
    """Yield the faults in the wording of one text."""
    words = _words_in(text)
    if not any(map(str.isalnum, text)) or " ".join(words) in _FILLER or words[:2] == ["lorem", "ipsum"]:
        yield Fault(f"{text[:40]!r} is a placeholder; write what the character would", "placeholder")
    if _OF_STAMPS.issuperset(words) and _STAMP.search(text):
        yield Fault(f"{text[:40]!r} is a date or a number; write what the character would", "wording")
    if name_of(text) in content.names:
        yield Fault(f"{text[:40]!r} only names a place or a person; say what happens", "wording")
    if _BROKEN.match(text):
        yield Fault(f"{text[:40]!r} is only a part of a sentence", "wording")
    for pattern, check, why in _FOREIGN:
        if (match := pattern.search(text)) is not None:
            foreign = text[match.start() : match.end()]
            if foreign.strip("[{<>}]").lower() not in content.lower:
                yield Fault(f"{foreign!r} {why}", check)
    if text.count("{") != text.count("}") or text.count("[") != text.count("]"):
        yield Fault("it has an unmatched bracket", "wording")
    known = _runs_of(content.system)
    copied = {at + step for at, run in enumerate(_runs(words, _RUN)) if run in known for step in range(_RUN)}
    if ASKED.match(text) is not None or len(copied) > _COPIED * len(words):
        yield Fault("it repeats the instructions instead of following them", "copied")
    if _repeats_itself(text, words):
        yield Fault("it says the same words over and over", "repeats")


@lru_cache(maxsize=16)  # jobs of one kind share their instructions
def _runs_of(instructions: str) -> set[tuple[str, ...]]:
    return {*_runs(_words_in(instructions), _RUN)}


_ONE_WORD = 4  # repetitions that make a text of a single word a fault
_SAID_TWICE = 6  # words of a sentence whose repetition is a fault
_LONG = 16  # words that a text needs to be checked for loops
_VARIED = 0.7  # least share of distinct groups of three words: prose is above 0.9


def _repeats_itself(text: str, words: list[str]) -> bool:
    """Return whether a text of these words repeats one word or sentence, or loops."""
    if len(words) > 1:
        letters = "".join(filter(str.isalpha, text.casefold()))
        if len(letters) // (letters + letters).find(letters, 1) >= _ONE_WORD:  # a period of the whole text
            return True
    parts = map(words_of, split_sentences(text))
    long = [" ".join(part) for part in parts if len(part) >= _SAID_TWICE]
    return len(long) != len(set(long)) or (len(words) >= _LONG and len({*_runs(words, 3)}) / (len(words) - 2) < _VARIED)


def _runs(words: list[str], length: int) -> Iterator[tuple[str, ...]]:
    """Return each group of `length` consecutive words, in order."""
    return zip(*(words[start:] for start in range(length)), strict=False)


_DIGITS = re.compile(r"\d+(?:st|nd|rd|th)?")
_FEW = 4  # equal items that a fault needs: a day may have "Work" before lunch, after it, …
_SAME = 0.75  # share of equal items that a day may have


def _faults_of_fields(value: Any, choices: frozenset[str]) -> Iterator[Fault]:
    """Yield a fault if two fields of an answer, or too many items of one of its lists, are the same.

    Compares items without times, figures and choices.
    """
    for _, part in _parts_of(value):
        fields = part if isinstance(part, dict) else {}
        texts = {name: bare(text) for name, text in fields.items() if isinstance(text, str) and text not in choices}
        for (first, first_text), (second, second_text) in combinations(texts.items(), 2):
            short, long = sorted((first_text, second_text), key=len)
            if len(words_of(short)) > 1 and long.startswith(short):
                yield Fault(f"{first!r} and {second!r} say the same", "repeats")
        items = [_wording_of(item, choices) for item in part] if isinstance(part, list) else []
        if not any(items):
            continue
        most = max(Counter(items).values())
        if most >= _FEW and most > _SAME * len(items):
            yield Fault(f"{most} of {len(items)} items are the same", "repeats")
        if 2 * len(set(items)) < len(items):
            yield Fault(f"only {len(set(items))} of {len(items)} items differ", "repeats")


def _wording_of(item: Any, choices: frozenset[str]) -> str:
    parts = (part for _, part in _parts_of(item) if isinstance(part, str))
    texts = (text for text in parts if text not in choices and not _TIME.fullmatch(text))
    return " ".join(_DIGITS.sub("", text.casefold()) for text in texts)


_I = rf"(?:[^\W\d_][{MARKS}]*){{1,4}}"
_SPEAKER = re.compile(rf"\W*{_I}\s?[,，、،]\s?([^,，、،]{{2,60}})[,，、،]")  # "I, Ben Cole, have …"


def _faults_of_insight(insight: str, content: PromptContent) -> Iterator[Fault]:
    """Yield why an insight violates the instructions or adds nothing new."""
    plain, memories = bare(insight), content.listed("memories")
    if plain in map(bare, content.listed("reflections")):
        yield Fault("the character has concluded this before; go beyond it", "insight")
    if plain in content.user.casefold() and any(plain in bare(text) for text in memories):
        yield Fault("it only repeats a memory; say what follows from it", "copied")
    if not content.built_in:  # a run's own instructions may require less
        return
    if (speaker := _SPEAKER.match(insight)) is not None and _is_another(speaker[1], memories, content):
        yield Fault(f"{speaker[1]!r} is not the character; write the insight as the character", "insight")
    if not is_about(insight, memories, content):
        yield Fault("the insight is not about what the memories say: name persons, places and facts of them", "insight")


def _is_another(name: str, memories: Sequence[str], content: PromptContent) -> bool:
    """Return whether a text is a listed person's name, or consists of names that are not the character's.

    In a script without capitals, any text from the memories counts as a name.
    """
    if name in content.people:
        return True
    if name.upper() == name.lower():
        is_name = any(name in memory for memory in memories)
    else:
        is_name = all(part[0].isupper() for part in name.split())
    return is_name and content.vocabulary.isdisjoint(words_of(name))


def _faults_of_constraints(value: dict[str, Any], constraints: Iterable[Constraint]) -> Iterator[Fault]:
    """Yield the values of an answer that break a constraint."""
    for constraint in constraints:
        field, least, most = constraint.field, constraint.least, constraint.most
        for given in _values(value, field.split(".")):
            if constraint.choices and given not in constraint.choices:
                shown = str(given)[:100]
                yield Fault(f"{field} is {shown!r}: choose one of {', '.join(constraint.choices)}", "constraint")
            if isinstance(given, bool) or not isinstance(given, str | list | int | float):
                continue
            size, verb = (given, "is") if isinstance(given, int | float) else (len(given), "has")
            if least is not None and size < least:
                yield Fault(f"{field} {verb} {size}: at least {least} is required", "constraint")
            if most is not None and size > most:
                yield Fault(f"{field} {verb} {size}: at most {most} is allowed", "constraint")


def _values(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield the values at a path, descending into lists; null yields nothing."""
    if not path:
        yield from () if value is None else (value,)
    elif isinstance(value, list):
        for part in value:
            yield from _values(part, path)
    elif isinstance(value, dict):
        yield from _values(value.get(path[0]), path[1:])
