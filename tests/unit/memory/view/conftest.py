"""The memories of a day, and a view of them."""

from __future__ import annotations

import pytest

from cogitate.memory.stream import Stream
from cogitate.memory.view import MemoryView
from tests.unit.memory.view.day_case import DAY, stream_of
from tests.unit.memory.view.view_case import view_of


@pytest.fixture
def stream() -> Stream:
    return stream_of(*DAY)


@pytest.fixture
def view(stream: Stream) -> MemoryView:
    return view_of(stream)
