"""Scene graphs from files: the format is recognised by the content."""

from __future__ import annotations

from pathlib import Path

from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, as_path
from neuraltrees.scenes.concept_graphs import is_concept_graph, objects_file, scene_of_concept_graph
from neuraltrees.scenes.dssg import is_dssg, scene_of_dssg
from neuraltrees.scenes.hov_sg import is_hov_sg, scene_of_hov_sg
from neuraltrees.scenes.json_files import load_json, parse
from neuraltrees.scenes.plain import is_plain, scene_of_plain
from neuraltrees.scenes.scene import Scene
from neuraltrees.scenes.spark import is_spark, scene_of_spark

FORMATS = (
    "Spark-DSG (nodes, edges), plain JSON (nodes with a type), ConceptGraphs (bbox_center, object_tag), 3DSSG (scans) "
    "or a folder of HOV-SG"
)


def read_scene(path: PathLike, *, scan: str | None = None) -> Scene:
    """The scene graph of a file or folder: Spark-DSG JSON 1.0.0 to 1.1.3, plain JSON, HOV-SG, ConceptGraphs or 3DSSG.

    Malformed nodes and edges are left out, and invalid boxes, positions and labels count as unknown; `scene.report`
    counts all of them. JSON files may be compressed as `.gz` or `.xz`. Pickles are refused.

    Args:
        path: a Spark-DSG file, a folder of HOV-SG, the `obj_json` file of ConceptGraphs or its folder, or
            `objects.json` of 3DSSG or its folder.
        scan: which scan of a 3DSSG file.
    """
    path = as_path(path)
    if path.is_dir():
        if is_hov_sg(path):
            return scene_of_hov_sg(path)
        path = _file_in(path)
    elif not path.exists():
        raise InputError(f"Expected the file or folder of a scene; got {path}, which does not exist.")
    return _scene_of(load_json(path), path, scan)


def parse_scene(text: str | bytes) -> Scene:
    """The scene of a text in Spark-DSG JSON or plain JSON, for example one that was received.

    >>> parse_scene('{"nodes": [{"id": 0, "layer": 4, "attributes": {"position": [0, 0, 0]}}], "edges": []}')
    Scene(1 node: 1 room; 0 edges)
    """
    try:
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise ParseError(f"Expected text in UTF-8; got another byte at place {error.start}.") from None
    content = parse(text, "scene")
    return scene_of_plain(content) if is_plain(content) else scene_of_spark(content)


def _scene_of(content: object, path: Path, scan: str | None) -> Scene:
    try:
        if is_plain(content):
            return _plain_scene(content, path)
        if is_spark(content):
            return scene_of_spark(content)
        if is_dssg(content):
            return scene_of_dssg(content, path, scan)
        if is_concept_graph(content):
            return scene_of_concept_graph(content, path)
    except ParseError as error:
        raise error if str(path.parent) in str(error) else ParseError(f"{path}: {error}") from None
    raise ParseError(f"{path}: expected the JSON of a scene: {FORMATS}; got none of these.")


def _plain_scene(content: object, path: Path) -> Scene:
    try:
        return scene_of_plain(content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _file_in(folder: Path) -> Path:
    found = objects_file(folder)
    if found is None and (folder / "objects.json").is_file():
        found = folder / "objects.json"
    if found is None:
        raise InputError(
            f"Expected a folder of HOV-SG (rooms/, objects/), ConceptGraphs (obj_json*.json) or 3DSSG (objects.json); "
            f"got {folder}, which has none of these."
        )
    return found
