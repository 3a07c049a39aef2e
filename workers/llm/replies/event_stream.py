"""Completions that arrive as a stream of server-sent events, unrequested: some gateways always stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cogitate.workers.llm.replies.content import arguments_in, text_of

_BEGINS = (b"data:", b"event:", b"id:", b"retry:", b":")  # what a line of a stream begins with; the last is a comment
_MARK = b"\xef\xbb\xbf"  # byte order mark, which may begin a stream
_DONE = b"[DONE]"
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


def is_stream(content: bytes) -> bool:
    """Return whether the body of a response is a stream of events."""
    return content[:1_000].removeprefix(_MARK).lstrip().startswith(_BEGINS)


def joined(content: bytes) -> dict[str, Any] | None:
    """Return the completion that a stream's chunks add up to; None if the stream is incomplete or holds none.

    Only the first choice counts. A stream is complete if it gives a finish reason or an error, or ends with the marker
    for its end after some text.
    """
    texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
    arguments: list[str] = []
    ended = None
    whole: dict[str, Any] = {}
    for chunk in _chunks(content):
        whole |= {key: value for key, value in chunk.items() if value is not None and key != "choices"}
        choices = chunk.get("choices")
        choice = next(filter(_is_first, choices), None) if isinstance(choices, list) else None
        if choice is None:
            continue
        ended = choice.get("finish_reason") or ended
        if choice.get("usage") is not None:
            whole["usage"] = choice["usage"]  # Kimi
        said = choice.get("delta") or choice.get("message")
        if isinstance(said, Mapping):
            for name, parts in texts.items():
                parts.append(text_of(said.get(name)))
            arguments.append(arguments_in(said))
    message: dict[str, Any] = {name: "".join(parts) for name, parts in texts.items()}
    if any(arguments):
        message["function_call"] = {"arguments": "".join(arguments)}
    if ended is None and "error" not in whole:
        if not any(message.values()) or not content.rstrip().endswith(_DONE):
            return None
        ended = "stop"
    if ended is not None or any(message.values()):
        whole["choices"] = [{"message": message, "finish_reason": ended or "error", "error": whole.get("error")}]
    return whole


def _is_first(choice: object) -> bool:
    return isinstance(choice, Mapping) and not choice.get("index")


def _chunks(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of the events. An object may span several lines of an event."""
    lines: list[bytes] = []
    for line in (*content.removeprefix(_MARK).splitlines(), b""):
        if line.startswith(b"data:"):
            lines.append(line.removeprefix(b"data:"))
            if (chunk := _decoded(lines[-1])) is None:
                continue
        elif line or not lines:
            continue
        else:
            chunk = _decoded(b"\n".join(lines))
        lines.clear()
        if isinstance(chunk, dict):
            yield chunk


def _decoded(data: bytes) -> object:
    """Return the JSON value; None if it is "[DONE]" or incomplete."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
