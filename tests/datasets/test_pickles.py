"""Pickles from others run nothing."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neuraltrees as nt
from neuraltrees.datasets.pickles import load_arrays


def write(path: Path, content: Any, protocol: int = 4) -> Path:
    path.write_bytes(pickle.dumps(content, protocol))
    return path


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_arrays_in_containers(tmp_path: Path, protocol: int) -> None:
    content = ({"x": [np.arange(3.0), np.array([[True]])]}, "name", 7, None)
    (numbers, name, seven, nothing) = load_arrays(write(tmp_path / "arrays.pkl", content, protocol))
    assert [array.tolist() for array in numbers["x"]] == [[0.0, 1.0, 2.0], [[True]]]
    assert (name, seven, nothing) == ("name", 7, None)


def test_arrays_of_numpy_1(tmp_path: Path) -> None:
    path = write(tmp_path / "arrays.pkl", np.arange(3), protocol=3)
    path.write_bytes(path.read_bytes().replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))
    assert load_arrays(path).tolist() == [0, 1, 2]


class Evil:
    def __init__(self, function: Any, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_a_pickle_that_runs_code(tmp_path: Path, protocol: int) -> None:
    trace = tmp_path / "trace"
    for evil in (Evil(os.mkdir, str(trace)), Evil(exec, f"open({str(trace)!r}, 'w')"), Evil(eval, "1")):
        path = write(tmp_path / "evil.pkl", {"x_list": [np.zeros(2), evil]}, protocol)
        with pytest.raises(nt.InputError, match=r"pickle of NumPy arrays and nothing else; .* Nothing in it was run"):
            load_arrays(path)
    assert not trace.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93.",  # a name with a dot reaches into the class
        b"cnumpy\nload\n.",
        b"cnumpy.core.multiarray\nscalar\n.",
        b"cbuiltins\neval\n(V1+1\ntR.",
    ],
)
def test_names_that_are_not_admitted(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "evil.pkl").write_bytes(content)
    with pytest.raises(nt.InputError, match="it imports "):
        load_arrays(tmp_path / "evil.pkl")


@pytest.mark.parametrize("content", [b"", b"hello", pickle.dumps(np.arange(9))[:-20], b"\x80\x04Q."])
def test_not_a_pickle(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.pkl").write_bytes(content)
    with pytest.raises(nt.InputError, match=r"broken.pkl to be a pickle of NumPy arrays"):
        load_arrays(tmp_path / "broken.pkl")
