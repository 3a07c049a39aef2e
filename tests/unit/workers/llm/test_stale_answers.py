"""Answers to another request: recognised by the id that they name, or as a copy of an earlier answer."""

from __future__ import annotations

import re

import pytest

from cogitate.workers.llm.http import REQUEST_ID, StaleAnswers
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer

MOST = 1_000  # earlier answers that are recognised


def test_each_request_has_a_unique_id_and_each_pool_a_name() -> None:
    one, other = StaleAnswers(), StaleAnswers()
    ids = [one.new_request_id() for _ in range(3)] + [other.new_request_id()]
    assert len(set(ids)) == 4
    assert [re.fullmatch(r"cogitate-[0-9a-f]{16}-(\d+)", found)[1] for found in ids] == ["1", "2", "3", "1"]  # type: ignore[index]


@pytest.mark.parametrize("head", [True, False])
def test_an_answer_that_names_another_request_is_recognised(head: bool) -> None:
    answers = StaleAnswers()
    first, second = answers.new_request_id(), answers.new_request_id()
    foreign = StaleAnswers().new_request_id()

    def names_another(*named: str, before: int = 0) -> bool:
        text = " ".join(named)
        headers = {REQUEST_ID: text} if head else {}
        content = b"" if head else b"x" * before + b'{"id": "' + text.encode() + b'"}'
        return answers.names_another(second, headers, content)

    assert not names_another()
    assert not names_another(second)
    assert names_another(first)
    assert names_another(second, first), "one of them is enough"
    assert names_another(first, second)
    assert not names_another(foreign), "it says nothing of a request of this pool"
    if not head:
        assert names_another(first, before=400 - 8 - len(first))
        assert not names_another(first, before=400), "only the beginning of an answer is looked at"
        assert not answers.names_another(second, {}, b"\xff")


def test_an_answer_that_answered_another_question_is_a_copy() -> None:
    answers = StaleAnswers()
    assert not answers.is_copy(b"Why?", b"Because.", reused=True)
    assert not answers.is_copy(b"Why?", b"Because.", reused=True), "the same question may have it again"
    assert answers.is_copy(b"How?", b"Because.", reused=True)
    assert not answers.is_copy(b"How?", b"So.", reused=True)
    assert not answers.is_copy(b"Why?", b"Because.", reused=True), "it is still the first one's"


def test_an_answer_with_the_completion_id_of_another_question_is_refused_whatever_else_it_says() -> None:
    answers = StaleAnswers()

    def completion(named: str, text: str) -> bytes:
        return f'{{"id": "{named}", "choices": ["{text}"]}}'.encode()

    unique, constant = "chatcmpl-8xKq2Zp7Vd", "chatcmpl-1"
    assert not answers.is_copy(b"Why?", completion(unique, "Because."), reused=True)
    assert not answers.is_copy(b"Why?", completion(unique, "Because. "), reused=True), "the same question"
    assert answers.is_copy(b"How?", completion(unique, "Because, late."), reused=True)
    assert not answers.is_copy(b"How?", completion("chatcmpl-9aBc3Yt8We", "So."), reused=True)
    assert not answers.is_copy(b"Why?", completion(constant, "Because!"), reused=True)
    assert not answers.is_copy(b"How?", completion(constant, "So!"), reused=True), "an id that short is not unique"


def test_an_answer_that_comes_again_on_a_new_connection_is_the_endpoints_own() -> None:
    answers = StaleAnswers()
    answers.is_copy(b"Why?", b"Because.", reused=False)
    assert not answers.is_copy(b"How?", b"Because.", reused=False)
    assert not answers.is_copy(b"When?", b"Because.", reused=True)
    fresh = StaleAnswers()
    fresh.is_copy(b"Why?", b"Because.", reused=False)
    assert fresh.is_copy(b"How?", b"Because.", reused=True), "that it was new for the first answer says nothing"


def test_a_repeated_answer_says_nothing_about_others() -> None:
    answers = StaleAnswers()
    answers.is_copy(b"Why?", b"Because.", reused=True)
    answers.is_copy(b"Where?", b"Here.", reused=True)
    assert not answers.is_copy(b"How?", b"Because.", reused=False)
    assert answers.is_copy(b"When?", b"Here.", reused=True)


def test_an_answer_that_a_question_has_twice_is_the_endpoints_own() -> None:
    """So a question is refused once, also where all connections are always in use."""
    answers = StaleAnswers()
    answers.is_copy(b"Why?", b"Because.", reused=True)
    assert answers.is_copy(b"How?", b"Because.", reused=True)
    assert answers.is_copy(b"When?", b"Because.", reused=True), "another question is no second time"
    assert not answers.is_copy(b"How?", b"Because.", reused=True)
    assert not answers.is_copy(b"Who?", b"Because.", reused=True)


def test_a_bounded_number_of_repeated_and_refused_answers_is_kept() -> None:
    repeated, refused = StaleAnswers(), StaleAnswers()
    for number in range(MOST + 1):
        for answers, reused in ((repeated, False), (refused, True)):
            answers.is_copy(b"Why?", b"%d" % number, reused=reused)
            answers.is_copy(b"How?", b"%d" % number, reused=reused)
    assert not repeated.is_copy(b"When?", b"%d" % MOST, reused=True)
    assert not repeated.is_copy(b"When?", b"1", reused=True)
    assert not refused.is_copy(b"How?", b"%d" % MOST, reused=True)
    assert not refused.is_copy(b"How?", b"1", reused=True)
    assert len(repeated._repeated) == len(refused._refused) == MOST


def test_a_bounded_number_of_earlier_answers_is_recognised() -> None:
    for others, copy in ((MOST - 1, True), (MOST, False)):
        answers = StaleAnswers()
        answers.is_copy(b"Why?", b"Because.", reused=True)
        for number in range(others - 1):
            answers.is_copy(b"Q", b"%d" % number, reused=True)
        answers.is_copy(b"Q", b"last", reused=True)
        assert answers.is_copy(b"How?", b"Because.", reused=True) is copy


def test_answers_without_an_id_are_not_stale() -> None:
    answer = ModelAnswer(usage=None, failure=Failure(kind="server"))  # type: ignore[arg-type]
    assert (answer.prompt_tokens, answer.reasoning, answer.estimated, answer.text) == (0, 0, False, "")
    assert answer.failure is not None
    assert (answer.failure.context, answer.failure.status, answer.failure.retry_after) == (0, None, None)
