"""Batch files at the stand-in: `/v1/files` and `/v1/batches` as OpenAI serves them, with faults.

A batch ends after its latency, and not while the stand-in holds answers back. A request gets the same answer in a batch
as alone. Like OpenAI, the stand-in puts lines without an answer into an error file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import HTTP
from typing import Any

from cogitate.ops.fake_llm.completions import FakeResponse, complete, content_digest, error, json_response
from cogitate.ops.fake_llm.faults import BATCH_FAULTS, draw, pick
from cogitate.ops.fake_llm.http import HttpRequest
from cogitate.ops.fake_llm.stats import Tally

_MOST = 50_000  # requests in a file


@dataclass
class _Batch:
    id: str
    file: str
    metadata: Mapping[str, Any]
    requests: Sequence[tuple[str, Any]]  # custom id, body
    fault: str | None
    began: float
    status: str = "in_progress"
    files: dict[str, str] = field(default_factory=dict)  # output_file_id, error_file_id


class FakeBatches:
    """The files and batches of one server."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, _Batch] = {}
        self._made = 0

    def respond(
        self, request: HttpRequest, *, seed: int, faults: Mapping[str, float], latency: float, held: bool
    ) -> FakeResponse | None:
        """Return the response to a request about files or batches; None for other requests.

        Args:
            latency: seconds from a batch's creation to its end.
            held: keep batches from ending now.
        """
        root, version, *path = request.path.partition("?")[0].rstrip("/").split("/")
        if (root, version) != ("", "v1") or not path or path[0] not in ("files", "batches"):
            return None
        for batch in self._batches.values():
            if not held and batch.status == "in_progress" and time.monotonic() - batch.began >= latency:
                self._end(batch, seed, faults)
        match (request.method, *path):
            case ("POST", "files"):
                return self._upload(request, seed, faults)
            case ("GET", "files", name, "content") if name in self._files:
                return FakeResponse(body=self._files[name], content_type="application/jsonl")
            case ("DELETE", "files", name) if name in self._files:
                del self._files[name]
                return json_response({"id": name, "object": "file", "deleted": True})
            case ("POST", "batches"):
                return self._create(request, seed, faults)
            case ("GET", "batches"):
                newest = reversed(self._batches.values())
                return json_response({"object": "list", "data": [_shown(batch) for batch in newest], "has_more": False})
            case ("GET", "batches", name) if name in self._batches:
                return json_response(_shown(self._batches[name]))
            case ("POST", "batches", name, "cancel") if name in self._batches:
                batch = self._batches[name]
                if batch.status == "in_progress":
                    self._answer(batch, batch.requests[: len(batch.requests) // 2], seed, faults)
                    batch.status = "cancelled"
                return json_response(_shown(batch))
        return error(404, "not_found", f"{request.method} {request.path} is not served here")

    def _upload(self, request: HttpRequest, seed: int, faults: Mapping[str, float]) -> FakeResponse:
        content = _uploaded(request)
        if content is None:
            return error(400, "invalid_request", "a file for batches was expected")
        if _fault(seed, content, faults) == "batch_refused":
            self._tally.understood("", "batch_refused")
            return error(404, "not_found", "The stand-in was told to take no files.")
        name = self._name("file")
        self._files[name] = content
        return json_response(
            {"id": name, "object": "file", "purpose": "batch", "bytes": len(content), "filename": "batch.jsonl"}
        )

    def _create(self, request: HttpRequest, seed: int, faults: Mapping[str, float]) -> FakeResponse:
        try:
            order = json.loads(request.body)
            name = order["input_file_id"]
            requests = list(_requests(self._files[name]))
        except (ValueError, LookupError, TypeError):
            return error(400, "invalid_request", "this is not a valid request for a batch")
        fault = _fault(seed, self._files[name], faults)
        batch = _Batch(self._name("batch"), name, order.get("metadata") or {}, requests, fault, time.monotonic())
        self._batches[batch.id] = batch
        self._tally.batched(len(requests), fault)
        return json_response(_shown(batch) | {"status": "validating"})

    def _end(self, batch: _Batch, seed: int, faults: Mapping[str, float]) -> None:
        """End a batch as its fault demands."""
        requests = batch.requests
        half = len(requests) // 2
        if batch.fault == "batch_failed":
            batch.status = "failed"
            return
        batch.status = "expired" if batch.fault == "batch_expired" else "completed"
        if batch.fault == "batch_expired":
            self._answer(batch, requests[:half], seed, faults, expired=requests[half:])
        else:
            self._answer(batch, requests[:half] if batch.fault == "batch_partial" else requests, seed, faults)

    def _answer(
        self,
        batch: _Batch,
        requests: Sequence[tuple[str, Any]],
        seed: int,
        faults: Mapping[str, float],
        expired: Sequence[tuple[str, Any]] = (),
    ) -> None:
        """Write the output file and the error file of a batch."""
        single = {name: rate for name, rate in faults.items() if name not in BATCH_FAULTS}
        output: list[dict[str, Any]] = []
        errors: list[dict[str, Any]] = []
        for index, (custom_id, body) in enumerate(requests):
            chosen = pick(single, draw(seed, content_digest(body), 0, "fault"))
            fault = "500" if batch.fault == "batch_errors" and index % 2 else chosen
            response = complete(body, seed, fault if fault not in _OF_RESPONSES else None)
            line = _line(custom_id, response.status, json.loads(response.body))
            (output if response.status == 200 else errors).append(line)
            self._tally.batch_answered(response.usage)
        errors += [_expired(custom_id) for custom_id, _ in expired]
        if batch.fault == "batch_unknown" and output:
            output.insert(0, {**output[0], "custom_id": "of-another-batch"})
        if batch.fault == "batch_doubled":
            output = [line for line in output for _ in range(2)]
        if batch.fault == "batch_reordered":
            output.reverse()
        for kind, lines in (("output_file_id", output), ("error_file_id", errors)):
            if lines:
                name = batch.files[kind] = self._name("file")
                self._files[name] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    def _name(self, what: str) -> str:
        self._made += 1
        return f"{what}-{self._made:06}"


#: Faults of a connection or a server, which a line in a file cannot have.
_OF_RESPONSES = frozenset({"hang", "close", "reset", "drip", "drip_headers", "html"})


def _fault(seed: int, content: bytes, faults: Mapping[str, float]) -> str | None:
    """Return the fault of a batch with this file."""
    return pick({name: faults[name] for name in BATCH_FAULTS if name in faults}, draw(seed, content, "batch"))


def _uploaded(request: HttpRequest) -> bytes | None:
    """Return the batch file in a `multipart/form-data` upload; None if there is none."""
    head = f"Content-Type: {request.content_type}\r\n\r\n".encode()
    fields: dict[str, bytes] = {}
    for part in message_from_bytes(head + request.body, policy=HTTP).iter_parts():
        name, content = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes):
            fields[name] = content
    return fields.get("file") if fields.get("purpose") == b"batch" else None


def _requests(content: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the requests of a file.

    Raises:
        ValueError, LookupError, TypeError: for a file that is invalid.
    """
    lines = content.splitlines()
    if not 0 < len(lines) <= _MOST:
        raise ValueError("a file has 1 to 50,000 lines")
    seen = set()
    for line in lines:
        request = json.loads(line)
        if (request["method"], request["url"]) != ("POST", "/v1/chat/completions") or request["custom_id"] in seen:
            raise ValueError("not a request for a completion, or a repeated custom_id")
        seen.add(request["custom_id"])
        content_digest(request["body"])
        yield request["custom_id"], request["body"]


def _line(custom_id: str, status: int, body: object) -> dict[str, Any]:
    response = {"status_code": status, "request_id": f"req-{custom_id[:16]}", "body": body}
    return {"id": f"batch_req_{custom_id[:16]}", "custom_id": custom_id, "response": response, "error": None}


def _expired(custom_id: str) -> dict[str, Any]:
    why = {"code": "batch_expired", "message": "This request could not be executed before the completion window."}
    return {"id": f"batch_req_{custom_id[:16]}", "custom_id": custom_id, "response": None, "error": why}


def _shown(batch: _Batch) -> dict[str, Any]:
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "input_file_id": batch.file,
        "completion_window": "24h",
        "created_at": 0,
        "status": batch.status,
        "output_file_id": batch.files.get("output_file_id"),
        "error_file_id": batch.files.get("error_file_id"),
        "metadata": dict(batch.metadata),
    }
