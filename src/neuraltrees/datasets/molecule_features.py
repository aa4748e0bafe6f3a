"""What the integers of atoms and bonds mean: the features of the Open Graph Benchmark, and ZINC's atom types."""

from __future__ import annotations

from neuraltrees.nn.encoder import Categories

# Atomic number, chirality, degree, charge, hydrogens, radical electrons, hybridisation, aromatic, in a ring.
ATOMS = Categories((119, 5, 12, 12, 10, 6, 6, 2, 2), "ogb-atoms")
# Type, stereo, conjugated.
BONDS = Categories((5, 6, 2), "ogb-bonds")

# Element with hydrogens and charge in 28 combinations; single, double and triple bonds as 1, 2 and 3.
ZINC_ATOMS = Categories((28,), "zinc-atoms")
ZINC_BONDS = Categories((4,), "zinc-bonds")
