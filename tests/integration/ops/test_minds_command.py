"""`cogitate minds` as a user types it: its page has every memory of a run, and each thought with its job."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from tests.integration.command import summary, typed
from tests.live_flower import get, started, until


def data_of(page: Path) -> list[dict[str, Any]]:
    """Return the minds embedded in a page."""
    found = re.findall(r'<script id="mind-\d+" type="application/json">(.*?)</script>', page.read_text(), re.DOTALL)
    return [json.loads(one) for one in found]


def test_every_memory_is_on_the_page_and_each_thought_names_its_job(tmp_path: Path) -> None:
    home, out = tmp_path / "home", tmp_path / "minds.html"
    with FakeEndpoint() as endpoint:
        summary(
            *("run", "--town", 3, "--ticks", 900, "--run", "town", "--workers", 1, "--llm", "openai"),
            *("--limit-tokens", 10**7),
            data_dir=home,
            COGITATE_BASE_URL=endpoint.url,
            COGITATE_MODEL=MODEL,
            COGITATE_API_KEY="any",
            COGITATE_REFLECTION_INTERVAL="120",
            COGITATE_RECORD="1",
        )
    told = summary("minds", "town", "--out", out, data_dir=home)
    minds = data_of(out)
    assert [mind["owner"] for mind in minds] == sorted(mind["owner"] for mind in minds)
    assert (told["owners"], told["entries"]) == (len(minds), sum(len(mind["entries"]) for mind in minds))
    kept = summary("memory", "town", minds[0]["owner"], data_dir=home)
    assert {entry["n"] for entry in minds[0]["entries"]} == {entry["number"] for entry in kept["entries"]}
    thoughts = [(mind, entry) for mind in minds for entry in mind["entries"] if entry["lane"] == 3]
    assert thoughts
    for mind, entry in thoughts:
        steps = dict(entry["steps"])
        assert steps["source"] in ("llm", "cached", "heuristic")
        assert set(entry["evidence"]) <= {one["n"] for one in mind["entries"]}
    by_model = [entry["job"] for mind, entry in thoughts if dict(entry["steps"])["source"] == "llm"]
    assert by_model
    job = summary("job", by_model[0], data_dir=home)
    assert (job["kind"], job["source"]) == ("reflect", "llm")
    ((mind, thought),) = ((mind, entry) for mind, entry in thoughts if entry["job"] == by_model[0])
    (marked,) = (effect["numbers"] for effect in job["effects"] if effect["type"] == "accessed")
    assert (thought["shown"], thought["asked"]) == (marked, job["tick"])
    with started("minds", "town", data_dir=home, log=tmp_path / "log") as serving:
        until(lambda: serving.poll() is not None or "/minds\n" in (tmp_path / "log").read_text(), "the page's address")
        address = (tmp_path / "log").read_text().split()[0]
        status, page = get(address)
        assert (status, thought["text"] in page) == (200, False), "memories are fetched when they are selected"
        asked = {"owner": mind["owner"], "number": thought["n"], "tick": thought["tick"]}
        status, text = get(f"{address}/writing?{urlencode(asked)}")
        writing = json.loads(text)
        assert {name: writing[name] for name in ("job", "shown", "steps")} == {
            name: thought[name] for name in ("job", "shown", "steps")
        }
        assert thought["text"] in writing["texts"][-1]["answer"]
    both = tmp_path / "both.html"
    then = summary("minds", "town", "--at", "day 1 9:00", "--beside", "town", "--out", both, data_dir=home)
    assert (then["tick"], then["beside"]["tick"]) == (540, 540)
    earlier = data_of(both)
    assert len(earlier) == 2 * len(minds)
    assert 0 < sum(len(mind["entries"]) for mind in earlier) == then["entries"] + then["beside"]["entries"]
    assert max(entry["tick"] for mind in earlier for entry in mind["entries"]) <= 540
    assert "<script src" not in out.read_text()
    assert out.stat().st_mode & 0o077 == 0, "memories are private"
    wrong = typed("minds", "other", "--out", tmp_path / "other.html", data_dir=home)
    assert wrong.returncode == 2
    assert "there is no run 'other'; there are: town" in wrong.stderr
    assert not (tmp_path / "other.html").exists()
