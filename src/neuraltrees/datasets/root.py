"""The data root: the folder of the public datasets, to which missing files are downloaded."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, as_path, write_whole

VARIABLE = "NEURALTREES_DATA"
CHOOSE = f"Set --data-root (in Python: root) or the environment variable {VARIABLE} to a folder."
TIMEOUT = 60.0  # seconds without a response


def find_data_root(explicit: PathLike | None = None) -> Path:
    """The folder of the datasets: `explicit` if given, else `NEURALTREES_DATA`, else `~/.cache/neuraltrees`.

    >>> find_data_root("/data").as_posix()
    '/data'
    """
    given = str(as_path(explicit)) if explicit is not None else os.environ.get(VARIABLE)
    root = Path(given).expanduser() if given else Path.home() / ".cache" / "neuraltrees"
    if root.exists() and not root.is_dir():
        raise InputError(f"Expected the data root to be a folder; got the file {root}. {CHOOSE}")
    return root


@dataclass(frozen=True)
class PublicFile:
    """A file of a public dataset.

    Args:
        path: its path relative to the data root.
        url: its address at the publisher's.
        sha256: hash of its content.
    """

    path: str
    url: str
    sha256: str

    def find(self, root: PathLike | None = None) -> Path:
        """The path of the file under the data root; a missing file is downloaded and checked."""
        path = find_data_root(root) / self.path
        if not path.is_file():
            self._download(path)
        return path

    def check(self, path: Path) -> None:
        """Raises `InputError` if the content differs from the published file."""
        self._check(path.read_bytes(), f"{path}", "Delete it, and it is downloaded again.")

    def _download(self, path: Path) -> None:
        advice = (
            f"Put the file there by hand, or set --data-root (in Python: root) or the environment variable {VARIABLE} "
            f"to a folder that has {self.path}."
        )
        try:
            with urlopen(self.url, timeout=TIMEOUT) as answer:
                content = answer.read()
        except (OSError, HTTPException) as error:
            raise InputError(
                f"Expected the file {path}; it is missing, and the download from {self.url} failed: {error}. {advice}"
            ) from error
        self._check(content, f"the download from {self.url}", advice)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
        except OSError as error:
            raise InputError(f"Expected to write the downloaded file {path}; got: {error}. {advice}") from error

    def _check(self, content: bytes, origin: str, advice: str) -> None:
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise InputError(f"Expected {origin} to have the SHA-256 {self.sha256}; got {found}. {advice}")
