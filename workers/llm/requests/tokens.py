"""Estimates the tokens of texts and prompts conservatively.

A job reserves its budget before the provider counts, so an estimate may be too high but must not be too low. There is
no tokenizer here: endpoints differ, and their vocabularies take megabytes and mostly need a download. Instead each part
of a text counts as its worst case in ordinary writing:

- the most common English words: one token, as in every vocabulary, with the space before them;
- other small words of an English line: one token up to 8 letters, one more for each 3 begun beyond;
- other words of Latin letters: one token for each 2.5 letters, rounded up (Swahili, Welsh and the like need that), and
  one more for each letter with an accent;
- digits, punctuation, line feeds and further spaces: one each;
- other characters: by script; a space before them is free.

The rates were fitted to user-interface texts in 100 languages and to recorded simulations, against the largest count of
four current vocabularies (cl100k, o200k, and Anthropic's and DeepSeek's published ones). The estimate for a prompt of a
reflection with twenty memories in any of these languages is 1.0 to 1.5 times the true count, for English text alone 1.2
to 1.45 times. `cogitate.scheduler.engine.token_estimates` corrects both parts of an estimate by models' reports.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from pydantic import BaseModel

from cogitate.memory.language.text import FUNCTION_WORDS
from cogitate.prompts.constraints import Constraint
from cogitate.tasks.job import Correction
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.requests.dialect import schema_instruction
from cogitate.workers.llm.requests.schema import narrowed_schema

MESSAGE_OVERHEAD = 16  # tokens that chat templates put around a system and a user message
_SLACK = 3  # tokens; a short text may have more tokens per character than its language usually has

_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_WORD = re.compile(rf"(?:(?<=\S) )?[{_LATIN}]+")  # a single space belongs to the word after it
_OTHER = re.compile(rf"[^\x00-\x7f{_LATIN}]")
_SPACE_BEFORE_OTHER = re.compile(rf"(?<=\S) (?=[^\x00-\x7f{_LATIN}])")
_ENGLISH = 3  # if one word in this many is a function word, the line is English
_SHORT_WORD, _MORE = 8, 3  # the letters that the first token and each further token of a small English word cover
_MOST_WORDS = 50_000  # cached words
_MOST_PARTS = 512  # cached instructions and prompts in flight; a prompt is counted again with its answer
_MOST_LINES = 50_000  # cached lines: fifty memories for each of a thousand agents
_LONGEST_LINE = 600  # characters of a cached line; a memory in a prompt has at most 500

_RATES = tomllib.loads((resources.files(__package__) / "token_rates.toml").read_text(encoding="utf-8"))
_COMMON = frozenset(_RATES["common_words"].split())
LONGEST_TOKEN = 1 + max(map(len, _COMMON))  # the most characters that count as one token: a space and a word

_SCRIPTS: list[list[int]] = _RATES["scripts"]
_STARTS = [start for start, _ in _SCRIPTS]


class _WordExcess(dict[str, int]):
    """A cache of the difference between a word's tokens and its characters, including the space before it.

    Counting takes twice as long without it.
    """

    def __init__(self, *, english: bool) -> None:
        self._english = english

    def __missing__(self, word: str) -> int:
        if len(self) >= _MOST_WORDS:
            self.clear()
        letters = word.lstrip(" ")
        if letters[0].lower() + letters[1:] in _COMMON:  # "Library" is as common as "library"; "LIBRARY" is not
            tokens = 1
        elif self._english and letters.isascii() and letters.islower():
            tokens = 1 + max(0, -(-(len(letters) - _SHORT_WORD) // _MORE))
        else:
            accented = 0 if letters.isascii() else sum(letter > "\x7f" for letter in letters)
            tokens = (2 * len(letters) + 4) // 5 + accented
        self[word] = excess = tokens - len(word)
        return excess


_excess_of, _excess_in_english = _WordExcess(english=False), _WordExcess(english=True)


class Tokens(NamedTuple):
    """The estimated tokens of a text in two parts: Latin letters, digits and ASCII marks; everything else."""

    plain: int
    others: int


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: for ordinary writing, at least as many as a common tokenizer counts."""
    return sum(estimated_parts(text))


def estimated_parts(text: str) -> Tokens:
    """Estimate the tokens of a text in two parts, which reports of a model's usage correct separately."""
    if not text:
        return Tokens(0, 0)
    lines = [(_known_line if len(line) <= _LONGEST_LINE else _line_tokens)(line) for line in text.split("\n")]
    full, hundredths = map(sum, zip(*lines, strict=True))
    return Tokens(_SLACK + full + len(lines) - 1, -(-hundredths // 100))


def _line_tokens(line: str) -> tuple[int, int]:
    """Return the tokens of Latin letters and ASCII characters, and the hundredths of tokens of all others."""
    words = _WORD.findall(line)
    english = _ENGLISH * sum(word.strip().lower() in FUNCTION_WORDS for word in words) >= len(words)
    excess_of = _excess_in_english if english else _excess_of
    full = len(line) + sum(map(excess_of.__getitem__, words))
    if line.isascii():
        return full, 0
    others = _OTHER.findall(line)
    full -= len(others) + len(_SPACE_BEFORE_OTHER.findall(line))
    return full, sum(_SCRIPTS[bisect_right(_STARTS, ord(char)) - 1][1] for char in others)


_known_line = lru_cache(maxsize=_MOST_LINES)(_line_tokens)  # a memory is a line of many prompts
_known_part = lru_cache(maxsize=_MOST_PARTS)(estimated_parts)


def prompt_tokens(prompt: Prompt) -> int:
    """Estimate the tokens of a request: both messages, their wrapping, and the answer's schema."""
    return sum(prompt_parts(prompt))


def prompt_parts(prompt: Prompt) -> Tokens:
    """Estimate the tokens of a request in two parts."""
    system, user = _known_part(prompt.system), _known_part(prompt.user)
    schema = _schema_tokens(prompt.answer, prompt.enforced)
    plain = MESSAGE_OVERHEAD + system.plain + user.plain + schema.plain
    return Tokens(plain, system.others + user.others + schema.others)


@lru_cache(maxsize=512)
def _schema_tokens(answer: type[BaseModel], enforced: tuple[Constraint, ...]) -> Tokens:
    return estimated_parts(schema_instruction(narrowed_schema(answer, enforced)))


def corrected_tokens(prompt: Prompt, correction: Correction) -> int:
    """Estimate the tokens of a request, corrected by its model's factors."""
    parts = prompt_parts(prompt)
    return -(-(parts.plain * correction.plain + parts.others * correction.others) // 1_000)
