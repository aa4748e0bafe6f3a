"""On a GPU, work that is the same every time is captured once as a CUDA graph and replayed."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import torch


class Replay:
    """Calls work by its name: on a CPU as it is; on a GPU once to warm up, then as a captured graph.

    The work must read and write the same tensors every time, and decide nothing in Python that may change.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.warm: set[Hashable] = set()
        self.graphs: dict[Hashable, torch.cuda.CUDAGraph] = {}
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self.pool = torch.cuda.graph_pool_handle() if device.type == "cuda" else None

    def __call__(self, name: Hashable, work: Callable[[], None]) -> None:
        if self.stream is None:
            work()
            return
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
