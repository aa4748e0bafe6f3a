"""Training by several processes: the losses, weights and answers of one."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import torch

from neuraltrees.errors import InputError
from neuraltrees.nn.parallel import Group
from neuraltrees.training import NetworkSpec, TrainingSpec
from neuraltrees.training.executors import CutTrees, DataParallel
from tests.commands import Started, ended, started
from tests.processes import Processes, processes
from tests.training import distributed as d

PLAIN = TrainingSpec(epochs=4, batches=3, lr=0.02, every_class=False)
CUT = [
    d.Training(NetworkSpec(conv="gcn", hidden=8, layers=3), PLAIN.replace(batches=2, patience=2)),
    d.Training(NetworkSpec(conv="gin", hidden=8, layers=3), PLAIN.replace(batches=1, average=0.9)),
    d.Training(NetworkSpec(conv="gat", hidden=4, layers=2, heads=2), PLAIN.replace(accumulate=2, clip=0.5)),
    d.Training(NetworkSpec(model="gnn", conv="sage", hidden=8, layers=2), PLAIN),
    *(
        d.Training(NetworkSpec(conv="gcn", hidden=8, layers=2, head="crf", crf_learning=learning), PLAIN)
        for learning in ("pseudo", "marginal", "likelihood")
    ),
    d.Training(NetworkSpec(schedule="bags", parts="graph+tree+sweep", hidden=8, layers=2), PLAIN),
]
BAGS = NetworkSpec(schedule="bags", hidden=8, layers=2, dropout=0.0)
SHARED = [
    d.Training(NetworkSpec(conv="gin", hidden=8, layers=3, dropout=0.0), PLAIN),
    d.Training(NetworkSpec(conv="sage", hidden=8, layers=2, dropout=0.0), PLAIN.replace(accumulate=2)),
    d.Training(BAGS, PLAIN.replace(shuffle=True, accumulate=2), "graphs"),
    d.Training(BAGS.replace(parts="graph+tree+sweep"), PLAIN.replace(shuffle=True, prefetch=True), "graphs"),
    d.Training(BAGS, PLAIN.replace(shuffle=True), "nodes"),
]


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with processes(tmp_path_factory.mktemp("processes")) as started:
        yield started


@pytest.mark.parametrize("given", CUT, ids=lambda given: f"{given.network.name} {given.labels}")
def test_cut_trees_train_as_one_process_does(given: d.Training, together: Processes) -> None:
    expected = d.trained(given)
    for size in (1, 2, 4):
        for found in together.run(size, d.trained_together, given, True):
            d.assert_same(found, expected)


@pytest.mark.parametrize("given", SHARED, ids=lambda given: f"{given.network.name} {given.labels}")
def test_divided_graphs_train_as_one_process_does(given: d.Training, together: Processes) -> None:
    expected = d.trained(given)
    for size in (1, 2, 3):
        for found in together.run(size, d.trained_together, given, False):
            d.assert_same(found, expected)


@pytest.mark.parametrize(("given", "cuts"), [(CUT[1], True), (SHARED[0], False)], ids=["cut", "divided"])
def test_another_number_of_processes_goes_on(given: d.Training, cuts: bool, together: Processes) -> None:
    state = together.run(3, d.begun, given, cuts, 2)[0]
    for found in together.run(2, d.continued, given, cuts, state):
        d.assert_same(found, d.trained(given))


def test_every_process_computes_graphs_of_its_own_in_the_same_order_every_time(together: Processes) -> None:
    given = SHARED[2]
    alone, first, again = (together.run(size, d.order_of_items, given) for size in (1, 3, 3))
    assert first == again
    for number, everything in enumerate(alone[0]):
        parts = [each[number] for each in first]
        blank = len(given.problem()[0].graphs)
        assert sorted(item for part in parts for item in part if item != blank) == [i for i in everything if i != blank]


def test_processes_read_their_graphs_from_columns_that_one_has_written(together: Processes, tmp_path: Path) -> None:
    given = SHARED[3]
    kept = replace(given, training=given.training.replace(columns=str(tmp_path / "columns")))
    for found in together.run(3, d.trained_together, kept, False):
        d.assert_same(found, d.trained(given))
    written = (tmp_path / "columns" / "index.json").stat().st_mtime_ns
    together.run(2, d.trained_together, kept, False)
    assert (tmp_path / "columns" / "index.json").stat().st_mtime_ns == written


def test_dropout_differs_between_processes_and_repeats(together: Processes) -> None:
    given = d.Training(NetworkSpec(conv="sage", hidden=8, layers=2, dropout=0.5), PLAIN)
    first, again = (together.run(2, d.trained_together, given, False) for _ in range(2))
    for name, value in first[0].items():
        assert torch.equal(value.nan_to_num(), again[0][name].nan_to_num())


def test_accumulated_batches_are_one_larger_batch() -> None:
    """Three batches added up make the step of one batch that holds them all; there is no batch norm here."""
    network = NetworkSpec(conv="sage", hidden=8, layers=2, dropout=0.0)
    several = d.trained(d.Training(network, PLAIN.replace(batches=3, accumulate=3)))
    one = d.trained(d.Training(network, PLAIN.replace(batches=1)))
    d.assert_same({**several, "step": one["step"]}, one)


def test_trees_are_cut_of_batches_that_stay() -> None:
    with pytest.raises(InputError, match="Expected no shuffle for trees that are cut into parts"):
        SHARED[2].trainer(CutTrees(Group()))


def test_fewer_graphs_than_processes_are_refused_by_all_of_them() -> None:
    with pytest.raises(InputError, match="Expected a graph in every batch for each of 5 processes; got a batch of 4"):
        SHARED[0].trainer(DataParallel(Group(0, 5)))


COMMAND = ["-m", "neuraltrees", "train", "--dataset", "synthetic", "--scenes", "20", "--hidden", "8", "--layers", "2"]
COMMAND += ["--batches", "2"]
on_linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes of torchrun in /proc")


@contextmanager
def torchrun(folder: Path, restarts: int, *options: str) -> Iterator[Started]:
    """A training by two processes, with a checkpoint after every epoch."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    launcher += ["--max-restarts", str(restarts)]
    command = [*launcher, *COMMAND, "--out", str(folder), "--checkpoint-every", "0", *options]
    with started(command, env=environment) as job:
        job.until((folder / "checkpoint.safetensors").exists, "checkpoint", 120)
        yield job


