"""`cogitate fake-llm`: the fake endpoint of a model, with the requested faults."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from pathlib import Path

from tests.integration.command import command
from tests.patience import LONGEST


def _fake_llm(*arguments: str) -> list[str]:
    return [*command(data_dir=Path())[:3], "fake-llm", *arguments]


def test_the_stand_in_endpoint_serves_until_ctrl_c() -> None:
    faults = ["--fault", "429=0.1", "--fault", "hang=0.01"]
    serving = subprocess.Popen(
        _fake_llm("--port", "0", *faults, "--seed", "3"), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert serving.stdout is not None
        url = serving.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{url}/models", timeout=LONGEST) as answer:
            assert json.load(answer)["data"][0]["id"]
        with urllib.request.urlopen(f"{url.removesuffix('/v1')}/stats", timeout=LONGEST) as answer:
            assert json.load(answer)["requests"] == 0
        port = url.rpartition(":")[2].removesuffix("/v1")
        second = subprocess.run(_fake_llm("--port", port), capture_output=True, text=True, timeout=LONGEST, check=False)
        assert second.returncode == 2
        assert second.stderr.count("\n") == 1
        assert all(word in second.stderr for word in (f"127.0.0.1:{port}", "already in use", "--port"))
        serving.send_signal(signal.SIGINT)
        _, err = serving.communicate(timeout=LONGEST)
    finally:
        serving.kill()
        serving.wait()
    assert serving.returncode == 0
    assert f"COGITATE_BASE_URL={url}" in err
    assert "--llm openai --limit-tokens" in err
    assert "Traceback" not in err


def test_an_unknown_fault_is_reported_with_the_known_ones() -> None:
    wrong = _fake_llm("--port", "0", "--fault", "sulk=1")
    done = subprocess.run(wrong, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "'sulk'" in done.stderr
    assert "broken_json" in done.stderr
