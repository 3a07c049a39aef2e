"""The client of batch files at an endpoint, through the API that OpenAI and others share (`/files` and `/batches`).

A file has one request a line. The endpoint answers the requests within 24 hours, in any order: it writes answers to an
output file, and lists requests that failed or that it did not reach in an error file. Both are untrusted data. Groq and
DeepInfra follow OpenAI's paths and fields; other endpoints write statuses in capitals or put the batch under `job`. An
endpoint without these paths refuses the upload.
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
MOST_BYTES = 200 * 2**20  # the most to read of a file; OpenAI accepts no larger ones
MOST_LISTED = 100  # batches that `find` searches for a tag
WINDOW: Literal["24h"] = "24h"  # the only completion window that every endpoint offers
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_TAG = "cogitate"  # the field of a batch's metadata that holds its tag


class BatchRefused(CogitateError):
    """An endpoint refused a batch and keeps nothing of it."""


class BatchUnknown(CogitateError):
    """The outcome of a request about a batch is unknown."""


class BatchStatus(NamedTuple):
    """What an endpoint says about a batch."""

    id: str
    status: str  # in lower case
    files: tuple[str, ...] = ()  # ids of the output and error files, as far as they exist
    input: str = ""  # id of the input file

    @property
    def is_open(self) -> bool:
        """Return whether answers may still come. A batch with an unknown status is open."""
        return self.status not in ENDED


class BatchLine(NamedTuple):
    """A line of an output or error file."""

    custom_id: str
    completion: bytes | None  # None: the request has no answer


def line_of(custom_id: str, request: bytes) -> bytes:
    """Return the line of a batch file for a request with this body."""
    line = {"custom_id": custom_id, "method": "POST", "url": f"/v1{COMPLETIONS}", "body": msgspec.Raw(request)}
    return msgspec.json.encode(line)


class BatchFiles:
    """The batch files of one endpoint. Keys and texts never reach an error message.

    Raises:
        BatchUnknown: from each method, if the endpoint cannot be reached or fails.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._opened: openai.OpenAI | None = None  # opened by the first request, since the SDK is slow to import

    def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            self._opened.close()

    def submit(self, lines: Sequence[bytes], tag: str) -> BatchStatus:
        """Upload requests and start a batch of them. The tag lets `find` find it.

        Raises:
            BatchRefused: if the endpoint certainly did not start the batch.
            BatchUnknown: if it may have started it.
        """
        import openai

        client = self._open()
        try:
            file = client.files.create(file=("batch.jsonl", b"\n".join(lines) + b"\n"), purpose="batch")
        except (openai.OpenAIError, TypeError, ValueError, AttributeError) as error:
            raise BatchRefused(_named(error)) from None
        try:
            batch = client.batches.create(
                input_file_id=str(file.id),
                endpoint="/v1/chat/completions",
                completion_window=WINDOW,
                metadata={_TAG: tag},
            )
            return _read(batch)
        except openai.APIStatusError as error:
            if error.status_code < 500 and error.status_code != 408:
                self._delete(str(file.id))
                raise BatchRefused(_named(error)) from None
            raise BatchUnknown(_named(error)) from None
        except (openai.OpenAIError, TypeError, ValueError, AttributeError) as error:
            raise BatchUnknown(_named(error)) from None

    def find(self, tag: str) -> BatchStatus | None:
        """Return the batch with this tag, or None if the endpoint's latest batches do not include it."""
        with self._client() as client:
            listed = client.batches.list(limit=MOST_LISTED)
            for batch in getattr(listed, "data", None) or ():
                if (getattr(batch, "metadata", None) or {}).get(_TAG) == tag:
                    return _read(batch)
        return None

    def poll(self, batch: str) -> BatchStatus | None:
        """Return a batch's status, or None if the endpoint does not know the batch."""
        import openai

        with self._client() as client:
            try:
                return _read(client.batches.retrieve(batch))
            except openai.NotFoundError:
                return None

    def cancel(self, batch: str) -> None:
        """Ask the endpoint to cancel a batch. The answers so far are still charged, and a later `read` yields them."""
        import openai

        with self._client() as client:
            try:
                client.batches.cancel(batch)
            except openai.APIStatusError as error:  # the batch has ended in the meantime
                if error.status_code >= 500:
                    raise

    def read(self, status: BatchStatus) -> Iterator[BatchLine]:
        """Yield the lines of the output and the error file, except unreadable ones."""
        for file in status.files:
            with self._client() as client:
                content = bytearray()
                with client.files.with_streaming_response.content(file) as response:
                    for chunk in response.iter_bytes():
                        content += chunk
                        if len(content) > MOST_BYTES:
                            raise BatchUnknown("a file that is too large")
            for line in bytes(content).splitlines():
                if (parsed := _line(line)) is not None:
                    yield parsed

    def remove(self, status: BatchStatus) -> None:
        """Delete the files of a batch that has ended, if the endpoint supports that."""
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
        """Yield a client, and turn every error that the block does not handle into `BatchUnknown`."""
        import openai

        try:
            yield self._open()
        except (openai.OpenAIError, TypeError, ValueError, AttributeError) as error:
            raise BatchUnknown(_named(error)) from None


def _named(error: BaseException) -> str:
    """Return the name and status of an error, without its text, which may contain parts of a header."""
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__} {status}" if status is not None else type(error).__name__


def _read(batch: Any) -> BatchStatus:
    """Read the status of a batch in any known endpoint's notation.

    Raises:
        TypeError: if the batch has no id.
    """
    job = getattr(batch, "job", None)
    raw = job if isinstance(job, dict) else {name: getattr(batch, name, None) for name in _FIELDS}
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
        line = json.loads(raw)
        custom_id, response = line["custom_id"], line.get("response")
        if not isinstance(custom_id, str):
            return None
        if not isinstance(response, dict) or line.get("error"):
            return BatchLine(custom_id, None)
        status, body = response.get("status_code", 200), response.get("body")
        answered = isinstance(status, int) and 200 <= status < 300 and isinstance(body, dict)
        return BatchLine(custom_id, json.dumps(body).encode() if answered else None)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
