"""Files: `.gz` and `.xz` are unpacked and packed by their ending, and files are written atomically."""

from __future__ import annotations

import fcntl
import gzip
import io
import lzma
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from neuraltrees.errors import InputError

PathLike: TypeAlias = str | os.PathLike[str]
Content: TypeAlias = bytes | memoryview | Iterable[bytes | memoryview]
PIECE = 1 << 20  # bytes that are packed, unpacked or written at a time, since signals wait meanwhile


def as_path(path: PathLike) -> Path:
    """The path; `InputError` for what is none."""
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"Expected the path of a file; got {type(path).__name__}.") from None


def read_whole(path: PathLike) -> bytes:
    """The content of a file; `.gz` and `.xz` are unpacked."""
    path = as_path(path)
    packed = path.read_bytes()
    try:
        match path.suffix:
            case ".gz":
                with gzip.GzipFile(fileobj=io.BytesIO(packed)) as unpacked:
                    return b"".join(iter(lambda: unpacked.read(PIECE), b""))
            case ".xz":
                with lzma.LZMAFile(io.BytesIO(packed)) as file:
                    return b"".join(iter(lambda: file.read(PIECE), b""))
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(
            f"Expected {path} to be a complete {path.suffix} file; got: {error}. Get the file again."
        ) from error
    return packed


def make_folder(path: PathLike) -> None:
    """Creates a folder and its missing parents."""
    try:
        as_path(path).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"Expected a folder to write to; got {path}, which is a file. Choose another.") from None


def check_folder(path: PathLike) -> None:
    """Raises `InputError` if the path is a folder or its parent is missing, to fail before a long computation."""
    path = as_path(path)
    if path.is_dir():
        raise InputError(f"Expected a file to write to; got the folder {path}.")
    if not path.parent.is_dir():
        raise InputError(f"Expected a file in an existing folder; got {path}. Create the folder first.")


def write_whole(path: PathLike, content: Content) -> None:
    """Writes a file atomically: a crash or a full disk leaves the old content. `.gz` and `.xz` are packed.

    Args:
        path: the file.
        content: its bytes, or parts of them that are made one after another.
    """
    target = as_path(path).resolve()
    pieces = _pieces(content)
    match target.suffix:
        case ".gz":
            pieces = _packed(pieces, zlib.compressobj(wbits=31))
        case ".xz":
            pieces = _packed(pieces, lzma.LZMACompressor())
    if target.exists() and not target.is_file():
        with target.open("wb") as device:  # a device or a pipe has no old content to keep
            device.writelines(pieces)
        return
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def locked(path: PathLike) -> Iterator[None]:
    """While no other process writes to a file or to a folder; one that does raises `InputError`.

    The lock is an empty file: beside a file, in a folder. It ends with the process that has it, however that ends.
    """
    path = Path(path)
    lock = path / ".lock" if path.is_dir() else path.with_name(f".{path.name}.lock")
    while True:
        file = lock.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise InputError(
                f"Expected {path} not to be in use; another process is writing to it. "
                f"Wait for it, or choose another folder."
            ) from None
        try:
            if os.path.samestat(lock.stat(), os.fstat(file.fileno())):
                break
        except FileNotFoundError:
            pass
        file.close()  # the one who had it has just removed it
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        file.close()


@contextmanager
def locked_folder(path: PathLike) -> Iterator[None]:
    """A folder that is made where it is missing, while no other process writes to it; one left empty is removed."""
    path = Path(path)
    missing = [each for each in (path, *path.parents) if not each.exists()]
    make_folder(path)
    try:
        with locked(path):
            yield
    finally:
        try:
            for each in missing:
                each.rmdir()
        except OSError:
            pass  # it holds something


def _pieces(content: Content) -> Iterator[bytes | memoryview]:
    for part in (content,) if isinstance(content, bytes | memoryview) else content:
        view = memoryview(part).cast("B")
        yield from (view[start : start + PIECE] for start in range(0, len(view), PIECE))


def _packed(
    pieces: Iterable[bytes | memoryview], packer: zlib._Compress | lzma.LZMACompressor
) -> Iterator[bytes | memoryview]:
    yield from map(packer.compress, pieces)
    yield packer.flush()
