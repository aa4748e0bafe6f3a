"""Checks the finished site: no page, style or script loads anything from the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LOADS = (
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc\s*=\s*[\"']?((?:https?:)?//[^\s\"'>]+)",
    r"<link\b(?![^>]*rel=[\"']?(?:canonical|next|prev))[^>]*\bhref\s*=\s*[\"']?((?:https?:)?//[^\s\"'>]+)",
    r"@import\s+(?:url\()?[\"']?((?:https?:)?//[^\s\"')]+)",
    r"\burl\(\s*[\"']?((?:https?:)?//[^\s\"')]+)",
)


def loaded_from_elsewhere(text: str) -> list[str]:
    """The addresses that a page or a style loads from the network; links that a reader may click are none of them.

    >>> loaded_from_elsewhere('<script src="https://example.org/math.js"></script> <a href="https://example.org">a</a>')
    ['https://example.org/math.js']
    """
    return [found for pattern in LOADS for found in re.findall(pattern, text)]


def check_site(folder: Path) -> list[str]:
    """What the files of a site load from the network, as `FILE: ADDRESS`."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".html", ".css"))
    return [f"{path.relative_to(folder)}: {each}" for path in files for each in loaded_from_elsewhere(path.read_text())]


def setup(app: Any) -> dict[str, bool]:
    from sphinx.util import logging

    def finished(app: Any, error: Exception | None) -> None:
        for each in [] if error else check_site(Path(app.outdir)):
            logging.getLogger(__name__).warning("loaded from the network: %s", each)

    app.connect("build-finished", finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
