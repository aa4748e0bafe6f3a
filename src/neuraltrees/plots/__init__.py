"""Figures; matplotlib comes with the extra `plots`."""

from neuraltrees.extras import require as _require

_require("matplotlib", extra="plots", what="figures")
