"""Packed prompts: one prompt that puts several cases to a model, and the parsing of its answer.

The text that the prompts share comes once, before the cases, so that a provider can serve it from its prompt cache.
Tags whose name occurs in no text of the pack fence each case. A hash of the run and the job ids shuffles the cases,
because models favour some positions in a prompt (Lin et al., "BatchPrompt", ICLR 2024).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, WithJsonSchema, create_model

from cogitate.prompts.answers import Answer
from cogitate.tasks.kind import Prompt
from cogitate.workers.jobs.packs.repeats import (
    NAME,
    Condensed,
    agreement,
    condensed,
    numbered,
    restored,
    texts_by_number,
    with_name,
)
from cogitate.workers.jobs.packs.rows import case_row_schema, layout, read_case_row
from cogitate.workers.llm.requests.schema import full_schema

INSTRUCTION = (
    "\n\nYou get several cases, each between its own tags. Do what is said above for each, as if it were the only one: "
    "use nothing of another case. What stands before the first case belongs to every case."
)
_IN_ROWS = (
    f" {NAME} is the name of a case's character. A line without a date, AM or PM has that of the line above.\n\n"
    "Answer with JSON only, with lists of values instead of objects: for each case its number and these values, in "
    'this order. Instead of a text with a number write the number, such as "#1". Leave out false and [] at the end of '
    "a list.\n"
)
_BY_NAME = "\n\nAnswer with JSON only: one object that has the answer to case 1 as case_1, and so on for each case."

LONGEST_SHARED_TEXT = 32  # characters of one case that the answer to another may repeat

_PASSAGE = LONGEST_SHARED_TEXT + 1
_BLOCK = (_PASSAGE + 1) // 2  # of a text in blocks of this size, each passage contains a whole block

_LISTED, _END_OF_LISTED = "\n\n<listed>", "</listed>"
_TAG = re.compile(r"<(/?)(\w+)>")
_ENDING = re.compile(r"\n\nAnswer each of the \d+ cases between tags with ([0-9a-f]{6})\.\Z")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[^\W_]+")


class PackedPrompt(NamedTuple):
    """A prompt for several cases, numbered from 1 in their order."""

    prompt: Prompt
    shared: str  # the text before the cases, without the numbered list items
    cases: tuple[str, ...]  # the text of each case, as the prompt shows it
    whole: tuple[str, ...]  # the same in full, before condensing


def order_of(run: str, jobs: Sequence[str]) -> list[int]:
    """Return a permutation of the cases that depends only on the run and the ids of their jobs."""
    seed = _digest(run, *sorted(jobs))
    return sorted(range(len(jobs)), key=lambda i: (_digest(seed, jobs[i]), jobs[i]))


def packed(prompts: Sequence[Prompt], seed: str, *, by_name: bool = False) -> PackedPrompt:
    """Return one prompt for prompts of one kind with the same system prompt and answer class, in their order.

    Args:
        by_name: whether the prompt shows each case in full and asks for an object with a named answer to each, whose
            schema lists its choices. Weak models misread short forms and write lists in the wrong order.
    """
    first, users = prompts[0], [prompt.user for prompt in prompts]
    shared = shared_part(users)
    cases = whole = tuple(user[len(shared) :] for user in users)
    name = _name_outside(seed, [first.system, *users])
    if by_name:
        enforced = tuple(
            replace(one, field=f"{case_field(number)}.{one.field}")
            for number, prompt in enumerate(prompts, 1)
            for one in prompt.enforced
        )
        answer = answers_by_name(first.answer, len(prompts))
        system, user = first.system + INSTRUCTION + _BY_NAME, _fenced(shared, cases, name)
        return PackedPrompt(
            replace(first, system=system, user=user, answer=answer, enforced=enforced), shared, cases, whole
        )
    short = condensed(cases)
    begin, listed, end = f"{shared}<each-{name}>\n{short.before}\n\n{short.after}", "", f"\n</each-{name}>\n\n"
    if short.repeated:
        lines = (f"{numbered(index)} {text}" for index, text in enumerate(short.repeated))
        listed = "\n".join((_LISTED, *lines, _END_OF_LISTED))
    user = _fenced(begin + listed + end, short.cases, name)
    if (short.before or short.after or short.repeated) and [text for _, _, text in cases_in("", user)] == users:
        shared, cases = begin + end, short.cases
    else:  # irreversible, such as for a host's template that has no dates or writes them differently; or no repeats
        user = _fenced(shared, cases, name)
    form = f'{{"answers": [{layout(full_schema(first.answer))}, …]}}'
    system, answer = first.system + INSTRUCTION + _IN_ROWS + form, answers_class(first.answer)
    return PackedPrompt(replace(first, system=system, user=user, answer=answer), shared, cases, whole)


def _fenced(common: str, cases: Sequence[str], name: str) -> str:
    fences = (f'<case-{name} number="{number}">\n{case}\n</case-{name}>' for number, case in enumerate(cases, 1))
    return common + "\n\n".join(fences) + f"\n\nAnswer each of the {len(cases)} cases between tags with {name}."


def cases_in(system: str, user: str) -> list[tuple[int, str, str]]:
    """Return each case of a packed prompt: its number, and the system and user messages of its own prompt.

    Return an empty list for an ordinary prompt.
    """
    numbers, shared, parsed = _read_pack(user)
    cases = restored(parsed) if isinstance(parsed, Condensed) else parsed
    system = system.rpartition(INSTRUCTION)[0] or system
    return [(number, system, shared + case) for number, case in zip(numbers, cases, strict=True)]


def texts_of(user: str) -> list[Mapping[str, str]]:
    """Return, for each case of a packed prompt, the full texts by their short forms."""
    _, _, parsed = _read_pack(user)
    return [*texts_by_number(parsed)] if isinstance(parsed, Condensed) else [{}] * len(parsed)


def _read_pack(user: str) -> tuple[list[int], str, Condensed | Sequence[str]]:
    """Parse a packed prompt into the numbers of its cases, the text before them, and the cases."""
    if (ending := _ENDING.search(user)) is None:
        return [], "", ()
    fence = re.compile(rf'<case-{ending[1]} number="(\d+)">\n(.*?)\n</case-{ending[1]}>', re.DOTALL)
    fences = list(fence.finditer(user))
    shared, numbers = user[: fences[0].start()] if fences else "", [int(one[1]) for one in fences]
    cases = tuple(one[2] for one in fences)
    begin, end = f"<each-{ending[1]}>\n", f"\n</each-{ending[1]}>\n\n"
    if begin not in shared or not shared.endswith(end):
        return numbers, shared, cases
    shared, _, each = shared.removesuffix(end).partition(begin)
    common, _, listed = each.removesuffix(_END_OF_LISTED).partition(_LISTED)
    before, _, after = common.partition("\n\n")
    repeated = tuple(line.partition(" ")[2] for line in listed.strip("\n").split("\n") if line)
    return numbers, shared, Condensed(before, after, cases, repeated)


def shared_part(users: Sequence[str]) -> str:
    """Return the longest common beginning of these texts that ends with a paragraph and leaves no tag open."""
    common = users[0][: agreement(users)]
    end = common.rfind("\n\n") + 2
    while end > 1:
        depth = Counter[str]()
        for closing, tag in _TAG.findall(common, 0, end):
            depth[tag] += -1 if closing else 1
        if not any(depth.values()):
            return common[:end]
        end = common.rfind("\n\n", 0, end - 2) + 2
    return ""


@lru_cache(maxsize=64)
def answers_class(answer: type[BaseModel]) -> type[BaseModel]:
    """Return the class that validates a packed answer in rows. The answer in each row is validated later.

    Raises:
        TypeError: if no schema can express `answer`.
    """
    schema = full_schema(answer)

    def read(row: Any) -> tuple[int, object]:
        if (found := read_case_row(row, schema)) is None:
            raise ValueError("must be a list of a case's number and values")
        return found

    row = Annotated[Any, BeforeValidator(read), WithJsonSchema(case_row_schema(schema))]
    return create_model(f"{answer.__name__[:50]}Pack", __base__=Answer, answers=(list[row], ...))


def case_field(number: int) -> str:
    """Return the field that holds the answer to a case in a packed answer by name."""
    return f"case_{number}"


@lru_cache(maxsize=256)
def answers_by_name(answer: type[BaseModel], cases: int) -> type[BaseModel]:
    """Return the class that validates a packed answer with a field for each case. Each answer is validated later.

    Raises:
        TypeError: if no schema can express `answer`.
    """
    one = Annotated[Any, WithJsonSchema(full_schema(answer))]
    fields: dict[str, Any] = {case_field(number): (one, None) for number in range(1, cases + 1)}
    return create_model(f"{answer.__name__[:50]}Pack", __base__=Answer, **fields)


def answers_by_case(value: BaseModel, cases: int) -> Mapping[int, object]:
    """Return the answers by case number, without numbers that repeat or belong to no case."""
    if not hasattr(value, "answers"):
        named = ((number, getattr(value, case_field(number), None)) for number in range(1, cases + 1))
        return {number: answer for number, answer in named if answer is not None}
    answers: Sequence[tuple[int, object]] = value.answers
    times = Counter(number for number, _ in answers)
    return {number: answer for number, answer in answers if times[number] == 1 and 1 <= number <= cases}


def in_full(answer: object, texts: Mapping[str, str]) -> object:
    """Return an answer with its short forms expanded to these full texts."""
    match answer:
        case str():
            number, _, text = answer.strip().partition(" ")
            if number in texts and text in ("", texts[number]):
                return texts[number]
            return with_name(answer, texts[NAME]) if NAME in texts and NAME in answer else answer
        case Mapping():
            return {key: in_full(value, texts) for key, value in answer.items()}
        case list():
            return [in_full(value, texts) for value in answer]
        case _:
            return answer


class Passages:
    """A check for answers that take a passage or a name from another case, which their own prompt does not show.

    Args:
        people: names that the cases may mention.
    """

    def __init__(self, pack: PackedPrompt, system: str, people: Iterable[str]) -> None:
        cases = [f"{case}\n{whole}" for case, whole in zip(pack.cases, pack.whole, strict=True)]
        self._texts = cases, f"{system}\n{pack.shared}"
        self._cases, self._common = [_plain(case) for case in cases], _plain(self._texts[1])
        self._blocks = {case[at : at + _BLOCK] for case in self._cases for at in range(0, len(case), _BLOCK)}
        parts = {part for name in people for part in name.split()}
        self._words = {part for part in parts if part.upper() != part.lower()}
        self._names = parts - self._words

    def are_foreign(self, index: int, answer: object) -> bool:
        """Return whether the answer to the case at this index repeats a passage or a name of another case."""
        return any(self._is_foreign(index, text) for text in _texts(answer))

    def _is_foreign(self, index: int, text: str) -> bool:
        others = [place for place in range(len(self._cases)) if place != index]
        shown = self._cases[index], self._common
        for passage in self._passages(_plain(text)):
            if not any(passage in one for one in shown) and any(passage in self._cases[other] for other in others):
                return True
        cases, common = self._texts
        named = self._named(text)
        named = named and named - self._named(cases[index]) - self._named(common)
        return any(name in cases[other] for name in named for other in others)

    def _passages(self, text: str) -> Iterator[str]:
        """Yield the passages of a text that may be in a case: those that contain a block of a case."""
        starts = {
            start
            for at in range(len(text) - _BLOCK + 1)
            if text[at : at + _BLOCK] in self._blocks
            for start in range(max(0, at + _BLOCK - _PASSAGE), min(at, len(text) - _PASSAGE) + 1)
        }
        return (text[start : start + _PASSAGE] for start in sorted(starts))

    def _named(self, text: str) -> set[str]:
        """Return the names in a text: as whole words, or as any substring in scripts without capitals."""
        return self._words & set(_WORD.findall(text)) | {name for name in self._names if name in text}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text).casefold()


def _name_outside(seed: str, texts: Sequence[str]) -> str:
    """Return 6 hexadecimal digits that occur in none of these texts; a longer name costs tokens in every case."""
    name = _digest(seed, *texts)[:6]
    while any(name in text for text in texts):
        name = _digest(name, *texts)[:6]
    return name


def _digest(*texts: str) -> str:
    return hashlib.blake2b(json.dumps(texts).encode(), digest_size=6).hexdigest()
