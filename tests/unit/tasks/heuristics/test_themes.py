"""The order of sentences by their nearness to the centre of a period."""

from __future__ import annotations

from random import Random

from cogitate.tasks.heuristics.themes import Part, centrality, most_central, ranking, sentence_of, word_weights


def test_sentences_come_in_the_order_of_their_centrality_whatever_was_told() -> None:
    chance = Random(1)
    for _ in range(50):
        stems = [frozenset(chance.sample("abcdefghij", chance.randint(1, 6))) for _ in range(30)]
        sentences = [
            sentence_of(Part("".join(sorted(one)), one), at, chance.randint(2, 9)) for at, one in enumerate(stems)
        ]
        weights = word_weights(sentences, {})
        ranked, told = ranking(sentences, weights), frozenset[str]()
        for _ in range(3):
            expected = sorted(sentences, key=lambda one: -centrality(one, weights, told))
            least = centrality(expected[10], weights, told)
            expected = [one for one in expected if centrality(one, weights, told) >= least]
            assert [*most_central(ranked, weights, told, least)] == expected
            told |= expected[0].part.stems
