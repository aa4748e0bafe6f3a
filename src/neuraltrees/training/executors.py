"""Executors: how the work of a trainer is carried out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import torch
from torch import Tensor


class Executor:
    """Carries out the work of a trainer as it is, in this process.

    An executor of one's own is a subclass. To spread a training over processes, it gives each of them a share of the
    graphs of every batch and sums counts, gradients and observations over all.
    """

    def __call__(self, name: Hashable, work: Callable[[], None]) -> None:
        """Does some work. Work of the same name reads and writes the same tensors every time."""
        work()

    def share(self, graphs: Sequence[int]) -> Sequence[int]:
        """Those of the graphs of a batch that this process computes; at least one."""
        return graphs

    def total(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over all processes, in place."""
        return tensor


class Replay(Executor):
    """Captures work on a GPU as a CUDA graph and replays it: once to warm up, once to capture, then replayed.

    The work must read and write the same tensors every time, and decide nothing in Python that may change.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.warm: set[Hashable] = set()
        self.graphs: dict[Hashable, torch.cuda.CUDAGraph] = {}
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
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


def executor_for(device: torch.device, capturable: bool) -> Executor:
    """The quickest executor for a device and a network."""
    return Replay(device) if device.type == "cuda" and capturable else Executor()
