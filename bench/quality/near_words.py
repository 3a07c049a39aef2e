"""`python -m bench near-words`: build the table of words with similar meanings (`meanings/near_words.txt`).

The vectors are GloVe's in text form: one word with its numbers per line, most frequent words first. The vector of a
stem is the sum of its forms' vectors, weighted by frequency. The mean and the first principal component, which all
words share, are subtracted (Mu and Viswanath 2018, "All-but-the-Top"). Two stems are near if each is among the other's
nearest.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cogitate.memory.language.text import stems

WORDS = 12_000  # the most frequent ones
NEAREST = 20
LEAST = 0.6  # cosine
_AT_ONCE = 1_000  # rows of similarities in memory

#: Groups of people. The vectors were trained on news, which would associate these with war and crime.
_PEOPLE = """
abortion african afrikaner albanian american apartheid arab armenian asian australian austrian azeri bangladeshi
belarusian belgian bishop black bosnian brazilian british buddhist bulgarian burmese canadian catholic caucasian
chechen chilean chinese christian colombian croat croatian cuban czech danish druze dutch egyptian english ethnic
ethnicity european evangelical feminist filipino finnish foreigner french fundamentalist gay gender georgian german
greek gypsy haitian hindu hispanic holocaust homeless homosexual hungarian hutu immigrant indian indigenous
indonesian iranian iraqi irish islam islamic islamist israeli italian japanese jew jewish jihad judaism kenyan
korean kurd kurdish kuwaiti latin latino lebanese lesbian libyan lutheran macedonian malay malaysian maronite
mexican migrant mormon moroccan moslem mosque muslim nazi negro nepalese nigerian norwegian orthodox ottoman
pakistani palestinian pashtun persian peruvian polish portuguese pregnancy prostitute protestant qaeda qaida quran
race racial racism racist rape rapist refugee rican roman romanian russian rwandan saudi scottish secular serb
serbian settler sex sexual shiite sikh slave slavery slovak somali spanish sudanese sunni swedish swiss syrian
taiwanese taliban tamil terror terrorism terrorist thai tibetan torture tunisian turk turkish tutsi ukrainian
venezuelan vietnamese welsh white yemeni zionist
"""


def lines(vectors: Path) -> list[str]:
    """Return the lines of the table: a stem, and the stems near it that begin no earlier line."""
    names, matrix = _by_stem(vectors)
    nearest = _nearest(names, matrix)
    found: list[str] = []
    for place, name in enumerate(names):
        mutual = [other for other in nearest[place] if other > place and place in nearest[other]]
        if mutual:
            found.append(" ".join((name, *(names[other] for other in mutual))))
    return found


def _by_stem(vectors: Path) -> tuple[list[str], NDArray[np.float32]]:
    names, sums = sums_by_stem(vectors, WORDS)
    matrix = sums - sums.mean(axis=0)
    shared = np.linalg.svd(matrix, full_matrices=False)[2][0]
    matrix -= np.outer(matrix @ shared, shared)
    return names, matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def sums_by_stem(vectors: Path, words: int) -> tuple[list[str], NDArray[np.float32]]:
    """Return the stems of the first words in a file of vectors, in order, with the sums of their forms' vectors."""
    people = set(stems(_PEOPLE))
    rows: dict[str, list[NDArray[np.float32]]] = {}
    with vectors.open(encoding="utf-8") as file:
        for line in islice(file, words):
            word, *numbers = line.split()
            stem = stems(word)
            if word.isascii() and word.isalpha() and len(word) > 2 and len(stem) == 1 and stem[0] not in people:
                rows.setdefault(stem[0], []).append(np.array(numbers, dtype=np.float32))
    return list(rows), np.stack([_weighed(forms) for forms in rows.values()])


def _weighed(forms: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    return sum((row / np.float32(place) for place, row in enumerate(forms[1:], start=2)), start=forms[0])


def _nearest(names: list[str], matrix: NDArray[np.float32]) -> list[list[int]]:
    """Return the indices of each stem's nearest stems, nearest first."""
    found: list[list[int]] = []
    for start in range(0, len(names), _AT_ONCE):
        likeness = matrix[start : start + _AT_ONCE] @ matrix.T
        for row, values in enumerate(likeness):
            values[start + row] = -1
            best = np.argsort(-values, kind="stable")[:NEAREST]
            found.append([int(place) for place in best if values[place] >= LEAST])
    return found
