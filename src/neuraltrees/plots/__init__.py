"""Figures; they need matplotlib, which the extra `plots` installs."""

from neuraltrees.extras import require as _require

_require("matplotlib", extra="plots", what="figures")
