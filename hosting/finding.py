"""What an examination of a setup found: one line each, with what to do about it."""

from __future__ import annotations

from typing import Literal

import msgspec

Grade = Literal["ok", "warning", "failed"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    what: str  # "redis persistence", "worker plan queue"
    grade: Grade
    found: str
    advice: str = ""  # what to do; empty where nothing is wrong


def ok(what: str, found: str) -> Finding:
    """It is as it should be."""
    return Finding(what=what, grade="ok", found=found)


def warning(what: str, found: str, advice: str) -> Finding:
    """It works, and may surprise."""
    return Finding(what=what, grade="warning", found=found, advice=advice)


def failed(what: str, found: str, advice: str) -> Finding:
    """Runs cannot work like this."""
    return Finding(what=what, grade="failed", found=found, advice=advice)
