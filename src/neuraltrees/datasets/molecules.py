"""Molecules by name: ZINC-12k, Peptides-func, and ESOL, FreeSolv, BACE, Tox21 and HIV of MoleculeNet."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from neuraltrees.data.folds import stored_split
from neuraltrees.data.packed import PackedGraphs
from neuraltrees.data.task import Task
from neuraltrees.datasets.inventory import PLACES
from neuraltrees.datasets.molecule_features import ATOMS, BONDS, ZINC_ATOMS, ZINC_BONDS
from neuraltrees.datasets.ogb_files import read_ogb
from neuraltrees.datasets.pickles import load_tensors
from neuraltrees.datasets.spec import DataSpec
from neuraltrees.datasets.stored_graphs import (
    AGAIN,
    find_stored,
    join_graphs,
    pack,
    read_arrays,
    read_processed,
    read_tensors,
)
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.objectives import MultiLabel, Objective, Regression

PARTS = ("train", "val", "test")

# Functions of peptides, in the order of the Long Range Graph Benchmark's labels.
PEPTIDE_LABELS = (
    "antifungal",
    "cell-cell communication",
    "anticancer",
    "drug delivery vehicle",
    "antimicrobial",
    "antiviral",
    "antihypertensive",
    "antibacterial",
    "antiparasitic",
    "toxic",
)

MOLECULENET: dict[str, Objective] = {
    "esol": Regression(("measured log solubility in mols per litre",), metric="rmse"),
    "freesolv": Regression(("hydration free energy in kcal/mol",), metric="rmse"),
    "bace": MultiLabel(("BACE-1 inhibitor",)),
    "tox21": MultiLabel(
        (
            *("NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma"),
            *("SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53"),
        )
    ),
    "hiv": MultiLabel(("HIV_active",)),
}


def zinc(root: PathLike | None = None) -> tuple[PackedGraphs, Tensor]:
    """ZINC-12k and the part of every graph; from `zinc12k.npz`, or from the folder of PyG's `ZINC(subset=True)`.

    Shapes: the part :math:`(G)`: 0 trains, 1 validates, 2 tests
    """
    path = find_stored(
        root,
        "ZINC-12k",
        PLACES["zinc"],
        "PyG downloads it: torch_geometric.datasets.ZINC('ROOT/ZINC', subset=True).",
    )
    if path.is_dir():
        return _parts([(_raw_zinc if path.name == "raw" else _processed)(path, name) for name in PARTS])
    names = ("x", "edge", "bond", "node_ptr", "edge_ptr", "y")
    arrays = read_arrays(path, [f"{part}_{name}" for part in PARTS for name in names])
    return _parts([pack(path, arrays, f"{part}_", edges="bond") for part in PARTS])


def peptides(root: PathLike | None = None) -> tuple[PackedGraphs, Tensor]:
    """Peptides-func and the part of every graph; from `peptides_func.npz`, or the folder of PyG's `LRGBDataset`."""
    path = find_stored(
        root,
        "Peptides-func",
        PLACES["peptides-func"],
        "PyG downloads it: torch_geometric.datasets.LRGBDataset('ROOT/LRGB', 'Peptides-func').",
    )
    if path.is_dir():
        return _parts([(_raw_peptides if path.name == "raw" else _processed)(path, name) for name in PARTS])
    arrays = read_arrays(path, ("x", "edge", "edge_attr", "node_ptr", "edge_ptr", "y", "split"))
    return pack(path, arrays), torch.from_numpy(arrays["split"]).long()


def moleculenet(name: str, root: PathLike | None = None) -> tuple[PackedGraphs, Tensor]:
    """A dataset of MoleculeNet with the features and the scaffold split of the Open Graph Benchmark.

    From an `.npz` file, or from the folder that OGB's `PygGraphPropPredDataset` downloads.
    """
    path = find_stored(
        root,
        name,
        PLACES[name],
        f"OGB downloads it: PygGraphPropPredDataset('ogbg-mol{name}', root='ROOT').",
    )
    if path.is_dir():
        return read_ogb(path)
    arrays = read_arrays(path, ("x", "edge", "edge_attr", "node_ptr", "edge_ptr", "y", "split"))
    return pack(path, arrays), torch.from_numpy(arrays["split"]).long()


def load_zinc(spec: DataSpec) -> Task:
    """The constrained solubility of 12,000 molecules; mean absolute error."""
    packed, part = zinc(spec.data_root)
    objective = Regression(("constrained solubility",), metric="mae").standardised(packed.y[part == 0])
    splitter = partial(stored_split, part)
    return Task(packed, objective, splitter=splitter, features=ZINC_ATOMS, edge_features=ZINC_BONDS)


def load_peptides(spec: DataSpec) -> Task:
    """Ten functions of 15,535 peptides; average precision."""
    packed, part = peptides(spec.data_root)
    objective = MultiLabel(PEPTIDE_LABELS, metric="average-precision")
    return Task(packed, objective, splitter=partial(stored_split, part), features=ATOMS, edge_features=BONDS)


def load_moleculenet(spec: DataSpec) -> Task:
    """Properties of molecules by the scaffold split of OGB: RMSE of numbers, ROC-AUC of labels."""
    packed, part = moleculenet(spec.dataset, spec.data_root)
    objective = MOLECULENET[spec.dataset]
    if isinstance(objective, Regression):
        objective = objective.standardised(packed.y[part == 0])
    return Task(packed, objective, splitter=partial(stored_split, part), features=ATOMS, edge_features=BONDS)


def _processed(folder: Path, name: str) -> PackedGraphs:
    return read_processed(folder / f"{name}.pt")


def _raw_zinc(folder: Path, name: str) -> PackedGraphs:
    """The molecules of `NAME.pickle` that `NAME.index` lists; each has its bonds in a matrix."""
    path = folder / f"{name}.pickle"
    molecules = load_tensors(path)
    try:
        chosen = [molecules[int(place)] for place in (folder / f"{name}.index").read_text().split(",") if place.strip()]
        return join_graphs(path, (_from_matrix(molecule) for molecule in chosen))
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"Expected {path} to be the list of molecules of ZINC; got: {type(error).__name__}: {error}. {AGAIN}"
        ) from None


def _from_matrix(molecule: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    bonds = molecule["bond_type"]
    ends = bonds.nonzero().t()
    attr = bonds[ends[0], ends[1]].unsqueeze(1)
    return molecule["atom_type"].unsqueeze(1), ends, attr, molecule["logP_SA_cycle_normalized"].float()


def _raw_peptides(folder: Path, name: str) -> PackedGraphs:
    """Tuples of features, those of bonds, bonds and labels."""
    path = folder / f"{name}.pt"
    content = read_tensors(path)
    try:
        return join_graphs(path, ((x, ends, attr, y) for x, attr, ends, y in content))
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"Expected {path} to be a list of graphs as tuples of four tensors; got: {error}. {AGAIN}"
        ) from None


def _parts(parts: list[PackedGraphs]) -> tuple[PackedGraphs, Tensor]:
    """The graphs of all parts, and which part each is of."""
    sizes = torch.tensor([len(part) for part in parts])
    return PackedGraphs.join(parts), torch.arange(len(parts)).repeat_interleave(sizes)
