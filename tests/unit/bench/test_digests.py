"""`make digests`: the demo on several Pythons, here stand-ins that answer with a digest each."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.digests import report

PYTHON = """#!/bin/sh
if [ "$1" = -c ]; then echo {version}; exit; fi
if [ "$3" = --without-pip ]; then mkdir -p "$4/bin"; ln -s "$0" "$4/bin/python"; exit; fi
mkdir -p "$3/bin"
printf '#!/bin/sh\\n[ "$1" = install ]\\n' > "$3/bin/pip"
cp "$0.cogitate" "$3/bin/cogitate"
chmod 700 "$3/bin/pip"
"""
COGITATE = """#!/bin/sh
[ -z "$COGITATE_TOWN" ] && echo '{{"digest": "{digest}"}}' || exit 3
"""
UV = """#!/bin/sh
[ "$1 $2 $4" = 'pip install --python' ] || exit 2
cp "$(readlink "$5").cogitate" "$(dirname "$5")/cogitate"
touch "$0.used"
"""
SHIM = """#!/bin/sh
echo "no such version is chosen" >&2
exit 127
"""


def program(file: Path, text: str) -> str:
    """An executable file with this text."""
    file.write_text(text)
    file.chmod(0o700)
    return str(file)


def python(folder: Path, version: str, digest: str) -> str:
    """A stand-in for a Python whose package runs the demo to this digest."""
    file = folder / f"python{version}"
    program(folder / f"{file.name}.cogitate", COGITATE.format(digest=digest))
    return program(file, PYTHON.format(version=version))


@pytest.fixture(autouse=True)
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for this Python too, in an environment where the package is installed."""
    folder = tmp_path / "ours"
    folder.mkdir()
    program(folder / "cogitate", COGITATE.format(digest="a" * 32))
    monkeypatch.setattr(sys, "executable", python(folder, "3.11.7", "a" * 32))
    monkeypatch.setenv("COGITATE_TOWN", "3")  # a setting, which would give another digest
    return folder


def test_equal_digests_are_printed_with_their_pythons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report([python(tmp_path, "3.12.1", "a" * 32), python(tmp_path, "3.13.0", "a" * 32)]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{'a' * 32}  Python {v}" for v in ("3.11.7", "3.12.1", "3.13.0")]


def test_another_digest_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report([python(tmp_path, "3.12.1", "b" * 32), python(tmp_path, "3.13.0", "a" * 32)]) == 1
    assert "the digests differ" in capsys.readouterr().out


def test_a_failing_demo_is_reported(tmp_path: Path) -> None:
    broken = python(tmp_path, "3.12.1", "b" * 32)
    program(Path(f"{broken}.cogitate"), "#!/bin/sh\necho out of memory >&2; exit 2\n")
    with pytest.raises(SystemExit, match=r"out of memory(.|\n)*failed with exit code 2"):
        report([broken])


def test_a_missing_python_is_reported_and_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shim = program(tmp_path / "shim", SHIM)
    assert report([shim, "python9.99"]) == 0
    assert [line.split(maxsplit=2)[2] for line in capsys.readouterr().out.splitlines()[1:]] == [
        f"{shim} does not start a Python",
        "python9.99 does not start a Python",
    ]


def test_uv_installs_if_present(ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uv = Path(program(ours / "uv", UV))
    assert report([python(tmp_path, "3.12.1", "a" * 32)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == f"{'a' * 32}  Python 3.12.1"
    assert uv.with_name("uv.used").exists()


def test_pip_installs_what_uv_does_not_find(ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(ours / "uv", "#!/bin/sh\nexit 1\n")
    assert report([python(tmp_path, "3.12.1", "a" * 32)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == f"{'a' * 32}  Python 3.12.1"
