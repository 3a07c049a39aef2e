"""Every failure of an endpoint for every kind that calls a model: the job's result, calls, charge and log events.

`ROWS` is the table of docs/reference/failures.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from cogitate.hosting.inline import InlinePublisher
from cogitate.hosting.shortfalls import AT_ONCE
from cogitate.ops.fake_llm.faults import FAULTS, status_of
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.fake_llm.stats import Stats
from cogitate.tasks.kind import Kind
from cogitate.tasks.registry import kind_of, kinds
from cogitate.workers.llm.replies.failures import FAILURE_KINDS, FailureKind
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.workers.failure_case import CLAIMS, KINDS, Outcome, publish_at_once, think
from tests.ports import free_ports
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "reference" / "failures.md").read_text()
HEADING = f"| the endpoint | `--fault` | class | calls | tokens | source | events |\n|{' --- |' * 7}"
SHORT = 3.0  # the deadline in seconds of a job whose endpoint never answers in time


class Row(NamedTuple):
    what: str  # what the endpoint does
    fault: str  # the fault of the fake endpoint; "" if no server listens
    failure: FailureKind | None  # its class; None if the answer is usable
    calls: Literal["0", "1", "2", "each claim"]
    tokens: Literal["none", "reported", "estimate", "upper bound"]
    also: str = ""  # a log event besides those of every failure

    @property
    def events(self) -> set[str]:
        """Return the expected log events."""
        usual = ["llm.failed", "job.degraded"] if self.failure else []
        usual += ["endpoint.unreachable"] if self.failure in AT_ONCE else []
        return {*usual, self.also} - {""}

    @property
    def source(self) -> str:
        """Return the source of the job's result."""
        return "heuristic" if self.failure else "llm"

    def markdown(self) -> str:
        """Return the row as Markdown."""
        fault = f"`{self.fault}`" if self.fault else ""
        events = ", ".join(f"`{event}`" for event in sorted(self.events))
        failure = f"`{self.failure}`" if self.failure else ""
        cells = self.what, fault, failure, self.calls, self.tokens, self.source, events
        return "| " + " | ".join(cells) + " |"


ROWS = [
    Row("refuses the connection", "", "connection", "0", "none"),
    Row("closes it without an answer", "close", "connection", "each claim", "upper bound"),
    Row("resets it during the answer", "reset", "connection", "each claim", "upper bound"),
    Row("hangs before the headers", "hang", "timeout", "1", "upper bound"),
    Row("sends byte by byte past the deadline", "drip", "timeout", "1", "upper bound"),
    Row("the same, headers too", "drip_headers", "timeout", "1", "upper bound"),
    Row("refuses the key", "401", "auth", "1", "none"),
    Row("forbids the call", "403", "forbidden", "1", "none"),
    Row("reports an empty account", "quota", "quota_exhausted", "1", "none"),
    Row("does not know the model", "404", "model_missing", "1", "none"),
    Row("is behind a proxy that refuses the worker", "407", "proxy", "1", "none"),
    Row("is behind a login page", "511", "blocked", "each claim", "none"),
    Row("times out", "408", "timeout", "each claim", "upper bound"),
    Row("times out, retry after a second", "408:1", "timeout", "each claim", "upper bound"),
    Row("times out, retry after the deadline", "408:3600", "timeout", "1", "upper bound"),
    Row("reports a conflict", "409", "conflict", "each claim", "none"),
    Row("reports a conflict, retry after a second", "409:1", "conflict", "each claim", "none"),
    Row("reports a conflict, retry after the deadline", "409:3600", "conflict", "1", "none"),
    Row("limits the rate", "429", "rate_limited", "each claim", "none"),
    Row("limits the rate, retry after a second", "429:1", "rate_limited", "each claim", "none"),
    Row("limits the rate, retry after the deadline", "429:3600", "rate_limited", "1", "none"),
    Row("rejects the request", "418", "bad_request", "1", "none"),
    Row("fails", "500", "server", "each claim", "none"),
    Row("is a gateway without a server", "502", "server", "each claim", "none"),
    Row("is a gateway that times out", "504", "server", "each claim", "upper bound"),
    Row("is not available", "503", "overloaded", "each claim", "none"),
    Row("is overloaded", "529", "overloaded", "each claim", "none"),
    Row("fails, with status 200", "error_200", "server", "each claim", "none"),
    Row("finds the prompt too long", "overflow", "context_overflow", "2", "none", "prompt.halved"),
    Row("filters the prompt", "filter_400", "filtered", "1", "none"),
    Row("filters the answer", "filter", "filtered", "1", "reported"),
    Row("returns a refusal of the model", "refusal", "refused", "2", "reported"),
    Row("cuts the answer at its cap", "length", "truncated", "2", "reported"),
    Row("returns no choices", "no_choices", "empty", "2", "reported"),
    Row("returns no text", "blank", "empty", "2", "reported"),
    Row("answers in prose only", "not_json", "not_json", "2", "reported"),
    Row("returns incomplete JSON", "broken_json", "not_json", "2", "reported"),
    Row("sends a web page", "html", "no_completion", "each claim", "none"),
    Row("returns wrong types", "wrong_types", "wrong_schema", "2", "reported"),
    Row("answers with another schema", "wrong_schema", "wrong_schema", "2", "reported"),
    Row("never stops sending", "huge", "too_large", "1", "upper bound"),
    Row("wraps the JSON in prose", "prose", None, "1", "reported"),
    Row("wraps the JSON in a code fence", "fenced", None, "1", "reported"),
    Row("reports no usage", "no_usage", None, "1", "estimate", "llm.no_usage"),
    Row("reports NaN as usage", "nan_usage", None, "1", "estimate", "llm.no_usage"),
    Row("reports negative usage", "negative_usage", None, "1", "estimate", "llm.no_usage"),
]


