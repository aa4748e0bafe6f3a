"""Small formulas as HTML: no script is loaded for what docstrings have, shapes and sums."""

from __future__ import annotations

import re
from html import escape

SIGNS = {"sum": "Σ", "prod": "Π", "times": "×", "cdots": "⋯", "cdot": "·", "dots": "…", "in": "∈", "mid": "|"}
SIGNS |= {
    "theta": "θ",
    "pi": "π",
    "varphi": "φ",
    "sigma": "σ",
    "mu": "μ",
    "propto": "∝",
    "sim": "∼",
    "ge": "≥",
    "cap": "∩",
}
SIGNS |= dict.fromkeys(("left", "right", "big", "Big", "Bigl", "Bigr", "overline"), "")
SIGNS |= {"quad": "  ", "qquad": "   ", "Vert": "‖"}
SIGNS |= {name: name for name in ("exp", "log", "max", "min", "tanh", "hom")}  # functions, by their names
ACCENTS = {"bar": "\u0304", "hat": "\u0302"}


def formula(text: str) -> str:
    """A small formula as HTML.

    >>> formula(r"\\sum_{u ∈ N(v)} h_u / \\sqrt{d_v}")
    'Σ<sub>u ∈ N(v)</sub> h<sub>u</sub> / √(d<sub>v</sub>)'
    >>> formula(r"p(y) \\propto \\exp\\Bigl(\\sum_v \\hat x_v\\Bigr)")
    'p(y) ∝ exp(Σ<sub>v</sub> x̂<sub>v</sub>)'

    Raises ValueError for a command of LaTeX that it does not know.
    """
    found = escape(" ".join(text.split()), quote=False).replace(r"\{", "&#123;").replace(r"\}", "&#125;")
    found = re.sub(r"\\(?:mathrm|mathcal|text|mathbf|operatorname)\{([^{}]*)\}", r"\1", found)
    found = re.sub(r"\\overline\{([^{}]*)\}", r"\1", found)
    found = re.sub(r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1) / (\2)", found)
    found = re.sub(r"\\[,; ]", " ", found).replace(r"\_", "_")
    found = re.sub(r"\\(bar|hat) ?\{?(\w)\}?", lambda accent: accent[2] + ACCENTS[accent[1]], found)
    for mark, tag in (("_", "sub"), ("^", "sup")):
        found = re.sub(rf"{re.escape(mark)}\{{([^{{}}]*)\}}", rf"<{tag}>\1</{tag}>", found)
        found = re.sub(rf"{re.escape(mark)}(\w)(?!\w)", rf"<{tag}>\1</{tag}>", found)
    found = re.sub(r"\\sqrt\{([^{}]*)\}", r"√(\1)", found)
    return re.sub(r"\\+([A-Za-z]+)", _sign, found)


def _sign(command: re.Match[str]) -> str:
    if command[1] not in SIGNS:
        raise ValueError(f"Expected a command of LaTeX that docs/_ext/formulas.py knows; got {command[0]}.")
    return SIGNS[command[1]]
