"""Keys that an endpoint repeats: replaced in whatever case and spelling, in all that is kept of a reply."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from cogitate.workers.llm.client import Redaction
from cogitate.workers.llm.replies.failures import Failure
from cogitate.workers.llm.replies.reply import Reply, read_completion, validated


class Mood(BaseModel):
    word: str
    strength: int


KEY = "sk-Own/Key_4711"
REDACTION = Redaction([KEY, "a-password-too", "none"])


def test_a_key_is_replaced_and_a_text_that_hides_it_is_left_out(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        (f"not {KEY}!", "not [key]!"),
        (f"{KEY.lower()} {KEY.upper()}", "[key] [key]"),
        ("Basic A-Password-Too", "Basic [key]"),
        ("none of it: any word may be so short", "none of it: any word may be so short"),
        (f"{KEY[:-1]} is another", f"{KEY[:-1]} is another"),
        (r"C:\user\uffff é \u00e9", r"C:\user\uffff é \u00e9"),
        (KEY.replace("-", r"\u002d"), ""),
        (KEY.replace("/", r"\/"), ""),
        (KEY.replace("-", r"\\\\u002D"), ""),
        (KEY.replace("-", "\\" * 31 + "u002d"), ""),
        ("\u200b".join(KEY), ""),
        (r"\u200b".join(KEY), ""),
        (r"\u0000".join(KEY), ""),
    ]
    for said, kept in cases:
        with subtests.test(said=said):
            assert REDACTION.of_text(said) == kept


def test_without_a_real_key_texts_are_unchanged() -> None:
    assert Redaction(["none", ""]).of_text("none of it") == "none of it"
    assert Redaction(["k" * 12]).of_text("k" * 12) == "[key]"


def test_a_key_split_over_a_stream_is_redacted() -> None:
    text = json.dumps({"word": KEY})
    chunks = [{"choices": [{"index": 0, "delta": {"content": text[at : at + 4]}}]} for at in range(0, len(text), 4)]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    content = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()
    reply = REDACTION.of_reply(read_completion(content, {}))
    assert reply.text == '{"word": "[key]"}'


def test_an_errors_code_is_kept_without_the_key() -> None:
    key = "sk_own_key_4711"
    failure = Failure(kind="auth", detail=f"bad_{key}", status=401)
    assert Redaction([key.upper()]).of_reply(Reply(failure=failure)) == Reply(
        failure=Failure(kind="auth", detail="bad_[key]", status=401)
    )


def test_an_answer_that_contains_a_key_is_refused() -> None:
    told = Reply(text=json.dumps({"word": KEY.replace("-", "\u200b-"), "strength": 1}))
    value, failure = validated(REDACTION.of_reply(told), Mood)
    assert value is None
    assert failure is not None
    assert failure.kind == "not_json"


def test_a_key_that_starts_with_another_is_redacted_whole() -> None:
    longer = f"{KEY}-and-more"
    for keys in ([KEY, longer], [longer, KEY]):
        assert Redaction(keys).of_text(f"{longer}, {KEY}.") == "[key], [key]."
