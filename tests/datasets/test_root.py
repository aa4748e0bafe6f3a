"""Where datasets are looked for, and what happens when a file is missing."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

import neuraltrees as nt
from neuraltrees.datasets import CitationNetwork, StanfordSceneGraphs, find_data_root, root
from neuraltrees.datasets.root import PublicFile

CONTENT = b"some data"


@pytest.fixture
def published(tmp_path: Path) -> PublicFile:
    """A file that a local address offers."""
    (tmp_path / "upstream.bin").write_bytes(CONTENT)
    return PublicFile("set/file.bin", (tmp_path / "upstream.bin").as_uri(), hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str, timeout: float) -> Any:
        raise URLError("no route to host")

    monkeypatch.setattr(root, "urlopen", refuse)


def test_the_given_folder_then_the_variable_then_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NEURALTREES_DATA", "/variable")
    assert find_data_root("/given") == find_data_root(Path("/given")) == Path("/given")
    assert find_data_root() == Path("/variable")
    monkeypatch.setenv("NEURALTREES_DATA", "~/sets")
    assert find_data_root() == tmp_path / "sets"
    for unset in (lambda: monkeypatch.setenv("NEURALTREES_DATA", ""), lambda: monkeypatch.delenv("NEURALTREES_DATA")):
        unset()
        assert find_data_root() == tmp_path / ".cache" / "neuraltrees"


def test_a_file_is_no_data_root(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(nt.InputError, match="Expected the data root to be a folder; got the file"):
        find_data_root(tmp_path / "file")


def test_a_file_that_is_there_is_not_fetched(offline: None, published: PublicFile, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "file.bin").write_bytes(b"mine")
    assert published.find(tmp_path).read_bytes() == b"mine"
    with pytest.raises(nt.InputError, match=r"file.bin to have the SHA-256 .* Delete it, and it is downloaded again"):
        published.check(tmp_path / "set" / "file.bin")


def test_a_missing_file_is_downloaded_once(published: PublicFile, tmp_path: Path) -> None:
    path = published.find(tmp_path / "new" / "root")
    assert path == tmp_path / "new" / "root" / "set" / "file.bin"
    assert path.read_bytes() == CONTENT
    published.check(path)
    (tmp_path / "upstream.bin").unlink()
    assert published.find(tmp_path / "new" / "root") == path


def test_a_download_with_another_checksum_is_not_kept(published: PublicFile, tmp_path: Path) -> None:
    (tmp_path / "upstream.bin").write_bytes(b"something else")
    with pytest.raises(nt.InputError, match=r"the download from file:.* to have the SHA-256 .*; got .* by hand"):
        published.find(tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_a_download_that_cannot_be_written(published: PublicFile, tmp_path: Path) -> None:
    (tmp_path / "set").write_text("a file where a folder should be")
    with pytest.raises(nt.InputError, match="Expected to write the downloaded file"):
        published.find(tmp_path)


@pytest.mark.parametrize(
    ("load", "path", "url"),
    [
        (StanfordSceneGraphs, "stanford3dsg/Stanford3DSG.pkl", "https://github.com/MIT-SPARK/neural_tree/"),
        (lambda root: CitationNetwork("Cora", root), "planetoid/Cora/raw/ind.cora.x", "https://github.com/kimiyoung/"),
    ],
)
def test_without_a_network_the_error_says_what_to_do(
    offline: None, tmp_path: Path, load: Any, path: str, url: str
) -> None:
    with pytest.raises(nt.InputError) as raised:
        load(tmp_path)
    message = str(raised.value)
    assert f"Expected the file {tmp_path / path}; it is missing, and the download from {url}" in message
    assert "no route to host" in message
    assert "Put the file there by hand, or set --data-root (in Python: root) or the environment variable" in message
    assert f"variable NEURALTREES_DATA to a folder that has {path}." in message
    assert list(tmp_path.iterdir()) == []
