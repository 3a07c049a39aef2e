"""A check, made before anything else is imported, that the names of our folders lead to our folders.

In an editable install `tasks`, `memory` and the others are top-level modules, and a host's own go before them. In a
wheel all of them lie in `cogitate`, and there is nothing to check.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

NAMES = (
    "celeryconfig", "hosting", "memory", "ops", "prompts", "scheduler", "simulation", "tasks", "workers",
)  # fmt: skip


def check_unshadowed(root: Path, names: Iterable[str] = NAMES) -> None:
    """Check that modules of these names are found in `root`.

    Raises:
        ImportError: naming the file that is found instead, and what to do.
    """
    for name in names:
        spec = find_spec(name)
        if spec is None:
            continue  # the import itself says what is missing
        found = Path(spec.origin or next(iter(spec.submodule_search_locations or ()), name)).resolve()
        if root not in found.parents:
            if found.name == "__init__.py":
                found = found.parent
            raise ImportError(
                f"cogitate needs its own module {name!r}, but Python finds {found} first: in an editable install the "
                f"folders of cogitate share names with yours. Rename {found}, or install cogitate as one package of "
                f"its own: pip install {root}",
                name=name,
                path=str(found),
            )


_root = Path(__file__).resolve().parents[1]
if not (Path(__file__).parent / "workers").is_dir():
    check_unshadowed(_root)
