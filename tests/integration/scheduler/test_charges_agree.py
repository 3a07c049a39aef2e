"""The endpoint, the ledger and every view of owners and kinds report the same spending of a run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import SecretStr
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.fake_llm.stats import Stats
from cogitate.ops.report.run_figures import run_figures
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.summary import summarise_run, usage_by_owner
from cogitate.scheduler.inspection.vitals import budget_vitals, open_kinds
from tests.integration.command import typed

Eventually = Callable[..., None]

RUN = "charged"
OWNERS = {f"agent:{name.lower()}": Profile(name=name) for name in ("Ann", "Ben", "Cid", "Dora")}
ASKED = {1: ("plan", "agent:ann"), 3: ("plan", "agent:ben"), 12: ("reflect", "agent:cid"), 20: ("plan", "agent:dora")}


def json_of(*arguments: str, data_dir: Path) -> dict[str, Any]:
    """Return the JSON object that ends a command's output."""
    done = typed(*arguments, "--json", data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def live(loop: TickLoop, endpoint: FakeEndpoint, eventually: Eventually) -> None:
    """Let Ann's plan succeed, Ben's fail twice, Cid's reflection die at its first failure, and Dora's plan come late.

    At the end every call is settled.
    """

    def settled() -> bool:
        kinds = open_kinds(loop.ledger.store, RUN, loop.tick)
        return not any(kind.waiting + kind.running for kind in kinds.values())

    for tick in loop:
        if tick.number - 1 in ASKED and tick.number - 1 != 20:
            eventually(settled, f"the jobs of tick {tick.number - 1} to end")
        match tick.number:
            case 3:
                endpoint.change(faults={"wrong_types": 1.0})
            case 20:
                endpoint.change(faults={})
                endpoint.hold()
            case 50:
                endpoint.wait_until(lambda stats: stats.in_flight == 1)
                endpoint.release()
                eventually(
                    lambda: loop.ledger.client.hlen(loop.ledger.store.key("corrections")) == 1,
                    "the late answer to settle",
                )
        for owner in OWNERS:
            loop.observe(owner, {"text": f"It is {tick.minute} now.", "minute": tick.minute, "importance": 4})
        if tick.number in ASKED:
            loop.request(*ASKED[tick.number])


class Lived(NamedTuple):
    """The run after its last tick, while its host is still open."""

    client: Redis
    data_dir: Path
    served: Stats


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory, eventually: Eventually) -> Iterator[Lived]:
    data_dir = tmp_path_factory.mktemp("charged") / "data"
    with FakeEndpoint() as endpoint:
        settings = Settings.tuned(
            data_dir=data_dir,
            workers=1,
            llm="openai",
            base_url=endpoint.url,
            api_key=SecretStr("any"),
            wait=0,
            adaptive_latency=False,
            rate_share=0,
            limits={"run.run.tokens": 1_000_000, "run.kind:reflect.calls": 2},
        )
        with TickLoop(run=RUN, owners=OWNERS, settings=settings, ticks=60) as loop:
            live(loop, endpoint, eventually)
            yield Lived(loop.ledger.client, data_dir, endpoint.stats())


def test_all_readers_report_the_same_sum(lived: Lived, tmp_path: Path) -> None:
    client, data_dir, served = lived
    tokens = served.prompt_tokens + served.completion_tokens
    assert (served.requests, served.answers) == (5, 5)
    assert audit(client, RUN) == []

    jobs = json_of("jobs", RUN, "--last", "0", data_dir=data_dir)["jobs"]
    asked = {(one["kind"], one["owner"]): one for one in jobs}
    facts = {owner: (one["reason"], one["claims"]) for (_, owner), one in asked.items()}
    assert facts == {
        "agent:ann": ("none", 1),
        "agent:ben": ("failed", 2),
        "agent:cid": ("dead", 1),
        "agent:dora": ("late", 1),
    }
    assert asked["plan", "agent:ben"]["retried"]["tokens"] > 0, "the first of its two attempts"
    assert asked["plan", "agent:dora"]["late"] is not None
    assert {one["model"] for one in jobs} == {"default"}

    by_kind: Counter[str] = Counter()
    by_owner: Counter[str] = Counter()
    done = typed("export", RUN, "--what", "jobs", data_dir=data_dir)
    for line in done.stdout.splitlines():
        one = json.loads(line)
        by_kind[one["kind"]] += one["spent"]["tokens"]
        by_owner[one["owner"]] += one["spent"]["tokens"]
    by_kind, by_owner = +by_kind, +by_owner
    assert by_kind.total() == by_owner.total() == tokens
    for one in jobs:
        alone = json_of("job", one["id"], data_dir=data_dir)
        assert {name: alone[name] for name in ("usage", "retried", "spent")} == {
            name: one[name] for name in ("usage", "retried", "spent")
        }
    assert Counter({owner: cost.tokens for owner, cost in usage_by_owner(client, RUN).items()}) == by_owner

    lines = json_of("status", RUN, data_dir=data_dir)["budget"]
    spent = {(x["window"], x["scope"], x["unit"]): x["spent"] for x in lines}
    assert spent["run:0", "run", "tokens"] == spent["day:0", "run", "tokens"] == tokens
    assert spent["run:0", "run", "calls"] == served.requests
    for kind, amount in by_kind.items():
        assert spent["day:0", f"kind:{kind}", "tokens"] == amount
    assert summarise_run(client, RUN).spent.tokens == tokens
    recent = budget_vitals(client, RUN).recent
    assert {kind: one.spent.tokens for kind, one in recent.kinds.items() if one.spent.tokens} == by_kind
    assert {owner: cost.tokens for owner, cost in recent.owners.items()} == by_owner

    figures = run_figures(client, RUN, data_dir)
    assert {kind: cost.tokens for kind, cost in figures.spent[0].items()} == by_kind
    typed("report", RUN, "--out", str(tmp_path / "report.html"), data_dir=data_dir)
    page = (tmp_path / "report.html").read_text()
    chart = re.search(r"<svg[^>]*>(?:(?!</svg>).)*Tokens by day.*?</svg>", page, re.DOTALL)
    assert chart is not None
    drawn = re.findall(r"<title>day 1, (\w+): ([\d,]+)</title>", chart[0])
    assert {kind: int(amount.replace(",", "")) for kind, amount in drawn} == by_kind


def test_a_dead_job_names_its_failure_and_the_empty_retry_pool(lived: Lived) -> None:
    client, data_dir, _ = lived
    refused = "attempt refused: the retry pool of run.kind:reflect.calls is empty, or overruns used up the limit"
    job = f"{RUN}/12/reflect/agent:cid/0/0"
    page = typed("job", job, data_dir=data_dir).stdout
    assert f"reason     dead: {refused}" in page
    assert "failure    wrong_schema" in page
    (line,) = [
        line for line in typed("jobs", RUN, "--state", "dead", data_dir=data_dir).stdout.splitlines() if job in line
    ]
    assert line.endswith(f"wrong_schema; {refused}")
    (failed,) = [one for one in budget_vitals(client, RUN).recent.failed if one.id == job]
    assert (failed.failure, failed.why) == ("wrong_schema", refused)
