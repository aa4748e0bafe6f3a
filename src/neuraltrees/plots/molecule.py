"""Drawings of molecules with their bags, coloured by the effect of each bag on a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import Polygon

from neuraltrees.decomposition import BagKind
from neuraltrees.errors import InputError
from neuraltrees.extras import require
from neuraltrees.files import PathLike
from neuraltrees.plots.style import check_ending, house_style, panels, save_figure
from neuraltrees.serving.effects import BagEffects

COLOURS = "PuOr_r"  # for all kinds of colour vision; orange raises a prediction


@house_style()
def draw_bag_effects(
    molecules: Sequence[tuple[str, BagEffects]], path: PathLike, target: int = 0, what: str = "prediction"
) -> None:
    """Draws molecules side by side: bridges as thick lines, cycles and rigid parts as areas, coloured by one scale.

    Args:
        molecules: SMILES and the effects of the bags of each.
        path: file to write: `.svg`, `.png` or `.pdf`.
        target: which label or target.
        what: what is predicted, for the titles.
    """
    check_ending(path)
    if not molecules:
        raise InputError("Expected at least one molecule to draw; got none.")
    most = max(float(found.effects[:, target].abs().max()) for _, found in molecules)
    scale = ScalarMappable(Normalize(-most, most), COLOURS)
    figure, axes = panels(len(molecules), width=3.4, height=3.0)
    for place, (smiles, found) in zip(axes, molecules, strict=True):
        _draw(place, smiles, found, target, scale)
        place.set_title(f"{smiles}\n{what} {float(found.prediction[target]):.2f}", fontsize=8)
    figure.colorbar(scale, ax=axes, label="change by the bag", shrink=0.7)
    save_figure(figure, path)


def _draw(axes: Axes, smiles: str, found: BagEffects, target: int, scale: ScalarMappable) -> None:
    letters, bonds, places = _layout(smiles)
    if found.bags and max(max(bag) for bag in found.bags) >= len(letters):
        raise InputError(f"Expected effects of the {len(letters)} atoms of {smiles}; got those of another molecule.")
    order = sorted(range(len(found.bags)), key=lambda bag: -len(found.bags[bag]))
    for bag in order:
        corners, kind = places[list(found.bags[bag])], found.kinds[bag]
        colour = scale.to_rgba(np.asarray(float(found.effects[bag, target])))
        if kind in (BagKind.CYCLE, BagKind.RIGID) or len(corners) > 2:
            centre = corners.mean(0)
            turn = np.argsort(np.arctan2(*(corners - centre).T[::-1]))
            axes.add_patch(Polygon(corners[turn], color=colour, alpha=0.9, linewidth=0, zorder=1))
        elif kind == BagKind.BRIDGE:
            axes.plot(*corners.T, color=colour, linewidth=9, solid_capstyle="round", zorder=2)
    for first, second, order_of in bonds:
        ends = places[[first, second]]
        across = np.array([-(ends[1] - ends[0])[1], (ends[1] - ends[0])[0]])
        for shift in {1: (0.0,), 2: (-0.04, 0.04), 3: (-0.07, 0.0, 0.07)}[order_of]:
            axes.plot(*(ends + shift * across).T, color="black", linewidth=1.1, zorder=3)
    for letter, (x, y) in zip(letters, places, strict=True):
        if letter != "C":
            box = {"boxstyle": "circle,pad=0.12", "facecolor": "white", "edgecolor": "none"}
            axes.text(x, y, letter, ha="center", va="center", fontsize=8, bbox=box, zorder=4, color="black")
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.set_axis_off()


def _layout(smiles: str) -> tuple[list[str], list[tuple[int, int, int]], Any]:
    """The symbols of the atoms, the bonds with their orders, and where atoms are in the plane."""
    chem = require("rdkit.Chem", extra="molecules", what="drawings of molecules")
    draw = require("rdkit.Chem.AllChem", extra="molecules", what="drawings of molecules")
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        raise InputError(f"Expected SMILES of a molecule; got {smiles!r}.")
    draw.Compute2DCoords(molecule)
    letters = [atom.GetSymbol() for atom in molecule.GetAtoms()]
    places = np.asarray(molecule.GetConformer().GetPositions())[:, :2]
    chem.Kekulize(molecule)
    bonds = [
        (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), min(3, max(1, int(bond.GetBondTypeAsDouble()))))
        for bond in molecule.GetBonds()
    ]
    return letters, bonds, places
