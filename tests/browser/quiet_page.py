"""A page that reports no errors, loads nothing from other servers, and fits into its window."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Colour scheme, width and height of a desktop and of a phone.
WINDOWS = {"desktop": ("light", 1280, 800), "phone": ("dark", 390, 844)}


@contextmanager
def quiet_page(browser: Any, address: str, window: str, login: tuple[str, str] | None = None) -> Iterator[Any]:
    """Open a page for a block; afterwards check its console, its requests and its width.

    Args:
        address: the page's URL, with which every request of the page must begin.
        window: one of `WINDOWS`.
        login: user and password, if the page asks for them.
    """
    scheme, width, height = WINDOWS[window]
    named = {} if login is None else {"http_credentials": {"username": login[0], "password": login[1]}}
    opened = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, **named)
    complaints: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("dialog", lambda dialog: complaints.append(dialog.message))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(address)
    yield opened
    fits = opened.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    opened.close()
    assert complaints == []
    assert asked
    assert all(url.startswith(address) for url in asked)
    assert fits


def pick(page: Any, choice: str, value: str | None = None, *, label: str | None = None) -> None:
    """Choose in one of a page's selects, which may offer all options only once it has the focus."""
    select = page.locator(f"#{choice}")
    select.focus()
    select.select_option(value, label=label)
