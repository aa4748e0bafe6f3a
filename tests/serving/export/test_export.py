"""Exported programs answer as the predictor does, for graphs of other sizes than the one they were traced with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import neuraltrees as nt
from neuraltrees.errors import InputError, NeuralTreesError
from neuraltrees.nn.ensemble.scatter import sum_rows
from neuraltrees.scenes import SceneFormat
from neuraltrees.serving import SceneLabeller
from neuraltrees.serving.export import Program, export, program_of
from neuraltrees.serving.export.formats import ABOUT, check_sums, quiet, traced
from neuraltrees.training import NetworkSpec, fit
from tests.scenes.scenes import building
from tests.serving.export.models import CONVS, KINDS, Kind, random_graph, trained
from tests.serving.test_scene_labeller import SCENES
from tests.serving.test_scene_labeller import trained as trained_on_scenes
from tests.training.tasks import QUICK, small_runs, small_task

SIZES = (1, 2, 9, 200)
MOST = 1e-5
BY_NAME = {kind.name: kind for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
each_conv = pytest.mark.parametrize("conv", CONVS)


def differences(bundle: nt.Bundle, run: Any, tensors_of: Any) -> float:
    predictor, worst = nt.Predictor(bundle), 0.0
    for size in SIZES:
        graph = random_graph(size, bundle, seed=size)
        answers: Tensor = run(*tensors_of(graph))
        (expected,) = predictor.predict([graph])
        assert answers.shape == expected.shape
        worst = max(worst, float((answers - expected).abs().max()))
    return worst


@each_conv
@each_kind
def test_torch_export(conv: str, kind: Kind) -> None:
    program = program_of(trained(conv, kind))
    assert differences(trained(conv, kind), program.module, program.tensors) <= MOST
    assert differences(trained(conv, kind), traced(program).module(), program.tensors) <= MOST


def test_a_file_of_torch_says_what_it_is(tmp_path: Path) -> None:
    bundle = trained("sage", BY_NAME["tree nodes"])
    program = export(bundle, tmp_path / "model.pt2", "torch")
    about = {ABOUT: ""}
    loaded = torch.export.load(tmp_path / "model.pt2", extra_files=about).module()
    assert differences(bundle, loaded, program.tensors) <= MOST
    assert json.loads(about[ABOUT]) == program.about
    assert program.about["inputs"] == ["x", "edge_index", "kappa", "node_type", "edge_type"]
    assert program.about["labels"] == {"even": ["low", "high", "never"], "odd": ["none", "low", "high"]}
    assert program.about["tree"]["method"] == "min_fill"
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt2"]


def session(path: Path, threads: int) -> Any:
    runtime = pytest.importorskip("onnxruntime", reason="ONNX needs the extra onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    return runtime.InferenceSession(str(path), options, ["CPUExecutionProvider"])


@pytest.mark.parametrize(
    ("conv", "name"), [("gcn", "gnn nodes"), ("sage", "tree graphs"), ("gat", "tree nodes"), ("gin", "gnn graphs")]
)
def test_onnx_on_several_threads(conv: str, name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript", reason="ONNX needs the extra onnx")
    bundle = trained(conv, BY_NAME[name])
    program = export(bundle, tmp_path / "model.onnx", "onnx")
    for threads in (1, 2, 4):
        onnx = session(tmp_path / "model.onnx", threads)

        def run(*tensors: Tensor, onnx: Any = onnx) -> Tensor:
            given = {name: each.numpy() for name, each in zip(program.inputs, tensors, strict=True)}
            return torch.from_numpy(onnx.run(["answers"], given)[0])

        for _ in range(5):
            assert differences(bundle, run, program.tensors) <= MOST
    about = onnx.get_modelmeta().custom_metadata_map
    assert json.loads(about[ABOUT])["inputs"] == list(program.inputs)


def test_sums_in_onnx_are_refused_where_threads_would_overwrite_each_other(tmp_path: Path) -> None:
    """The trap itself: `index_add` becomes ScatterND with addition; `sum_rows` does not."""
    onnx = pytest.importorskip("onnx", reason="ONNX needs the extra onnx")
    pytest.importorskip("onnxscript", reason="ONNX needs the extra onnx")

    class Sum(torch.nn.Module):
        def __init__(self, careful: bool) -> None:
            super().__init__()
            self.careful = careful

        def forward(self, values: Tensor, index: Tensor) -> Tensor:
            if self.careful:
                return sum_rows(values, index, 4)
            return values.new_zeros(4, *values.shape[1:]).index_add(0, index, values)

    values, index = torch.rand(50, 3), torch.arange(50) % 4
    free = ({0: torch.export.Dim.DYNAMIC}, {0: torch.export.Dim.DYNAMIC})
    for careful in (False, True):
        path = tmp_path / "sum.onnx"
        with quiet():
            exported = torch.export.export(Sum(careful), (values, index), dynamic_shapes=free)
            torch.onnx.export(exported, dynamo=True, opset_version=20, verbose=False).save(str(path))
        if careful:
            check_sums(onnx.load(str(path)))
            found = session(path, 4).run(None, {"values": values.numpy(), "index": index.numpy()})[0]
            np.testing.assert_allclose(found, Sum(False)(values, index).numpy(), rtol=1e-5)
        else:
            with pytest.raises(NeuralTreesError, match="Expected sums by ScatterElements; got ScatterND"):
                check_sums(onnx.load(str(path)))


def test_aoti(tmp_path: Path) -> None:
    bundle = trained("gat", BY_NAME["tree nodes"])
    program = export(bundle, tmp_path / "model.pt2", "aoti")
    from torch._inductor import aoti_load_package

    compiled = aoti_load_package(str(tmp_path / "model.pt2"))
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            assert differences(bundle, compiled, program.tensors) <= MOST
    finally:
        torch.set_num_threads(before)
    assert json.loads(compiled.get_metadata()[ABOUT])["inputs"] == list(program.inputs)


def test_what_cannot_be_exported_says_why(tmp_path: Path) -> None:
    task = small_task()
    bundle = nt.Bundle.of(fit(task, NetworkSpec(hidden=4, layers=1, head="crf"), QUICK, small_runs(task, [0])))
    with pytest.raises(InputError, match=r"Expected a head that predicts from states alone; got CRFHead"):
        export(bundle, tmp_path / "model.pt2", "torch")
    bundle = nt.Bundle.of(fit(task, NetworkSpec(hidden=4, layers=1, schedule="bags"), QUICK, small_runs(task, [0])))
    with pytest.raises(InputError, match="Expected rounds on the H-tree; got the schedule BagRounds"):
        export(bundle, tmp_path / "model.pt2", "torch")
    encoded = task.encoded(walks=2)
    bundle = nt.Bundle.of(fit(encoded, NetworkSpec(hidden=4, layers=1), QUICK, small_runs(task, [0])))
    with pytest.raises(InputError, match="got one with positional encodings"):
        export(bundle, tmp_path / "model.pt2", "torch")
    bundle = trained("sage", BY_NAME["tree nodes"])
    with pytest.raises(InputError, match=r"Expected a file \.onnx for the format onnx; got .*model\.pt2"):
        export(bundle, tmp_path / "model.pt2", "onnx")
    with pytest.raises(InputError, match="Expected a format out of torch, onnx, aoti; got 'c'"):
        export(bundle, tmp_path / "model.pt2", "c")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Expected a file in an existing folder"):
        export(bundle, tmp_path / "none" / "model.pt2", "torch")
    assert list(tmp_path.iterdir()) == []


def check_scenes(bundle: nt.Bundle, program: Program, run: Any) -> None:
    """The typed network answers as the labeller does, for scenes of other sizes than the one it was traced with."""
    labeller, form = SceneLabeller(bundle), bundle.inputs
    assert isinstance(form, SceneFormat)
    for scene in (*SCENES[:3], building("grid", 6, 5)):
        (labels,) = labeller.label([scene])
        ids = form.typed_graph(scene).ids
        answers: Tensor = run(*program.tensors(scene))
        assert len(answers) == len(ids) == len(labels)
        for row, node in zip(answers.tolist(), ids, strict=True):
            shares = labels[node].probabilities
            assert shares is not None
            assert row[: len(shares)] == pytest.approx(list(shares.values()), abs=MOST)


@each_conv
def test_scenes_by_torch(conv: str) -> None:
    bundle = trained_on_scenes(conv=conv, heads=2, runs=1)
    program = program_of(bundle)
    check_scenes(bundle, program, traced(program).module())
    assert program.about["labels"].keys() == {"object", "room"}


def test_scenes_by_onnx(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript", reason="ONNX needs the extra onnx")
    bundle = trained_on_scenes(conv="sage")
    program = export(bundle, tmp_path / "model.onnx", "onnx")
    onnx = session(tmp_path / "model.onnx", 2)

    def run(*tensors: Tensor) -> Tensor:
        given = {name: each.numpy() for name, each in zip(program.inputs, tensors, strict=True)}
        return torch.from_numpy(onnx.run(["answers"], given)[0])

    check_scenes(bundle, program, run)


def test_scene_networks_that_cannot_be_exported_say_why(tmp_path: Path) -> None:
    for network, message in (({"head": "crf"}, "got CRFHead"), ({"schedule": None}, "got the schedule TreeRounds")):
        with pytest.raises(InputError, match=message):
            export(trained_on_scenes(**network), tmp_path / "model.pt2", "torch")
