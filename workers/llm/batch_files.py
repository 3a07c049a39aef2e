"""Batch files at an endpoint: the API that OpenAI and others share (`/files` and `/batches`).

A file has one request a line. The endpoint answers each in its own time, within 24 hours at most, into an output file,
in any order, and lists the requests that failed or were not reached in an error file. Both are read as untrusted data.
Groq and DeepInfra follow OpenAI's paths and fields; other endpoints write statuses in capitals or put the batch under
`job`. An endpoint without these paths refuses the upload.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from cogitate.memory.errors import CogitateError
from cogitate.workers.llm.requests.address import COMPLETIONS, Address, open_client

if TYPE_CHECKING:
    import openai

TIMEOUT = 30.0  # seconds of one request
MOST_BYTES = 200 * 2**20  # of a file that is read; OpenAI takes no larger ones
MOST_LISTED = 100  # batches that are searched for one whose id is not known
WINDOW: Literal["24h"] = "24h"  # the only one that is offered everywhere
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_TAG = "cogitate"  # the field of a batch's metadata by which it is found again


class BatchRefused(CogitateError):
    """An endpoint refused a batch, and has nothing of it."""


class BatchUnknown(CogitateError):
    """The outcome of a request about a batch is unknown."""


class BatchStatus(NamedTuple):
    """What an endpoint says about a batch."""

    id: str
    status: str  # in lower case
    files: tuple[str, ...] = ()  # output and errors, once there are any
    input: str = ""

    @property
    def is_open(self) -> bool:
        """Return whether answers may still come. A batch with an unknown status is open."""
        return self.status not in ENDED


class BatchLine(NamedTuple):
    """A line of an output or error file."""

    custom_id: str
    completion: bytes | None  # None: there is no answer


def line_of(custom_id: str, request: bytes) -> bytes:
    """Return the line of a batch file with this body of a request."""
    line = {"custom_id": custom_id, "method": "POST", "url": f"/v1{COMPLETIONS}", "body": msgspec.Raw(request)}
    return msgspec.json.encode(line)


class BatchFiles:
    """The batch files of one endpoint. Keys and texts never reach an error message.

    Raises:
        BatchUnknown: from each method, if the endpoint cannot be reached or fails.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._opened: openai.OpenAI | None = None  # at the first request: the SDK is slow to import

    def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            self._opened.close()

    def submit(self, lines: Sequence[bytes], tag: str) -> BatchStatus:
        """Upload requests and start a batch of them, which `find` finds by its tag.

        Raises:
            BatchRefused: if the endpoint certainly has no such batch.
            BatchUnknown: if it may have it.
        """
        import openai

        client = self._open()
        try:
            file = client.files.create(file=("batch.jsonl", b"\n".join(lines) + b"\n"), purpose="batch")
        except (openai.OpenAIError, TypeError, ValueError, AttributeError) as error:
            raise BatchRefused(_named(error)) from None
        try:
            made = client.batches.create(
                input_file_id=str(file.id),
                endpoint="/v1/chat/completions",
                completion_window=WINDOW,
                metadata={_TAG: tag},
            )
            return _read(made)
        except openai.APIStatusError as error:
            if error.status_code < 500 and error.status_code != 408:
                self._delete(str(file.id))
                raise BatchRefused(_named(error)) from None
            raise BatchUnknown(_named(error)) from None
        except (openai.OpenAIError, TypeError, ValueError, AttributeError) as error:
            raise BatchUnknown(_named(error)) from None

    def find(self, tag: str) -> BatchStatus | None:
        """Return the batch with this tag, or None if the endpoint has none among its latest."""
        with self._client() as client:
            listed = client.batches.list(limit=MOST_LISTED)
            for one in getattr(listed, "data", None) or ():
                if (getattr(one, "metadata", None) or {}).get(_TAG) == tag:
                    return _read(one)
        return None

    def poll(self, batch: str) -> BatchStatus | None:
        """Return what the endpoint says about a batch; None if it does not know it."""
        import openai

        with self._client() as client:
            try:
                return _read(client.batches.retrieve(batch))
            except openai.NotFoundError:
                return None

    def cancel(self, batch: str) -> None:
        """Ask the endpoint to cancel a batch; what it has answered so far is still charged, and read."""
        import openai

        with self._client() as client:
            try:
                client.batches.cancel(batch)
            except openai.APIStatusError as error:  # it has ended meanwhile
                if error.status_code >= 500:
                    raise

    def read(self, status: BatchStatus) -> Iterator[BatchLine]:
        """Yield the lines of the output and the error file; a line that cannot be read is left out."""
        for file in status.files:
            with self._client() as client:
                content = bytearray()
                with client.files.with_streaming_response.content(file) as response:
                    for chunk in response.iter_bytes():
                        content += chunk
                        if len(content) > MOST_BYTES:
                            raise BatchUnknown("a file that is too large")
            for line in bytes(content).splitlines():
                if (found := _line(line)) is not None:
                    yield found

    def remove(self, status: BatchStatus) -> None:
        """Delete the files of a batch that has ended, if the endpoint can."""
        for file in filter(None, (status.input, *status.files)):
            self._delete(file)

    def _delete(self, file: str) -> None:
        import openai

        with contextlib.suppress(openai.OpenAIError, TypeError, ValueError, AttributeError):
            self._open().files.delete(file)

    def _open(self) -> openai.OpenAI:
        if self._opened is None:
            self._opened = open_client(self._address, TIMEOUT)
        return self._opened

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        """Yield a client whose errors are all `BatchUnknown`, except those that the block handles."""
        import openai

        try:
            yield self._open()
        except (openai.OpenAIError, TypeError, ValueError, AttributeError) as error:
            raise BatchUnknown(_named(error)) from None


def _named(error: BaseException) -> str:
    """Return the name of an error, and its status; its text may hold parts of a header."""
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__} {status}" if status is not None else type(error).__name__


def _read(found: Any) -> BatchStatus:
    """Return the state of a batch as any known endpoint writes it.

    Raises:
        TypeError: if it has no id.
    """
    job = getattr(found, "job", None)
    raw = job if isinstance(job, dict) else {name: getattr(found, name, None) for name in _FIELDS}
    values = {name: value for name in _FIELDS if isinstance(value := raw.get(name), str) and value}
    if "id" not in values:
        raise TypeError("a batch without an id")
    return BatchStatus(
        values["id"],
        values.get("status", "").lower(),
        tuple(values[name] for name in ("output_file_id", "error_file_id") if name in values),
        values.get("input_file_id", ""),
    )


_FIELDS = ("id", "status", "output_file_id", "error_file_id", "input_file_id")


def _line(raw: bytes) -> BatchLine | None:
    try:
        found = json.loads(raw)
        custom_id, response = found["custom_id"], found.get("response")
        if not isinstance(custom_id, str):
            return None
        if not isinstance(response, dict) or found.get("error"):
            return BatchLine(custom_id, None)
        status, body = response.get("status_code", 200), response.get("body")
        answered = isinstance(status, int) and 200 <= status < 300 and isinstance(body, dict)
        return BatchLine(custom_id, json.dumps(body).encode() if answered else None)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
