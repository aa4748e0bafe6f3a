"""The compiled core, loaded at the first call that needs it."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from neuraltrees.errors import NativeCoreError

if TYPE_CHECKING:
    from neuraltrees._core import _native as native
else:

    class _Native:
        """A proxy of the compiled module, which it imports at the first use of one of its functions."""

        @cached_property
        def _module(self) -> ModuleType:
            try:
                return import_module("neuraltrees._core._native")
            except ImportError as error:
                raise NativeCoreError(
                    f"Expected the compiled core of neuraltrees; it could not be loaded ({error}). Build it in the "
                    "source folder with `pip install .` (needs a C++20 compiler)."
                ) from error

        def __getattr__(self, name: str) -> object:
            return getattr(self._module, name)

    native = _Native()

__all__ = ["native"]
