"""Estimates of a text's tokens on the safe side, and prompts that fit their cap.

Budgets are reserved before the provider counts, so an estimate may be too high and must not be too low. There is no
tokenizer here: endpoints differ, their vocabularies are megabytes, and most must be fetched. Instead each stretch of
text counts what it costs at worst in ordinary writing:

- the most common English words: one token, as in every vocabulary, with the space before them;
- other words of ASCII letters: one token for each 2.5 letters, rounded up (Swahili, Welsh and the like need that);
- digits, punctuation, line feeds and further spaces: one each;
- other characters: by script, at most as many as they have bytes in UTF-8, which no byte-level tokenizer exceeds.

The rates were set so that for user-interface texts in 86 languages and for recorded simulations the estimate is not
below the largest count of five vocabularies (cl100k, o200k, p50k, and Anthropic's and DeepSeek's published ones). Of
their pieces of 800 characters, 2 in 1,168 (Welsh, p50k) come out too low, by 4%. English comes out 1.7 times too high.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from pydantic import BaseModel

from memory.errors import CogitateError
from prompts.constraints import Constraint
from prompts.render import Rendered
from tasks.kind import Case, Kind, Prompt
from workers.llm.requests.dialect import schema_instruction
from workers.llm.requests.prompt_check import check_prompt
from workers.llm.requests.schema import full_schema

MESSAGE_OVERHEAD = 16  # tokens that chat templates put around a system and a user message
_SLACK = 3  # tokens; a short text may be denser than its language usually is
_STEPS = 64  # shares of memory tried by `fit`: 0/64 … 64/64

_WORD = re.compile(r"(?:(?<=\S) )?[A-Za-z]+")  # a single space belongs to the word after it
_MOST_WORDS = 50_000  # at most so many in memory
_MOST_PARTS = 512  # the same for instructions, and for prompts in flight, which are counted again with their answers
_MOST_LINES = 50_000  # the same for lines: the memories of a thousand agents who are shown fifty of theirs
_LONGEST_LINE = 600  # characters of a line that is remembered; a memory in a prompt has at most 500

# Words of four letters and more that are one token in each of the five vocabularies (shorter ones cost one anyway).
_COMMON = frozenset(
    """
    about activities activity after again also always another answer anything around array asked back because been
    before being between book both came character child children class clean close college come conversation could
    description dinner does doing done down during each early even evening every everyone false family father
    feeling felt first found friend friends from gave getting give going good great have having help here home hour
    house idea ideas important instructions integer interesting into items just keep know last later left library
    like little location long look looking lunch made make making many maybe memory might month more morning most
    mother much music must need needs never next night nothing object often only open other over painting paper park
    party people person place plan plans priority project properties reading really required research room said same
    says school seen shop should some someone something start started still street string student such summary table
    take taking talking than that their them then there these they thing things think thinking this through time
    today together told tomorrow took town type under using very want week well went were what when where which
    while wife will with without work working would writing year your
    """.split()  # noqa: SIM905 - a list literal of 180 strings would not be easier to read
)

_LONGEST_TOKEN = 1 + max(map(len, _COMMON))  # characters that count as one token at most: a space and a word

# From this code point on, a character costs so many tenths of a token.
_SCRIPTS: tuple[tuple[int, int], ...] = (
    (0x80, 20),  # Latin, phonetic, combining marks
    (0x370, 12),  # Greek
    (0x400, 14),  # Cyrillic
    (0x530, 20),  # Armenian
    (0x590, 15),  # Hebrew, Arabic
    (0x780, 20),
    (0x800, 30),
    (0x900, 22),  # Devanagari
    (0x980, 30),
    (0x3040, 15),  # kana
    (0x3100, 24),  # Han
    (0xA000, 30),
    (0xAC00, 26),  # Hangul
    (0xD7B0, 30),
    (0x10000, 40),
)
_STARTS = [start for start, _ in _SCRIPTS]


class PromptDoesNotFit(CogitateError, ValueError):
    """The prompt exceeds its cap even without memories; raise the kind's cap or shorten its template."""


