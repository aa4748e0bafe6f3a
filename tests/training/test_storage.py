"""Checkpoints and bundles: read back as written, refused when broken or foreign, never half there."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch_geometric.nn import GraphConv

import neuraltrees as nt
from neuraltrees.serving import Predictor
from neuraltrees.training import Bundle, Problem, fit
from neuraltrees.training.bundle import FORMAT
from neuraltrees.training.checkpoint import Checkpoint, load_tensors, save_tensors
from tests.training.tasks import QUICK, SMALL, small_runs, small_task


@pytest.fixture(scope="module")
def problem() -> Problem:
    task = small_task().scaled()
    return Problem(task, small_runs(task, [0, 1]))


@pytest.fixture(scope="module")
def bundle(problem: Problem) -> Bundle:
    return Bundle.of(fit(problem.task, SMALL, QUICK, problem.runs))


class TestCheckpoint:
    state = {"a": torch.arange(3), "b": torch.tensor(1.5, dtype=torch.float64)}  # noqa: RUF012

    def test_comes_back(self, tmp_path: Path) -> None:
        checkpoint = Checkpoint(tmp_path / "c.safetensors", {"seed": 1})
        checkpoint.save(self.state)
        loaded = checkpoint.load()
        assert loaded.keys() == self.state.keys()
        assert all(torch.equal(loaded[name], value) for name, value in self.state.items())

    def test_another_training_is_named(self, tmp_path: Path) -> None:
        Checkpoint(tmp_path / "c.safetensors", {"seed": 1}).save(self.state)
        with pytest.raises(nt.InputError, match="with seed = 2; got 1"):
            Checkpoint(tmp_path / "c.safetensors", {"seed": 2}).load()

    @pytest.mark.parametrize("cut", [0, 4, 60, -1])
    def test_a_cut_file_is_refused(self, tmp_path: Path, cut: int) -> None:
        checkpoint = Checkpoint(tmp_path / "c.safetensors", {})
        checkpoint.save(self.state)
        checkpoint.path.write_bytes(checkpoint.path.read_bytes()[:cut])
        with pytest.raises(nt.InputError, match=r"Expected .* to be a checkpoint of neuraltrees"):
            checkpoint.load()

    def test_a_changed_byte_is_found(self, tmp_path: Path) -> None:
        checkpoint = Checkpoint(tmp_path / "c.safetensors", {})
        checkpoint.save(self.state)
        content = bytearray(checkpoint.path.read_bytes())
        content[-3] ^= 1
        checkpoint.path.write_bytes(bytes(content))
        with pytest.raises(nt.InputError, match="does not match its checksum"):
            checkpoint.load()

    def test_a_pickle_that_runs_code_is_not_run(self, tmp_path: Path) -> None:
        class Trap:
            def __reduce__(self) -> object:
                return Path.touch, (tmp_path / "trapped",)

        path = tmp_path / "c.safetensors"
        path.write_bytes(pickle.dumps(Trap()))
        with pytest.raises(nt.InputError, match="to be a checkpoint of neuraltrees"):
            Checkpoint(path, {}).load()
        with pytest.raises(nt.InputError, match="to be a bundle of neuraltrees"):
            Bundle.load(path)
        assert not (tmp_path / "trapped").exists()

    def test_what_was_saved_before_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        checkpoint = Checkpoint(tmp_path / "c.safetensors", {})
        checkpoint.save(self.state)
        monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            checkpoint.save({"a": torch.zeros(3), "b": torch.tensor(0.0)})
        monkeypatch.undo()
        assert torch.equal(checkpoint.load()["a"], torch.arange(3))
        assert [path.name for path in tmp_path.iterdir()] == ["c.safetensors"]


class TestBundle:
    def test_predicts_what_training_measured(self, bundle: Bundle, problem: Problem) -> None:
        """On the unscaled graphs: the bundle scales them itself."""
        run = bundle.facts["run"]
        probabilities = torch.cat(Predictor(bundle).predict(small_task().graphs))
        correct = probabilities.argmax(1) == problem.task.y
        split = problem.runs[run].split
        assert correct[split.test].float().mean().item() == pytest.approx(bundle.facts["test accuracy"])
        assert correct[split.val].float().mean().item() == pytest.approx(bundle.facts["validation accuracy"])
        torch.testing.assert_close(probabilities.sum(1), torch.ones(problem.task.num_nodes))
        assert (probabilities[problem.task.node_type == 0, 2] == 0).all()

    def test_comes_back(self, bundle: Bundle, tmp_path: Path) -> None:
        bundle.save(tmp_path / "m.safetensors")
        loaded = Bundle.load(tmp_path / "m.safetensors")
        assert loaded.labels == {"first": ("no", "yes"), "other": ("none", "one", "both")}
        assert (loaded.network, loaded.facts) == (bundle.network, bundle.facts)
        graphs = small_task().graphs
        for ours, theirs in zip(Predictor(bundle).predict(graphs), Predictor(loaded).predict(graphs), strict=True):
            assert torch.equal(ours, theirs)

    def test_a_graph_alone_is_as_good_as_among_others(self, bundle: Bundle) -> None:
        graphs = small_task().graphs
        torch.testing.assert_close(Predictor(bundle).predict(graphs)[4], Predictor(bundle).predict([graphs[4]])[0])

    def test_bad_graphs(self, bundle: Bundle) -> None:
        graph = small_task().graphs[0].clone()
        graph.x = graph.x[:, :3]
        with pytest.raises(nt.InputError, match="Graph 0: Expected 5 features per node; got 3"):
            Predictor(bundle).predict([graph])
        assert Predictor(bundle).predict([]) == []

    def test_a_checkpoint_is_no_bundle(self, tmp_path: Path) -> None:
        Checkpoint(tmp_path / "c.safetensors", {}).save({"a": torch.ones(1)})
        with pytest.raises(nt.InputError, match="to be a bundle of neuraltrees; got a file of another kind"):
            Bundle.load(tmp_path / "c.safetensors")

    def test_weights_of_another_shape(self, bundle: Bundle, tmp_path: Path) -> None:
        path = tmp_path / "m.safetensors"
        bundle.save(path)
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + size])
        about = json.loads(header["__metadata__"]["about"])
        about["network"]["hidden"] = 16
        header["__metadata__"]["about"] = json.dumps(about)
        changed = json.dumps(header).encode()
        path.write_bytes(len(changed).to_bytes(8, "little") + changed + content[8 + size :])
        with pytest.raises(nt.InputError, match="got a broken one"):
            Bundle.load(path)

    def test_no_weights(self, bundle: Bundle, tmp_path: Path) -> None:
        replace(bundle, weights={}).save(tmp_path / "m.safetensors")
        with pytest.raises(nt.InputError, match="got a broken one: 'weights'"):
            Bundle.load(tmp_path / "m.safetensors")

    def test_a_bundle_of_the_first_format_is_read(self) -> None:
        """Written by version 0.1.0 before objectives; with what it predicted then."""
        files = Path(__file__).parent / "files"
        bundle = Bundle.load(files / "bundle-1.safetensors")
        assert bundle.sampler == "paper"  # there was no other
        expected = torch.tensor(json.loads((files / "bundle-1.json").read_text()))
        torch.testing.assert_close(Predictor(bundle).predict(small_task(2).graphs)[1], expected, atol=1e-5, rtol=0)
        assert bundle.network.conv == "gin" and bundle.types == ("first", "other")

    def test_in_the_second_format_bags_of_trees_start_at_zero(self) -> None:
        """Written by version 0.1.0 before trees had `bag_start`; with what it predicted then."""
        files = Path(__file__).parent / "files"
        bundle = Bundle.load(files / "bundle-2.safetensors")
        about = load_tensors(files / "bundle-2.safetensors", ("neuraltrees-bundle-2",), "bundle")[1]
        assert about["network"]["bag_start"] == "sum" and bundle.network.bag_start is None
        expected = torch.tensor(json.loads((files / "bundle-2.json").read_text()))
        torch.testing.assert_close(Predictor(bundle).predict(small_task(2).graphs)[1], expected, atol=1e-6, rtol=0)

    @pytest.mark.parametrize("schedule", [None, "bags"])
    @pytest.mark.parametrize("start", [None, "zero", "mean", "sum"])
    def test_the_start_of_bags_comes_back(
        self, schedule: str | None, start: str | None, problem: Problem, tmp_path: Path
    ) -> None:
        spec = SMALL.replace(schedule=schedule, bag_start=start)
        bundle = Bundle.of(fit(problem.task, spec, QUICK, problem.runs[:1]))
        bundle.save(tmp_path / "m.safetensors")
        again = Bundle.load(tmp_path / "m.safetensors")
        assert again.network == spec
        graphs = small_task(3).graphs
        for mine, theirs in zip(Predictor(again).predict(graphs), Predictor(bundle).predict(graphs), strict=True):
            assert torch.equal(mine, theirs)

    def test_a_checkpoint_of_another_version_is_named(self, tmp_path: Path) -> None:
        save_tensors(tmp_path / "c.safetensors", {"a": torch.ones(1)}, {"format": "neuraltrees-checkpoint-1"})
        with pytest.raises(nt.InputError, match="got neuraltrees-checkpoint-1, of another version of neuraltrees"):
            Checkpoint(tmp_path / "c.safetensors", {}).load()

    def test_code_that_a_file_names_needs_permission(self, problem: Problem, tmp_path: Path) -> None:
        path = tmp_path / "m.safetensors"
        spec = SMALL.replace(conv="tests.training.own_parts:MeanConv")
        Bundle.of(fit(problem.task, spec, QUICK, problem.runs)).save(path)
        with pytest.raises(nt.InputError, match=r"it names tests.training.own_parts:MeanConv. If you trust it, allow"):
            Bundle.load(path)
        assert Bundle.load(path, allow=["tests.training.own_parts:MeanConv"]).network == spec

    @pytest.mark.parametrize("part", ["conv", "head", "schedule"])
    @pytest.mark.parametrize("place", ["os:system", "torch_geometric.nn.conv.gcn_conv:torch.save"])
    def test_no_other_code_is_allowed_by_itself(self, bundle: Bundle, tmp_path: Path, place: str, part: str) -> None:
        path = tmp_path / "m.safetensors"
        replace(bundle, network=bundle.network.replace(**{part: place})).save(path)
        with pytest.raises(nt.InputError, match=r"Expected .* to name only code of this library"):
            Bundle.load(path)

    def test_a_name_without_a_place_imports_nothing(self, bundle: Bundle, tmp_path: Path) -> None:
        path = tmp_path / "m.safetensors"
        bundle.save(path)
        tensors, about = load_tensors(path, (FORMAT,), "bundle")
        about["network"]["head"] = "antigravity"
        save_tensors(path, tensors, about)
        with pytest.raises(nt.InputError, match=r"Expected head out of .*labels, none or MODULE:NAME; got"):
            Bundle.load(path)
        assert "antigravity" not in sys.modules
        with pytest.raises(nt.InputError, match="Expected allow as a list of places; got the text 'evil'"):
            Bundle.load(path, allow="evil")

    @pytest.mark.parametrize("conv", [GraphConv, "torch_geometric.nn:GraphConv"])
    def test_pygs_convolutions_need_no_permission(self, problem: Problem, tmp_path: Path, conv: object) -> None:
        path = tmp_path / "m.safetensors"
        bundle = Bundle.of(fit(problem.task, SMALL.replace(conv=conv), QUICK, problem.runs))
        bundle.save(path)
        graphs = small_task().graphs
        for ours, theirs in zip(Predictor(bundle).predict(graphs), Predictor.load(path).predict(graphs), strict=True):
            assert torch.equal(ours, theirs)
