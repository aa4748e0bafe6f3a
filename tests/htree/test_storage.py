"""save_htree and load_htree: the same tree back, and nothing else taken for one."""

from __future__ import annotations

import dataclasses
import pickle
import resource
import signal
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import safetensors
import safetensors.torch
import torch
from hypothesis import given, settings
from torch import Tensor

import neuraltrees as nt
from neuraltrees.errors import InputError
from neuraltrees.htree import load_htree, save_htree, storage
from tests.oracle import strategies
from tests.oracle.bridge import to_graph

FORMAT = {"format": "neuraltrees.htree.1"}
GOLDEN = nt.Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]])


@pytest.fixture
def tree() -> nt.HTree:
    return nt.build_htree(GOLDEN)


@pytest.fixture
def path(tmp_path: Path, tree: nt.HTree) -> Path:
    """A file with the golden tree."""
    nt.save_htree(tree, tmp_path / "tree.safetensors")
    return tmp_path / "tree.safetensors"


def tensors_of(tree: nt.HTree) -> dict[str, Tensor]:
    """The tensors of a file; a tree without kinds has none."""
    names = [field.name for field in dataclasses.fields(tree) if field.name != "kind" or tree.kind.any()]
    return {name: getattr(tree, name) for name in names}


def write(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None) -> Path:
    path.write_bytes(safetensors.torch.save(tensors, metadata))
    return path


def test_round_trip(tree: nt.HTree, path: Path) -> None:
    again = nt.load_htree(path)
    assert again == tree
    assert nt.load_htree(str(path)) == tree
    again.validate(GOLDEN)
    assert again.diameter() == 5


@pytest.mark.parametrize("graph", [nt.Graph([[], []]), nt.Graph([[], []], num_nodes=3)], ids=["empty", "lone nodes"])
def test_round_trip_without_edges(tmp_path: Path, graph: nt.Graph) -> None:
    tree = nt.build_htree(graph)
    nt.save_htree(tree, tmp_path / "tree.safetensors")
    assert nt.load_htree(tmp_path / "tree.safetensors") == tree


