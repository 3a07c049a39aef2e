"""Options of Flower, with their values in the same argument or the next one."""

from __future__ import annotations

import flower.options  # noqa: F401  # defines the options
import pytest

from cogitate.ops.flower.patches import with_values


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["--port", "5577"], ["--port=5577"]),
        (["--port=5577"], ["--port=5577"]),
        (["--url-prefix", "flower", "--port", "1"], ["--url-prefix=flower", "--port=1"]),
        (["--url_prefix", "flower"], ["--url_prefix=flower"]),
        (["--max-workers", "9", "x"], ["--max-workers=9", "x"]),
        (["--debug", "--port", "1"], ["--debug", "--port=1"]),
        (["--debug", "1"], ["--debug", "1"]),
        (["--port", "--debug"], ["--port", "--debug"]),
        (["--colour", "red"], ["--colour", "red"]),
        ([], []),
        (["--basic-auth", "me:pass=word"], ["--basic-auth=me:pass=word"]),
    ],
)
def test_an_option_and_its_value_are_one(given: list[str], read: list[str]) -> None:
    assert with_values(given) == read
