"""The tokens of hosts, which authenticate them under a name."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from cogitate.memory.errors import quoted
from cogitate.scheduler.config.settings import ConfigurationError

VARIABLE = "COGITATE_GATEWAY_TOKEN"
ONLY = "host"  # the host whose token is a setting, and any host if no token is required
LEAST = 16  # characters
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Tokens:
    """The tokens by host. Only their digests are kept, and each is compared in constant time."""

    def __init__(self, by_host: Mapping[str, str]) -> None:
        self._digests = [(host, _digest(token)) for host, token in by_host.items()]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def host_of(self, token: str) -> str | None:
        """Return the host of a token; None for an unknown token."""
        given, found = _digest(token), None
        for host, digest in self._digests:
            if hmac.compare_digest(given, digest):
                found = host
        return found


def read_tokens(file: Path | None, setting: SecretStr | None) -> Tokens:
    """Return the tokens of a file with lines "HOST TOKEN", or the one of the settings.

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
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts or parts[0].startswith("#"):
            continue
        where = f"--tokens {file}, line {number}"  # never the line itself: it may hold a token
        if len(parts) != 2 or not _NAME.fullmatch(parts[0]):
            raise ConfigurationError(f"{where}: give the name of a host and its token, as `game 0123456789abcdef`")
        if parts[0] in found:
            raise ConfigurationError(f"{where}: host {quoted(parts[0])} has a token already")
        found[parts[0]] = _checked(where, parts[1])
    if not found:
        raise ConfigurationError(f"--tokens {file}: it holds no token; give lines such as `game 0123456789abcdef`")
    return Tokens(found)


def _checked(where: str, token: str) -> str:
    if len(token) < LEAST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError(
            f"{where}: a token has at least {LEAST} printable characters; `openssl rand -hex 16` makes one"
        )
    return token


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
