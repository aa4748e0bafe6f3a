"""Measures a server of scenes: latency at a steady rate, and answers and memory under load.

.venv/bin/python benchmarks/serving.py
.venv/bin/python benchmarks/serving.py --only latency --seconds 10

Latencies are absolute, since the bar is: request to labels of 320 nodes at 20 requests a second on one core. The load
of the machine is printed beside them; on a busy one they say more about its other work.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zmq
from rich.console import Console
from rich.table import Table

from neuraltrees import SyntheticBuildings
from neuraltrees.scenes import Scene, SceneFormat, building_label_spaces, parse_scene, scene_of_building, scene_task
from neuraltrees.serving import SceneLabeller
from neuraltrees.training import Bundle, NetworkSpec, Run, TrainingSpec, fit

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.scenes.scenes import building
from tests.serving.server.clients import Client
from tests.serving.server.load import Load, ServerProcess, same_labels

P50, P99 = 15.0, 50.0  # milliseconds
LAYERS = {"object": (2, "O", "ObjectNodeAttributes"), "room": (4, "R", "RoomNodeAttributes")}
console = Console(width=150)


@dataclass(frozen=True)
class Spec:
    """For how long, and how many requests a second."""

    seconds: float
    rate: float


def train(path: Path) -> None:
    """A network of the default size on scenes; how good it is does not matter here."""
    form = SceneFormat(building_label_spaces(), ("object", "room"))
    scenes = [scene_of_building(each) for each in SyntheticBuildings(12)]
    task = scene_task(scenes, form)
    spec = NetworkSpec(schedule="typed", hidden=64, layers=4)
    fitted = fit(task, spec, TrainingSpec(epochs=3, batches=2, every_class=False), [Run(0, task.split(0))])
    Bundle.of(fitted).save(path)


def spark_json(scene: Scene) -> bytes:
    """A scene as Spark-DSG JSON, with all that Hydra writes of rooms and objects."""
    ids: dict[Any, int] = {}
    nodes = []
    for i, node in enumerate(scene.nodes):
        layer, prefix, kind = LAYERS[node.type]
        ids[node.id] = (ord(prefix) << 56) + i
        assert node.position is not None
        box: dict[str, Any] = {"type": "INVALID"}
        if node.size is not None:
            box = {"type": "AABB", "dimensions": list(node.size), "world_P_center": list(node.position)}
        box["world_R_center"] = {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0}
        attributes = {
            "bounding_box": box,
            "color": {"r": 1, "g": 2, "b": 3, "a": 255},
            "is_active": False,
            "is_predicted": False,
            "last_update_time_ns": 0,
            "metadata": {},
            "name": f"{prefix}({i})",
            "position": list(map(float, node.position)),
            "semantic_feature": {"rows": 0, "cols": 0, "data": []},
            "semantic_label": 2**32 - 1 if node.label is None else node.label,
            "type": kind,
        }
        nodes.append({"id": ids[node.id], "layer": layer, "partition": 0, "attributes": attributes})
    info = {"type": "EdgeAttributes", "weight": 1.0, "weighted": False}
    edges = [{"source": ids[scene.ids[a]], "target": ids[scene.ids[b]], "info": info} for a, b in scene.edges.tolist()]
    version = {"project_name": "main", "version": {"major": 1, "minor": 1, "patch": 3}}
    return json.dumps({"SPARK_DSG_header": version, "nodes": nodes, "edges": edges}).encode()


def steady(ask: Callable[[bytes], None], bodies: list[bytes], seconds: float, rate: float) -> np.ndarray:
    """The latency of every request, in milliseconds, sent at a steady rate."""
    found, start = [], time.perf_counter()
    for i in range(int(seconds * rate)):
        due = start + i / rate
        time.sleep(max(0.0, due - time.perf_counter()))
        begin = time.perf_counter()
        ask(bodies[i % len(bodies)])
        found.append(1000 * (time.perf_counter() - begin))
    return np.array(found)


def measure(
    table: Table, name: str, server: ServerProcess, ask: Callable[[bytes], None], bodies: list[bytes], spec: Spec
) -> bool:
    """A row of the table; whether it keeps the bar."""
    before = server.processor_seconds()
    found = steady(ask, bodies, spec.seconds, spec.rate)
    used = 1000 * (server.processor_seconds() - before) / len(found)
    p50, p90, p99 = np.percentile(found, [50, 90, 99])
    good = bool(p50 <= P50 and p99 <= P99)
    times = [f"{each:.1f}" for each in (p50, p90, p99, used)]
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()}"
    table.add_row(name, f"{len(bodies[0]) / 1000:.0f} kB", *times, "yes" if good else "NO", load)
    return good


def latency(model: Path, folder: Path, spec: Spec) -> bool:
    """By HTTP and by ZMQ, each with a server on one core."""
    bodies = [spark_json(building("grid", 20, 15, seed=seed)) for seed in range(8)]
    assert parse_scene(bodies[0]).num_nodes == 320
    table = Table(
        title=f"Request to labels, 320 nodes, {spec.rate:g} requests a second, {spec.seconds:g} s, one core (ms)"
    )
    for name in ("transport", "body", "p50", "p90", "p99", "processor time", f"≤ {P50:g} and {P99:g}", "load"):
        table.add_column(name)
    core = max(os.sched_getaffinity(0))
    addresses = [f"ipc://{folder}/{name}" for name in ("graphs", "labels")]
    context = zmq.Context()
    graphs, labels = context.socket(zmq.PUB), context.socket(zmq.SUB)
    labels.setsockopt(zmq.SUBSCRIBE, b"")
    graphs.bind(addresses[0])
    server = ServerProcess(model, "--zmq", "--zmq-graphs", addresses[0], "--zmq-labels", addresses[1], core=core)
    try:
        client = Client(server.address)

        def by_http(body: bytes) -> None:
            assert client.ask("POST", "/predict", body)[0] == 200

        def by_zmq(body: bytes) -> None:
            graphs.send(body)
            assert labels.poll(20_000), "no answer"
            labels.recv()

        steady(by_http, bodies, 1, spec.rate)
        good = measure(table, "HTTP, labels", server, by_http, bodies, spec)
        labels.connect(addresses[1])
        while not labels.poll(100):
            graphs.send(bodies[0])
        while labels.poll(300):
            labels.recv()
        good &= measure(table, "ZMQ, labelled JSON", server, by_zmq, bodies, spec)
        binary = [as_binary(body, folder) for body in bodies]
        good &= measure(table, "ZMQ, binary", server, by_zmq, binary, spec)
    finally:
        server.kill()
        context.destroy(linger=0)
    console.print(table)
    return good


def as_binary(body: bytes, folder: Path) -> bytes:
    """The binary form of Spark-DSG."""
    from spark_dsg import DynamicSceneGraph

    path = folder / "scene.json"
    content = json.loads(body)
    content |= {"directed": False, "multigraph": False, "metadata": {}}
    content["layer_keys"] = [{"layer": layer, "partition": 0} for layer in (2, 3, 4, 5)]
    content["layer_names"] = {
        name: {"layer": layer, "partition": 0}
        for name, layer in (("OBJECTS", 2), ("PLACES", 3), ("ROOMS", 4), ("BUILDINGS", 5))
    }
    for node in content["nodes"]:
        if node["layer"] == 2:
            turn = {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0}
            node["attributes"] |= {"registered": False, "world_R_object": turn, "mesh_connections": []}
        else:
            node["attributes"]["semantic_class_probabilities"] = {}
        box = node["attributes"]["bounding_box"]
        box.setdefault("dimensions", [0.0] * 3)
        box.setdefault("world_P_center", [0.0] * 3)
    path.write_text(json.dumps(content))
    message: bytes = DynamicSceneGraph.load(str(path)).to_binary(include_mesh=False)
    return message


def load(model: Path, seconds: float, clients: int) -> bool:
    """Good and bad requests from many clients, slow ones, and a kill -9 in between."""
    labeller = SceneLabeller.load(model)
    good = []
    for number in range(12):
        body = spark_json(building("corridor", 2 + number % 5, 4 + number % 7, seed=number))
        good.append((body, same_labels(labeller.label([parse_scene(body)])[0])))
    server = ServerProcess(model, "--max-body", 1)
    work = Load(good, 2**20)
    try:
        memory = work.run(server, seconds, clients, kill_at=[seconds / 4])
    finally:
        server.kill()
    quarter = max(1, len(memory) // 4)
    before, after = np.mean(memory[quarter : 2 * quarter]), np.mean(memory[-quarter:])
    flat = bool(after <= 1.05 * before)
    table = Table(title=f"{clients} clients for {seconds:g} s, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name in (*work.counts, "wrong", "memory", "flat"):
        table.add_column(name)
    counted = [f"{count:,}" for count in work.counts.values()]
    table.add_row(*counted, str(len(work.wrong)), f"{before:.0f} → {after:.0f} MiB", "yes" if flat else "NO")
    console.print(table)
    for each in work.wrong[:5]:
        console.print(each)
    return flat and not work.wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("latency", "load"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--clients", type=int, default=16)
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train(folder / "model.safetensors")
        if options.only != "load":
            good &= latency(folder / "model.safetensors", folder, Spec(options.seconds, options.rate))
        if options.only != "latency":
            good &= load(folder / "model.safetensors", options.seconds, options.clients)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
