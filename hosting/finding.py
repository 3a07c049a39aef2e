"""Findings about the setup: one line each, with a remedy."""

from __future__ import annotations

from typing import Literal

import msgspec

Grade = Literal["ok", "warning", "failed"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check."""

    what: str  # "redis persistence", "worker plan queue"
    grade: Grade
    found: str
    advice: str = ""  # the remedy; empty if nothing is wrong


def ok(what: str, found: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(what=what, grade="ok", found=found)


def warning(what: str, found: str, advice: str) -> Finding:
    """Return a finding about something that works, but perhaps not as expected."""
    return Finding(what=what, grade="warning", found=found, advice=advice)


def failed(what: str, found: str, advice: str) -> Finding:
    """Return a finding about a problem that prevents runs."""
    return Finding(what=what, grade="failed", found=found, advice=advice)
