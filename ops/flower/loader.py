"""A template loader that adds Cogitate's templates, its pages in Flower's navigation, and links from tasks to jobs.

Flower 2.2 has no hook for these. All of its pages include `navbar.html`, so the loader completes that file and
`task.html` while it loads them. Copies of the files would become outdated.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from tornado.template import Loader, Template

from cogitate.memory.errors import CogitateError

OURS = Path(__file__).parent / "templates"
END_OF_LIST = "</ul>"  # end of the bar's first list, which has the pages
END_OF_FACTS = "</dl>"  # end of a task's only list of facts


class FlowerChanged(CogitateError, RuntimeError):
    """The installed Flower lacks a place for the pages; the message names the place."""


class PagesLoader(Loader):
    """A loader that takes a template from Cogitate's folder, or else from Flower's."""

    def __init__(self, root: str, tabs: dict[str, str]) -> None:
        """Add entries to the navigation: `tabs` maps the name of a handler and its tab to the title."""
        super().__init__(root)
        self._tabs = tabs

    def _create_template(self, name: str) -> Template:
        ours = OURS / name
        source = (ours if ours.is_file() else Path(self.root) / name).read_text(encoding="utf-8")
        if name == "navbar.html":
            source = with_tabs(source, self._tabs)
        if name == "task.html":
            source = with_job_link(source)
        return Template(source, name=name, loader=self)


def with_tabs(navbar: str, tabs: dict[str, str]) -> str:
    """Add entries to Flower's navigation, after its own and with the same markup.

    Raises:
        FlowerChanged: when the navigation has no list of pages.
    """
    before, end, after = navbar.partition(END_OF_LIST)
    if not end:
        raise FlowerChanged("Flower's navbar.html has no list of pages; install flower 2.2")
    return before + "".join(_entry(name, title) for name, title in tabs.items()) + end + after


def with_job_link(task: str) -> str:
    """Add a link to the job's page, whose id is the task's, to Flower's page of a task.

    Raises:
        FlowerChanged: when the page has no list of facts.
    """
    before, end, after = task.partition(END_OF_FACTS)
    if not end:
        raise FlowerChanged("Flower's task.html has no list of facts; install flower 2.2")
    return before + _JOB_LINK + end + after


_JOB_LINK = (
    '<div class="detail-row task-data-row"><dt>Job</dt><dd>'
    "<a href=\"{{ reverse_url('job') }}?id={{ url_escape(task.uuid) }}\">Its life, from request to effects</a>"
    "</dd></div>\n"
)


def _entry(name: str, title: str) -> str:
    active = f"active_tab == '{name}'"
    return (
        '<li class="nav-item">'
        f'<a class="nav-link{{% if {active} %}} active{{% end %}}" href="{{{{ reverse_url(\'{name}\') }}}}" '
        f'{{% if {active} %}}aria-current="page"{{% end %}}>{escape(title)}</a></li>\n'
    )
