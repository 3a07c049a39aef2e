"""OpenTelemetry end to end: a host and its workers export to a receiver over HTTP, and a job has one trace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import SecretStr
from redis import Redis

from cogitate.hosting.opening import Exist
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.completions import FakeResponse, error
from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from cogitate.ops.world_choice import WorldChoice
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from cogitate.workers.telemetry import exporting
from cogitate.workers.telemetry.job_trace import trace_of

pytest.importorskip("opentelemetry.sdk", reason="the extra telemetry is not installed")

from tests.otlp_receiver import OtlpReceiver, ReceivedSpan

Eventually = Callable[..., None]

KEY = "sk-telemetry-4711-abcdef"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class Asked:
    """A rule of the fake endpoint that records the prompts of all calls.

    Args:
        refuses: whether it answers each call with an error that is not retried.
    """

    def __init__(self, *, refuses: bool = False) -> None:
        self.texts: list[str] = []
        self._refuses = refuses

    def __call__(self, body: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
        self.texts += [message["content"] for message in body["messages"]]
        return error(403, "forbidden", "not allowed") if self._refuses else None

    @property
    def calls(self) -> int:
        """Return the number of calls, each of which has a system and a user message."""
        return len(self.texts) // 2

    @property
    def lines(self) -> set[str]:
        """Return the prompts' lines that are long enough to be recognised in exported data."""
        return {line for text in self.texts for line in text.splitlines() if len(line) > 25}


@contextmanager
def exporting_to(url: str, monkeypatch: pytest.MonkeyPatch, **more: str) -> Iterator[None]:
    """Make this process and the workers that it starts export to a receiver, for a block."""
    with monkeypatch.context() as environment:
        environment.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        environment.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
        for name, value in more.items():
            environment.setenv(name, value)
        yield
        exporting.stop()


class Lived(NamedTuple):
    """The result of a run."""

    digest: str
    incarnation: str
    asked: Asked


def lived(folder: Path, *, ticks: int = 440, refuses: bool = False, **more: Any) -> Lived:
    """Run a town through a morning with a model, and return the result."""
    world, asked = WorldChoice(agents=4).open(), Asked(refuses=refuses)
    with FakeEndpoint(rule=asked) as endpoint:
        settings = Settings(
            data_dir=folder,
            workers=1,
            llm="openai",
            model=MODEL,
            base_url=endpoint.url,
            api_key=SecretStr(KEY),
            limit_tokens=10_000_000,
            log="json",
            **more,
        )
        with TickLoop(
            run="seen",
            owners=world.owners(),
            locations=world.locations,
            brief=world.brief,
            ticks=ticks,
            start_minute=world.start_minute,
            settings=settings,
        ) as loop:
            drive(loop, world)
        return Lived(loop.digest, loop.ledger.incarnation, asked)


def traces(receiver: OtlpReceiver) -> dict[str, list[ReceivedSpan]]:
    """Return the spans of each trace."""
    found = defaultdict(list)
    for span in receiver.spans:
        found[span.trace].append(span)
    return found


