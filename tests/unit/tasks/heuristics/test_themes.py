"""The order of sentences by their nearness to the centre of a period."""

from __future__ import annotations

from random import Random

from cogitate.tasks.heuristics.themes import Part, Sentence, most_central, scores, word_weights


def test_sentences_come_in_the_order_of_their_centrality_whatever_was_told() -> None:
    chance = Random(1)
    for _ in range(50):
        stems = [frozenset(chance.sample("abcdefghij", chance.randint(1, 6))) for _ in range(30)]
        sentences = [
            Sentence(Part("".join(sorted(one)), one), at, chance.randint(2, 9)) for at, one in enumerate(stems)
        ]
        weights = word_weights(sentences, {})
        scored, told = scores(sentences, weights), frozenset[str]()
        for _ in range(3):
            ranked = sorted(scores(sentences, weights, told), key=lambda one: -one[0])
            least = ranked[10][0]
            expected = [sentence for score, sentence in ranked if score >= least]
            assert [*most_central(scored, weights, told, least)] == expected
            told |= expected[0].part.stems
