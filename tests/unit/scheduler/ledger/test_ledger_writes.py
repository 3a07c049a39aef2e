"""How a tick's commands are sent to the script that carries them out."""

from __future__ import annotations

from cogitate.scheduler.ledger.ledger import Write


def test_numbers_are_sent_as_one_text() -> None:
    assert Write("HDEL", "marks:o", (3, 17)).sent() == ("HDEL", "marks:o", "numbers", "3 17")
    assert Write("LTRIM", "answers", (-100, -1)).sent() == ("LTRIM", "answers", "numbers", "-100 -1")
    assert Write("HSET", "entries:o", (3, b"{}")).sent() == ("HSET", "entries:o", 2, 3, b"{}")
    assert Write("DEL", "view", ()).sent() == ("DEL", "view", 0)
