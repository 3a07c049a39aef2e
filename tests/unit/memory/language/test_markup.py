"""Markdown, code, data and quotations of others are no prose; a list is one sentence."""

from __future__ import annotations

import pytest

from cogitate.memory.language.markup import prose


def test_a_text_is_told_as_prose(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str | None]] = [
        ("The mill burned. It is 3 * 4 m wide, snake_case and all.", None),
        (
            "cut for `v4.2` is **Thursday 16:00**, [see here](https://example.org/a_b)",
            "cut for v4.2 is Thursday 16:00, see here",
        ),
        (
            "It was a plan for the *bike shed*, Bo, and I am not fine with _you_ yet.",
            "It was a plan for the bike shed, Bo, and I am not fine with you yet.",
        ),
        ("*waves* Hello", "*waves* Hello"),  # an action, not emphasis
        ("@bo is this yours? #release", "bo is this yours? release"),
        ("> The cut is on Thursday.\n\nFine by me.", "Fine by me."),  # another said the first
        ("```python\ndef close(order):\n    return 1\n```\nIs this yours?", "Is this yours?"),
        ("```\nnever closed", ""),
        ('{"hunger": 95, "mood": "low"}', ""),
        ('{\n  "hunger": 95,\n  "parts": [2]\n}\nI am hungry.', "I am hungry."),
        ("| a | b |\n|---|---|\n| 1 | 2 |\nDone.", "Done."),
        ("# Minutes\nThe mill burned.", "The mill burned."),
        (
            "**Minutes**\n- [x] the release slips\n- [ ] fern: more light",
            "Minutes: the release slips; fern: more light.",
        ),
        (
            "Resolved:\n1. thanks to Bo\n2. a new roof\nThen all left.",
            "Resolved: thanks to Bo; a new roof.\nThen all left.",
        ),
        ("决定：\n1. 修桥\n2. 买船", "决定： 修桥; 买船。"),
        ("To do\n* eggs\n* milk", "To do\neggs; milk."),
        ("- We met at noon.\n- We agreed.", "We met at noon.\nWe agreed."),
        ("- Hello there", "Hello there"),
        ("10. He came.", "10. He came."),
        ("(She closes the laptop and goes home.)", "She closes the laptop and goes home."),
    ]
    for text, said in cases:
        with subtests.test(text=text):
            assert prose(text) == (text if said is None else said)
            assert prose(prose(text)) == prose(text)
