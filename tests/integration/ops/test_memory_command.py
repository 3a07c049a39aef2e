"""`cogitate memory`: an owner's stream now and at a past tick, and the memories that a query recalls."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import summary, typed

RUN = "town-1"


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a data folder with a finished run that had little room for observations."""
    data_dir = tmp_path_factory.mktemp("memory") / "data"
    with EmbeddedServer(data_dir):
        summary(
            "run",
            "--town",
            3,
            "--ticks",
            800,
            "--workers",
            1,
            data_dir=data_dir,
            COGITATE_MAX_OBSERVATIONS="15",
            COGITATE_LIMITS='{"tick.run.jobs": 1}',
        )
        yield data_dir


@pytest.fixture(scope="module")
def owners(lived: Path) -> list[str]:
    done = typed("memory", RUN, "agent:nobody", data_dir=lived)
    assert done.returncode == 2
    assert "'agent:nobody'" in done.stderr
    return done.stderr.partition("there are ")[2].strip().split(", ")


@pytest.fixture(scope="module")
def owner(owners: list[str]) -> str:
    return owners[0]


def remembered(lived: Path, owner: str, *more: object) -> dict[str, Any]:
    done = typed("memory", RUN, owner, *more, "--json", data_dir=lived)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_stream_lists_live_and_archived_entries(lived: Path, owner: str) -> None:
    now = remembered(lived, owner)
    entries = now["entries"]
    assert (now["run"], now["owner"], now["tick"]) == (RUN, owner, 800)
    assert [e["number"] for e in entries] == sorted(e["number"] for e in entries)
    live = [e for e in entries if e["archived"] is None]
    assert 0 < sum(e["type"] in ("observation", "message", "summary") for e in live) <= 15
    assert len(live) < len(entries)
    assert all(e["archived"]["tick"] <= 800 for e in entries if e["archived"])


def test_provisional_entries_are_marked(lived: Path, owners: list[str]) -> None:
    plans = [e for name in owners for e in remembered(lived, name)["entries"] if e["type"] == "plan"]
    assert sorted(plan["provisional"] for plan in plans) == [False, True, True], "the budget covered one of three"


def test_a_past_tick_shows_nothing_later(lived: Path, owner: str) -> None:
    now, then = remembered(lived, owner), remembered(lived, owner, "--tick", 500)
    assert {e["number"] for e in then["entries"]} == {e["number"] for e in now["entries"] if e["tick"] <= 500}
    assert all(e["archived"] is None or e["archived"]["tick"] <= 500 for e in then["entries"])
    assert any(a["archived"] and not b["archived"] for a, b in zip(now["entries"], then["entries"], strict=False))
    assert then["minute"] == now["minute"] - 300


def test_a_query_explains_the_score_of_each_memory(lived: Path, owner: str) -> None:
    found = remembered(lived, owner, "--query", "What is for breakfast?", "--top", 5)["query"]["found"]
    assert len(found) == 5
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    for one in found:
        assert one["score"] == pytest.approx(sum(part["weight"] * part["value"] for part in one["parts"]))
    spec = remembered(lived, owner, "--query", "breakfast", "--profile", "spec")["query"]["found"]
    assert [part["name"] for part in spec[0]["parts"]] == ["recency", "importance", "relevance"]


def test_memories_are_filtered_by_subject_type_and_time(lived: Path, owner: str) -> None:
    whole = remembered(lived, owner)["entries"]
    other = next(who for e in whole for who in e.get("subjects", ()) if who != owner and who.startswith("agent:"))

    def numbers(*options: object) -> list[int]:
        return [e["number"] for e in remembered(lived, owner, *options)["entries"]]

    assert numbers("--about", other) == [e["number"] for e in whole if other in e.get("subjects", ())]
    assert numbers("--type", "plan", "--type", "summary") == [
        e["number"] for e in whole if e["type"] in ("plan", "summary")
    ]
    assert numbers("--since", 500) == [e["number"] for e in whole if e["minute"] >= 500]
    found = remembered(lived, owner, "--query", "work", "--since", 500, "--about", other)["query"]["found"]
    assert {one["number"] for one in found} <= set(numbers("--since", 500)) & set(numbers("--about", other))


