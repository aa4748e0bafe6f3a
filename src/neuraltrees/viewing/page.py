"""One page with a scene, its typed H-tree and its labels; it needs no network and no other file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import Unpack

from neuraltrees.files import PathLike, write_whole
from neuraltrees.viewing.content import content_of
from neuraltrees.viewing.frames import Shown, View, ViewOptions

TITLE_MARK, CONTENT_MARK = "@@TITLE@@", "@@CONTENT@@"
# JSON inside a <script> element: a name must not be able to close it.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def scene_page(scenes: Shown | Iterable[Shown], **options: Unpack[ViewOptions]) -> str:
    """An HTML page with the layers of a scene in 3D and its typed H-tree beside them.

    The page has no links to other files: it can be sent, kept and opened without a network.

    Args:
        scenes: a `Scene`, a `SceneTracker` or a `SceneFrame`; or several in the order of time, which get a slider.
        labels: labels with probabilities by the id of the node; or several `LabelState`, which can be compared. By
            default the labels of the scenes.
        tree: whether to show the typed H-tree; by default True.
        spec: how a scene becomes the typed graph whose tree is shown.
        layers: the node types to show; by default all.
        title: the text at the top.

    >>> from neuraltrees.scenes import Scene, SceneNode
    >>> scene = Scene.of([SceneNode("bath", "room"), SceneNode("tub", "object")], [("tub", "bath")])
    >>> scene_page(scene, title="Flat").startswith("<!doctype html>")
    True
    """
    view = View.of(scenes, **options)
    content = content_of(view)
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)
    before, between, after = _template()
    safe_title = escape(view.title.encode("utf-8", "replace").decode())
    return "".join([before, safe_title, between, text, after])


def write_scene_page(scenes: Shown | Iterable[Shown], path: PathLike, **options: Unpack[ViewOptions]) -> None:
    """Writes the page of `scene_page`, with the same options; the file is written whole or not at all."""
    write_whole(path, scene_page(scenes, **options).encode())


@cache
def _template() -> tuple[str, str, str]:
    """The page that `make viewer` builds, split at the places of the title and the content."""
    text = files("neuraltrees.viewing").joinpath("viewer.html").read_text("utf-8")
    before, rest = text.split(TITLE_MARK)
    between, after = rest.split(CONTENT_MARK)
    return before, between, after
