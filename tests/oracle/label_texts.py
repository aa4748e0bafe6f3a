"""Labels of scenes as JSON and in Spark-DSG, node by node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from neuraltrees.scenes import NodeLabel, Scene
from neuraltrees.scenes.scene import NodeId

Labels = Mapping[NodeId, NodeLabel]


def labels_as_values(scene: Scene, labels: Labels, top: int) -> dict[str, Any]:
    nodes = []
    for node_id, label in labels.items():
        entry: dict[str, Any] = {"id": node_id, "type": scene[node_id].type, "label": label.name}
        if label.label is not None:
            entry["number"] = label.label
        if label.probabilities is not None:
            entry["probability"] = float(np.round(label.probabilities[label.name], 6))
            ranked = sorted(label.probabilities.items(), key=lambda each: -each[1])[:top]
            entry["top"] = [{"label": name, "probability": float(np.round(share, 6))} for name, share in ranked]
        nodes.append(entry)
    return {"nodes": nodes, "report": str(scene.report)}


def labelled_values(content: dict[str, Any], labels: Labels) -> dict[str, Any]:
    """Parsed Spark-DSG JSON with these labels."""
    nodes = [
        node | {"attributes": node["attributes"] | labels[node["id"]].values} if node["id"] in labels else node
        for node in content["nodes"]
    ]
    return content | {"nodes": nodes}
