"""`python -m bench word-vectors`: build the table of word vectors (`meanings/word_vectors.txt`).

The vectors are those of GloVe in their text form, as for `near_words`, which says how the forms of a stem are summed.
The mean and the first principal components, which all words share, are taken off (Mu and Viswanath 2018,
"All-but-the-Top"); the next ones are kept.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.quality.near_words import sums_by_stem

WORDS = 30_000  # the most frequent ones
SHARED = 2  # components that all words share
KEPT = 32  # components
_SCALE = 127  # of numbers from -1 to 1


def lines(vectors: Path) -> list[str]:
    """Return the lines of the table: a stem and its numbers, the most frequent first."""
    names, sums = sums_by_stem(vectors, WORDS)
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    centred = sums - sums.mean(axis=0)
    components = np.linalg.svd(centred, full_matrices=False)[2][SHARED : SHARED + KEPT]
    kept: NDArray[np.float32] = centred @ components.T
    kept /= np.linalg.norm(kept, axis=1, keepdims=True)
    numbers = np.rint(kept * _SCALE).astype(np.int8)
    return [f"{name} {b64encode(row.tobytes()).decode('ascii')}" for name, row in zip(names, numbers, strict=True)]
