"""Molecules by name: ZINC-12k, Peptides-func, and ESOL, FreeSolv, BACE, Tox21 and HIV of MoleculeNet."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from neuraltrees.data.folds import stored_split
from neuraltrees.data.packed import PackedGraphs
from neuraltrees.data.task import Task
from neuraltrees.datasets.molecule_features import ATOMS, BONDS, ZINC_ATOMS, ZINC_BONDS
from neuraltrees.datasets.ogb_files import read_ogb
from neuraltrees.datasets.spec import DataSpec
from neuraltrees.datasets.stored_graphs import find_stored, pack, read_arrays, read_processed
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
    """ZINC-12k and the part of every graph; from `zinc12k.npz`, or what PyG's `ZINC(subset=True)` has saved.

    Shapes: the part :math:`(G)`: 0 trains, 1 validates, 2 tests
    """
    folders = [f"{folder}/subset/processed" for folder in ("molecules/zinc", "ZINC", "zinc")]
    path = find_stored(
        root,
        "ZINC-12k",
        ["molecules/zinc/zinc12k.npz", *folders, "subset/processed"],
        "PyG downloads it: torch_geometric.datasets.ZINC('ROOT/ZINC', subset=True).",
    )
    if path.is_dir():
        return _parts([read_processed(path / f"{name}.pt") for name in PARTS])
    names = ("x", "edge", "bond", "node_ptr", "edge_ptr", "y")
    arrays = read_arrays(path, [f"{part}_{name}" for part in PARTS for name in names])
    return _parts([pack(path, arrays, f"{part}_", edges="bond") for part in PARTS])


def peptides(root: PathLike | None = None) -> tuple[PackedGraphs, Tensor]:
    """Peptides-func and the part of every graph; from `peptides_func.npz`, or what PyG's `LRGBDataset` has saved."""
    folders = [f"{folder}peptides-func/processed" for folder in ("molecules/", "LRGB/", "lrgb/", "")]
    path = find_stored(
        root,
        "Peptides-func",
        ["molecules/peptides/peptides_func.npz", *folders],
        "PyG downloads it: torch_geometric.datasets.LRGBDataset('ROOT/LRGB', 'Peptides-func').",
    )
    if path.is_dir():
        return _parts([read_processed(path / f"{name}.pt") for name in PARTS])
    arrays = read_arrays(path, ("x", "edge", "edge_attr", "node_ptr", "edge_ptr", "y", "split"))
    return pack(path, arrays), torch.from_numpy(arrays["split"]).long()


def moleculenet(name: str, root: PathLike | None = None) -> tuple[PackedGraphs, Tensor]:
    """A dataset of MoleculeNet with the features and the scaffold split of the Open Graph Benchmark.

    From an `.npz` file, or from the folder that OGB's `PygGraphPropPredDataset` downloads.
    """
    ogb = f"ogbg_mol{name}"
    path = find_stored(
        root,
        name,
        [f"molecules/moleculenet/{name}.npz", f"ogb/{ogb}", f"OGB/{ogb}", ogb],
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


def _parts(parts: list[PackedGraphs]) -> tuple[PackedGraphs, Tensor]:
    """The graphs of all parts, and which part each is of."""
    sizes = torch.tensor([len(part) for part in parts])
    return PackedGraphs.join(parts), torch.arange(len(parts)).repeat_interleave(sizes)
