"""The findings of an examination of a setup: one line each, with its advice."""

from __future__ import annotations

from typing import Literal

import msgspec

Grade = Literal["ok", "warning", "failed"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A thing that was examined, and its grade."""

    what: str  # "redis persistence", "worker plan queue"
    grade: Grade
    found: str
    advice: str = ""  # what to do; empty where nothing is wrong


def ok(what: str, found: str) -> Finding:
    """Return a finding that all is as it should be."""
    return Finding(what=what, grade="ok", found=found)


def warning(what: str, found: str, advice: str) -> Finding:
    """Return a finding of something that works, and may surprise."""
    return Finding(what=what, grade="warning", found=found, advice=advice)


def failed(what: str, found: str, advice: str) -> Finding:
    """Return a finding with which no run can work."""
    return Finding(what=what, grade="failed", found=found, advice=advice)
