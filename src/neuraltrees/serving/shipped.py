"""The trained models that come with the package, by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.files import PathLike, as_path

FOLDER = Path(__file__).parent / "models"


@dataclass(frozen=True)
class ShippedModel:
    """A trained model in the package.

    Args:
        name: the name that stands for its path.
        what: what it predicts.
        command: the command that trained it.
    """

    name: str
    what: str
    command: str

    @property
    def path(self) -> Path:
        """The file of the model."""
        return FOLDER / f"{self.name}.safetensors"


SHIPPED = {
    each.name: each
    for each in (
        ShippedModel(
            "scenes",
            "rooms and objects of a robot's scene graph, by their bounding boxes and what is near what",
            "neuraltrees train --dataset scenes:buildings --scenes 900 --head crf --hidden 64 --layers 2 --dropout 0 "
            "--residual --layer-norm --lr 0.006 --weight-decay 0.00001 --cosine --batches 22 --epochs 25 "
            "--evaluate-every 25",
        ),
        ShippedModel(
            "solubility",
            "the solubility in water (log mol/l) of a molecule, from its SMILES",
            "neuraltrees train --dataset esol --hidden 64 --layers 3 --runs 3",
        ),
    )
}


def find_model(given: PathLike) -> Path:
    """The file of a model: a path, or the name of one that comes with the package.

    >>> find_model("solubility").name
    'solubility.safetensors'
    >>> find_model("solubilty")
    Traceback (most recent call last):
    neuraltrees.errors.InputError: Expected the file of a model, or one of scenes, solubility; got 'solubilty'. Did \
you mean solubility?
    """
    path = as_path(given)
    if path.exists():
        return path
    name = str(given)
    if name in SHIPPED:
        return SHIPPED[name].path
    if path.suffix or path.parent != Path():
        return path  # reading it raises the error for a missing file
    raise InputError(
        f"Expected the file of a model, or one of {', '.join(SHIPPED)}; got {name!r}.{did_you_mean(name, SHIPPED)}"
    )
