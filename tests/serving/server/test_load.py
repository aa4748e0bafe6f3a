"""A server under load, for a short time: good and bad requests, slow clients, a kill; see benchmarks/serving.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuraltrees.serving import SceneLabeller
from tests.serving.server.load import Load, ServerProcess, same_labels
from tests.serving.server.test_scenes import as_plain
from tests.serving.test_scene_labeller import SCENES, trained

pytest.importorskip("fastapi", reason="the server needs the extra serve")


def test_every_good_request_has_its_right_answer(tmp_path: Path) -> None:
    model = tmp_path / "model.safetensors"
    trained().save(model)
    labeller = SceneLabeller.load(model)
    good = [(json.dumps(as_plain(scene)).encode(), same_labels(labeller.label([scene])[0])) for scene in SCENES]
    server = ServerProcess(model, "--max-body", 0.5)
    try:
        load = Load(good, 2**19)
        memory = load.run(server, 8, clients=6, kill_at=[2])
    finally:
        server.kill()
    assert load.wrong == []
    assert load.counts["kill -9"] == 1
    assert all(load.counts[what] > 0 for what in ("good", "422", "413", "slow")), load.counts
    assert max(memory) < min(memory) + 100  # MiB: no request stays
