"""Cases of an endpoint's behaviour, replayed by a real server to the gate and the client, and the fault that they find.

A case is a response and its trigger. Every case meets twelve prompts of two models in turn, so the calls that fail show
what is at fault. `python -m tests.integration.workers.endpoint_cases FILE` scores a file of cases.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import structlog
from pydantic import BaseModel

from cogitate.scheduler.config.endpoints import Endpoint, Model
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import endpoint_keys
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Prompt
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Call
from cogitate.workers.jobs.call_layers import Calls
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.replies.failures import CLASSES, ModelAnswer
from tests.live_redis import empty_redis
from tests.ports import free_ports

Case = Mapping[str, Any]

FLAGGED = "the flagged one"
ROUNDS = 12
CAP = 300
PATIENCE = 1.5  # seconds per call
MODELS = ("strong", "routine")  # the first is the one that cases about a model affect
JOB = Job(
    run="town",
    key=JobKey(3, "plan", "agent:ada", 0, 0),
    minute=3,
    due=9,
    reads=(),
    model="strong",
    output_cap=CAP,
    reserved=Cost(calls=1, tokens=100_000, usd_micros=90),
)


class Insight(BaseModel):
    text: str
    evidence: list[int]


class Insights(BaseModel):
    insights: list[Insight]


class Item(BaseModel):
    time: str
    activity: str
    place: str
    priority: int


class Items(BaseModel):
    items: list[Item]


GOOD = {
    "reflect": {"insights": [{"text": "Sol feeds the mule before he eats", "evidence": [1]}]},
    "plan": {"items": [{"time": "09:00", "activity": "feed the mule", "place": "stable", "priority": 5}]},
}
ANSWERS: dict[str, type[BaseModel]] = {"reflect": Insights, "plan": Items}


class Found(NamedTuple):
    """The outcome of a case."""

    outcome: str
    scope: str  # "" for an answer
    retry: str
    wait: float | None
    answer: Any
    tokens: int
    estimated: bool
    kind: str  # class of the first failure
    answered: int  # number of answered calls
    refused: int  # number of calls that the gate refused
    asked: int  # number of requests that were sent


def found_in(case: Case) -> Found:
    """Call each model with twelve prompts under a case, and return the outcome."""
    kind = case.get("content_for") or "reflect"
    with serving(case, kind) as (url, asked):
        client = empty_redis()
        endpoint = Endpoint(base_url=url, api_key="any-key-of-a-test")
        settings = Settings.tuned(endpoints={"default": endpoint})
        clients = ModelClients(settings.endpoint_table(), 8)
        calls = Calls(client, settings, clients, threading.Event())
        results: list[tuple[str, ModelAnswer | Refused]] = []
        try:
            for number in range(ROUNDS):
                for name in MODELS:
                    if name != MODELS[0] and case["trigger"]["kind"] == "prompt" and number == 0:
                        continue  # only one job has the flagged prompt
                    for _ in range(4):
                        result = _ask(calls, case, kind, name, number)
                        results.append((name, result))
                        failure = result.failure if isinstance(result, ModelAnswer) else None
                        if failure is None or failure.kind != "unsupported":
                            break
        finally:
            calls.close()
            clients.close()
    limited = (client.hget(endpoint_keys("default")[0], "limiting") or b"").endswith(b" ")
    return _judged(results, asked[0], of_account=limited)


def _ask(calls: Calls, case: Case, kind: str, name: str, number: int) -> ModelAnswer | Refused:
    from tests.integration.workers.llm_case import claim_of

    trigger = case["trigger"]
    parameters, seed = {"temperature": 0.7}, None
    if trigger["kind"] == "parameter":
        if trigger["name"] == "seed":
            seed = 7
        elif trigger["name"].isidentifier() and trigger["name"] not in (
            *("response_format", "max_tokens", "max_completion_tokens", "enable_thinking", "stream", "messages"),
        ):
            parameters[trigger["name"]] = 1
    model = Model(name=name, model=name, seed=seed, parameters=json.dumps(parameters))
    subject = FLAGGED if number == 0 and name == MODELS[0] else f"day {number} of {name}"
    prompt = Prompt(system="You think of Sol.", user=f"What of {subject}?", answer=ANSWERS[kind], version="v")
    patience = PATIENCE if case["response"].get("fault") != "timeout" else 0.3
    return calls.ask(Call(claim_of(JOB), prompt, model, CAP, time.monotonic() + patience))


def _judged(results: list[tuple[str, ModelAnswer | Refused]], asked: int, *, of_account: bool) -> Found:
    answers = [(name, one) for name, one in results if isinstance(one, ModelAnswer)]
    refused = [(name, one) for name, one in results if isinstance(one, Refused)]
    first = answers[0][1]
    failed = [one.failure for _, one in answers if one.failure is not None]
    good = sum(one.value is not None for _, one in answers)
    if first.value is not None:
        answer = first.value.model_dump(mode="json")
        return Found(
            "answer_used", "", "", None, answer, first.usage.tokens, first.estimated, "", good, len(refused), asked
        )
    answering = {name for name, one in answers if one.value is not None}
    learned = (one for one in failed if one.kind == "unsupported" and MODELS[0] in answering)
    told = next(learned, failed[0])
    scope, retry = CLASSES[told.kind].scope, CLASSES[told.kind].again
    aside = {name for name, _ in refused}
    if scope in ("key", "account", "model", "endpoint") and answering == set(MODELS) and retry == "never":
        scope = "prompt"  # other calls of both models succeed, and no model is set aside
    elif aside and not aside & answering and answering:
        scope = "model"
    elif aside == set(MODELS) and scope in ("prompt", "model") and retry == "never":
        scope = "key"  # all calls fail, whatever their prompt
    elif told.kind == "rate_limited" and of_account:
        scope = "account"  # the gate's own finding
    if scope == "parameter" and not good:
        scope = "none: it is refused again"
    wait = told.retry_after
    if wait is not None and retry in ("later", "never"):
        retry = "after_hint"
    return Found(
        "no_answer", scope, retry, wait, None, first.usage.tokens, first.estimated, told.kind, good, len(refused), asked
    )


# -- scoring -----------------------------------------------------------------------------------------


def misses(case: Case, found: Found) -> list[str]:
    """Return the differences between the outcome of a case and the right one."""
    right = case["right"]
    wrong = []
    if found.outcome not in (right["outcome"], *right.get("also_outcome", ())):
        return [f"outcome {found.outcome}"]
    if found.outcome == "answer_used":
        if "answer" in right and right["outcome"] == "answer_used" and not _same(right["answer"], found.answer):
            wrong.append(f"answer {found.answer}")
        if right.get("usage") == "estimate" and not found.estimated:
            wrong.append("usage is booked unchecked")
        if right.get("usage") in ("as_given", "total"):
            usage = case["response"]["body"]["usage"]
            if found.estimated or found.tokens != int(usage["total_tokens"]):
                wrong.append(f"usage {found.tokens}")
        return wrong
    if right["outcome"] == "answer_used":
        return []  # using no answer is acceptable too, and the case states nothing else
    if found.scope not in (right["scope"], *right.get("also_scope", ())):
        wrong.append(f"scope {found.scope}, not {right['scope']}")
    if found.retry not in (right["retry"], *right.get("also_retry", ())):
        wrong.append(f"retry {found.retry}, not {right['retry']}")
    if found.retry == right["retry"] == "after_hint":
        wait, least = found.wait or 0.0, right["wait_s"] - 1.5
        if not least <= wait <= max(right["wait_s"] * 1.2, right["wait_s"] + 2):
            wrong.append(f"wait {found.wait}, not {right['wait_s']}")
    return wrong


def _same(right: Any, found: Any) -> bool:
    if right == "*":
        return True
    if isinstance(right, dict) and "between" in right:
        return isinstance(found, int | float) and right["between"][0] <= found <= right["between"][1]
    if isinstance(right, dict):
        return isinstance(found, dict) and all(_same(value, found.get(key)) for key, value in right.items())
    if isinstance(right, list):
        return isinstance(found, list) and len(right) == len(found) and all(map(_same, right, found))
    return bool(right == found)


# -- the server --------------------------------------------------------------------------------------


@contextmanager
def serving(case: Case, kind: str) -> Iterator[tuple[str, list[int]]]:
    """Serve a case; yield its base URL and a list with the number of requested completions."""
    asked = [0]
    response, trigger = case["response"], case["trigger"]
    fault = response.get("fault")
    if fault == "refused":
        yield f"http://127.0.0.1:{free_ports()}/v1", asked
        return
    if fault == "dns":
        yield "http://no-such-host.invalid/v1", asked
        return

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(200, {}, b'{"object": "list", "data": []}')

        def do_CONNECT(self) -> None:
            self._send(response["status"], {}, str(response["body"]).encode())

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked[0] += 1
            if not _triggers(trigger, body):
                self._send(200, {"content-type": "application/json"}, _good(kind))
                return
            if fault == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
                return
            if fault == "timeout":
                time.sleep(0.6)
                self.close_connection = True
                return
            content = response.get("body")
            if isinstance(content, str) and _is_json_string(case):
                content = json.dumps(content)
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            headers = {name: _filled(str(value)) for name, value in (response.get("headers") or {}).items()}
            self._send(response["status"], headers, _filled(text).encode(), 140 if fault == "closed_early" else 0)

        def _send(self, status: int, headers: Mapping[str, str], content: bytes, more: int = 0) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content) + more))
            if more:
                self.close_connection = True
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the output clean."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore clients that disconnect."""

    with Server(("127.0.0.1", 0), Handler) as server, tempfile.TemporaryDirectory() as folder:
        scheme = "http"
        if fault == "tls_self_signed":
            scheme = "https"
            server.socket = _tls(Path(folder)).wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"{scheme}://127.0.0.1:{server.server_port}/v1", asked
        finally:
            server.shutdown()
            thread.join()


