"""Lets Flower take options as Celery's other commands do: with "=" or with the value in the next argument."""

from __future__ import annotations

from collections.abc import Iterable

from tornado.options import options


def with_values(arguments: Iterable[str]) -> list[str]:
    """Join each option with its value, as Flower reads them: "--port 5577" becomes "--port=5577".

    Flower ignores a separate value. Its switches take no value.
    """
    known = {name.replace("_", "-"): value for name, value in options.as_dict().items()}
    found: list[str] = []
    for argument in arguments:
        option = found[-1].removeprefix("--").replace("_", "-") if found and found[-1].startswith("--") else ""
        if option in known and not isinstance(known[option], bool) and not argument.startswith("--"):
            found[-1] = f"{found[-1]}={argument}"
        else:
            found.append(argument)
    return found
