"""Processes started by torchrun: how they connect, and the executor that they train with."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from neuraltrees.nn.parallel import Group
from neuraltrees.training.executors import CutTrees, DataParallel, Executor
from neuraltrees.training.training_spec import Partition

GRACE = 30  # seconds to end in after torchrun has gone, as long as torchrun itself waits


@dataclass(frozen=True)
class Launched:
    """The processes of a training, seen from one of them, and the device of this process."""

    group: Group
    device: str

    @property
    def main(self) -> bool:
        """Whether this is the process that writes files and reports the training."""
        return self.group.rank == 0

    def executor(self, partition: Partition) -> Executor | None:
        """The executor of several processes; None for a single process."""
        if self.group.alone:
            return None
        return (CutTrees if partition == "tree" else DataParallel)(self.group, self.device)


@contextmanager
def launched(device: str) -> Iterator[Launched]:
    """Connects the processes that torchrun started; without torchrun, this process is alone.

    On GPUs, every process of a machine has its own GPU, and they communicate by NCCL. With fewer GPUs than processes,
    and on CPUs, they communicate by Gloo.

    Args:
        device: "cpu" or "cuda"; with "cuda", the process uses the GPU of its local rank.
    """
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        yield Launched(Group(), device)
        return
    backend = "gloo"
    if device == "cuda" and torch.cuda.is_available():
        local, count = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
        backend = "nccl" if int(os.environ.get("LOCAL_WORLD_SIZE", "1")) <= count else "gloo"
        device = f"cuda:{local % count}"
        torch.cuda.set_device(device)
    if "TORCHELASTIC_RUN_ID" in os.environ:
        threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    _connect(backend)
    try:
        yield Launched(Group.here(), device)
    finally:
        dist.destroy_process_group()


def _connect(backend: str) -> None:
    """Connects all processes. Those that torchrun starts again on one machine may share a store with the ones before,
    whose addresses they must not read; on several machines, the numbers of restarts may differ.
    """
    if os.environ.get("GROUP_WORLD_SIZE") != "1":
        dist.init_process_group(backend)
        return
    store, rank, size = next(rendezvous("env://"))
    store = PrefixStore(f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size)


def _end_with(launcher: int) -> None:
    """Ends this process once torchrun is gone, which would have ended it: by the signal that torchrun sends, after
    which a training saves its state, and in the end whatever it does.
    """
    while os.getppid() == launcher:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)
