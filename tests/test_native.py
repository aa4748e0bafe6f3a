"""The compiled core as Python sees it: its stub is true, it converts nothing silently, and it frees the lock."""

from __future__ import annotations

import ast
import inspect
import re
import threading
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import numpy as np
import pytest

import neuraltrees as nt
from neuraltrees._core import native
from tests.oracle.bridge import to_graph

CORE: ModuleType = import_module("neuraltrees._core._native")
STUB = Path(nt.__file__).parent / "_core" / "_native.pyi"

PTR = np.array([0, 1, 2], dtype=np.int64)
ADJ = np.array([1, 0], dtype=np.int32)
IDS = np.array([0, 1], dtype=np.int64)


def stub_functions() -> dict[str, list[str]]:
    """The functions of the stub, and the methods of its classes, with the names of their parameters."""
    body = ast.parse(STUB.read_text()).body
    found = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    for each in body:
        if isinstance(each, ast.ClassDef):
            found |= {f"{each.name}.{node.name}": node for node in each.body if isinstance(node, ast.FunctionDef)}
    return {name: [arg.arg for arg in node.args.args if arg.arg != "self"] for name, node in found.items()}


def core_functions() -> dict[str, list[str]]:
    """The same from the signatures that the compiled module writes into its docstrings."""
    public = {name: value for name, value in vars(CORE).items() if callable(value) and not name.startswith("_")}
    functions = {name: value for name, value in public.items() if not isinstance(value, type)}
    for owner in public.keys() - functions.keys():
        methods = {name: value for name, value in vars(public[owner]).items() if callable(value)}
        functions |= {f"{owner}.{name}": value for name, value in methods.items() if not name.startswith("_")}
    signatures = {name: inspect.getdoc(value).splitlines()[0] for name, value in functions.items()}
    return {name: re.findall(r"(\w+): ", signature.split(" -> ")[0]) for name, signature in signatures.items()}


def test_stub_names_every_function() -> None:
    assert sorted(stub_functions()) == sorted(core_functions())
    assert len(core_functions()) >= 12


def test_stub_names_every_constant() -> None:
    stub = {ast.unparse(node.target) for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.AnnAssign)}
    assert stub == {name for name, value in vars(CORE).items() if isinstance(value, int)}


def test_number_of_nodes_plus_one_fits_in_32_bits() -> None:
    assert np.iinfo(np.int32).max == native.MAX_GRAPH_NODES + 1


@pytest.mark.parametrize("name", sorted(stub_functions()))
def test_stub_names_every_parameter(name: str) -> None:
    expected, found = stub_functions()[name], core_functions()[name]
    # A function that takes its argument by place only calls it arg.
    assert found == expected or (found == ["arg"] and len(expected) == 1)


def test_loader_gives_the_functions_of_the_core() -> None:
    assert native.graph_from_edges is CORE.graph_from_edges
    with pytest.raises(AttributeError, match="magic"):
        _ = native.magic


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("graph_from_edges", (IDS.astype(np.float64), IDS, 2)),
        ("graph_from_edges", (IDS, IDS.astype(np.int32), 2)),
        ("graph_from_edges", (IDS[None], IDS, 2)),
        ("graph_from_edges", ([0, 1], IDS, 2)),
        ("graph_from_edges", (IDS, IDS, 2.5)),
        ("graph_from_edges", (IDS, IDS, 2**63)),
        ("connected_components", (PTR, ADJ.astype(np.int64))),
        ("connected_components", (PTR.astype(np.int32), ADJ)),
        ("induced_subgraph", (PTR, ADJ, np.array([0.0]))),
        ("decomposition_from_order", (PTR, ADJ, IDS)),
        ("decomposition_violation", (PTR, ADJ, PTR, ADJ, np.zeros((1, 3), dtype=np.int32))),
        ("parse_gr", ("p tw 0 0",)),
        ("parse_td", (bytearray(b"s td 0 0 0"),)),
        ("sample_bounded_treewidth", (PTR, ADJ, 2, -1)),
    ],
)
def test_nothing_is_converted_silently(function: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        getattr(CORE, function)(*arguments)


def test_arrays_that_come_back_own_their_memory_beyond_the_call() -> None:
    indptr, indices = CORE.graph_from_edges(IDS, IDS[::-1].copy(), 2)
    for _ in range(100):
        CORE.graph_from_edges(IDS, IDS[::-1].copy(), 2)
    assert (indptr.tolist(), indices.tolist()) == ([0, 1, 2], [1, 0])
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int32)


def test_errors_of_the_core_are_those_of_the_library() -> None:
    with pytest.raises(nt.ParseError, match="line 1: expected 'p', got 'x'"):
        CORE.parse_gr(b"x")
    with pytest.raises(nt.InputError, match="between 0 and 0; got 1 in edge 1"):
        CORE.graph_from_edges(IDS, IDS, 1)
    with pytest.raises(nt.InputError, match="as many sources as targets"):
        CORE.graph_from_edges(IDS, IDS[:1], 2)
    with pytest.raises(nt.TreeTooLargeError, match="at most 2 nodes"):
        nt.build_htree(nt.Graph([[0], [1]]), max_nodes=2)


def test_other_threads_run_while_the_core_computes() -> None:
    hard = to_graph(nx.gnp_random_graph(120, 0.2, seed=0))
    found: list[nt.TreeDecomposition] = []
    search = threading.Thread(target=lambda: found.append(nt.decompose(hard, "best", time_limit=1.0)))
    start = time.perf_counter()
    search.start()
    turns = 0
    while time.perf_counter() - start < 0.5:
        time.sleep(0.001)
        turns += 1
    assert search.is_alive()
    assert turns > 20
    search.join()
    found[0].validate(hard)


def test_searches_on_several_threads_do_not_disturb_each_other() -> None:
    graphs = [to_graph(nx.gnp_random_graph(30, 0.15, seed=number)) for number in range(8)]
    alone = [nt.decompose(graph, "exact", threads=1) for graph in graphs]
    together: dict[int, nt.TreeDecomposition] = {}

    def work(number: int) -> None:
        together[number] = nt.decompose(graphs[number], "exact", threads=1)

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[number] for number in range(8)] == alone


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_columns_that_lie_apart_are_read_in_place(dtype: Any) -> None:
    pairs = np.random.default_rng(0).integers(0, 9, (40, 2)).astype(dtype)
    wide = [np.ascontiguousarray(column, dtype=np.int64) for column in pairs.T]
    expected = native.graph_from_edges(*wide, 9)
    for columns in (pairs.T, pairs[::-1].T, np.asfortranarray(pairs).T):
        found = native.graph_from_edges(columns[0], columns[1], 9)
        assert all(np.array_equal(*each) for each in zip(found, expected, strict=True))
