"""Faults in the wording of any text: placeholders, dates, fragments, and words about the task or the model."""

from __future__ import annotations

import re
from functools import lru_cache

from cogitate.memory.language.text import words
from cogitate.workers.answer_faults.found import Fault
from cogitate.workers.answer_faults.prompt_content import PromptContent, name_of
from cogitate.workers.answer_faults.repeats import runs

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_FILLER = frozenset({"lorem ipsum", "null", "placeholder", "string", "tbd", "todo"})
_DECLINES = re.compile(
    r"\b(as|i am|i['’]m|being) (an? |just an? )?(ai|artificial intelligence|(large )?language model)\b|"
    r"\bi(['’]m| am) (sorry|unable|not able)\b[^.!?]{0,60}\b(assist|comply|fulfill?|generate|help|provide|reflect)\b|"
    r"\bi (cannot|can['’]t|can not) (assist|comply|fulfill?|generate|help with|provide|reflect)\b",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"you (?:decide|plan|reflect) (?:for|as)\b", re.IGNORECASE)  # how prompts address the model
_ROLE = re.compile(
    r"\b(?:the|this|a) character\b(?! (?:of|in an? |in the |from))|\bJSON\b|\b(?:previous|earlier) answer\b|"
    r"\b(?:previous|prior) instructions\b|\bsystem prompt\b",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"\b[^\W_]+_\w+|\b(?:agent|location|world):\w+")  # owners are "agent:ada"
_BROKEN = re.compile(r"[.,;:|…\[\]{}*#_，；：。、]|.*[,;:|(\[{，；：、،؛（]\s*$", re.DOTALL)
_SLOT = re.compile(r"[\[{<]([^\W\d][^\[\]{}<>\d]{1,40})[\]}>]")
#: "Language model" in other languages, as models call themselves when they decline.
_MODEL = re.compile(
    "语言模型|語言模型|言語モデル|언어 ?모델|языков\\w{2,3} модел|мовн\\w{1,2} модел|sprachmodell|taalmodel|"
    "språkmodell|"
    "modèle de langage|modelo de linguagem|modelo de lenguaje|modello linguistico|model językow|jazykov\\w{1,2} model|"
    "نموذج لغ|مدل زبانی|מודל שפה|भाषा मॉडल|dil modeli|kielimalli|mô hình ngôn ngữ|แบบจำลองภาษา|โมเดลภาษา",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[^<>]{1,40}>")
_STAMP = re.compile(r"\d{4}[-/.]\d|\d[-/.]\d{4}|\d{8}")
_ISO = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+-]+Z?")  # its letters are not words
_WHEN = re.compile(r"(?:on )?day \d+,?(?: (?:at )?\d{1,2}:\d\d ?(?:[ap]\.?m\.?)?)?", re.IGNORECASE)
_RUN = 6  # consecutive words that do not recur by chance
_COPIED = 0.5  # share of a text's words within such runs of the instructions


def words_in(text: str) -> list[str]:
    """Return the words of a text in lower case: runs of ASCII letters, otherwise words as retrieval counts them."""
    return _WORD.findall(text.lower()) if text.isascii() else words(text)


def fault_of_wording(text: str, said: list[str], content: PromptContent) -> str | None:
    """Return the fault in the wording of one text, or None.

    Args:
        said: the words of the text, in lower case.
    """
    if not any(map(str.isalnum, text)) or " ".join(said) in _FILLER or said[:2] == ["lorem", "ipsum"]:
        return Fault(f"{text[:40]!r} is a placeholder; write what the character would", "placeholder")
    found = _SLOT.search(text)
    if _TAG.fullmatch(text) or (found is not None and found[1].lower() not in content.lower):
        slot = text if found is None else found[0]
        return Fault(f"{slot!r} is a placeholder; write what the character would", "placeholder")
    if _is_date(text, said):
        return f"{text[:40]!r} is a date or a number; write what the character would"
    if name_of(text) in content.names:
        return f"{text[:40]!r} only names a place or a person; say what happens"
    if _BROKEN.match(text):
        return f"{text[:40]!r} is only a part of a sentence"
    if (found := _DECLINES.search(text)) is not None and found[0].lower() not in content.user.lower():
        return Fault(f"{found[0]!r} is not what the character would say; stay in the character's world", "declined")
    if (found := _MODEL.search(text)) is not None and found[0].lower() not in content.user.lower():
        return Fault(f"{found[0]!r} is not what the character would say; stay in the character's world", "declined")
    if (found := _ROLE.search(text)) is not None and found[0].lower() not in content.lower:
        return f"{found[0]!r} speaks of the task; write what happens in the character's world"
    if (found := _IDENTIFIER.search(text)) is not None and found[0].lower() not in content.lower:
        return f"{found[0]!r} is no word; write what the character would"
    if text.count("{") != text.count("}") or text.count("[") != text.count("]"):
        return "a bracket in it has no other half"
    if _ADDRESSED.match(text) is not None or _copies(said, content.system):
        return Fault("it repeats the instructions instead of following them", "copied")
    return None


def _is_date(text: str, words: list[str]) -> bool:
    """Return whether a text is a time or a number and nothing else."""
    if _ISO.fullmatch(text) or _WHEN.fullmatch(text.strip(" .")):
        return True
    return set(words) <= {"am", "pm"} and _STAMP.search(text) is not None


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
    return runs(words_in(instructions), _RUN)
