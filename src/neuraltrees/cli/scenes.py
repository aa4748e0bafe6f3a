"""Scenes on the command line: what is learned from a folder, and predictions for a scene."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuraltrees.cli.terminal import errors, notes, print_table, say, working
from neuraltrees.errors import InputError

if TYPE_CHECKING:
    from neuraltrees.objectives import LabelPrediction
    from neuraltrees.scenes import NodeLabel, Scene
    from neuraltrees.scenes.scene import NodeId
    from neuraltrees.training.bundle import Bundle
    from neuraltrees.training.problem import Problem


def describe_scenes(problem: Problem) -> None:
    """Prints which labels are learned, and from how many scenes."""
    task, counts = problem.task, problem.runs[0].split.counts
    notes.print(
        f"Learning {task.inputs}.\n{len(task.graphs):,} scenes of {task.num_nodes:,} nodes: {counts[0]:,} to train, "
        f"{counts[1]:,} to validate, {counts[2]:,} to test.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def predict_scene(
    bundle: Bundle, source: Path, out: Path | None, known: Path | None, top: int, device: str, as_json: bool
) -> None:
    """Labels a scene, prints its labels and writes them into a copy of the file."""
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
        given = None if known is None else [read_known(known, [scene])]
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


def read_known(path: Path, scenes: Sequence[Scene]) -> dict[NodeId, str]:
    """The known labels by node id, from a JSON file of ids or names of nodes and their labels."""
    from neuraltrees.scenes import read_label_states

    states = read_label_states(path)
    if len(states) > 1:
        raise InputError(f"{path}: expected known labels of one moment; got {len(states)} states.")
    try:
        return {node: label.name for node, label in states[0].of_ids(scenes).labels.items()}
    except InputError as error:
        text = str(error)
        raise InputError(f"{path}: {text[0].lower()}{text[1:]}") from None
