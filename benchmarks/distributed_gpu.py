"""Parts of a graph on a GPU against the whole on it: run by torchrun, see distributed_gpu.sh.

One process talks by NCCL, also to itself; two on one GPU by Gloo, through main memory.
"""

from __future__ import annotations

import argparse
import time

import torch
import torch.distributed as dist
from distributed import CLASSES, HIDDEN, like_pubmed

from neuraltrees.nn import NeuralTree, Plan
from neuraltrees.nn.parallel import Group
from neuraltrees.training.launch import launched


def step(network: NeuralTree, x: torch.Tensor, y: torch.Tensor, plan: Plan, group: Group) -> tuple[float, torch.Tensor]:
    """The loss and the gradients, those of a part summed over all processes."""
    network.zero_grad()
    loss = torch.nn.functional.cross_entropy(network(x, plan), y, reduction="sum")
    loss.backward()
    found = torch.cat([loss.detach().view(1), *(each.grad.flatten() for each in network.parameters())])
    if plan.part is not None:
        group.total_(found)
    return float(found[0]), found[1:]


def seconds(times: int, group: Group, *given: object) -> float:
    step(*given, group)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        step(*given, group)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=20_000)
    options = parser.parse_args()
    with launched("cuda") as processes:
        group, device = processes.group, processes.device
        rows = torch.arange(6.0, device=device).view(3, 2)
        kept = group.swap(rows, [3 * (rank == group.rank) for rank in range(group.size)],
                          [3 * (rank == group.rank) for rank in range(group.size)], "own")  # fmt: skip
        assert torch.equal(kept, rows)
        data = like_pubmed(options.nodes)
        x = torch.randn(options.nodes, HIDDEN, generator=torch.Generator().manual_seed(0)).to(device)
        y = torch.randint(CLASSES, (options.nodes,), generator=torch.Generator().manual_seed(1)).to(device)
        for conv in ("gcn", "sage", "gat", "gin"):
            torch.manual_seed(0)
            network = NeuralTree(HIDDEN, HIDDEN, CLASSES, 3, conv, dropout=0.0, heads=2).to(device)
            whole, part = network.plan(data), network.part_plan(data, group)
            assert part.part is not None
            all_of_it, own = (network, x, y, whole), (network, x[part.part.nodes], y[part.part.owned], part)
            loss, gradients = step(*all_of_it, group)
            group.sent.clear()
            ours, of_ours = step(*own, group)
            sent = sum(group.sent.values())
            apart = float((gradients - of_ours).norm() / gradients.norm())
            assert abs(ours - loss) < 1e-4 * abs(loss) and apart < (1e-2 if conv == "gin" else 1e-3), (
                conv,
                loss,
                ours,
                apart,
            )
            alone, together = seconds(5, group, *all_of_it), seconds(5, group, *own)
            if processes.main:
                print(
                    f"{dist.get_backend()}, {group.size} process(es) on {torch.cuda.get_device_name()}, {conv}: "
                    f"loss {ours:.2f} for {loss:.2f}, gradients differ by {apart:.1e}, {sent:,} bytes sent per step; "
                    f"whole step {1e3 * alone:.1f} ms, in parts {1e3 * together:.1f} ms",
                    flush=True,
                )


if __name__ == "__main__":
    main()
