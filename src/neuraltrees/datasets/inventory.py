"""Where the files of public datasets are under the data root, and which of them are on this machine."""

from __future__ import annotations

from neuraltrees.datasets.root import find_data_root
from neuraltrees.files import PathLike


def _folders_of_pyg(folders: tuple[str, ...], processed: str) -> tuple[str, ...]:
    """The folders where PyG keeps the graphs that it has processed, then those of the files that it has downloaded."""
    return tuple(f"{folder}/{kind}" for kind in (processed, "raw") for folder in folders)


# Where the loaders look, in this order; paths are relative to the data root.
PLACES: dict[str, tuple[str, ...]] = {
    "stanford3dsg": ("stanford3dsg/Stanford3DSG.pkl",),
    **{name.lower(): (f"planetoid/{name}/raw",) for name in ("Cora", "CiteSeer", "PubMed")},
    "zinc": (
        "molecules/zinc/zinc12k.npz",
        *_folders_of_pyg(("molecules/zinc", "ZINC", "zinc"), "subset/processed"),
    ),
    "peptides-func": (
        "molecules/peptides/peptides_func.npz",
        *_folders_of_pyg(
            ("molecules/peptides-func", "LRGB/peptides-func", "lrgb/peptides-func", "peptides-func"), "processed"
        ),
    ),
    **{
        name: (f"molecules/moleculenet/{name}.npz", f"ogb/ogbg_mol{name}", f"OGB/ogbg_mol{name}", f"ogbg_mol{name}")
        for name in ("esol", "freesolv", "bace", "tox21", "hiv")
    },
    "tu:NAME": ("tu", "TUDataset", "TU"),
    "csl": (
        "expressivity/csl.npz",
        *(f"{folder}CSL/processed/data.pt" for folder in ("", "GNNBenchmarkDataset/", "expressivity/")),
    ),
    "exp": ("expressivity/exp.npz",),
    "brec": ("expressivity/brec", "brec", "BREC"),
    "sr25": ("expressivity/sr25.npz",),
}


def found_datasets(root: PathLike | None = None) -> dict[str, bool]:
    """Whether the files of every public dataset are under the data root; nothing is read or downloaded.

    Args:
        root: the data root; see `find_data_root`.

    >>> found_datasets("/no/such/folder")["zinc"]
    False
    """
    folder = find_data_root(root)
    return {name: any((folder / place).exists() for place in places) for name, places in PLACES.items()}
