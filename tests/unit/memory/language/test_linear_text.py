"""Work on text that others write grows with its length and no faster, whatever the text.

A text is doubled, and doubled twice more. Work that is linear grows as much as the text; quadratic work grows as much
again. Work is the thread's own processor time, the least of runs that take turns, in ratio to that for the text at
first. What the machine does beside only adds to it, so there are as many runs as it takes to see work that is linear,
up to a bound that is counted in runs and in the thread's own time: of quadratic work the least of any number of runs
is too much.
"""

from __future__ import annotations

import gc
import math
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.language.text import WHITE_SPACE, normalized
from tests.unit.memory.language.hostile_text import SHAPES, SHAPES_OF_ANSWERS, Shape
from tests.unit.memory.language.pattern_samples import PACKAGES, Used, compiled, patterns, pumps
from tests.unit.memory.language.text_functions import FUNCTIONS, FUNCTIONS_OF_ANSWERS, LISTS

LENGTH = 500  # characters at first, 4,000 in the end
TIMES = (2, 8)  # at the first of them cubic work fails, which would take minutes at the second
MOST = 3  # times the work of as many texts of the first length; quadratic work would be eight times as much
RUNS, SECONDS = 100, 20.0  # at least before a function is taken for one that is not linear: noise disturbs most runs
_CACHED = {  # by text: a cache without a bound holds the product's own tables, which no text makes it read again
    value
    for name, module in list(sys.modules.items())
    if name.startswith("cogitate.")
    for value in vars(module).values()
    if hasattr(value, "cache_info") and value.cache_info().maxsize is not None
}


@pytest.fixture(autouse=True, scope="module")
def _collector_off() -> Iterator[None]:
    """Leave out the garbage collector, whose work is not the function's."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _work(done: Callable[[], object]) -> float:
    """Return the seconds of this thread that a call takes with empty caches; call again where the clock stood still."""
    took = 0.0
    while not took:
        for cached in _CACHED:
            cached.cache_clear()
        start = time.thread_time()
        done()
        took = time.thread_time() - start
    return took


def _assert_linear(what: str, made: Callable[[int], Callable[[], object]], length: int = LENGTH) -> None:
    short = made(length)
    for times in TIMES:
        long = made(times * length)
        least = grown = math.inf
        begun, runs = time.thread_time(), 0
        while not grown <= MOST * times * least < math.inf:
            if runs >= RUNS and time.thread_time() > begun + SECONDS:
                pytest.fail(f"{what}: {times} times the length takes {grown / least:.0f} times the work")
            least, grown, runs = min(least, _work(short)), min(grown, _work(long)), runs + 1


def _of_text(function: Callable[[str], object], shape: Shape) -> Callable[[int], Callable[[], object]]:
    def made(length: int) -> Callable[[], object]:
        text = shape(length)
        return lambda: function(text)

    return made


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_text(name: str) -> None:
    for shape, made in SHAPES.items():
        _assert_linear(f"{name} of {shape}", _of_text(FUNCTIONS[name], made))


@pytest.mark.parametrize("name", FUNCTIONS_OF_ANSWERS)
def test_functions_of_answers(name: str) -> None:
    for shape, made in SHAPES_OF_ANSWERS.items():
        _assert_linear(f"{name} of {shape}", _of_text(FUNCTIONS_OF_ANSWERS[name], made))


@pytest.mark.parametrize("name", LISTS)
def test_functions_of_many_texts(name: str) -> None:
    _assert_linear(name, LISTS[name], 50)


def _assert_linear_pattern(name: str, used: Used) -> None:
    for made in (*SHAPES.values(), *pumps(used.pattern)):
        _assert_linear(f"{name} of {made(40)!r}", _of_text(used.on, made))


@pytest.mark.parametrize("package", PACKAGES)
def test_regular_expressions(package: str) -> None:
    """Check every pattern of the product on texts of the shapes and on texts that keep its own repeats busy."""
    for name, used in patterns(package).items():
        _assert_linear_pattern(name, used)


def test_regular_expressions_that_functions_make() -> None:
    """Check patterns of names and of words that are told on the same texts as those of modules."""
    made: dict[str, re.Pattern[str]] = {}
    texts = [shape(LENGTH) for shape in (*SHAPES.values(), *SHAPES_OF_ANSWERS.values())]
    with compiled(made):
        for function in (*FUNCTIONS.values(), *FUNCTIONS_OF_ANSWERS.values()):
            for text in texts:
                function(text)
    known = {used.pattern.pattern for package in PACKAGES for used in patterns(package).values()}
    new = [pattern for source, pattern in made.items() if source not in known]
    assert len(new) > 10
    for pattern in new:
        _assert_linear_pattern(pattern.pattern, Used(pattern))


def test_white_space_lists_every_unicode_space() -> None:
    assert {char for char in map(chr, range(sys.maxunicode + 1)) if char.isspace()} == set(WHITE_SPACE)


@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                "e\u0301",
                "\u1ec7",
                "\u0301",
                "\u0316",
                "\u0327",
                "\u0344",
                "\u0f71",
                "\u0f73",
                "\u0f75",
                "\u0f81",
                "\u05b0",
                "\uac00",
                "\u11a8",
                " ",
            ]
        ),
        max_size=12,
    ),
    st.lists(st.sampled_from("\u0301\u0316\u0327\u0344\u0f73\u0f75\u0f81\u05b0"), min_size=31, max_size=80),
    st.sampled_from(["NFC", "NFKD"]),
)
def test_a_normal_form_is_unicodes(before: list[str], marks: list[str], form: str) -> None:
    text = "".join([*before, *marks, *before])
    assert normalized(text, form) == unicodedata.normalize(form, text)
