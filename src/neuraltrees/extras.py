"""Optional dependencies: a function that lacks one says which to install."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from neuraltrees.errors import MissingExtraError


def require(module: str, *, extra: str, what: str) -> ModuleType:
    """Imports a module of an optional dependency, or raises `MissingExtraError`.

    Args:
        module: the module.
        extra: the extra of this package that installs it.
        what: what it is needed for.

    >>> require("json", extra="plots", what="figures").dumps([1])
    '[1]'
    >>> require("no_such_module", extra="plots", what="figures")
    Traceback (most recent call last):
    neuraltrees.errors.MissingExtraError: Expected no_such_module to be installed for figures; it is missing. Run: \
pip install 'neuraltrees[plots]'.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:  # it is there, and lacks something itself
            raise
        raise MissingExtraError(
            f"Expected {module} to be installed for {what}; it is missing. Run: pip install 'neuraltrees[{extra}]'."
        ) from None
