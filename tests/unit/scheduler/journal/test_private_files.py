"""Files that hold what agents remember: whole or not at all, and for their owner alone."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cogitate.ops.report.page import Page
from cogitate.scheduler.journal.private_files import open_private_log, private_file, private_folder


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("name", ["new.jsonl", "日" * 85, ".hidden"])
def test_a_file_is_there_when_it_is_whole_and_for_its_owner_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with private_file(path) as file:
        file.write(b"half")
        assert not path.exists()
        file.write(b" and half")
    assert (path.read_bytes(), mode_of(path)) == (b"half and half", 0o600)
    assert [*tmp_path.iterdir()] == [path]


def test_a_report_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("what others could read")
    path.chmod(0o644)
    Page("Town", "a run").write(path)
    assert mode_of(path) == 0o600
    assert "Town" in path.read_text()


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt()])
def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"before")

    def breaks_off() -> Iterator[bytes]:
        yield b"x" * 100_000
        raise error

    with pytest.raises(type(error)), private_file(path) as file:
        file.writelines(breaks_off())
    with pytest.raises(type(error)), private_folder(tmp_path / "out") as folder:
        (folder / "one").write_bytes(b"".join(breaks_off()))
    assert path.read_bytes() == b"before"
    assert [*tmp_path.iterdir()] == [path]


def test_a_folder_takes_the_place_of_a_missing_or_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "new" / "one"):
        with private_folder(path) as folder:
            (folder / "file").write_text("whole")
        assert ([found.name for found in path.parent.iterdir() if found.name.startswith(".")], mode_of(path)) == (
            [],
            0o700,
        )
        assert (path / "file").read_text() == "whole"


def test_a_link_is_followed_and_a_pipe_written_directly(tmp_path: Path) -> None:
    kept, link, pipe = tmp_path / "kept", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(kept)
    with private_file(link) as file:
        file.write(b"through the link")
    assert (link.is_symlink(), kept.read_bytes()) == (True, b"through the link")
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with private_file(pipe) as file:
        file.write(b"through the pipe")
    reader.join()
    assert read == [b"through the pipe"]


@pytest.mark.parametrize("there", [True, False], ids=["open to others", "new"])
def test_a_log_is_private_whenever_it_is_opened(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "worker-1.log"
    if there:
        path.write_bytes(b"before\n")
        path.chmod(0o644)
    for line in (b"one\n", b"two\n"):
        with open_private_log(path) as file:
            file.write(line)
    assert path.read_bytes() == (b"before\n" if there else b"") + b"one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600
