"""A recorded day with an endpoint that fails in every way at once: nothing is lost, overspent or miscounted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from cogitate.ops.fake_llm.faults import FAULTS
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.fake_llm.stats import Stats
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.tasks.registry import kinds
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import summary

DEADLINE = 6  # seconds that a job has
STATUSES = ("401", "403", "404", "408", "408:1", "409", "418", "429", "429:1", "429:8", "500", "503", "529")
SLOW = dict.fromkeys(("hang", "drip", "drip_headers"), 0.003)  # each of these lasts until the job's deadline
USABLE = dict.fromkeys(("prose", "fenced", "no_usage", "nan_usage", "negative_usage"), 0.02)
OTHERS = [fault for fault in (*STATUSES, *FAULTS) if fault not in SLOW | USABLE]
RATES = SLOW | USABLE | dict.fromkeys(OTHERS, (0.3 - sum(SLOW.values())) / len(OTHERS))
WHOLE_RUN = ("run:0", "run")
KINDS = [kind.name for kind in kinds()]
SETTINGS = f"""
[time]
seconds_per_tick = 180
[budget]
limit_tokens = 300000
limits = {{ "day.kind:reflect.calls" = 150, "day.run.tokens" = 250000, "tick.run.calls" = 6 }}
[memory]
reflection_interval = 20
policy = "tokens"
token_limit = 800
[model]
tiers = {{ routine = "plan" }}
job_deadline = {DEADLINE}
"""
TUNING = '{"throttle_auto": false, "breaker_pause": 0.2, "breaker_longest_pause": 0.5}'


def configured(url: str) -> str:
    """Return a configuration with an endpoint per kind, so that a pause of one does not delay the others."""
    tables = [
        f'[model.endpoints.{kind}]\nbase_url = "{url}"\napi_key = "any"\n'
        f'[model.models.{kind}]\nendpoint = "{kind}"\nmodel = "{kind}"\n[model.kind_tiers.{kind}]\nroutine = "{kind}"\n'
        for kind in KINDS
    ]
    return SETTINGS + "".join(tables)


def test_a_recorded_day_survives_every_failure_at_once(recordings: Path, tmp_path: Path) -> None:
    """Run two days: each makes 70 to 110 requests, depending on its breakers, and meets about half of the faults."""
    requests, met, sources = 0, Counter[str](), Counter[str]()
    for seed in (4, 5):
        served, thought = live(recordings, tmp_path / str(seed), seed)
        requests += served.requests
        met.update(served.by_fault)
        sources.update(thought)
    assert min(sources["llm"], sources["heuristic"]) > 20, "some calls succeeded, and some jobs fell back to heuristics"
    failed = sum(count for fault, count in met.items() if fault not in USABLE)
    assert 0.15 < failed / requests < 0.45
    assert len(met) > len(RATES) / 2


def live(recordings: Path, folder: Path, seed: int) -> tuple[Stats, dict[str, int]]:
    """Run the day, and check its ledger against the endpoint's counts.

    Return the endpoint's counts, and the number of reflections by source. A day lasts some five seconds, so few
    reflections are the model's once an endpoint asks for a pause of eight seconds.
    """
    data_dir = folder / "data"
    folder.mkdir()
    with FakeEndpoint(faults=RATES, seed=seed) as endpoint:
        (folder / "cogitate.toml").write_text(configured(endpoint.url))
        done = summary(
            "run",
            "--recorded",
            recordings / "smallville" / "july1",
            "--run",
            "day",
            "--audit",
            "--workers",
            2,
            "--llm",
            "openai",
            data_dir=data_dir,
            COGITATE_TUNING=TUNING,
        )
        served = endpoint.stats()
    with EmbeddedServer(data_dir) as server, server.client() as client:
        assert audit(client, "day") == [], "each job has one end, among others"
        endpoints = endpoint_vitals(client)
    assert done["ticks"] == 480
    for kind, jobs in done["jobs"].items():
        still_open = sum(jobs["decision"].values()) - sum(jobs["end"].values())
        assert 0 <= still_open <= done["agents"], f"only the latest {kind} of each agent may be open at the end"
    assert all(
        line["limit"] is None or line["reserved"] + line["spent"] <= line["limit"] + line["overrun"]
        for line in done["budget"]
    )
    spent = {line["unit"]: line["spent"] for line in done["budget"] if (line["window"], line["scope"]) == WHOLE_RUN}
    # The ledger's spending is what the server counted, plus estimates for calls whose usage never arrived.
    assert spent["calls"] == served.requests + without_model(done)
    assert served.requests == sum(one.requests for one in endpoints)
    told = sum(one.tokens - one.estimated for one in endpoints)
    untold = served.prompt_tokens + served.completion_tokens - told
    meant = sum(count for fault, count in served.by_fault.items() if fault in SLOW or fault.startswith("408"))
    if sum(one.failures.get("timeout", 0) for one in endpoints) > meant:
        # On a slow machine more answers miss their deadline: the usage of those calls is estimated as well.
        assert 0 <= untold <= sum(one.estimated for one in endpoints)
    else:
        assert untold == 0
    assert spent["tokens"] == told + sum(one.estimated for one in endpoints)
    return served, done["jobs"]["reflect"]["source"]


def without_model(done: dict[str, Any]) -> int:
    """Return the number of calls of kinds that ask no model: they are counted, but sent nowhere."""
    return sum(done["jobs"].get("prune", {}).get("end", {}).values())
