"""Pages that everybody can read and operate, as far as axe-core can tell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.quiet_page import WINDOWS

#: Impacts of a finding that no page may have.
SERIOUS = ("moderate", "serious", "critical")


def check_accessible(page: Any) -> None:
    """Check that axe-core finds nothing serious on a page, on a desktop and on a phone, light and dark."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # no fading from theme to theme
        for name, (_, width, height) in WINDOWS.items():
            page.set_viewport_size({"width": width, "height": height})
            for one in axe.Axe().run(page).response["violations"]:
                if one["impact"] in SERIOUS:
                    for node in one["nodes"]:
                        found.append(f"{scheme} {name} {one['id']}: {node['html'][:200]} {node['failureSummary']}")
    assert not found, "\n".join(found)
