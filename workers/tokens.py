"""How many tokens a text is, on the safe side, and prompts that fit their cap.

Budgets are reserved before the provider counts, so an estimate may be too high and must not be too low. There is no
tokenizer here: endpoints differ, their vocabularies are megabytes, and most must be fetched. The rule instead adds up
what each stretch of text costs at worst in ordinary writing. A byte-level tokenizer never needs more tokens than the
text has bytes in UTF-8; scripts that vocabularies hold badly are counted so, the others by the rates below.
"""

from __future__ import annotations

import re

from tasks.kind import Case, Kind, Prompt
from workers.llm_dialect import schema_instruction
from workers.llm_schema import plain_schema

MESSAGE_OVERHEAD = 16  # tokens that chat templates put around a system and a user message
_STEPS = 64  # shares of memory tried by `fit`: 0/64 … 64/64

_WORD = re.compile(r"[A-Za-z]+")
_SINGLE_SPACE = re.compile(r"(?<=\S) (?=[A-Za-z])")  # belongs to the word after it


class PromptDoesNotFit(ValueError):
    """Even without any memories the prompt is longer than its cap; raise the kind's cap or shorten its template."""


def estimate_tokens(text: str) -> int:
    """The tokens of a text, rarely fewer than any common tokenizer counts."""
    letters = words = 0
    for word in _WORD.finditer(text):
        length = word.end() - word.start()
        letters += length
        words += -(-length // 3)
    free = sum(1 for _ in _SINGLE_SPACE.finditer(text))
    ascii_others = len(text.encode("ascii", "ignore")) - letters - free
    rest = 0 if text.isascii() else sum(_rate(char) for char in text if char > "\x7f")
    return words + ascii_others + rest


def _rate(char: str) -> int:
    """Tokens for one character beyond ASCII."""
    point = ord(char)
    if point < 0x530:  # Latin, Greek, Cyrillic
        return 1 if point < 0x370 or point >= 0x400 else 2
    if point < 0x800:
        return 2
    if 0x3000 <= point < 0xA000 or 0xAC00 <= point < 0xD7B0:  # kana, Han, Hangul
        return 2
    return 3 if point < 0x10000 else 4


def prompt_tokens(prompt: Prompt) -> int:
    """The tokens of a whole request: both messages, what wraps them, and the answer's schema wherever it is put."""
    schema = schema_instruction(plain_schema(prompt.answer))
    return MESSAGE_OVERHEAD + estimate_tokens(prompt.system) + estimate_tokens(prompt.user) + estimate_tokens(schema)


def fit(kind: Kind, case: Case, cap: int) -> Prompt:
    """The prompt with the largest share of memories, in steps of 1/64, whose estimate is at most `cap` tokens.

    Raises:
        PromptDoesNotFit: when it is longer even without memories.
    """
    prompt = kind.prompt(case, 1.0)
    if prompt_tokens(prompt) <= cap:
        return prompt
    best: Prompt | None = None
    low, high = -1, _STEPS  # the share low/64 fits (-1: none is known to), high/64 does not
    while high - low > 1:
        middle = (low + high) // 2
        prompt = kind.prompt(case, middle / _STEPS)
        if prompt_tokens(prompt) <= cap:
            low, best = middle, prompt
        else:
            high = middle
    if best is None:
        raise PromptDoesNotFit(
            f"a {kind.name} prompt is about {prompt_tokens(kind.prompt(case, 0.0))} tokens without any memories, "
            f"more than its cap of {cap}"
        )
    return best
