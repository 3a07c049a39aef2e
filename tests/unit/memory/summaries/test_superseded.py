"""Announcements that were called off, moved, or over when they came up again are not told."""

from __future__ import annotations

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.summaries.superseded import Told, superseded

MEETING = "The council meeting is on day 2 at 9:00 in the hall."


@pytest.mark.parametrize(
    ("announced", "later", "minute", "is_gone"),
    [
        (MEETING, "The council meeting is on day 2 at 11:00.", 10, True),
        (MEETING, "The council meeting is on day 2 at 9:00.", 10, False),
        (MEETING, "The council meeting is cancelled.", 10, True),
        (MEETING, "The picnic is cancelled.", 10, False),
        (MEETING, "The council meeting in the hall pleases me.", 10, False),
        (MEETING, "The council meeting in the hall was loud.", 2 * DAY, True),
        (MEETING, "The ferry leaves the hall on day 3 at 9:00.", 10, False),
        ("The council met in the hall.", "The council meeting in the hall is cancelled.", 10, False),
        ("Das Treffen am Hafen ist am Tag 2 um 9 Uhr.", "Das Treffen am Hafen ist abgesagt.", 10, True),
        ("La reunión del consejo es el día 2 a las 9.", "La reunión del consejo se aplaza a las 11.", 10, True),
    ],
)
def test_later_news_supersedes_an_announcement(announced: str, later: str, minute: int, is_gone: bool) -> None:
    assert superseded([Told(announced, 0, 0), Told(later, minute, 1)]) == ({0} if is_gone else set())
    assert superseded([Told(announced, 0, 0), Told(later, minute, 0)]) == set(), "of one line all is told"


def test_news_ends_only_the_announcement_that_it_resembles_most() -> None:
    told = [
        Told(MEETING, 0, 0),
        Told("The guild meeting is on day 2 at 9:00.", 0, 1),
        Told("The guild meeting is cancelled.", 5, 2),
    ]
    assert superseded(told) == {1}