@pytest.mark.parametrize("row", ROWS, ids=[row.fault or "refused" for row in ROWS])
def test_every_kind_survives_every_failure(
    row: Row, valkey: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InlinePublisher, "publish", publish_at_once)
    deadline = SHORT if status_of(row.fault) is None and row.failure == "timeout" else 60.0
    with FakeEndpoint(faults={row.fault: 1.0} if row.fault else {}) as endpoint, valkey.client() as client:
        found = think(tmp_path, client, endpoint.url if row.fault else _nobody(), deadline=deadline)
        served = endpoint.stats()
    for kind in KINDS:
        check(row, kind_of(kind), found[kind], served)


def check(row: Row, kind: Kind, found: Outcome, served: Stats) -> None:
    """Check that the outcome of one kind matches the row."""
    name, note = kind.name, found.note
    calls = CLAIMS if row.calls == "each claim" else int(row.calls)
    attempts = calls if row.fault else CLAIMS
    assert (found.end, note.source, note.failure) == ("applied", row.source, row.failure or ""), name
    assert (found.spent.calls, served.requests_by_model.get(name, 0), note.attempts) == (calls, calls, attempts), name
    assert found.events == row.events, name
    assert found.failures == ({row.failure: attempts} if row.failure else {}), name
    tokens, told = found.spent.tokens, served.tokens_by_model.get(name, 0)
    if row.tokens in ("none", "reported"):
        assert (tokens, note.unreported) == (told, False), name
        assert (tokens == 0) == (row.tokens == "none"), name
    else:
        least = kind.output_cap if row.tokens == "upper bound" else 1
        assert calls * least < tokens <= calls * found.reserved.tokens, name
        assert note.unreported, name


def test_the_table_has_every_failure_and_every_fault() -> None:
    elsewhere = {"unsupported", "no_time", "dns", "tls"}  # failures of requests, deadlines and connections
    assert ({row.failure for row in ROWS} | elsewhere) - {None} == set(FAILURE_KINDS)
    assert {row.fault for row in ROWS if row.fault and status_of(row.fault) is None} == set(FAULTS)


def test_the_page_has_the_table() -> None:
    assert "\n".join([HEADING, *(row.markdown() for row in ROWS)]) in PAGE
    assert [kind.name for kind in kinds() if kind.name != "prune"] == list(KINDS)
    assert ", ".join(KINDS[:-1]) + f" and {KINDS[-1]}" in " ".join(PAGE.split())


def _nobody() -> str:
    """Return a URL at which no server listens."""
    return f"http://127.0.0.1:{free_ports()}/v1"
