"""Encoders: embeddings of categories and features of other sizes per node type, for one run and R."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.nn.encoder import Categories, CategoryEncoder, TypedEncoder, make_encoder

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_categories_are_sums_of_embeddings() -> None:
    encoder = CategoryEncoder(Categories((3, 2)), width=4)
    x = torch.tensor([[2, 0], [0, 1]])
    expected = torch.stack([encoder.weight[2] + encoder.weight[3], encoder.weight[0] + encoder.weight[4]])
    torch.testing.assert_close(encoder(x), expected)


@pytest.mark.parametrize("features", [Categories((3, 2)), {"room": 2, "object": Categories((3,))}])
def test_runs_at_once_equal_runs_one_by_one(features: object) -> None:
    together = make_encoder(features, 4, runs=3)
    assert together is not None
    x, kinds = torch.tensor([[2, 0], [0, 1], [1, 1]]), torch.tensor([1, 0, 1])
    result = together(x, kinds)
    assert result.shape == (3, 3, 4)
    for run in range(3):
        alone = make_encoder(features, 4)
        alone.load_state_dict({name: value[run] for name, value in together.state_dict().items()})
        torch.testing.assert_close(result[:, run], alone(x, kinds))


@pytest.mark.parametrize("value", [2.5, -0.5, torch.nan])
def test_a_category_is_an_integer(value: float) -> None:
    encoder = CategoryEncoder(Categories((3,), numbers=1), width=4)
    with pytest.raises(nt.InputError, match="Expected integers between 0 and 2 in column 0; got"):
        encoder(torch.tensor([[1.0, 0.5], [value, 0.5]]))


@pytest.mark.parametrize("wrong", [2, -1])
def test_a_node_type_that_a_network_does_not_have(wrong: int) -> None:
    x, kinds = torch.randn(3, 4), torch.tensor([0, 1, wrong])
    for sizes in (({"room": 4, "object": 3}, 2), (4, {"room": 2, "object": 3})):
        model = nt.GNN(sizes[0], 8, sizes[1], 2)
        with pytest.raises(nt.InputError, match=f"Expected node_type between 0 and 1.*room, object; got {wrong}"):
            model(x, EDGES, node_type=kinds)
        with pytest.raises(nt.InputError, match="Expected node_type"):
            model.plan(Data(x=x, edge_index=EDGES, node_type=kinds))


def test_every_type_has_features_of_its_own_size() -> None:
    """What stands in the columns that a type does not have makes no difference, not even a number out of range."""
    encoder = TypedEncoder({"room": 2, "object": 5, "kind": Categories((3,))}, width=4)
    x, kinds = torch.randn(6, 5), torch.tensor([0, 1, 2, 0, 1, 2])
    x[kinds == 2, 0] = 1.0
    other = x.clone()
    other[kinds == 0, 2:] = 99.0
    other[kinds == 2, 1:] = -7.0
    torch.testing.assert_close(encoder(x, kinds), encoder(other, kinds))
    room = encoder.encoders[0].lin
    torch.testing.assert_close(encoder(x, kinds)[0], x[0, :2] @ room.weight + room.bias)
    with pytest.raises(nt.InputError, match="Expected node_type, since room, object, kind have encoders of their own"):
        encoder(x)


def test_networks_take_them() -> None:
    model = nt.GNN({"room": 2, "object": 5}, 8, {"room": 3, "object": 4}, 2)
    kinds = torch.tensor([0, 1, 1])
    assert model(torch.randn(3, 5), EDGES, kinds).shape == (3, 4)
    molecule = nt.GNN(Categories((28,)), 8, 1, 2, "gin", edge_channels=Categories((4,)), head="graph")
    atoms, bonds = torch.tensor([[5], [27], [0]]), torch.tensor([[1], [1], [3], [3]])
    assert molecule(atoms, EDGES, edge_attr=bonds).shape == (1, 1)
    molecule(atoms, EDGES, edge_attr=bonds).sum().backward()
    assert all(parameter.grad is not None for parameter in molecule.parameters())


@pytest.mark.parametrize("sizes", [(0,), (2, -1), ("a",)])
def test_bad_sizes(sizes: tuple[object, ...]) -> None:
    with pytest.raises(nt.InputError, match="Expected sizes as an integer of at least 1"):
        Categories(sizes)  # type: ignore[arg-type]


def test_bad_features() -> None:
    with pytest.raises(nt.InputError, match=r"Expected in_channels\['room'\] of at least 1; got 0"):
        nt.GNN({"room": 0}, 8, 2)
    with pytest.raises(nt.InputError, match="Expected features of at least one node type; got none"):
        nt.GNN({}, 8, 2)
    with pytest.raises(nt.InputError, match="Expected edge_channels of at least 1; got 0"):
        nt.GNN(3, 8, 2, edge_channels=0)
    with pytest.raises(nt.InputError, match="Expected out_channels of at least 1; got 0"):
        nt.GNN(3, 8, 0)


@pytest.mark.parametrize("features", [Categories((3, 2)), {"room": 2, "object": Categories((3,))}])
def test_every_run_may_have_features_of_its_own(features: object) -> None:
    together = make_encoder(features, 4, runs=3)
    assert together is not None
    x, kinds = torch.randint(0, 2, (5, 3, 2)), torch.tensor([1, 0, 1, 1, 0])
    result = together(x, kinds)
    assert result.shape == (5, 3, 4)
    for run in range(3):
        alone = make_encoder(features, 4)
        alone.load_state_dict({name: value[run] for name, value in together.state_dict().items()})
        torch.testing.assert_close(result[:, run], alone(x[:, run], kinds))


def test_features_of_another_number_of_runs() -> None:
    with pytest.raises(nt.InputError, match=r"Expected dense features of shape \(n, 1\), or \(n, 3, 1\), .*got shape"):
        CategoryEncoder(Categories((4,)), 8, runs=3)(torch.zeros(5, 2, 1, dtype=torch.int64))


@pytest.mark.parametrize("value", [3, -1])
def test_a_category_out_of_range_is_not_taken_for_one_of_the_next_column(value: int) -> None:
    model = nt.GNN(Categories((3, 4)), 8, 2, 2)
    x = torch.tensor([[0, 1], [value, 0], [2, 3]])
    with pytest.raises(nt.InputError, match=f"Expected integers between 0 and 2 in column 0; got {value} in row 1"):
        model(x, EDGES)
