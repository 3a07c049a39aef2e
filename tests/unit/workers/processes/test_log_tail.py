"""What a host quotes of a worker's log: its end, without keys and passwords."""

from __future__ import annotations

from pathlib import Path

import pytest

from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.workers.processes.logs import READ, log_tail, redact_secrets


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "worker-1.log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "start", "tail"),
    [
        ("", 0, ""),
        ("one", 0, "one"),
        ("1\n2\n3\n4\n", 0, "2 / 3 / 4"),
        ("1\n2\n3\n4\n", 4, "3 / 4"),
        ("1\n2\n3\n4\n", 8, ""),
        ("  1 \n\n \n2\n", 0, "1 / 2"),
        (b"a\xff\nb", 0, "a\ufffd / b"),
        ("begun\n" + "x" * READ, 0, "x" * READ),
        ("begun\n" + "x" * (READ - 1), 0, "x" * (READ - 1)),
        ("begun\n" + "x" * (READ - 2), 6, "x" * (READ - 2)),
    ],
)
def test_the_last_lines_since_a_position_are_joined(tmp_path: Path, text: str | bytes, start: int, tail: str) -> None:
    assert log_tail(written(tmp_path, text), start) == tail


def test_the_requested_number_of_lines_is_returned(tmp_path: Path) -> None:
    path = written(tmp_path, "1\n2\n3\n4\n5\n")
    assert [log_tail(path, 0, count) for count in (1, 2, 9)] == ["5", "4 / 5", "1 / 2 / 3 / 4 / 5"]


def test_keys_and_passwords_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-environment")
    settings = PinnedSettings(
        redis_url="redis://me:p%40ss-one@here/0",
        broker_url="redis://me:passtwo@here/1",
        base_url="http://user:passthree@host/v1",
        endpoints={"theirs": {"base_url": "http://theirs/v1", "api_key": "sk-theirs"}},
    )
    said = "p%40ss-one p@ss-one passtwo PassThree sk-OF-environment sk-theirs here user"
    assert redact_secrets(said, settings) == " ".join(["***"] * 6 + ["here", "user"])


def test_the_longer_of_two_secrets_is_hidden_and_a_short_one_is_ignored() -> None:
    settings = PinnedSettings(redis_url="redis://me:pass@here/0", broker_url="redis://me:passport@here/1")
    assert redact_secrets("passport pass", settings) == "*** ***"
    short = PinnedSettings(redis_url="redis://me:her@here/0", broker_url="redis://me:four@here/1")
    assert redact_secrets("her here four", short) == "her here ***"


def test_without_secrets_a_text_is_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert redact_secrets("all is well", PinnedSettings()) == "all is well"