def test_a_job_has_one_trace_from_its_request_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    without = lived(tmp_path / "off")
    with OtlpReceiver() as receiver, exporting_to(receiver.url, monkeypatch):
        run = lived(tmp_path / "on")
        assert run.digest == without.digest, "telemetry changes no result"
        chats = run.asked.calls
        assert chats >= 4
        eventually(lambda: len(receiver.named("chat ")) == chats, "the workers' spans")
        eventually(lambda: receiver.points.get("gen_ai.client.operation.duration"), "the workers' metrics")

    answered = 0
    for trace, spans in traces(receiver).items():
        (root,) = [span for span in spans if not span.parent]
        assert (root.service, root.name.split()[0]) == ("cogitate-host", "request")
        assert trace == f"{trace_of(run.incarnation, root.attributes['cogitate.job.id']).trace_id:032x}"
        by_id = {span.span: span for span in spans}
        assert len(by_id) == len(spans)
        for span in spans:
            parent = by_id[span.parent].name.split()[0] if span.parent else ""
            step, kind = span.name.split()
            assert (step, parent) in {
                ("request", ""),
                ("attempt", "request"),
                ("chat", "attempt"),
                ("end", "request"),
            }
            assert span.service == {"attempt": "cogitate-worker", "chat": "cogitate-worker"}.get(step, "cogitate-host")
            if step != "chat":
                assert kind == span.attributes["cogitate.job.kind"]
            owner, job = span.attributes["user.id"], span.attributes["cogitate.job.id"]
            assert span.attributes["session.id"] == span.attributes["gen_ai.conversation.id"] == "seen"
            assert job == root.attributes["cogitate.job.id"]
            assert f"/{owner}/" in job
            assert not span.failed
        chat = [span for span in spans if span.name == f"chat {MODEL}"]
        ends = [span for span in spans if span.name.startswith("end ")]
        if chat and ends:
            answered += 1
            (end,), (attempt,) = ends, [span for span in spans if span.name.startswith("attempt ")]
            assert (end.attributes["cogitate.end"], end.attributes["cogitate.source"]) == ("applied", "llm")
            assert end.attributes["cogitate.end_tick"] > root.attributes["cogitate.tick"]
            assert attempt.attributes["cogitate.settled"] == "staged"
            assert attempt.attributes["cogitate.tokens"] == sum(
                chat[0].attributes[f"gen_ai.usage.{way}_tokens"] for way in ("input", "output")
            )
            assert root.began <= attempt.began <= chat[0].began <= chat[0].ended <= attempt.ended
    assert answered >= 4

    chat_attributes = receiver.named("chat ")[0].attributes
    assert {name: chat_attributes[name] for name in ("gen_ai.operation.name", "gen_ai.provider.name")} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
    }
    assert chat_attributes["gen_ai.request.model"] == MODEL
    assert chat_attributes["gen_ai.request.max_tokens"] > 0
    assert chat_attributes["server.address"] == "127.0.0.1"

    everything = b"\n".join(receiver.raw)
    assert KEY.encode() not in everything
    assert len(run.asked.lines) > 20
    assert not [line for line in run.asked.lines if line.encode() in everything], "no prompt text"
    assert not [name for span in receiver.spans for name in span.attributes if "messages" in name]

    of_tokens = receiver.points["gen_ai.client.token.usage"]
    for kind in ("input", "output"):
        (counted,) = [point.sum for _, _, labels, point in of_tokens if labels["gen_ai.token.type"] == kind]
        assert counted == sum(span.attributes[f"gen_ai.usage.{kind}_tokens"] for span in receiver.named("chat "))
    ((process, unit, labels, seconds),) = receiver.points["gen_ai.client.operation.duration"]
    assert (process.split()[0], unit, seconds.count) == ("cogitate-worker", "s", chats)
    assert labels == {
        name: chat_attributes[name]
        for name in (
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "server.address",
            "server.port",
        )
    }


def test_a_failed_call_is_marked_and_log_lines_name_its_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    with OtlpReceiver() as receiver, exporting_to(receiver.url, monkeypatch, OTEL_SERVICE_NAME="town"):
        run = lived(tmp_path, refuses=True)
        eventually(lambda: len(receiver.named("end ")) == len(receiver.named("request ")), "the host's spans")
    assert {span.service for span in receiver.spans} == {"town"}
    for step in ("chat ", "attempt ", "end "):
        assert {(span.failed, span.attributes["error.type"]) for span in receiver.named(step)} == {(True, "forbidden")}

    attempts = {span.span: span for span in receiver.named("attempt ")}
    logged = [json.loads(line) for line in (tmp_path / "worker-1.log").read_text().splitlines() if line.startswith("{")]
    degraded = [line for line in logged if line["event"] == "job.degraded"]
    assert len(degraded) == run.asked.calls
    for line in degraded:
        attempt = attempts[line["span_id"]]
        assert (line["trace_id"], line["job"]) == (attempt.trace, attempt.attributes["cogitate.job.id"])


