"""What `neuraltrees train` says about a folder of scenes, and `neuraltrees predict` about a scene."""

from __future__ import annotations

import json as json_format
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuraltrees.cli.terminal import errors, print_table, say, working
from neuraltrees.errors import InputError
from neuraltrees.files import read_whole

if TYPE_CHECKING:
    from neuraltrees.objectives import LabelPrediction
    from neuraltrees.scenes import NodeLabel, Scene
    from neuraltrees.scenes.scene import NodeId
    from neuraltrees.training.bundle import Bundle
    from neuraltrees.training.problem import Problem


def describe_scenes(problem: Problem) -> None:
    """Says what is learned of how many scenes."""
    task, counts = problem.task, problem.runs[0].split.counts
    errors.print(
        f"Learning {task.inputs}.\n{len(task.graphs):,} scenes of {task.num_nodes:,} nodes: {counts[0]:,} to train, "
        f"{counts[1]:,} to validate, {counts[2]:,} to test.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def predict_scene(
    bundle: Bundle, source: Path, out: Path | None, known: Path | None, top: int, device: str, as_json: bool
) -> None:
    """Labels a scene, shows its labels and writes them into a copy of the file."""
    from neuraltrees.scenes import read_scene, write_labels
    from neuraltrees.serving import SceneLabeller

    with working("loading"):
        labeller = SceneLabeller(bundle, device)
        scene = read_scene(source)
        if out is not None and scene.report.format != "Spark-DSG":
            raise InputError(
                f"Expected a Spark-DSG file, to write labels into a copy of it; got {source}, which is "
                f"{scene.report.format}. Leave --out out, and use --json."
            )
        given = None if known is None else [_read_known(known, scene)]
    with working("predicting"):
        (labels,) = labeller.label([scene], given)
    if out is not None:
        write_labels(source, labels, out)
    named = {node: _prediction(scene, node, label, top) for node, label in labels.items()}
    if as_json:
        nodes = [
            {"id": node, "name": scene[node].name, **each.as_dict(), "number": labels[node].label}
            for node, each in named.items()
        ]
        print(json_format.dumps({"nodes": nodes}, indent=1))
        return
    rows: list[dict[str, Any]] = [{"node": scene[node].name or node, **each.row()} for node, each in named.items()]
    print_table(source.name, tuple(rows[0]) if rows else (), [tuple(row.values()) for row in rows])
    if scene.report.num_dropped or scene.report.remarks:
        say(str(scene.report), errors)
    if out is not None:
        say(f"Written to {out}")


def _prediction(scene: Scene, node: NodeId, label: NodeLabel, top: int) -> LabelPrediction:
    from neuraltrees.objectives import LabelPrediction

    ranked = sorted((label.probabilities or {}).items(), key=lambda each: -each[1])[:top]
    return LabelPrediction(scene[node].type, tuple(ranked))


def _read_known(path: Path, scene: Scene) -> dict[NodeId, str]:
    """Known labels by node, of a JSON object of ids or names of nodes and their labels."""
    try:
        content = json_format.loads(read_whole(path))
    except (json_format.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"Expected {path} to be a JSON file; got: {error}.") from None
    if not isinstance(content, Mapping) or not all(isinstance(label, str) for label in content.values()):
        raise InputError(f"{path}: expected an object of nodes and the names of their labels; got {content!r:.60}.")
    ids = {str(node): node for node in scene.ids}
    times = Counter(scene.names)
    names = {name: node for name, node in zip(scene.names, scene.ids, strict=True) if name and times[name] == 1}
    found: dict[NodeId, str] = {}
    for key, label in content.items():
        node = ids.get(key, names.get(key))
        if node is None:
            several = f"; {times[key]} nodes have this name" if times[key] > 1 else ""
            raise InputError(f"{path}: expected nodes by id, or by a name that one node has; got {key!r}{several}.")
        if node in found:
            raise InputError(f"{path}: expected one label per node; got two for node {key!r}.")
        found[node] = label
    return found
