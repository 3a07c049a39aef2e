"""The servers that settings name: the ledger, which holds the state of runs, and the broker, which carries messages."""

from __future__ import annotations

from pydantic import SecretStr, ValidationInfo, field_validator, model_validator

from cogitate.scheduler.config.tables import ServerTable
from cogitate.scheduler.config.urls import (
    check_broker_url,
    check_ledgers,
    check_redis_url,
    embedded_url,
    next_database,
)


class Servers(ServerTable):
    """The validated settings of the servers, and the URLs that follow from them."""

    @field_validator("redis_url", "broker_url")
    @classmethod
    def _url(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if value is None:
            return None
        url = value.get_secret_value().strip()  # a file of variables may have Windows line ends
        (check_broker_url if info.field_name == "broker_url" else check_redis_url)(url)
        return SecretStr(url)

    @model_validator(mode="after")
    def _ledgers(self) -> Servers:
        if self.redis_urls:
            if self.redis_url is not None:
                raise ValueError("give redis_url for one ledger or redis_urls for several, not both")
            if self.broker_url is None:
                raise ValueError("several ledgers share one broker: name it as broker_url")
            check_ledgers([url.get_secret_value() for url in self.redis_urls])
        return self

    @property
    def embedded(self) -> bool:
        """Return whether the data folder's embedded server holds the state."""
        return self.redis_url is None and not self.redis_urls

    def state_url(self) -> str:
        """Return the URL of the state, of several ledgers the URLs separated by spaces, or the embedded server's URL.

        Raises:
            ConfigurationError: if no URL is set and no embedded server runs.
        """
        if self.redis_urls:
            return " ".join(url.get_secret_value() for url in self.redis_urls)
        return embedded_url(self.data_dir) if self.redis_url is None else self.redis_url.get_secret_value()

    def messages_url(self) -> str:
        """Return the URL of the broker: the setting, or the next database of the state's server.

        Raises:
            ConfigurationError: if no URL is set and the state's URL does not determine the next database.
        """
        return next_database(self.state_url()) if self.broker_url is None else self.broker_url.get_secret_value()