def test_the_command_matches_a_view(lived: Path, owner: str) -> None:
    now = remembered(lived, owner)
    live = [e for e in now["entries"] if e["archived"] is None]
    assert [item["status"] for item in now["plan"]["items"]].count("pending") < len(now["plan"]["items"])
    assert now["plan"]["next"] in {item["id"] for item in now["plan"]["items"]}
    told = [number for talk in now["conversations"] for number in talk["numbers"]]
    assert set(told) <= {e["number"] for e in live}
    counted = {one["who"]: one["memories"] for one in now["relationships"]}
    assert counted
    for who, memories in counted.items():
        assert memories == sum(who in e.get("subjects", ()) for e in live)
    lines = typed("memory", RUN, owner, "--context", 60, "--query", "work", data_dir=lived).stdout.splitlines()
    assert any(line.startswith("Next: ") for line in lines)
    texts = {" ".join(e["text"].split()) for e in live}
    assert {line.partition(": ")[2] for line in lines if line.startswith("- ")} <= texts


def test_without_a_query_each_live_entry_explains_its_score(lived: Path, owner: str) -> None:
    entries = remembered(lived, owner)["entries"]
    assert all((e["why"] is None) == (e["archived"] is not None) for e in entries)
    live = [e for e in entries if e["why"]]
    for e in live:
        parts = {part["name"]: part["weight"] * part["value"] for part in e["why"]["parts"]}
        assert e["why"]["score"] == pytest.approx(sum(parts.values()))
        assert (e["why"]["number"], parts["relevance"]) == (e["number"], 0)
    spec = {
        e["number"]: {part["name"]: part["value"] for part in e["why"]["parts"]}
        for e in remembered(lived, owner, "--profile", "spec")["entries"]
        if e["why"]
    }
    assert spec.keys() == {e["number"] for e in live}
    assert spec[max(spec)]["recency"] > spec[min(spec)]["recency"]


def test_the_printed_stream_shows_counts_and_parts_of_scores(lived: Path, owner: str) -> None:
    done = typed("memory", RUN, owner, "--last", 0, data_dir=lived)
    assert done.returncode == 0
    assert "live entries (" in done.stdout
    assert "archived" in done.stdout
    shown = typed("memory", RUN, owner, data_dir=lived, COLUMNS="250").stdout
    assert "importance 0.5×" in shown
    assert "recency 0.05×" in shown
    assert "relevance" not in shown, "there is no query"
    found = typed("memory", RUN, owner, "--query", "work", data_dir=lived, COLUMNS="250")
    assert "importance 0.5×" in found.stdout


def test_omissions_are_stated(lived: Path, owner: str) -> None:
    def said(*options: object) -> str:
        return typed("memory", RUN, owner, *options, data_dir=lived, COLUMNS="250").stdout

    of_all = f"of {len(remembered(lived, owner)['entries']):,}; --last 0 shows all"
    assert f"the newest 2 {of_all}" in said("--last", 2)
    assert "shows all" not in said("--last", 0)
    assert "no memory matches" in said("--about", "Nobody Known")
    assert "no memory matches" in said("--about", "Nobody Known", "--query", "work")
    none_of_them = "None of these matches the query"
    assert none_of_them in said("--query", "xylophone")
    assert none_of_them not in said("--query", "work")


def test_the_text_is_wrapped_on_a_narrow_terminal(lived: Path, owner: str) -> None:
    longest = max((entry["text"] for entry in remembered(lived, owner)["entries"]), key=len)
    shown = typed("memory", RUN, owner, "--last", 0, data_dir=lived, COLUMNS="80").stdout
    assert max(map(len, shown.splitlines()[2:])) <= 80
    assert textwrap.wrap(longest, 30)[0] in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tick", 801), "tick 801"),
        (("--query", "x", "--profile", "best"), "default, dialogue, spec"),
        (("--profile", "best"), "default, dialogue, spec"),
        (("--type", "dream"), "unknown type 'dream'"),
        (("--since", "-5"), "since is -5"),
        (("--context", "0"), "tokens is 0"),
    ],
)
def test_an_unavailable_memory_is_reported(
    lived: Path, owner: str, arguments: tuple[object, ...], message: str
) -> None:
    done = typed("memory", RUN, owner, *arguments, data_dir=lived)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