def kill_one_of(job: Started, which: int) -> None:
    children = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    os.kill(int(children[which]), signal.SIGKILL)


@on_linux
def test_a_killed_process_ends_the_job_and_another_number_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with torchrun(folder, 0, "--epochs", "100000") as job:
        kill_one_of(job, -1)
        assert job.wait(120) != 0
        words = " ".join(job.errors.split())
    assert "Expected all 2 processes to run until the end" in words
    assert "--resume, with any number of processes" in words
    done = int(Checkpointed(folder).epoch)
    command = [sys.executable, *COMMAND, "--out", str(folder), "--resume", "--epochs", str(done + 2)]
    again = ended(command, timeout=120)
    assert again.returncode == 0, again.stderr
    assert Checkpointed(folder).epoch == done + 2


@on_linux
def test_torchrun_starts_again_where_the_checkpoint_is(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with torchrun(folder, 1, "--epochs", "200", "--partition", "tree") as job:
        kill_one_of(job, 0)
        assert job.wait(150) == 0, job.errors
    assert Checkpointed(folder).epoch == 200
    assert (folder / "model.safetensors").exists()


@on_linux
def test_a_training_ends_with_the_torchrun_that_started_it(tmp_path: Path) -> None:
    with torchrun(tmp_path / "run", 0, "--epochs", "100000") as job:
        trainings = psutil.Process(job.pid).children()
        assert len(trainings) == 2
        os.kill(job.pid, signal.SIGKILL)
        assert psutil.wait_procs(trainings, timeout=100)[1] == [], "they go on without torchrun"
        words = " ".join(job.errors.split())
    assert f"Saved at epoch {Checkpointed(tmp_path / 'run').epoch}; continue with --resume." in words


class Checkpointed:
    """What the checkpoint of a folder holds."""

    def __init__(self, folder: Path) -> None:
        import safetensors.torch

        self.epoch = int(safetensors.torch.load_file(folder / "checkpoint.safetensors")["epoch"])
