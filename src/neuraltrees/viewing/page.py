"""One page with a scene, its typed H-tree and its labels; it needs no network and no other file."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from functools import cache
from html import escape
from importlib.resources import files

from neuraltrees.files import PathLike, write_whole
from neuraltrees.scenes import TypedGraphSpec
from neuraltrees.viewing.content import content_of
from neuraltrees.viewing.frames import Labels, Shown, frames_of

TITLE_MARK, CONTENT_MARK = "@@TITLE@@", "@@CONTENT@@"
# JSON inside HTML: a name must not be able to end the element that it is in.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def scene_page(
    scenes: Shown | Iterable[Shown],
    *,
    labels: Labels | None = None,
    tree: bool = True,
    spec: TypedGraphSpec | None = None,
    layers: Collection[str] | None = None,
    title: str = "Scene graph",
) -> str:
    """A page, as HTML, with the layers of a scene in 3D and its typed H-tree beside them.

    All that it needs is in it: it can be sent, kept and opened without a network.

    Args:
        scenes: a `Scene`, a `SceneTracker` or a `SceneFrame`; or several in the order of time, for a slider.
        labels: labels with probabilities by the id of the node; or several `LabelState`, which can be compared. By
            default the labels that the scenes have.
        tree: whether to show the typed H-tree.
        spec: how a scene becomes the typed graph that the tree is of.
        layers: the node types to show; by default all.
        title: what stands at the top.

    >>> from neuraltrees.scenes import Scene, SceneNode
    >>> scene = Scene.of([SceneNode("bath", "room"), SceneNode("tub", "object")], [("tub", "bath")])
    >>> scene_page(scene, title="Flat").startswith("<!doctype html>")
    True
    """
    content = content_of(frames_of(scenes, labels, tree, spec, layers), title)
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)
    before, between, after = _template()
    safe_title = escape(title.encode("utf-8", "replace").decode())
    return "".join([before, safe_title, between, text, after])


def write_scene_page(
    scenes: Shown | Iterable[Shown],
    path: PathLike,
    *,
    labels: Labels | None = None,
    tree: bool = True,
    spec: TypedGraphSpec | None = None,
    layers: Collection[str] | None = None,
    title: str = "Scene graph",
) -> None:
    """Writes a page, see `scene_page`; the file is written whole or not at all."""
    page = scene_page(scenes, labels=labels, tree=tree, spec=spec, layers=layers, title=title)
    write_whole(path, page.encode())


@cache
def _template() -> tuple[str, str, str]:
    """The page that `make viewer` builds, without title and content."""
    text = files("neuraltrees.viewing").joinpath("viewer.html").read_text("utf-8")
    before, rest = text.split(TITLE_MARK)
    between, after = rest.split(CONTENT_MARK)
    return before, between, after