def test_prompts_and_answers_are_exported_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    more = {CONTENT: "SPAN_ONLY", "OTEL_METRICS_EXPORTER": "none"}
    with OtlpReceiver() as receiver, exporting_to(receiver.url, monkeypatch, **more):
        run = lived(tmp_path)
        eventually(lambda: len(receiver.named("chat ")) == run.asked.calls, "the workers' spans")
    told = set()
    for span in receiver.named("chat "):
        (system,) = json.loads(span.attributes["gen_ai.system_instructions"])
        (user,) = json.loads(span.attributes["gen_ai.input.messages"])
        (answer,) = json.loads(span.attributes["gen_ai.output.messages"])
        assert (user["role"], answer["role"]) == ("user", "assistant")
        assert json.loads(answer["parts"][0]["content"])
        told |= {system["content"], user["parts"][0]["content"]}
    assert told == set(run.asked.texts)
    assert not receiver.points


def test_workers_record_the_traces_that_their_host_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"}
    with OtlpReceiver() as receiver, exporting_to(receiver.url, monkeypatch, **sampler):
        assert exporting.start("cogitate-host") is not None
        monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "1.0")  # workers alone would record every trace
        run = lived(tmp_path, ticks=800)
    recorded = receiver.named("chat ")
    assert 0 < len(recorded) < run.asked.calls, "by chance all or none of 16 calls are sampled in one run of 32,768"
    roots = {span.trace for span in receiver.named("request ")}
    assert {span.trace for span in receiver.spans} == roots


def test_a_run_finishes_though_its_receiver_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = lived(tmp_path / "off")
    with OtlpReceiver(mute=True) as receiver, exporting_to(receiver.url, monkeypatch):
        run = lived(tmp_path / "on")
        assert receiver.raw
    assert run.digest == without.digest


RUN = """
import sys
from cogitate import Profile, Settings, TickLoop
with TickLoop(run="a", owners={"agent:ada": Profile(name="Ada")}, settings=Settings(), ticks=2, inline=True) as loop:
    list(loop)
"""
ASKING = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}


def run_alone(script: str, folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script in a process with only these environment variables."""
    environment = {"PATH": "", "HOME": str(folder), **variables}
    return subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )


@pytest.mark.parametrize("variables", [{}, ASKING | {"OTEL_SDK_DISABLED": "true"}])
def test_no_exporter_is_imported_unless_configured(tmp_path: Path, variables: dict[str, str]) -> None:
    look = "print([name for name in sys.modules if 'opentelemetry.exporter' in name or 'telemetry.spans' in name])"
    done = run_alone(RUN + look, tmp_path, variables)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_run_without_the_extra_says_what_to_install(tmp_path: Path) -> None:
    without = "import sys; sys.modules['opentelemetry'] = None\n"
    done = run_alone(without + RUN, tmp_path, ASKING)
    assert "telemetry.not_installed" in done.stderr
    assert "pip install 'cogitate[telemetry]'" in done.stderr
    assert run_alone(without + RUN, tmp_path, {}).stderr == ""


def test_an_invalid_opentelemetry_variable_stops_no_run(tmp_path: Path) -> None:
    done = run_alone(RUN, tmp_path, ASKING | {"OTEL_BSP_MAX_QUEUE_SIZE": "100"})
    assert "telemetry.not_started" in done.stderr, "the queue is smaller than a batch"
    assert "OTEL_*" in done.stderr


def test_a_resumed_run_continues_the_traces_of_its_jobs(monkeypatch: pytest.MonkeyPatch, client: Redis) -> None:
    owners = {"agent:ada": Profile(name="Ada Smith"), "agent:ben": Profile(name="Ben Cole")}

    def host(exist: Exist, until: Callable[[TickLoop], bool]) -> None:
        """Host the run until a condition holds after a tick, as a separate process would."""
        with TickLoop(
            run="a", owners=owners, settings=Settings(), ticks=1_000, exist=exist, inline=True, client=client
        ) as loop:
            while not until(loop):
                with loop.next_tick():
                    pass
        exporting.stop()

    with OtlpReceiver() as receiver, exporting_to(receiver.url, monkeypatch):
        host("create", lambda loop: bool(loop.state.open))
        before = {span.trace: span for span in receiver.named("request ")}
        assert before
        assert not receiver.named("end ")
        host("resume", lambda loop: not loop.state.open)
    for trace, root in before.items():
        (end,) = [span for span in receiver.named("end ") if span.trace == trace]
        assert end.parent == root.span
