"""Similarities of entries to a query: by vectors, or from the host."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from cogitate.memory.entry import Entry
from cogitate.memory.errors import CogitateError, InputError, quoted, text_of
from cogitate.memory.retrieval.candidates import display_name, plain_words
from cogitate.memory.retrieval.vectors import cosine

_REASON = 300  # characters

#: Returns how similar each entry is to the query, in the order of the entries: higher is nearer, on any scale.
Similarity = Callable[[str, Sequence[Entry]], Iterable[float]]


class SimilarityUnavailable(CogitateError):
    """Similarities are unavailable, and the search continues without them; the message says why."""


def similarity_by_number(similarity: Similarity, query: str, entries: Sequence[Entry]) -> dict[int, float]:
    """Return the similarity of each entry to the query, by entry number.

    Raises:
        InputError: when `similarity` fails, or does not return a finite number for each entry.
        SimilarityUnavailable: when `similarity` raises it.
    """
    try:
        returned: Any = similarity(query, tuple(entries))
    except SimilarityUnavailable:
        raise
    except Exception as error:
        message = text_of(error, "ascii", "backslashreplace")[:_REASON]
        raise InputError(f"similarity failed: {type(error).__name__}: {message}") from error
    if isinstance(returned, str | bytes | Mapping) or not isinstance(returned, Iterable):
        raise InputError(f"similarity returned {quoted(returned)}: return a list with a number for each entry")
    values = list(islice(returned, len(entries) + 1))
    if len(values) != len(entries):
        count = f"{len(values)}" if len(values) < len(entries) else "too many"
        raise InputError(f"similarity returned {count} values for {len(entries)} entries: return one for each")
    return {entry.number: _finite(value) for entry, value in zip(entries, values, strict=True)}


def without_names(query: str, entries: Iterable[Entry]) -> str:
    """Return a query without the names of the entries' subjects, or unchanged if nothing else is left.

    A name makes every line of its bearer similar to the query; the measure `speaker` covers who speaks.
    """
    names = {
        word for subject in {s for e in entries for s in e.subjects} for word in plain_words(display_name(subject))
    }

    def is_name(word: str) -> bool:
        parts = {*plain_words(word)} - {"s"}  # of a possessive
        return word != word.lower() and bool(parts) and parts <= names

    left = " ".join(word for word in query.split() if not is_name(word))
    return left if any(map(str.isalnum, left)) else query


def similarities(query: str, entries: Iterable[Entry], vectors: Mapping[str, bytes | None]) -> dict[int, float]:
    """Return the cosine of each entry's vector and the query's, by entry number; none without the query's vector.

    Args:
        vectors: by text; None for a text without one.
    """
    target = vectors.get(query)
    if target is None:
        return {}
    near = {text: cosine(target, vector) for text, vector in vectors.items() if vector is not None}
    return {entry.number: near[entry.text] for entry in entries if entry.text in near}


def _finite(value: Any) -> float:
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"similarity returned {quoted(value)} for an entry: return a finite number for each")
    return number
