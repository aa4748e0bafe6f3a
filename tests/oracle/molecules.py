"""A molecule rebuilt from stored features, so that RDKit computes again what they say."""

from __future__ import annotations

from typing import Any

from torch_geometric.data import Data


def rebuilt(graph: Data) -> Any:
    """The RDKit molecule of the elements, charges, hydrogens, radicals, aromaticity and bond types in OGB's code."""
    from rdkit import Chem

    types = [Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE, Chem.BondType.AROMATIC]
    molecule = Chem.RWMol()
    for number, _, _, charge, hydrogens, radicals, _, aromatic, _ in graph.x.tolist():
        atom = Chem.Atom(number + 1)
        atom.SetFormalCharge(charge - 5)
        atom.SetNoImplicit(True)
        atom.SetNumExplicitHs(hydrogens)
        atom.SetNumRadicalElectrons(radicals)
        atom.SetIsAromatic(bool(aromatic))
        molecule.AddAtom(atom)
    for (u, v), (kind, _, _) in zip(graph.edge_index.t().tolist()[::2], graph.edge_attr.tolist()[::2], strict=True):
        molecule.AddBond(u, v, types[kind])
        molecule.GetBondBetweenAtoms(u, v).SetIsAromatic(kind == 3)
    Chem.SanitizeMol(molecule)
    return molecule