def _is_json_string(case: Case) -> bool:
    """Return whether to encode the body as a JSON string: it is labelled as JSON but is plain words."""
    body, kind = case["response"]["body"], (case["response"].get("headers") or {}).get("content-type", "")
    return "json" in kind and bool(re.fullmatch(r"[A-Z][\w .]+", body))


def _triggers(trigger: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    match trigger["kind"]:
        case "prompt":
            return FLAGGED in json.dumps(body["messages"])
        case "model":
            return bool(body["model"] == MODELS[0])
        case "parameter":
            name = trigger["name"]
            if name == "enable_thinking":
                return body.get("enable_thinking") is not False
            if name.endswith("role"):
                return any(one["role"] == name.split()[0] for one in body["messages"])
            return f'"{name.rpartition(".")[2]}"' in json.dumps({k: v for k, v in body.items() if k != "messages"})
    return True


def _good(kind: str) -> bytes:
    message = {"role": "assistant", "content": json.dumps(GOOD[kind])}
    usage = {"prompt_tokens": 40, "completion_tokens": 20, "total_tokens": 60}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": f"c-{time.monotonic_ns()}", "choices": [choice], "usage": usage}).encode()


def _filled(text: str) -> str:
    """Fill in the placeholders of times, and return the text."""

    def fill(found: re.Match[str]) -> str:
        at = datetime.now(UTC) + timedelta(seconds=float(found[2]))
        match found[1]:
            case "HTTP_DATE":
                return format_datetime(at, usegmt=True)
            case "ISO_Z":
                return at.strftime("%Y-%m-%dT%H:%M:%SZ")
            case "EPOCH_S":
                return str(int(at.timestamp()))
            case "EPOCH_MS":
                return str(int(at.timestamp() * 1000))
        return (at + timedelta(hours=8)).strftime("%Y-%m-%d %H:%M:%S")

    return re.sub(r"\{\{([A-Z_]+)\+(\d+(?:\.\d+)?)\}\}", fill, text)


def _tls(folder: Path) -> ssl.SSLContext:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    path, groups = (
        Path(sys.argv[1]),
        sys.argv[2:] or ["error", "limit", "parameter", "usage", "shape", "stream_or_transport"],
    )
    right, total = Counter[str](), Counter[str]()
    for case in json.loads(path.read_text()):
        if case["group"] not in groups and case["id"] not in groups:
            continue
        found = found_in(case)
        wrong = misses(case, found)
        total[case["group"]] += 1
        right[case["group"]] += not wrong
        if wrong:
            print(
                f"{case['id']}: {'; '.join(wrong)} [{found.kind}, {found.answered} answered, {found.refused} refused]"
            )
    for group in total:
        print(f"{group}: {right[group]} of {total[group]}")
    print(f"all: {right.total()} of {total.total()}")


if __name__ == "__main__":
    main()
