"""HTTP frames at the limits of the protocol: chunks, lengths, versions, interim responses, upgrades."""

from __future__ import annotations

from tests.integration.workers.behaviour import REACHES, Behaviour, failed, row
from tests.integration.workers.endpoint_replies import body_of, chunked, said

_OK = b"HTTP/1.1 200 OK"
_BODY = body_of(said())
_CHUNKS = body_of(chunked(said(), 50))
_LENGTH = b"Content-Length: %d" % len(_BODY)
_CHUNKED = b"Transfer-Encoding: chunked"


def _head(*lines: bytes, body: bytes = _BODY, status: bytes = _OK) -> bytes:
    return b"\r\n".join([status, *lines, b"", b""]) + body


def _chunk(size: bytes) -> bytes:
    """Return an answer in chunks with this spelling of the size."""
    return _head(_CHUNKED, body=_CHUNKS.replace(b"32\r\n", size + b"\r\n"))


def _trailed(*trailers: bytes) -> bytes:
    return _head(_CHUNKED, body=_CHUNKS.removesuffix(b"\r\n") + b"".join(one + b"\r\n" for one in trailers) + b"\r\n")


def _broken(name: str, reply: bytes) -> Behaviour:
    """Return a behaviour that ends the connection with an unknown charge."""
    return failed(name, "connection", "bound", reply)


FRAMES = (
    # chunks
    *(
        _broken(f"chunks with {what}", _chunk(size))
        for what, size in (
            ("a sign", b"+32"),
            ("a sign below zero", b"-32"),
            ("a prefix", b"0x32"),
            ("a space before", b" 32"),
            ("an underscore", b"3_2"),
            ("a size too small", b"31"),
        )
    ),
    row("chunks with zeros before", _chunk(b"0" * 30 + b"32")),
    row("chunks with a space behind", _chunk(b"32  ")),
    row("chunks with a long extension", _chunk(b"32;" + b"a" * 100_000)),
    _broken("chunks that end in line feeds", _head(_CHUNKED, body=_CHUNKS.replace(b"\r\n", b"\n"))),
    _broken("a trailer that is none", _trailed(b"no colon")),
    _broken("a length in a trailer", _trailed(b"Content-Length: 5")),
    _broken("trailers without end", _trailed(*[b"X-%d: y" % n for n in range(5_000)])),
    _broken("chunks without their last line", _head(_CHUNKED, body=_CHUNKS.removesuffix(b"\r\n"))),
    row("chunks by a name in capitals", _head(b"Transfer-Encoding: CHUNKED", body=_CHUNKS)),
    row("chunks named twice", _head(_CHUNKED, _CHUNKED, body=_CHUNKS)),
    _broken("an encoding of identity", _head(b"Transfer-Encoding: identity", _LENGTH)),
    failed(
        "an unknown encoding of the transfer",
        "no_completion",
        "none",
        _head(b"Transfer-Encoding: xchunked", body=_CHUNKS),
    ),
    # lengths
    _broken("one length twice", _head(_LENGTH, _LENGTH)),
    _broken("one length twice in a line", _head(_LENGTH + b", %d" % len(_BODY))),
    _broken("a length with a sign", _head(b"Content-Length: +%d" % len(_BODY))),
    _broken("a length of nothing said", _head(b"Content-Length: ")),
    _broken("a length beyond all numbers", _head(b"Content-Length: " + b"9" * 40)),
    _broken("a length of ten gigabytes", _head(b"Content-Length: 10000000000")),
    row("a length with zeros before", _head(b"Content-Length: 000%d" % len(_BODY))),
    row("no length on a connection that is kept", _head(b"Connection: keep-alive")),
    failed("closed in the middle without a length", "not_json", "bound", _head(b"Connection: close", body=_BODY[:200])),
    failed("no length, and left open", "timeout", "bound", _head(b"X-Odd: y"), left_open=True, deadline=REACHES),
    row("a line behind the body", said() + b"\r\n"),
    # versions
    row("HTTP/1.0 that keeps the connection", _head(_LENGTH, b"Connection: keep-alive", status=b"HTTP/1.0 200 OK")),
    row("HTTP/1.0 in chunks", _head(_CHUNKED, body=_CHUNKS, status=b"HTTP/1.0 200 OK")),
    _broken("HTTP/2 in words", _head(_LENGTH, status=b"HTTP/2 200 OK")),
    _broken("a protocol in small letters", _head(_LENGTH, status=b"http/1.1 200 OK")),
    row("empty lines before the status", b"\r\n\r\n" + said()),
    _broken("a status of four digits", _head(_LENGTH, status=b"HTTP/1.1 1000 OK")),
    _broken("a status in letters", _head(_LENGTH, status=b"HTTP/1.1 2OO OK")),
    _broken("a phrase without end", _head(_LENGTH, status=b"HTTP/1.1 200 " + b"O" * 100_000)),
    row("a phrase beyond ASCII", _head(_LENGTH, status="HTTP/1.1 200 Está bien".encode())),
    # headers
    row("a header beyond ASCII", _head(b"X-Odd: caf\xe9", _LENGTH)),
    row("a header that colours a terminal", _head(b"X-Odd: \x1b[31m", _LENGTH)),
    _broken("a header without a colon", _head(b"nonsense", _LENGTH)),
    _broken("a header without a name", _head(b": x", _LENGTH)),
    _broken("a return in a header", _head(b"X-Odd: a\rContent-Length: 3", _LENGTH)),
    row("headers of a hundred kilobytes", _head(*[b"X-%d: " % n + b"y" * 1_000 for n in range(100)], _LENGTH)),
    row("an offer of HTTP/2", _head(b"Upgrade: h2,h2c", b"Connection: Upgrade, Keep-Alive", _LENGTH)),
    row("an offer of HTTP/2, in chunks", _head(b"Upgrade: h2", b"Connection: Upgrade", _CHUNKED, body=_CHUNKS)),
    # interim responses, and statuses without a body
    row("a continue with a length", _head(b"Content-Length: 10", body=said(), status=b"HTTP/1.1 100 Continue")),
    _broken("at work, and closing", _head(b"Connection: close", body=said(), status=b"HTTP/1.1 102 Processing")),
    _broken("a continue alone", _head(body=b"", status=b"HTTP/1.1 100 Continue")),
    row("an unknown interim response", _head(body=said(), status=b"HTTP/1.1 199 Hm")),
    _broken("no content by its status, and a body", _head(_LENGTH, status=b"HTTP/1.1 204 No Content")),
    failed("not modified", "no_completion", "none", _head(body=b"", status=b"HTTP/1.1 304 Not Modified")),
    failed("accepted", "no_completion", "none", _head(b"Content-Length: 2", body=b"{}", status=b"HTTP/1.1 202")),
)
