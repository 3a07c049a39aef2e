"""The order of sentences by their nearness to the centre of a period."""

from __future__ import annotations

from random import Random

import pytest

from cogitate.tasks.heuristics.themes import Centre, Part, Sentence, Words, sentence_of


def drawn(chance: Random, count: int) -> list[Sentence]:
    """Draw sentences of few words, so that many share some."""
    stems = [frozenset(chance.sample("abcdefghij", chance.randint(1, 6))) for _ in range(count)]
    return [sentence_of(Part("".join(sorted(one)), one), at, chance.randint(2, 9)) for at, one in enumerate(stems)]


def test_sentences_come_in_the_order_of_their_centrality_whatever_was_told() -> None:
    chance = Random(1)
    for _ in range(50):
        sentences, words = drawn(chance, 30), Words()
        words.add(sentences)
        weights = words.weights(())
        centre, told = Centre(sentences, weights), frozenset[str]()

        def centrality(one: Sentence, told: frozenset[str], weights: dict[str, float]) -> float:
            return sum(weights[w] / (1 + (w in told)) for w in one.part.stems) * one.scale

        for _ in range(3):
            scores = {one: centrality(one, told, {**weights}) for one in sentences}
            expected = sorted(sentences, key=lambda one: (-round(scores[one], 9), one.number))
            least = scores[expected[10]] - 1e-9
            found = [*centre.nearest(told, least)]
            assert [one for _, one in found] == [one for one in expected if scores[one] >= least]
            assert [score for score, _ in found] == pytest.approx([scores[one] for _, one in found])
            told |= expected[0].part.stems


def test_a_word_weighs_by_importance_and_repeats_and_less_if_it_is_old() -> None:
    once, again = (sentence_of(Part(text, frozenset({text})), at, 5) for at, text in enumerate(("mill", "goat")))
    words = Words()
    words.add([once, again])
    assert words.weights(())["mill"] == words.weights(())["goat"]
    repeated = words.weights([(again, 3)])
    assert repeated["goat"] > repeated["mill"] == words.weights(())["mill"]
    old = words.weights((), ["The mill turns.", "The mill stops."])
    assert old["mill"] < old["goat"] == words.weights(())["goat"]
