"""The end of a sentence, in any script."""

from __future__ import annotations

import pytest

from cogitate.memory.language.sentences import has_end, split_sentences, with_end


def test_a_sentence_ends_with_one_full_stop_of_its_script(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("She left", "She left."),
        ("She left?", "She left."),
        ("他走了", "他走了。"),
        ("他走了。", "他走了。"),
        ("他走了，", "他走了。"),
        ("「行こう」と言った", "「行こう」と言った。"),
        ("वह चला गया", "वह चला गया।"),
        ("वह चला गया।", "वह चला गया।"),
        ("เขาไปแล้ว", "เขาไปแล้ว"),  # Thai has no full stop
        ("ذهب", "ذهب."),
        ("Он ушёл…", "Он ушёл…"),
        ("그는 갔다", "그는 갔다."),
        ("", ""),
    ]
    for text, ended in cases:
        with subtests.test(text=text):
            assert with_end(text) == ended
            assert not ended or has_end(ended) or ended == text


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("他来了。他走了！真的？", ["他来了。", "他走了！", "真的？"]),
        ("他说：「走吧。」我走了。", ["他说：「走吧。」", "我走了。"]),
        ("वह आया। वह गया।", ["वह आया।", "वह गया।"]),
        ("هل جاء؟ نعم، جاء.", ["هل جاء؟", "نعم، جاء."]),
        ("Пришёл. Ушёл.", ["Пришёл.", "Ушёл."]),
    ],
)
def test_sentences_end_with_the_marks_of_their_script(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences
