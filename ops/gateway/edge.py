"""The edge of the gateway: checks token, size and strict JSON before it passes a message on."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import structlog
from fastapi.routing import APIRoute
from pydantic import SecretStr
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cogitate.hosting.logs import where_raised
from cogitate.hosting.protocol.answers import Refusal, refusal_of
from cogitate.hosting.protocol.messages import read_json
from cogitate.memory.errors import quoted
from cogitate.scheduler.config.settings import ConfigurationError

VARIABLE = "COGITATE_GATEWAY_TOKEN"
ONLY = "host"  # name of the host whose token is a setting, and of any host if there are no tokens
LEAST = 16  # the fewest characters of a token
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Tokens:
    """The hosts' tokens. It keeps only their digests, and compares each in constant time."""

    def __init__(self, by_host: Mapping[str, str]) -> None:
        self._digests = [(host, _digest(token)) for host, token in by_host.items()]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def host_of(self, token: str) -> str | None:
        """Return the host of a token; None for an unknown token."""
        given, owner = _digest(token), None
        for host, digest in self._digests:
            if hmac.compare_digest(given, digest):
                owner = host
        return owner


def read_tokens(file: Path | None, setting: SecretStr | None) -> Tokens:
    """Return the tokens in a file of lines "HOST TOKEN", or the one in the settings.

    Raises:
        ConfigurationError: for an unreadable file, an invalid line, or a token that is too short.
    """
    if file is None:
        return Tokens({} if setting is None else {ONLY: _checked(VARIABLE, setting.get_secret_value())})
    if setting is not None:
        raise ConfigurationError(f"give --tokens {file} or {VARIABLE}, not both")
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"--tokens {file}: it cannot be read: {error}") from None
    tokens: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts or parts[0].startswith("#"):
            continue
        where = f"--tokens {file}, line {number}"  # never the line itself: it may hold a token
        if len(parts) != 2 or not _NAME.fullmatch(parts[0]):
            raise ConfigurationError(f"{where}: give the name of a host and its token, as `game 0123456789abcdef`")
        if parts[0] in tokens:
            raise ConfigurationError(f"{where}: host {quoted(parts[0])} has a token already")
        tokens[parts[0]] = _checked(where, parts[1])
    if not tokens:
        raise ConfigurationError(f"--tokens {file}: it holds no token; give lines such as `game 0123456789abcdef`")
    return Tokens(tokens)


def _checked(where: str, token: str) -> str:
    if len(token) < LEAST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError(
            f"{where}: a token has at least {LEAST} printable characters; `openssl rand -hex 16` makes one"
        )
    return token


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


MAX_BODY = 8_000_000  # bytes
log = structlog.get_logger()
OPEN_PATHS = ("/health", "/openapi.json")  # for probes and client generators; they reveal nothing about a run


class StrictRequest(Request):
    """A request whose body is bounded and strict JSON."""

    most = MAX_BODY

    async def body(self) -> bytes:
        """Return the body.

        Raises:
            Refusal: as soon as the body proves too long.
        """
        if not hasattr(self, "_body"):
            declared = self.headers.get("content-length", "0")  # only digits, as the HTTP server has checked
            if int(declared) > self.most:
                raise too_long(self.most)
            parts, length = [], 0
            async for part in self.stream():
                length += len(part)
                if length > self.most:
                    raise too_long(self.most)
                parts.append(part)
            self._body = b"".join(parts)
        return self._body

    async def read(self) -> None:
        """Read the body and parse its JSON.

        Raises:
            Refusal: when the body is compressed, too long, not marked as JSON, or not JSON.
        """
        encoding = self.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            raise Refusal(
                415,
                "encoded",
                f"the body is encoded as {quoted(encoding)}",
                "send it without compression and without the header Content-Encoding",
            )
        body = await self.body()
        if not body:
            return
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refusal(
                415,
                "no_json",
                f"the body is marked as {quoted(kind)}",
                "send JSON, with the header `Content-Type: application/json`",
            )
        self._json = read_json(body)


class StrictRoute(APIRoute):
    """A route with strict requests and errors in the common format."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            checked = StrictRequest(request.scope, request.receive)
            try:
                await checked.read()
            except ClientDisconnect:
                log.info("gateway.client_left", path=request.url.path)
                return Response(status_code=400)  # the client has disconnected
            return await handle(checked)

        return strict


class Failures:
    """The outermost handler: logs an unexpected error (a bug) without values, and reports it in the common format."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and report its failure."""
        started = False

        async def send_on(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except Exception as error:  # do not raise: the server would log its text, which may quote memories
            log.error("gateway.failed", path=scope["path"], error=type(error).__name__, exception=where_raised(error))
            if not started:
                await problem_response(refusal_of(error))(scope, receive, send)


class Guard:
    """Checks each request's token before its body; without tokens, checks that the request comes from this machine."""

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its host's name, or refuse it."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refusal = self._refusal(request)
        if refusal is not None:
            response = problem_response(refusal)
            response.headers["Connection"] = "close"  # do not wait for the body
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, request: Request) -> Refusal | None:
        if self._tokens:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            host = self._tokens.host_of(token.strip()) if scheme.lower() == "bearer" else None
            if host is None:
                return Refusal(
                    401,
                    "unknown_token",
                    "the header Authorization names no host's token",
                    "send `Authorization: Bearer TOKEN` with the token that the gateway was given",
                )
            request.scope["host"] = host
            return None
        # A web page in a browser on this machine can send requests here too; its Origin header reveals it.
        if "origin" in request.headers or not is_loopback(_without_port(request.headers.get("host", ""))):
            return Refusal(
                403,
                "from_elsewhere",
                f"without tokens only programs on this machine are served, not "
                f"{quoted(request.headers.get('origin') or request.headers.get('host', ''))}",
                "start the gateway with tokens",
            )
        request.scope["host"] = ONLY
        return None


def is_loopback(name: str) -> bool:
    """Return whether a name or address is a loopback address."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def problem_response(refusal: Refusal) -> JSONResponse:
    headers = {}
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if refusal.status == 503:
        headers["Retry-After"] = "1"
    return JSONResponse(refusal.problem.model_dump(exclude_none=True), refusal.status, headers)


def too_long(most: int) -> Refusal:
    """Build the refusal of a body that is too long."""
    return Refusal(413, "too_long", f"the body is longer than {most:,} bytes", "send less in one message")


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
