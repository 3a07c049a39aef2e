"""Fitting a prompt: the largest share of memories within a cap."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import BaseModel

from cogitate.tasks.job import Correction
from cogitate.tasks.kind import Case, Kind, Prompt
from cogitate.workers.jobs.fitting import PromptDoesNotFit, fit
from cogitate.workers.llm.requests.tokens import Tokens, corrected_tokens, estimated_parts, prompt_tokens


class Note(BaseModel):
    text: str


class Remembering:
    """A kind whose prompt is 64 lines at most."""

    name = "remembering"

    def __init__(self) -> None:
        self.shares: list[float] = []

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        self.shares.append(memory_share)
        lines = [f"- {number} is a number" for number in range(int(64 * memory_share))]
        return Prompt(system="Remember.", user="\n".join(lines), answer=Note, version="v")


def fitted(cap: int) -> tuple[Prompt, Remembering]:
    kind = Remembering()
    case = cast(Case, SimpleNamespace())
    return fit(cast(Kind, cast(Any, kind)), case, cap), kind


def test_fit_keeps_everything_when_it_fits() -> None:
    prompt, kind = fitted(100_000)
    assert len(prompt.user.splitlines()) == 64
    assert kind.shares == [1.0]


@pytest.mark.parametrize("cap", [120, 200, 333, 500])
def test_fit_takes_the_largest_share_that_fits(cap: int) -> None:
    prompt, kind = fitted(cap)
    shown = len(prompt.user.splitlines())
    assert prompt_tokens(prompt) <= cap
    one_more = kind.prompt(cast(Case, SimpleNamespace()), (shown + 1) / 64)
    assert prompt_tokens(one_more) > cap


def test_fit_reports_a_bare_prompt_that_is_too_long() -> None:
    with pytest.raises(PromptDoesNotFit, match=r"remembering prompt has about \d+ tokens .* cap of 20"):
        fitted(20)


def spoken(text: str) -> Prompt:
    return Prompt(system="Say.", user=text, answer=Note, version="v")


@pytest.mark.parametrize("correction", [700, 1_000, 1_400])
def test_a_prompt_that_is_far_too_long_is_refused_without_being_counted(
    monkeypatch: pytest.MonkeyPatch, correction: int
) -> None:
    counted: list[str] = []

    def count(text: str) -> Tokens:
        counted.append(text)
        return estimated_parts(text)

    monkeypatch.setattr("cogitate.workers.llm.requests.tokens._known_part", count)
    text = "about " * 400_000
    kind = SimpleNamespace(name="long", prompt=lambda case, share: spoken(text))
    with pytest.raises(
        PromptDoesNotFit, match=r"has 2,400,004 characters, at least 184,615 tokens, .* cap of 1000 tokens"
    ):
        fit(cast(Kind, kind), cast(Case, None), 1_000, correction=Correction(correction, correction))
    assert not [long for long in counted if len(long) > 100_000]


@pytest.mark.parametrize("correction", [700, 1_000])
def test_no_text_that_fits_is_refused_for_its_length(correction: int) -> None:
    prompt = spoken("ab instructions" + " instructions" * 5_000)  # the longest word that is one token
    factors = Correction(correction, 1_000)
    cap = corrected_tokens(prompt, factors)
    kind = SimpleNamespace(name="dense", prompt=lambda case, share: prompt)
    assert fit(cast(Kind, kind), cast(Case, None), cap, correction=factors) == prompt
