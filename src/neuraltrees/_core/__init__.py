"""The compiled core, loaded at the first call that needs it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, cast

from neuraltrees.errors import NativeCoreError

if TYPE_CHECKING:
    from neuraltrees._core import _native as Native
else:
    Native = ModuleType


@cache
def native() -> type[Native]:
    """The native module, or an error that says how to build it."""
    try:
        return cast("type[Native]", import_module("neuraltrees._core._native"))
    except ImportError as error:
        raise NativeCoreError(
            f"Expected the compiled core of neuraltrees; it could not be loaded ({error}). Build it in the source folder "
            "with `pip install .` (needs a C++20 compiler); training on prepared H-trees works without it."
        ) from error
