"""Known labels as JSON: by name and by number, for one graph and several, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.data.known_labels import known_of, read_known

LABELS = {"room": ("kitchen", "attic"), "object": ("oven", "bed", "rug")}
GRAPH = Data(edge_index=torch.tensor([[0], [1]]), node_type=torch.tensor([0, 1, 1]), num_nodes=3)
NAMES = ["r", "x", "x"]


def read(tmp_path: Path, content: object, graphs: int = 1) -> list[list[int]]:
    path = tmp_path / "known.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return [each.tolist() for each in read_known(path, [GRAPH] * graphs, [NAMES] * graphs, LABELS)]


def test_by_name_and_by_number(tmp_path: Path) -> None:
    assert read(tmp_path, {"r": "attic", "2": "rug"}) == [[1, -1, 2]]
    assert read(tmp_path, {}) == [[-1, -1, -1]]
    assert read(tmp_path, {"graphs": [{"r": "kitchen"}, {}]}, graphs=2) == [[0, -1, -1], [-1, -1, -1]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "to be a JSON file"),
        ([1], "an object of nodes and their labels; got list"),
        ({"graphs": [{}, {}]}, "known labels of 1 graphs, a list under 'graphs'; got those of 2"),
        ({"x": "bed"}, "got 'x', which 2 nodes have. Use the node's number"),
        ({"9" * 5000: "bed"}, "from 0 to 2; got '9999"),
        ('{"r": ' + "9" * 5000 + "}", "to be a JSON file"),
        ({"rr": "attic"}, "from 0 to 2; got 'rr'. Did you mean r\\?"),
        ({"7": "attic"}, "from 0 to 2; got '7'"),
        ({"r": "atic"}, "a room label for node 'r'; got 'atic'. Did you mean attic\\?"),
        ({"r": 1}, "a room label for node 'r'; got 1"),
        ({"r": "attic", "0": "attic"}, "one label per node; got two for node '0'"),
        ('{"r": "attic", "r": "kitchen"}', "every node once; got 'r' twice"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        read(tmp_path, content)


def test_a_model_without_classes_has_no_known_labels(tmp_path: Path) -> None:
    with pytest.raises(nt.InputError, match="Expected a model of classes"):
        read_known(tmp_path / "none.json", [GRAPH], [NAMES], {})


def test_many_known_labels_take_linear_time(tmp_path: Path) -> None:
    count = 100_000  # minutes, if every name were looked for among all
    graph = Data(edge_index=torch.zeros(2, 0, dtype=torch.int64), num_nodes=count)
    names = [f"node {i}" for i in range(count)]
    (known,) = known_of(dict.fromkeys(names, "bed"), "known", [graph], [names], {"node": ("rug", "bed")})
    assert known.tolist() == [1] * count
