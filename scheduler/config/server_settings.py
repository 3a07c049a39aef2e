"""The settings that say where things are, and how many workers there are."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from memory.errors import CogitateError, quoted
from scheduler.config.limits import MAX_LIMIT

MAX_FLOAT = 1e9  # seconds, or dollars: more than either can mean, and less than a socket's timeout can be
HALVES = re.compile("[\ud800-\udfff]")
SERVER_FILE = "server.json"  # in the data folder: where its embedded server listens


class ConfigurationError(CogitateError, ValueError):
    """The configuration cannot be used; the message names the setting, its value and what to give instead."""


class ServerSettings(BaseSettings):
    """The part of `scheduler.config.settings.Settings` about servers, folders and processes."""

    # Where things are
    data_dir: Path = Path(".cogitate")
    redis_url: SecretStr | None = None  # state; unset: a Valkey embedded in the data folder
    broker_url: SecretStr | None = None  # messages; unset: database 1 of the state's server
    socket_timeout: float = Field(5.0, gt=0)  # seconds, for every Redis client

    prompts: Annotated[Path, AfterValidator(Path.absolute)] | None = None  # templates that go before ours of that name

    kinds: tuple[str, ...] = ()  # modules of the host's own that register kinds when they are imported

    # Workers
    workers: int = Field(2, ge=0, le=64)  # processes started by `cogitate run`; 0: they are started by hand
    concurrency: int = Field(16, ge=1, le=1000)  # jobs in flight in each

    # What Prometheus reads. Worker processes that a host starts are at the ports after its own.
    metrics_port: int | None = Field(None, ge=1, le=65_000)  # None: not served
    metrics_address: str = "127.0.0.1"

    @field_validator("*", mode="before")
    @classmethod
    def _what_it_is(cls, value: object, info: ValidationInfo) -> object:
        """No text has halves of characters, and true and false are no numbers."""
        wanted = str(cls.model_fields[info.field_name or ""].annotation)
        for one in (value, *value.values()) if isinstance(value, dict) else (value,):
            if isinstance(one, bool) and "bool" not in wanted:
                raise ValueError("true and false are no numbers")
            text = one.get_secret_value() if isinstance(one, SecretStr) else one
            if isinstance(text, str) and "Path" not in wanted and not text.isascii() and HALVES.search(text):
                raise ValueError("it holds what is no character: a byte that is not UTF-8, or half of a surrogate pair")
        return value

    @field_validator("*")
    @classmethod
    def _within_bounds(cls, value: object) -> object:
        """No setting is beyond what clocks, sockets and scripts of the ledger can hold."""
        if isinstance(value, float) and not abs(value) <= MAX_FLOAT:
            raise ValueError(f"{value:g} is not between 0 and {MAX_FLOAT:g}")
        if isinstance(value, int) and abs(value) > MAX_LIMIT:
            raise ValueError(f"an integer of {value.bit_length()} bits is above {MAX_LIMIT}")
        return value

    @field_validator("data_dir", "prompts")
    @classmethod
    def _folder(cls, value: Path | None) -> Path | None:
        """No folder has a name that the file system cannot hold."""
        if value is not None and (b"\0" in os.fsencode(value)):
            raise ValueError(f"{quoted(str(value))} names no folder")
        return value

    @field_validator("redis_url", "broker_url")
    @classmethod
    def _url(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or value.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
            return value
        shown = value.get_secret_value().partition("@")[2] or value.get_secret_value()
        raise ValueError(f"{shown[:80]!r} is not a Redis URL: it must begin with redis://, rediss:// or unix://")

    def state_url(self) -> str:
        """Where the state is: the URL given, or the embedded server of the data folder.

        Raises:
            ConfigurationError: when neither is there.
        """
        if self.redis_url is not None:
            return self.redis_url.get_secret_value()
        try:
            record = json.loads((self.data_dir / SERVER_FILE).read_text())
            return f"unix://{record['socket']}?db=0"
        except (OSError, ValueError, KeyError) as error:
            raise ConfigurationError(
                f"no Redis: COGITATE_REDIS_URL is not set and no embedded server runs in {self.data_dir}; "
                "start one with `cogitate run`, or set the URL"
            ) from error

    def messages_url(self) -> str:
        """Where messages go: the broker URL given, or database 1 beside the state."""
        if self.broker_url is not None:
            return self.broker_url.get_secret_value()
        return _beside(self.state_url())


def _beside(url: str) -> str:
    """The same server's next database."""
    if url.startswith("unix://"):
        base, _, query = url.partition("?")
        found = re.search(r"(?:^|&)db=(\d+)", query)
        return f"{base}?db={int(found[1]) + 1 if found else 1}"
    found = re.fullmatch(r"(rediss?://[^/?]+)(?:/(\d*))?(\?.*)?", url)
    if not found:
        raise ConfigurationError(
            f"cannot tell the database of {url.partition('@')[2] or url!r}; set COGITATE_BROKER_URL"
        )
    return f"{found[1]}/{int(found[2] or 0) + 1}{found[3] or ''}"
