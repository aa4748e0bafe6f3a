"""Molecules: learn a property on canonical trees, and show which rings and bonds a prediction depends on.

Run it with

    python examples/05_molecules.py

It needs RDKit: pip install 'neuraltrees[molecules,plots]'. The property is Crippen's logP, which RDKit computes, so
that nothing has to be downloaded. The guides docs/molecules.md and docs/graphs.md explain every step. A picture of
three molecules is written to the folder --out.
"""

import argparse
from pathlib import Path

from rdkit.Chem import MolFromSmiles
from rdkit.Chem.Crippen import MolLogP

import neuraltrees as nt
from neuraltrees.plots.molecule import draw_bag_effects
from neuraltrees.serving import bag_effects

RINGS = ("c1ccccc1{}", "C1CCCCC1{}", "c1ccncc1{}", "c1ccc2ccccc2c1{}", "C1CCNCC1{}", "c1ccoc1{}", "CC(C)C{}", "CCCC{}")
GROUPS = ("", "O", "C(=O)O", "Cl", "C(F)(F)F", "N", "CCC", "OC", "C#N", "CCCCC", "S(=O)(=O)N", "C(=O)NC")
SHOWN = ("c1ccccc1CCC", "c1ccncc1C(=O)O", "C1CCNCC1C(F)(F)F")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("05_molecules"), help="folder for the picture")
    parser.add_argument("--epochs", type=int, default=60, help="passes over all training molecules")
    parser.add_argument("--seed", type=int, default=0, help="seed of the split and the weights")
    options = parser.parse_args()

    smiles = [ring.format(group) for ring in RINGS for group in GROUPS]
    molecules = nt.MoleculesFromSmiles(smiles, y=[MolLogP(MolFromSmiles(each)) for each in smiles])
    task = nt.Task(
        molecules,
        nt.Regression(("logP",), metric="mae"),
        features=molecules.features,
        edge_features=molecules.edge_features,
        method="canonical",  # trees that do not depend on the numbering of the atoms
        terminal="bag",
    )
    network = nt.NetworkSpec(schedule="bags", parts="graph+tree", hidden=32, layers=3, dropout=0.0)
    training = nt.TrainingSpec(epochs=options.epochs, batches=4, lr=0.003, weight_decay=0.0, cosine=True, shuffle=True)
    fitted = nt.fit(task, network, training, [nt.Run(options.seed, task.split(options.seed))], progress=False)
    error, spread = float(fitted.test), float(task.y.std())
    print(f"{len(molecules)} molecules: test error {error:.2f}, where values have a standard deviation of {spread:.2f}")

    predictor = nt.Predictor(nt.Bundle.of(fitted))
    effects = [bag_effects(predictor, graph) for graph in nt.MoleculesFromSmiles(SHOWN).graphs()]
    for name, found in zip(SHOWN, effects, strict=True):
        bag = int(found.effects[:, 0].abs().argmax())
        most = f"{found.kinds[bag].name.lower()} of the atoms {found.bags[bag]}"
        print(f"{name}: logP {float(found.prediction):.2f}, mostly by the {most}")
    options.out.mkdir(parents=True, exist_ok=True)
    draw_bag_effects([*zip(SHOWN, effects, strict=True)], options.out / "bags.svg", what="logP")


if __name__ == "__main__":
    main()
