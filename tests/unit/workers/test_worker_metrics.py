"""What a worker counts of its attempts."""

from __future__ import annotations

from workers.jobs.metrics import REGISTRY, attempted


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"cogitate_{name}", labels) or 0.0


def test_each_attempt_is_counted_with_its_time_and_its_tokens() -> None:
    for _ in range(2):
        attempted("own", "heuristic", "server", 3.0, "strong", 40)
    attempted("own", "llm", "", 0.5, "strong", 7)
    assert counted("attempts_total", kind="own", source="heuristic", failure="server") == 2
    assert counted("attempts_total", kind="own", source="llm", failure="") == 1
    assert counted("attempt_seconds_sum", kind="own", source="heuristic") == 6.0
    assert counted("attempt_seconds_bucket", kind="own", source="llm", le="0.5") == 1
    assert counted("tokens_total", kind="own", model="strong") == 87


def test_an_attempt_without_a_model_adds_no_series_of_tokens() -> None:
    attempted("plain", "heuristic", "", 0.01, "", 0)
    assert REGISTRY.get_sample_value("cogitate_tokens_total", {"kind": "plain", "model": ""}) is None
