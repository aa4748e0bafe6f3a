"""New random weights for all parts of a module."""

from __future__ import annotations

from typing import Any

from torch import nn


def reset_children(module: nn.Module) -> None:
    """Resets the parameters of all direct children, including those in a `ModuleList`."""
    for child in module.children():
        for part in child if isinstance(child, nn.ModuleList) else [child]:
            reset: Any = getattr(part, "reset_parameters", None)
            if reset is not None:
                reset()
