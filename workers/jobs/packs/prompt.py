"""The prompt that asks a model for several cases at once, and the reading of its answer.

What the prompts of the cases share stands once, before the cases, so that a provider can reuse its cache of it. Each
case stands in a fence whose name no text among them contains. The order of the cases follows from their jobs, because
models favour some places in a prompt (Lin et al., "BatchPrompt", ICLR 2024).
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
_BLOCK = (_PASSAGE + 1) // 2  # a passage holds one whole block of a text that is cut into blocks of this size

_LISTED, _END_OF_LISTED = "\n\n<listed>", "</listed>"
_TAG = re.compile(r"<(/?)(\w+)>")
_ENDING = re.compile(r"\n\nAnswer each of the \d+ cases between tags with ([0-9a-f]{6})\.\Z")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[^\W_]+")


class PackedPrompt(NamedTuple):
    """A prompt for several cases, which have the numbers from 1 in their order."""

    prompt: Prompt
    shared: str  # what is said for all cases, without the texts that some list
    cases: tuple[str, ...]  # what each adds
    whole: tuple[str, ...]  # the same with what is said for all


def order_of(run: str, jobs: Sequence[str]) -> list[int]:
    """Return the order of cases by the ids of their jobs: a permutation that only these decide."""
    seed = _digest(run, *sorted(jobs))
    return sorted(range(len(jobs)), key=lambda i: (_digest(seed, jobs[i]), jobs[i]))


def packed(prompts: Sequence[Prompt], seed: str, *, by_name: bool = False) -> PackedPrompt:
    """Return one prompt for these of one kind, with one system prompt and one class of answer, in their order.

    Args:
        by_name: whether each case stands in full and has a named answer, whose schema holds its choices. A weak model
            does not read short forms, nor write lists in the right order.
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
    if short.told:
        lines = (f"{numbered(index)} {text}" for index, text in enumerate(short.told))
        listed = "\n".join((_LISTED, *lines, _END_OF_LISTED))
    user = _fenced(begin + listed + end, short.cases, name)
    if (short.before or short.after or short.told) and [text for _, _, text in cases_in("", user)] == users:
        shared, cases = begin + end, short.cases
    else:  # such as a template of a host that has no dates, or writes them in another way
        user = _fenced(shared, cases, name)
    form = f'{{"answers": [{layout(full_schema(first.answer))}, …]}}'
    system, answer = first.system + INSTRUCTION + _IN_ROWS + form, answers_class(first.answer)
    return PackedPrompt(replace(first, system=system, user=user, answer=answer), shared, cases, whole)


def _fenced(common: str, cases: Sequence[str], name: str) -> str:
    fences = (f'<case-{name} number="{number}">\n{case}\n</case-{name}>' for number, case in enumerate(cases, 1))
    return common + "\n\n".join(fences) + f"\n\nAnswer each of the {len(cases)} cases between tags with {name}."


def cases_in(system: str, user: str) -> list[tuple[int, str, str]]:
    """Return the number of each case in a packed prompt, with the system and the user message of its own prompt.

    An ordinary prompt has none.
    """
    numbers, shared, found = _read_pack(user)
    cases = restored(found) if isinstance(found, Condensed) else found
    system = system.rpartition(INSTRUCTION)[0] or system
    return [(number, system, shared + case) for number, case in zip(numbers, cases, strict=True)]


def texts_of(user: str) -> list[Mapping[str, str]]:
    """Return the texts that stand as something shorter in each case of a packed prompt, by that."""
    _, _, found = _read_pack(user)
    return [*texts_by_number(found)] if isinstance(found, Condensed) else [{}] * len(found)


def _read_pack(user: str) -> tuple[list[int], str, Condensed | Sequence[str]]:
    """Return the numbers of the cases of a packed prompt, what stands before them, and the cases."""
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
    told = tuple(line.partition(" ")[2] for line in listed.strip("\n").split("\n") if line)
    return numbers, shared, Condensed(before, after, cases, told)


def shared_part(users: Sequence[str]) -> str:
    """Return the paragraphs with which all these texts begin, up to one that is between no tags."""
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
    """Return the class of the answers to several cases, in rows. A row's answer is read by itself afterwards.

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
    """Return the name of the answer to a case, in an object of the answers to several."""
    return f"case_{number}"


@lru_cache(maxsize=256)
def answers_by_name(answer: type[BaseModel], cases: int) -> type[BaseModel]:
    """Return the class of the answers to so many cases, by name. Each is read by itself afterwards.

    Raises:
        TypeError: if no schema can express `answer`.
    """
    one = Annotated[Any, WithJsonSchema(full_schema(answer))]
    fields: dict[str, Any] = {case_field(number): (one, None) for number in range(1, cases + 1)}
    return create_model(f"{answer.__name__[:50]}Pack", __base__=Answer, **fields)


def answers_by_case(value: BaseModel, cases: int) -> Mapping[int, object]:
    """Return the answers by their cases' numbers; none for a number that repeats or that no case has."""
    if not hasattr(value, "answers"):
        named = ((number, getattr(value, case_field(number), None)) for number in range(1, cases + 1))
        return {number: answer for number, answer in named if answer is not None}
    answers: Sequence[tuple[int, object]] = value.answers
    times = Counter(number for number, _ in answers)
    return {number: answer for number, answer in answers if times[number] == 1 and 1 <= number <= cases}


def in_full(answer: object, texts: Mapping[str, str]) -> object:
    """Return an answer with these texts instead of what stands for them in its case."""
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
    """Finds what the answer to one case takes from another: a passage or a name that its own prompt does not show.

    Args:
        people: names of people whom the cases may mention.
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
        """Return whether an answer repeats a passage or a name of another case than that with this index."""
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
        """Yield the passages of a text that may be in a case: each in a case contains one of its blocks whole."""
        starts = {
            start
            for at in range(len(text) - _BLOCK + 1)
            if text[at : at + _BLOCK] in self._blocks
            for start in range(max(0, at + _BLOCK - _PASSAGE), min(at, len(text) - _PASSAGE) + 1)
        }
        return (text[start : start + _PASSAGE] for start in sorted(starts))

    def _named(self, text: str) -> set[str]:
        """Return the names in a text: words of it, or in scripts without capitals any part."""
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
    """Return 6 hexadecimal digits that none of these texts contains; longer ones cost tokens in every case."""
    name = _digest(seed, *texts)[:6]
    while any(name in text for text in texts):
        name = _digest(name, *texts)[:6]
    return name


def _digest(*texts: str) -> str:
    return hashlib.blake2b(json.dumps(texts).encode(), digest_size=6).hexdigest()
