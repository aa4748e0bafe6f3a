"""Files: `.gz` and `.xz` are decompressed and compressed by their suffix, and files are written atomically."""

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
PIECE = 1 << 20  # bytes that are compressed, decompressed or written at a time; signals such as Ctrl-C wait meanwhile


def as_path(path: PathLike) -> Path:
    """The argument as a `Path`; `InputError` if it is not one."""
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"Expected the path of a file; got {type(path).__name__}.") from None


def read_whole(path: PathLike) -> bytes:
    """The content of a file; `.gz` and `.xz` are decompressed."""
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
            f"Expected {path} to be a complete {path.suffix} file; got: {error}. Download or copy it again."
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
    """Writes a file atomically: a crash or a full disk leaves the old content. `.gz` and `.xz` are compressed.

    Args:
        path: the file.
        content: its bytes, or an iterable of consecutive parts.
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
    """Locks a file or a folder against other processes of this library; `InputError` if one of them holds the lock.

    The lock is an empty file: beside a locked file, inside a locked folder. The system releases it when the process
    ends, even if it is killed.
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
                f"Wait until it has ended, or choose another {'folder' if path.is_dir() else 'file'}."
            ) from None
        try:
            if os.path.samestat(lock.stat(), os.fstat(file.fileno())):
                break
        except FileNotFoundError:
            pass
        file.close()  # the previous owner has just removed this lock file: try again with a new one
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        file.close()


@contextmanager
def locked_folder(path: PathLike) -> Iterator[None]:
    """Locks a folder, which is created if it is missing; folders created here that end up empty are removed again."""
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
            pass  # it is not empty


def _pieces(content: Content) -> Iterator[bytes | memoryview]:
    for part in (content,) if isinstance(content, bytes | memoryview) else content:
        view = memoryview(part).cast("B")
        yield from (view[start : start + PIECE] for start in range(0, len(view), PIECE))


def _packed(
    pieces: Iterable[bytes | memoryview], packer: zlib._Compress | lzma.LZMACompressor
) -> Iterator[bytes | memoryview]:
    yield from map(packer.compress, pieces)
    yield packer.flush()
