"""Molecules from SMILES, with the atom and bond features of the Open Graph Benchmark; RDKit reads them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from neuraltrees.data.packed import PackedGraphs, pointers
from neuraltrees.datasets.molecule_features import ATOMS, BONDS
from neuraltrees.errors import InputError
from neuraltrees.extras import require
from neuraltrees.nn.encoder import Categories

CHIRALITY = ("CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW", "CHI_OTHER")
HYBRIDISATION = ("SP", "SP2", "SP3", "SP3D", "SP3D2")
BOND_TYPE = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
STEREO = ("STEREONONE", "STEREOZ", "STEREOE", "STEREOCIS", "STEREOTRANS", "STEREOANY")
FIRST_CHARGE = -5


@dataclass(frozen=True)
class Unreadable:
    """A SMILES that is no molecule: its place in the list, from 0, and why."""

    place: int
    smiles: str
    why: str


class MoleculesFromSmiles(InMemoryDataset):  # type: ignore[misc]  # PyG has no types
    """Molecules of SMILES as graphs: a node per heavy atom, both directions of every bond.

    SMILES that do not parse are left out and listed in `skipped`. The features are integers, those of the Open Graph
    Benchmark: atomic number, chirality, degree, charge, hydrogens, radical electrons, hybridisation, aromatic and in a
    ring; type, stereo and conjugation of bonds. `features` and `edge_features` describe them for a task.

    Shapes: x :math:`(n, 9)`, edge_index :math:`(2, m)`, edge_attr :math:`(m, 3)`, y :math:`(1, T)`

    Args:
        smiles: the molecules.
        y: labels or numbers, a row per SMILES, of those that are left out as well.
        transform: applied to a graph on every access.

    >>> molecules = MoleculesFromSmiles(["CCO", "C1CC", "c1ccccc1"])
    >>> len(molecules), molecules.kept, molecules.skipped[0].why
    (2, [0, 2], 'no valid notation: an unclosed ring or bracket, or an unknown element')
    >>> molecules[0].x[:, 0].tolist()  # atomic numbers from 0: two carbons and an oxygen
    [5, 5, 7]
    """

    features: ClassVar[Categories] = ATOMS
    edge_features: ClassVar[Categories] = BONDS

    def __init__(
        self,
        smiles: Sequence[str],
        y: Tensor | Sequence[Any] | None = None,
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        super().__init__(transform=transform)
        if isinstance(smiles, str) or not isinstance(smiles, Sequence):
            raise InputError(f"Expected a list of SMILES; got {smiles!r:.80}. Put a single one in brackets.")
        labels = None if y is None else torch.as_tensor(y)
        if labels is not None and (labels.dim() == 0 or len(labels) != len(smiles)):
            raise InputError(f"Expected a row of y for each of {len(smiles)} SMILES; got shape {tuple(labels.shape)}.")
        read, found = _Reader(), _Arrays()
        kept, skipped = [], []
        for place, text in enumerate(smiles):
            molecule, why = read(text)
            if why is None:
                found.add(molecule)
                kept.append(place)
            else:
                skipped.append(Unreadable(place, str(text), why))
        self.kept: list[int] = kept
        self.skipped: tuple[Unreadable, ...] = tuple(skipped)
        self.smiles = [smiles[place] for place in kept]
        rows = torch.empty(len(kept), 0) if labels is None else labels[kept].reshape(len(kept), -1)
        self.packed = found.pack(rows)
        values = {"x": self.packed.x, "edge_index": self.packed.edge_index, "edge_attr": self.packed.edge_attr}
        self.slices = {"x": self.packed.node_ptr, "edge_index": self.packed.edge_ptr, "edge_attr": self.packed.edge_ptr}
        if labels is not None:
            values["y"], self.slices["y"] = rows, torch.arange(len(kept) + 1)
        self.data = Data(**values)

    def graphs(self) -> list[Data]:
        """All molecules at once, without the transform."""
        found = self.packed.graphs()
        if "y" not in self.slices:
            for graph in found:
                del graph.y
        return found

    def __repr__(self) -> str:
        more = f", skipped={len(self.skipped):,}" if self.skipped else ""
        return f"{type(self).__name__}({len(self):,}{more})"


def scaffold_of(smiles: str) -> str:
    """The Bemis–Murcko scaffold of a molecule: its rings and what links them; empty without a ring.

    >>> scaffold_of("CCc1ccccc1O")
    'c1ccccc1'
    """
    murcko = require("rdkit.Chem.Scaffolds.MurckoScaffold", extra="molecules", what="scaffolds")
    found: str = murcko.MurckoScaffoldSmiles(smiles=smiles, includeChirality=False)
    return found


def _chemistry() -> ModuleType:
    require("rdkit", extra="molecules", what="SMILES")
    return require("rdkit.Chem", extra="molecules", what="SMILES")


class _Reader:
    """Reads SMILES; messages of RDKit are not printed."""

    def __init__(self) -> None:
        self.chem = _chemistry()
        self.quiet = require("rdkit.rdBase", extra="molecules", what="SMILES").BlockLogs

    def __call__(self, text: Any) -> tuple[Any, str | None]:
        """A molecule and None, or None and why it is none."""
        if not isinstance(text, str) or not text.strip():
            return None, "empty" if text is None or text == "" or isinstance(text, str) else "not a text"
        with self.quiet():
            molecule = self.chem.MolFromSmiles(text.strip())
            if molecule is not None and molecule.GetNumAtoms():
                return molecule, None
            return None, self._reason(text.strip())

    def _reason(self, text: str) -> str:
        rough = self.chem.MolFromSmiles(text, sanitize=False)
        if rough is None:
            return "no valid notation: an unclosed ring or bracket, or an unknown element"
        if not rough.GetNumAtoms():
            return "no atoms"
        problems = self.chem.DetectChemistryProblems(rough)
        return problems[0].Message() if problems else "not a valid molecule"


def features_of(molecule: Any) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """Features of the atoms of an RDKit molecule, ends of its bonds and their features; see `MoleculesFromSmiles`."""
    atoms = [_atom(atom) for atom in molecule.GetAtoms()]
    bonds = list(molecule.GetBonds())
    return atoms, [[bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()] for bond in bonds], [_bond(bond) for bond in bonds]


# The place of every value in its column; what is not listed has the last place, if there is one left.
_CHIRALITY, _HYBRIDISATION, _BOND_TYPE, _STEREO = (
    {name: place for place, name in enumerate(names)} for names in (CHIRALITY, HYBRIDISATION, BOND_TYPE, STEREO)
)


def _atom(atom: Any) -> list[int]:
    number, charge = atom.GetAtomicNum(), atom.GetFormalCharge() - FIRST_CHARGE
    return [
        number - 1 if 1 <= number <= 118 else 118,
        _CHIRALITY.get(atom.GetChiralTag().name, 4),
        min(atom.GetTotalDegree(), 11),
        charge if 0 <= charge <= 10 else 11,
        min(atom.GetTotalNumHs(), 9),
        min(atom.GetNumRadicalElectrons(), 5),
        _HYBRIDISATION.get(atom.GetHybridization().name, 5),
        int(atom.GetIsAromatic()),
        int(atom.IsInRing()),
    ]


def _bond(bond: Any) -> list[int]:
    return [
        _BOND_TYPE.get(bond.GetBondType().name, 4),
        _STEREO.get(bond.GetStereo().name, 5),
        int(bond.GetIsConjugated()),
    ]


class _Arrays:
    """The features of molecules one after another, in four bytes per number while they are read."""

    def __init__(self) -> None:
        self.parts = (array("i"), array("i"), array("i"))  # atoms, ends of bonds, bonds
        self.counts = array("q"), array("q")  # atoms and bonds of every molecule

    def add(self, molecule: Any) -> None:
        found = features_of(molecule)
        for part, rows in zip(self.parts, found, strict=True):
            part.extend(chain.from_iterable(rows))
        for count, rows in zip(self.counts, found[:2], strict=True):
            count.append(len(rows))

    def pack(self, y: Tensor) -> PackedGraphs:
        """The graphs, with both directions of every bond and these labels."""
        x, ends, attr = (
            torch.from_numpy(np.array(part, dtype=np.int64).reshape(-1, width))
            for part, width in zip(self.parts, (ATOMS.width, 2, BONDS.width), strict=True)
        )
        nodes, edges = (pointers(torch.from_numpy(np.array(count, dtype=np.int64))) for count in self.counts)
        return PackedGraphs.of_edges(x, ends.t().contiguous(), y, nodes, edges, attr)
