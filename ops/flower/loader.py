"""Flower's own templates with ours beside them, and our pages in its navigation.

Flower 2.2 has no hook for either. Its pages all take the navigation from `navbar.html`, so that file is completed as it
is loaded, where a copy of it would age.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from tornado.template import Loader, Template

from memory.errors import CogitateError

OURS = Path(__file__).parent / "templates"
END_OF_LIST = "</ul>"  # of the first list of the bar, which holds the pages


class FlowerChanged(CogitateError, RuntimeError):
    """The installed Flower is not one that the pages fit into; the message says what is missing."""


class PagesLoader(Loader):
    """Loads a template from our folder if it is there, else from Flower's."""

    def __init__(self, root: str, tabs: dict[str, str]) -> None:
        """`tabs` are the entries added to the navigation: name of the handler and of the active tab -> its title."""
        super().__init__(root)
        self._tabs = tabs

    def _create_template(self, name: str) -> Template:
        ours = OURS / name
        source = (ours if ours.is_file() else Path(self.root) / name).read_text()
        if name == "navbar.html":
            source = with_tabs(source, self._tabs)
        return Template(source, name=name, loader=self)


def with_tabs(navbar: str, tabs: dict[str, str]) -> str:
    """Flower's navigation with entries of ours after its own, marked up alike.

    Raises:
        FlowerChanged: when it has no list to add them to.
    """
    before, end, after = navbar.partition(END_OF_LIST)
    if not end:
        raise FlowerChanged("Flower's navbar.html has no list of pages; install flower 2.2")
    return before + "".join(_entry(name, title) for name, title in tabs.items()) + end + after


def _entry(name: str, title: str) -> str:
    active = f"active_tab == '{name}'"
    return (
        '<li class="nav-item">'
        f'<a class="nav-link{{% if {active} %}} active{{% end %}}" href="{{{{ reverse_url(\'{name}\') }}}}" '
        f'{{% if {active} %}}aria-current="page"{{% end %}}>{escape(title)}</a></li>\n'
    )
