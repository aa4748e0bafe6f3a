"""Untrusted pickles, loaded without running any code in them."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import torch

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, read_whole

# The functions that NumPy's pickles call to rebuild an array: up to protocol 4, and from protocol 5 on.
_RECONSTRUCT, _FROM_BUFFER = (np.zeros(1).__reduce_ex__(protocol)[0] for protocol in (4, 5))

_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,  # NumPy 1
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy.core.numeric", "_frombuffer"): _FROM_BUFFER,  # NumPy 1
    ("numpy._core.numeric", "_frombuffer"): _FROM_BUFFER,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


def _load_storage(content: bytes) -> Any:
    """The storage of a pickled tensor, read without running any code in it either."""
    return torch.load(io.BytesIO(content), weights_only=True)


def _as_bytes(text: str, encoding: str = "latin1") -> bytes:
    """Bytes that old pickles store as text."""
    return text.encode("latin1")


# What tensors that were pickled without torch.save call to rebuild themselves.
_TENSORS: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor_v2"): torch._utils._rebuild_tensor_v2,
    ("torch.storage", "_load_from_bytes"): _load_storage,
    ("collections", "OrderedDict"): OrderedDict,
    ("_codecs", "encode"): _as_bytes,
}


class _ArrayUnpickler(pickle.Unpickler):
    allowed = _ALLOWED

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.allowed[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"it imports {module}.{name}, and a pickle that may import anything can run any code"
            ) from None


class _TensorUnpickler(_ArrayUnpickler):
    allowed = _ALLOWED | _TENSORS


def load_tensors(path: PathLike) -> Any:
    """As `load_arrays`, but the pickle may also have tensors."""
    return _load(path, _TensorUnpickler, "tensors")


def load_arrays(path: PathLike) -> Any:
    """The content of a pickle, if it consists of built-in containers, numbers, strings and NumPy arrays.

    Anything else raises `InputError` before it is imported or called.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     pickle.dump({"x": np.arange(3)}, file)
    ...     file.flush()
    ...     load_arrays(file.name)
    {'x': array([0, 1, 2])}
    """
    return _load(path, _ArrayUnpickler, "NumPy arrays")


def _load(path: PathLike, unpickler: type[pickle.Unpickler], what: str) -> Any:
    content = read_whole(path)
    try:
        return unpickler(io.BytesIO(content)).load()
    except Exception as error:  # a broken pickle may raise anything
        raise InputError(
            f"Expected {path} to be a pickle of {what} and nothing else; got one that cannot be read: {error}. "
            f"Nothing in it was run. Download the file again from a source you trust."
        ) from error
