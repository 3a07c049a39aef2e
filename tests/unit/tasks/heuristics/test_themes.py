"""The weights of the words of a period, and the nearness of its sentences to its centre."""

from __future__ import annotations

from cogitate.tasks.heuristics.themes import Part, Sentence, nearness, sentence_of, weights_of


def told(at: int, *words: str, importance: int = 5) -> Sentence:
    return sentence_of(Part(" ".join(words), frozenset(words), stands=True), at, importance)


def test_a_repeated_word_weighs_more_and_an_old_one_less() -> None:
    sentences = [told(0, "mill"), told(1, "goat")]
    weights = weights_of(sentences, {})
    assert weights["mill"] == weights["goat"]
    repeated = weights_of(sentences, {1: 3})
    assert repeated["goat"] > repeated["mill"] == weights["mill"]
    old = weights_of(sentences, {}, ["The mill turns.", "The mill stops."])
    assert old["mill"] < old["goat"] == weights["goat"]


def test_a_sentence_of_heavier_words_is_nearer() -> None:
    sentences = [told(0, "mill", "fire"), told(1, "mill", "goat"), told(2, "mill", "fire")]
    weights = weights_of(sentences, {})
    assert nearness(sentences[0], weights) > nearness(sentences[1], weights)
    assert nearness(told(0, "mill", importance=9), weights) > nearness(told(0, "mill"), weights)