class _WordExcess(dict[str, int]):
    """The tokens of a word, the space before it included, beyond one for each character: a number below 1.

    It is remembered because counting takes twice as long.
    """

    def __missing__(self, word: str) -> int:
        if len(self) >= _MOST_WORDS:
            self.clear()
        letters = word.lstrip(" ")
        # "Library" is as common as "library"; "LIBRARY" is not.
        is_common = letters[0].lower() + letters[1:] in _COMMON
        self[word] = excess = (1 if is_common else (2 * len(letters) + 4) // 5) - len(word)
        return excess


_excess_of = _WordExcess()


def estimate_tokens(text: str) -> int:
    """Return the tokens of a text: for ordinary writing not fewer than a common tokenizer counts."""
    if not text:
        return 0
    lines = [(_known_line if len(line) <= _LONGEST_LINE else _line_tokens)(line) for line in text.split("\n")]
    full, tenths = map(sum, zip(*lines, strict=True))
    return _SLACK + full + len(lines) - 1 - (-tenths // 10)


def _line_tokens(line: str) -> tuple[int, int]:
    """Return the tokens of the ASCII characters, and the tenths of tokens of all others."""
    full = len(line) + sum(map(_excess_of.__getitem__, _WORD.findall(line)))
    if line.isascii():
        return full, 0
    others = [char for char in line if char > "\x7f"]
    return full - len(others), sum(_SCRIPTS[bisect_right(_STARTS, ord(char)) - 1][1] for char in others)


_known_line = lru_cache(maxsize=_MOST_LINES)(_line_tokens)  # a memory is a line of many prompts
_known_part = lru_cache(maxsize=_MOST_PARTS)(estimate_tokens)


def prompt_tokens(prompt: Prompt) -> int:
    """Return the tokens of a request: both messages, their wrapping, and the answer's schema wherever it is sent."""
    parts = _known_part(prompt.system) + _known_part(prompt.user) + _schema_tokens(prompt.answer, prompt.constraints)
    return MESSAGE_OVERHEAD + parts


@lru_cache(maxsize=512)
def _schema_tokens(answer: type[BaseModel], constraints: tuple[Constraint, ...]) -> int:
    return estimate_tokens(schema_instruction(full_schema(answer, constraints)))


def is_plain(prompt: Prompt) -> bool:
    """Return whether a prompt is almost all ASCII, so that a correction learned from such prompts applies."""
    text = prompt.system + prompt.user
    return text.isascii() or 50 * (len(text) - len(text.encode("ascii", "ignore"))) <= len(text)


def corrected_tokens(prompt: Prompt, correction: int) -> int:
    """Return the tokens of a request, corrected by its model's factor; `correction` is in thousandths.

    Estimates of prompts that are not plain are never lowered.
    """
    factor = correction if correction > 1_000 or is_plain(prompt) else 1_000
    return -(-prompt_tokens(prompt) * factor // 1_000)


def end_of(addition: Rendered) -> str:
    """Return what an addition puts at the end of a prompt."""
    return f"\n\n{addition.system}\n\n{addition.user}"


def fit(
    kind: Kind, case: Case, cap: int, *, correction: int = 1_000, halved: bool = False, addition: Rendered | None = None
) -> Prompt:
    """Return the prompt with the largest share of memories, in steps of 1/64, whose estimate is at most `cap` tokens.

    Args:
        correction: the factor of estimates, in thousandths.
        halved: use half of that share, for an endpoint that refused the prompt as too long all the same.
        addition: text at the end of the prompt, both parts of it; it counts like the rest.

    Raises:
        PromptDoesNotFit: when it is longer even without memories.
        WrongPrompt: when the kind returns no usable prompt.
    """

    def prompt_with(share: float) -> Prompt:
        prompt = check_prompt(kind.prompt(case, share))
        if addition is None:
            return prompt
        # At the end, so that a provider's cache knows all that comes before.
        return replace(prompt, user=prompt.user + end_of(addition))

    share, prompt = _largest(prompt_with, kind.name, cap, correction)
    return prompt_with(share / 2) if halved else prompt


def _largest(prompt_with: Callable[[float], Prompt], name: str, cap: int, correction: int) -> tuple[float, Prompt]:
    prompt = prompt_with(1.0)
    if _fits(prompt, cap, correction):
        return 1.0, prompt
    best: Prompt | None = None
    low, high = -1, _STEPS  # the share low/64 fits (-1: none is known to), high/64 does not
    while high - low > 1:
        middle = (low + high) // 2
        prompt = prompt_with(middle / _STEPS)
        if _fits(prompt, cap, correction):
            low, best = middle, prompt
        else:
            high = middle
    if best is None:
        prompt = prompt_with(0.0)
        if (size := _characters(prompt)) > _most_characters(cap, correction):
            raise PromptDoesNotFit(
                f"a {name} prompt has {size} characters without any memories, too many for its cap of {cap} tokens"
            )
        least = corrected_tokens(prompt, correction)
        raise PromptDoesNotFit(
            f"a {name} prompt is about {least} tokens without any memories, more than its cap of {cap}"
        )
    return low / _STEPS, best


def _fits(prompt: Prompt, cap: int, correction: int) -> bool:
    """Return whether a request has at most `cap` tokens; refuse far longer text uncounted: counting takes seconds."""
    if _characters(prompt) > _most_characters(cap, correction):
        return False
    return corrected_tokens(prompt, correction) <= cap


def _characters(prompt: Prompt) -> int:
    return len(prompt.system) + len(prompt.user)


def _most_characters(cap: int, correction: int) -> int:
    """Return the characters of which no text is estimated at `cap` tokens or fewer."""
    return _LONGEST_TOKEN * cap * 1_000 // min(correction, 1_000)
