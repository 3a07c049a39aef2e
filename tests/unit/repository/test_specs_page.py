"""The page of requirements and all other documents name files, functions and tests that exist.

That the tests ran and passed is seen to by tests/named_tests.py, in a session that runs everything.
"""

from __future__ import annotations

import re

import pytest

from tests.named_tests import NAME, defined, named, pages
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "appendix" / "requirements.md").read_text()
SPECS = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)


def rows(section: str) -> list[list[str]]:
    """The cells of a section's table, without its two lines of heading."""
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


ROWS = [(title, row) for title, section in SPECS for row in rows(section)]


def test_the_page_counts_its_requirements() -> None:
    counted = re.findall(r"^\| \[(.+?)\]\(#.+?\) \| (\d+) \|$", PAGE, flags=re.MULTILINE)
    assert [(title, int(count)) for title, count in counted] == [(t, len(rows(section))) for t, section in SPECS]
    assert len(SPECS) == 5
    assert {len(row) for _, row in ROWS} == {5}
    assert all(row[0] for _, row in ROWS)


def test_every_row_names_files_that_exist() -> None:
    for title, (requirement, _, by, _, _) in ROWS:
        files = re.findall(r"`([\w./]+\.\w+)`(?: \(`([\w.]+)`\))?", by)
        assert files, f"{title}: {requirement} names no file"
        for file, within in files:
            assert (ROOT / file).is_file(), f"{title}: {requirement}: {file}"
            assert within in (ROOT / file).read_text(), f"{title}: {requirement}: {within} in {file}"


def test_every_row_names_a_test_or_a_reason() -> None:
    for title, (requirement, _, _, shown_by, differs) in ROWS:
        tests = NAME.findall(shown_by)
        assert all("::" in test for test in tests)
        assert tests or (shown_by == "–" and differs), f"{title}: {requirement}"


def test_tests_that_the_specifications_list_have_their_names() -> None:
    listed = 0
    for title, (requirement, what, _, shown_by, _) in ROWS:
        name = re.search(r"\btest_\w+\b(?!\.py)", f"{requirement} {what}")
        if name:
            listed += 1
            assert f"::{name[0]}`" in shown_by, f"{title}: {name[0]}"
    assert listed > 35


def test_every_test_named_in_a_document_exists(subtests: pytest.Subtests) -> None:
    for page in [str(page.relative_to(ROOT)) for page in pages(ROOT)]:
        with subtests.test(page=page):
            for name in sorted(set(NAME.findall((ROOT / page).read_text()))):
                file, _, test = name.partition("::")
                assert (ROOT / file).is_file(), name
                assert not test or test in defined(ROOT / file), name


def test_no_document_names_tests_in_another_way() -> None:
    """`unit/test_x.py` would not be found by the checks above."""
    for page in pages(ROOT):
        text = page.read_text()
        found = re.findall(r"(?<![\w/])(?:unit|integration|simulation|faults|browser)/test_\w+\.py", text)
        assert found == [], page.name
        whole = {match.start() for match in NAME.finditer(text)}
        assert {match.start() for match in re.finditer(r"\btests/\w+/test_\w+\.py", text)} <= whole
    assert len(named(ROOT)) > 250


def test_no_document_has_conflict_markers() -> None:
    for page in pages(ROOT):
        assert re.findall(r"^(?:<{7}|>{7}) .*$", page.read_text(), flags=re.MULTILINE) == [], page.name
