"""Executors: how the work of a trainer is carried out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from neuraltrees.nn.parallel import Group


class Executor:
    """Carries out the work of a trainer directly, in this process.

    Your own executor is a subclass. To distribute a training over processes, it assigns each of them some graphs of
    every batch, or a part of every graph, and sums gradients and observations over all.

    - `group`: the processes; this process alone by default.
    - `cuts`: whether every process computes a part of every graph of a batch, instead of some of the graphs.
    """

    group: Group = Group()
    cuts: ClassVar[bool] = False

    def __call__(self, name: Hashable, work: Callable[[], None]) -> None:
        """Executes some work. Work of the same name reads and writes the same tensors every time."""
        work()

    def share(self, graphs: Sequence[int]) -> Sequence[int]:
        """The graphs of a batch that this process computes; at least one."""
        return graphs

    def total(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over all processes, in place."""
        return self.group.total_(tensor)

    def agreed(self, wanted: bool) -> bool:
        """Whether `wanted` is true in any process; all processes get the same answer."""
        return wanted

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replaces the gradients by their sums over all processes."""
        for each in parameters:
            if each.grad is not None:
                self.total(each.grad)


class Replay(Executor):
    """Captures work on a GPU as a CUDA graph and replays it: the first call warms up, the second captures, later calls
    replay.

    The work must read and write the same tensors every time, and its control flow in Python must not change.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.warm: set[Hashable] = set()
        self.graphs: dict[Hashable, torch.cuda.CUDAGraph] = {}
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch has no types here
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, name: Hashable, work: Callable[[], None]) -> None:
        if name in self.graphs:
            self.graphs[name].replay()
            return
        if name not in self.warm:
            self.warm.add(name)
            self.stream.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(self.stream):
                work()
            torch.cuda.current_stream(self.device).wait_stream(self.stream)
            return
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            work()
        self.graphs[name] = graph
        graph.replay()


class Distributed(Executor):
    """Several processes that have the same weights.

    Args:
        group: the processes.
        device: the device of the tensors that they exchange: a GPU with NCCL.
    """

    def __init__(self, group: Group, device: torch.device | str = "cpu") -> None:
        self.group, self.device = group, device

    def agreed(self, wanted: bool) -> bool:
        return bool(self.total(torch.tensor(float(wanted), device=self.device)) > 0)

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        gradients = [each.grad for each in parameters if each.grad is not None]
        joined = self.total(torch.cat([each.flatten() for each in gradients]))  # one message instead of many
        sizes = [each.numel() for each in gradients]
        for each, total in zip(gradients, torch.split(joined, sizes), strict=True):
            each.copy_(total.view_as(each))


class DataParallel(Distributed):
    """Every process computes some of the graphs of every batch, and all have the same weights.

    Losses and gradients equal those of one process up to rounding, including batch norms. Every process draws its own
    dropout, which depends on the seed and the number of processes.
    """

    def share(self, graphs: Sequence[int]) -> Sequence[int]:
        return graphs[self.group.rank :: self.group.size]


class CutTrees(Distributed):
    """Every process computes a part of the H-trees of a batch, cut where few states are shared.

    Losses and gradients equal those of one process up to rounding, including batch norms and dropout.
    """

    cuts = True


def executor_for(device: torch.device, capturable: bool) -> Executor:
    """The fastest executor for a device and a network."""
    return Replay(device) if device.type == "cuda" and capturable else Executor()
