"""Reading pickles from others without running what is in them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any


class RestrictedUnpickler(pickle.Unpickler):
    """Admits the given globals, named "module name", and nothing else."""

    def __init__(self, file: Any, admitted: dict[str, Any], **options: Any) -> None:
        super().__init__(file, **options)
        self._admitted = admitted

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self._admitted[f"{module} {name}"]
        except KeyError:
            raise pickle.UnpicklingError(
                f"Expected a pickle of {sorted(self._admitted)} only, got {module} {name}."
            ) from None


def load(path: Path, admitted: dict[str, Any], **options: Any) -> Any:
    with path.open("rb") as file:
        return RestrictedUnpickler(file, admitted, **options).load()
