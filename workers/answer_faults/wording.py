"""Faults in the wording of any text: placeholders, dates, fragments, repeats, words about the task or the model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any

from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.text import words as words_of
from cogitate.workers.answer_faults.prompt_content import ASKED, PromptContent, bare, name_of


class Fault(str):
    """A fault of an answer, worded for the model; `check` names the check that found it.

    The text may quote the answer, so only the name of the check is stored and logged.
    """

    check: str

    def __new__(cls, told: str, check: str) -> Fault:
        """Return a fault with the name of its check, an identifier."""
        made = super().__new__(cls, told)
        made.check = check
        return made


_DIGITS = re.compile(r"\d+(?:st|nd|rd|th)?")
TIME = re.compile(r"\d{1,2}(:\d\d)? ?([ap]\.?m\.?)?", re.IGNORECASE)


def parts_of(value: Any, field: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a value and all that it holds, each with its field as a constraint names it, such as "items.place"."""
    yield field, value
    if isinstance(value, dict):
        for name, part in value.items():
            yield from parts_of(part, f"{field}.{name}" if field else name)
    elif isinstance(value, list):
        for part in value:
            yield from parts_of(part, field)


_ONE_WORD = 4  # repetitions from which a text of a single word is a fault
_SAID_TWICE = 6  # words from which a repeated sentence is a fault
_LONG = 16  # words from which a text is checked for loops
_VARIED = 0.7  # share of different groups of three words among all: prose is above 0.9
_FEW = 4  # equal items that a day may have: "Work" before lunch, after it, after tea, …
_SAME = 0.75  # share of equal items that a day may have


def _repeats_itself(text: str, words: list[str]) -> bool:
    """Return whether a text of these words repeats one word or sentence, or loops."""
    if len(words) > 1:
        letters = "".join(filter(str.isalpha, text.casefold()))
        if len(letters) // (letters + letters).find(letters, 1) >= _ONE_WORD:  # the same letters, and nothing else
            return True
    parts = map(words_of, split_sentences(text))
    said = [" ".join(part) for part in parts if len(part) >= _SAID_TWICE]
    return len(said) != len(set(said)) or (len(words) >= _LONG and len({*_runs(words, 3)}) / (len(words) - 2) < _VARIED)


def faults_of_fields(value: Any, choices: frozenset[str]) -> Iterator[Fault]:
    """Yield a fault if two fields of an answer, or too many items of a list in it, are the same.

    Items are compared without times, figures and choices.
    """
    for _, part in parts_of(value):
        fields = part if isinstance(part, dict) else {}
        texts = {name: bare(text) for name, text in fields.items() if isinstance(text, str) and text not in choices}
        for (one, said), (other, again) in combinations(texts.items(), 2):
            short, long = sorted((said, again), key=len)
            if len(words_of(short)) > 1 and long.startswith(short):
                yield Fault(f"{one!r} and {other!r} say the same", "repeats")
        items = [_said_in(item, choices) for item in part] if isinstance(part, list) else []
        if not any(items):
            continue
        most = max(Counter(items).values())
        if most >= _FEW and most > _SAME * len(items):
            yield Fault(f"{most} of {len(items)} items are the same", "repeats")
        if 2 * len(set(items)) < len(items):
            yield Fault(f"only {len(set(items))} of {len(items)} items differ", "repeats")


def _said_in(item: Any, choices: frozenset[str]) -> str:
    parts = (part for _, part in parts_of(item) if isinstance(part, str))
    texts = (text for text in parts if text not in choices and not TIME.fullmatch(text))
    return " ".join(_DIGITS.sub("", text.casefold()) for text in texts)


def _runs(words: list[str], length: int) -> Iterator[tuple[str, ...]]:
    """Return each group of `length` consecutive words, in order."""
    return zip(*(words[start:] for start in range(length)), strict=False)


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_FILLER = frozenset({"lorem ipsum", "null", "placeholder", "string", "tbd", "todo"})
_SLOT = re.compile(r"[\[{<][^\W\d][^\[\]{}<>\d]{1,40}[\]}>]")


class _AnyCase:
    """A pattern, written in lower case, that is searched for without regard to case.

    A search that ignores case takes ten times as long as one of the lower-case text, which ASCII letters allow.
    """

    def __init__(self, pattern: str) -> None:
        self._lower = re.compile(pattern)
        self._any = re.compile(pattern, re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match, whose place in the text is right, but perhaps not its letters."""
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
_FOREIGN = (  # what belongs in no answer, unless the prompt says it too
    (_SLOT, "placeholder", "is a placeholder; write what the character would"),
    (_DECLINES, "declined", _AS_MODEL),
    (_MODEL, "declined", _AS_MODEL),
    (_ROLE, "wording", "speaks of the task; write what happens in the character's world"),
    (_IDENTIFIER, "wording", "is no word; write what the character would"),
)
_BROKEN = re.compile(r"[.,;:|…\[\]{}*#_，；：。、]|.*[,;:|(\[{，；：、،؛（]\s*$", re.DOTALL)
_STAMP = re.compile(r"\d{4}[-/.]\d|\d[-/.]\d{4}|\d{8}|\bday \d", re.IGNORECASE)
_OF_STAMPS = frozenset({"a", "am", "at", "day", "m", "on", "p", "pm", "t", "z"})  # ISO's letters are words here
_RUN = 6  # consecutive words that do not recur by chance
_COPIED = 0.5  # share of a text's words within such runs of the instructions


def _words_in(text: str) -> list[str]:
    """Return the words of a text in lower case: runs of ASCII letters, otherwise words as retrieval counts them."""
    return _WORD.findall(text.lower()) if text.isascii() else words_of(text)


def faults_of_text(text: str, content: PromptContent) -> Iterator[Fault]:
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
        if (found := pattern.search(text)) is not None:
            said = text[found.start() : found.end()]
            if said.strip("[{<>}]").lower() not in content.lower:
                yield Fault(f"{said!r} {why}", check)
    if text.count("{") != text.count("}") or text.count("[") != text.count("]"):
        yield Fault("a bracket in it has no other half", "wording")
    known = _runs_of(content.system)
    copied = {at + step for at, run in enumerate(_runs(words, _RUN)) if run in known for step in range(_RUN)}
    if ASKED.match(text) is not None or len(copied) > _COPIED * len(words):
        yield Fault("it repeats the instructions instead of following them", "copied")
    if _repeats_itself(text, words):
        yield Fault("it says the same words over and over", "repeats")


@lru_cache(maxsize=16)  # the jobs of a kind have the same instructions
def _runs_of(instructions: str) -> set[tuple[str, ...]]:
    return {*_runs(_words_in(instructions), _RUN)}