@given(graph=strategies.graphs(max_nodes=9))
@settings(deadline=None, max_examples=30)
def test_round_trip_of_any_tree(graph: nx.Graph, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("tree") / "tree.safetensors"
    tree = nt.build_htree(to_graph(graph))
    nt.save_htree(tree, path)
    assert nt.load_htree(path) == tree


def test_round_trip_of_kinds(tmp_path: Path) -> None:
    tree = nt.build_htree(GOLDEN, method="canonical", terminal="bag")
    path = tmp_path / "tree.safetensors"
    nt.save_htree(tree, path)
    assert nt.load_htree(path) == tree
    assert "kind" in safetensors.torch.load_file(path)
    write(path, {**tensors_of(tree), "kind": tree.kind[1:].clone()}, FORMAT)
    with pytest.raises(nt.InputError, match="Expected kind in"):
        nt.load_htree(path)


def test_round_trip_of_strided_arrays(tmp_path: Path, tree: nt.HTree) -> None:
    strided = dataclasses.replace(tree, edge_index=tree.edge_index.t().contiguous().t())
    nt.save_htree(strided, tmp_path / "tree.safetensors")
    assert nt.load_htree(tmp_path / "tree.safetensors") == tree


def test_file_is_a_plain_safetensors_file(tree: nt.HTree, path: Path) -> None:
    stored = safetensors.torch.load_file(path)
    assert sorted(stored) == sorted(tensors_of(tree))
    assert torch.equal(stored["parent"], tree.parent)
    with safetensors.safe_open(str(path), framework="pt") as file:
        assert file.metadata() == FORMAT


def test_same_tree_same_bytes(tmp_path: Path, tree: nt.HTree, path: Path) -> None:
    nt.save_htree(nt.build_htree(GOLDEN), tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_file_that_is_written_over(tree: nt.HTree, path: Path) -> None:
    """The tree that was read stays as it was."""
    before = nt.load_htree(path)
    nt.save_htree(nt.build_htree(nt.Graph([[0], [1]])), path)
    assert before == tree
    assert nt.load_htree(path).num_nodes == 3


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_packed_file_is_read_or_not_written(tmp_path: Path, tree: nt.HTree, suffix: str) -> None:
    path = tmp_path / f"tree.safetensors{suffix}"
    try:
        nt.save_htree(tree, path)
    except nt.InputError:
        return
    assert nt.load_htree(path) == tree


@pytest.mark.parametrize("length", [0, 4, 8, 100, -8, -1])
def test_truncated_file(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(nt.InputError, match=r"Expected .*tree\.safetensors to be an H-tree file; got: .*save_htree"):
        nt.load_htree(path)


def test_file_with_more_at_its_end(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(nt.InputError, match=r"Expected .*tree\.safetensors to be an H-tree file"):
        nt.load_htree(path)


class Trap:
    """Runs when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return pytest.fail, ("the file was unpickled",)


@pytest.mark.parametrize("save", [pickle.dump, torch.save])
def test_pickle_is_never_run(tmp_path: Path, save: Any) -> None:
    path = tmp_path / "tree.safetensors"
    with path.open("wb") as file:
        save(Trap(), file)
    with pytest.raises(nt.InputError, match="to be an H-tree file"):
        nt.load_htree(path)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, r"to hold an H-tree \(neuraltrees\.htree\.1\); got format null with bag_nodes, bag_ptr"),
        ({}, r"to hold an H-tree \(neuraltrees\.htree\.1\); got format null with"),
        ({"format": "pt"}, 'got format "pt" with'),
        ({"format": "neuraltrees.htree.2"}, r'got format "neuraltrees\.htree\.2" with'),
    ],
    ids=["none", "empty", "a model", "another version"],
)
def test_other_metadata(tmp_path: Path, tree: nt.HTree, metadata: dict[str, str] | None, message: str) -> None:
    path = write(tmp_path / "tree.safetensors", tensors_of(tree), metadata)
    with pytest.raises(nt.InputError, match=message):
        nt.load_htree(path)


def test_missing_and_foreign_tensors(tmp_path: Path, tree: nt.HTree) -> None:
    tensors = tensors_of(tree)
    path = write(tmp_path / "more.safetensors", {**tensors, "weight": torch.zeros(2)}, FORMAT)
    with pytest.raises(nt.InputError, match="parent, weight"):
        nt.load_htree(path)
    tensors.pop("parent")
    path = write(tmp_path / "less.safetensors", tensors, FORMAT)
    with pytest.raises(nt.InputError, match=r"kappa, level\.$"):
        nt.load_htree(path)
    path = write(tmp_path / "nothing.safetensors", {}, FORMAT)
    with pytest.raises(nt.InputError, match="with nothing"):
        nt.load_htree(path)


@pytest.mark.parametrize(
    "name", ["parent", "level", "kappa", "component", "edge_index", "edge_type", "bag_ptr", "bag_nodes"]
)
@pytest.mark.parametrize("dtype", [torch.int32, torch.float64])
def test_tensor_of_another_type(tmp_path: Path, tree: nt.HTree, name: str, dtype: torch.dtype) -> None:
    tensors = tensors_of(tree)
    path = write(tmp_path / "tree.safetensors", {**tensors, name: tensors[name].to(dtype)}, FORMAT)
    with pytest.raises(nt.InputError, match=f"Expected {name} in .* as int64 of shape .*; got {dtype} of shape"):
        nt.load_htree(path)


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("level", (17,), r"\(18,\)"),
        ("kappa", (18, 1), r"\(18,\)"),
        ("component", (19,), r"\(18,\)"),
        ("edge_index", (68,), r"\(2, 34\)"),
        ("edge_index", (34, 2), r"\(2, 34\)"),
        ("edge_index", (2, 33), r"\(2, 34\)"),
        ("bag_ptr", (18,), r"\(19,\)"),
        ("bag_nodes", (38, 1), r"\(38,\)"),
    ],
)
def test_tensor_of_another_shape(
    tmp_path: Path, tree: nt.HTree, name: str, shape: tuple[int, ...], expected: str
) -> None:
    tensors = {**tensors_of(tree), name: torch.zeros(shape, dtype=torch.int64)}
    path = write(tmp_path / "tree.safetensors", tensors, FORMAT)
    with pytest.raises(nt.InputError, match=f"Expected {name} in .* as int64 of shape {expected}; got torch.int64"):
        nt.load_htree(path)


@pytest.mark.parametrize("name", ["parent", "edge_type", "bag_nodes"])
def test_tensor_without_dimensions(tmp_path: Path, tree: nt.HTree, name: str) -> None:
    path = write(tmp_path / "tree.safetensors", {**tensors_of(tree), name: torch.tensor(3)}, FORMAT)
    with pytest.raises(nt.InputError, match=f"Expected {name} in"):
        nt.load_htree(path)


def test_tampered_values_are_found_by_validate(tmp_path: Path, tree: nt.HTree) -> None:
    path = write(tmp_path / "tree.safetensors", {**tensors_of(tree), "parent": tree.parent + 100}, FORMAT)
    with pytest.raises(nt.InvalidHTreeError, match="the parent of node 0 is 99"):
        nt.load_htree(path).validate(GOLDEN)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        nt.load_htree(tmp_path / "nowhere.safetensors")


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_failed_write_keeps_the_old_file(
    monkeypatch: pytest.MonkeyPatch, tree: nt.HTree, path: Path, error: BaseException
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr("os.replace", fail)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(type(error)):
        nt.save_htree(nt.build_htree(nt.Graph([[0], [1]])), path)
    assert [file.name for file in path.parent.iterdir()] == ["tree.safetensors"]
    assert nt.load_htree(path) == tree


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_both_widths_are_kept(tmp_path: Path, dtype: torch.dtype, ending: str) -> None:
    tree = nt.build_htree(nt.Graph([[0, 1, 2, 3], [1, 2, 3, 0]]), dtype=dtype)
    save_htree(tree, tmp_path / f"a.safetensors{ending}", ["a", "b", "c", "d"])
    loaded = load_htree(tmp_path / f"a.safetensors{ending}")
    assert loaded == tree and loaded.dtype == dtype


def test_others_read_what_is_written(tmp_path: Path) -> None:
    """The header is written by hand; safetensors itself reads it."""
    tree = nt.build_htree(nt.Graph([[0, 1], [1, 2]]))
    save_htree(tree, tmp_path / "a.safetensors", ["ä", "b", "c"])
    with safetensors.safe_open(tmp_path / "a.safetensors", "pt") as file:
        assert file.metadata() == {"format": "neuraltrees.htree.1", "names": '["\\u00e4", "b", "c"]'}
        assert torch.equal(file.get_tensor("edge_index"), tree.edge_index)


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.safetensors"
    small, large = nt.build_htree(nt.Graph([[0], [1]])), nt.build_htree(nt.Graph([range(2000), range(1, 2001)]))
    save_htree(small, path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))  # a write beyond it fails as on a full disk
    try:
        with pytest.raises(OSError, match="File too large"):
            save_htree(large, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert load_htree(path) == small and [each.name for each in tmp_path.iterdir()] == ["a.safetensors"]


def test_names_that_do_not_fit_into_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "MOST_HEADER", 1000)
    with pytest.raises(InputError, match="Leave the names out"):
        save_htree(nt.build_htree(nt.Graph([[0], [1]])), tmp_path / "a.safetensors", ["x" * 1000, "y"])
    assert not list(tmp_path.iterdir())
