"""Files are read whole, and written whole or not at all."""

from __future__ import annotations

import gzip
import lzma
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import neuraltrees as nt
from neuraltrees.files import locked_folder, read_whole, write_whole
from tests.commands import started


@pytest.fixture
def set_umask() -> Iterator[Callable[[int], int]]:
    """os.umask, put back after the test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("suffix", ["", ".txt", ".gz", ".xz"])
@pytest.mark.parametrize("content", [b"", b"line\r\n\x00\xff", bytes(100_000)], ids=["empty", "binary", "long"])
def test_round_trip(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"file{suffix}"
    write_whole(path, content)
    assert read_whole(path) == content
    assert read_whole(str(path)) == content
    assert names(tmp_path) == [path.name]


def test_packed_by_the_ending(tmp_path: Path) -> None:
    for suffix, unpack in {".gz": gzip.decompress, ".xz": lzma.decompress, ".gr": bytes}.items():
        write_whole(tmp_path / f"a{suffix}", b"text")
        assert unpack((tmp_path / f"a{suffix}").read_bytes()) == b"text"


def test_same_content_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No time of day in a packed file."""
    for number, now in enumerate([1e9, 2e9]):
        monkeypatch.setattr("time.time", lambda now=now: now)
        write_whole(tmp_path / f"{number}.gz", b"text")
    assert (tmp_path / "0.gz").read_bytes() == (tmp_path / "1.gz").read_bytes()


def test_written_over(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a long old content")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


def test_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_whole("file.gz", b"text")
    assert read_whole("file.gz") == b"text"
    assert names(tmp_path) == ["file.gz"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600), (0o000, 0o666)])
def test_permissions_follow_the_umask(tmp_path: Path, set_umask: Callable[[int], int], umask: int, mode: int) -> None:
    set_umask(umask)
    write_whole(tmp_path / "file", b"text")
    plain = tmp_path / "plain"
    plain.write_bytes(b"text")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode) == mode
    assert set_umask(0o022) == umask


@pytest.mark.parametrize("function", ["os.fsync", "os.replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_failed_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, error: BaseException
) -> None:
    path = tmp_path / "file.gr"
    path.write_bytes(b"old")

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(function, fail)
    with pytest.raises(type(error)):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file.gr"]


def test_old_file_is_there_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen: list[tuple[bytes, bytes]] = []

    def replace(self: Path, target: Path) -> None:
        seen.append((self.read_bytes(), Path(target).read_bytes()))
        os.rename(self, target)  # noqa: PTH104 - Path.replace is what this stands for

    monkeypatch.setattr(Path, "replace", replace)
    write_whole(path, b"new")
    assert seen == [(b"new", b"old")]
    assert path.read_bytes() == b"new"


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "nowhere" / "file", b"text")
    assert caught.value.filename == str(tmp_path / "nowhere" / "file")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_whole(tmp_path / "nowhere" / "file")


def test_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "folder", b"text")
    with pytest.raises(IsADirectoryError):
        read_whole(tmp_path / "folder")
    assert names(tmp_path) == ["folder"]


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_damaged_archive(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"file{suffix}"
    write_whole(path, b"text" * 100)
    path.write_bytes(path.read_bytes()[:-9])
    match = rf"Expected .*file\{suffix} to be a complete \{suffix} file; got: .*again\."
    with pytest.raises(nt.InputError, match=match):
        read_whole(path)


def test_graph_that_is_not_written_keeps_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.gr"
    nt.Graph([[0], [1]]).write_gr(path)

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        nt.Graph([[0, 1], [1, 2]]).write_gr(path)
    assert nt.Graph.read_gr(path) == nt.Graph([[0], [1]])
    assert names(tmp_path) == ["graph.gr"]


def test_a_folder_is_locked_for_others_and_left_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    with locked_folder(folder):
        with pytest.raises(nt.InputError, match=r"Expected .*run not to be in use; another"), locked_folder(folder):
            pass
        assert names(folder) == [".lock"]
    assert not (tmp_path / "deep").exists(), "nothing was written"
    with locked_folder(folder):
        (folder / "result").write_text("kept")
    assert names(folder) == ["result"]


def test_the_lock_of_a_killed_process_blocks_nobody(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom neuraltrees.files import locked_folder\n"
        "with locked_folder(sys.argv[1]):\n    print('inside', flush=True)\n    time.sleep(600)\n"
    )
    folder = tmp_path / "run"
    with started([sys.executable, "-c", code, folder]) as process:
        assert process.lines(1) == ["inside"]
        with pytest.raises(nt.InputError, match="another process is writing to it"), locked_folder(folder):
            pass
    assert names(folder) == [".lock"], "it had no time to clean up"
    with locked_folder(folder):
        (folder / "result").write_text("kept")
    assert names(folder) == ["result"]
