"""Exact inference of many potentials or graphs at once, against one by one; part of inference.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import neuraltrees as nt
from benchmarks.bars import Row
from benchmarks.turns import interleaved, shortest
from neuraltrees.datasets import StanfordSceneGraphs
from neuraltrees.inference import Forest, JunctionTree, MarkovNetwork, random_markov_network


def scene_graph(objects: int, k: int, seed: int = 0) -> nt.Graph:
    """A room adjacent to all its objects, which form a k-tree with four fifths of its edges; its treewidth is k + 1."""
    rng = np.random.default_rng(seed)
    cliques = [list(range(1, k + 2))]
    inner = [(a, b) for a in cliques[0] for b in cliques[0] if a < b]
    for v in range(k + 2, objects + 1):
        base = rng.permutation(cliques[rng.integers(len(cliques))])[:k].tolist()
        inner += [(u, v) for u in base]
        cliques.append([*base, v])
    kept = [edge for edge in inner if rng.random() < 0.8]
    return nt.Graph(np.array(kept + [(0, v) for v in range(1, objects + 1)]).T)


def batch(_: Path, __: Path | None) -> list[Row]:
    rows = []
    for k, dtype in (
        (2, torch.float64),
        (2, torch.float32),
        (1, torch.float64),
        (3, torch.float64),
        (4, torch.float64),
    ):
        graph = scene_graph(29, k)
        model = random_markov_network(graph, 4, batch=1000, dtype=dtype)
        tree = JunctionTree.of(model)
        single = [[table[i] for table in model.log_potentials] for i in range(1000)]
        together = shortest(lambda model=model, tree=tree: tree.run(model.log_potentials))
        apart = shortest(lambda single=single, tree=tree: [tree.run(tables).marginals for tables in single])
        width = nt.decompose(graph, "exact").width
        what = (
            f"1,000 potentials of 4 states on a scene graph of 30 nodes, treewidth {width}, {str(dtype)[6:]}: "
            f"{apart * 1e3:,.0f} ms one by one, {together * 1e3:.1f} ms in a batch"
        )
        rows.append(Row(what, f"{apart / together:.1f} ×", "≥ 1 ×", apart >= together))
    return rows


def forest(data: Path, _: Path | None) -> list[Row]:
    """The scene graphs with three tenths of their nodes unknown, the others taken out: all at once and one by one."""
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    graphs = [nt.Graph.from_data(scene) for scene in StanfordSceneGraphs(data)]
    graphs = [graph.subgraph(np.flatnonzero(rng.random(graph.num_nodes) < 0.3)) for graph in graphs]
    graphs = [graph for graph in graphs if graph.num_nodes]
    nodes, edges = ([getattr(graph, name) for graph in graphs] for name in ("num_nodes", "num_edges"))
    unary = torch.randn(sum(nodes), 8, generator=generator, dtype=torch.float64)
    pairwise = torch.randn(sum(edges), 8, 8, generator=generator, dtype=torch.float64)
    models = []
    for graph, own, pairs in zip(graphs, unary.split(nodes), pairwise.split(edges), strict=True):
        ends = [(u, v) for u, v in graph.edge_index.T.tolist() if u < v]
        cliques = [*((v,) for v in range(graph.num_nodes)), *ends]
        models.append(MarkovNetwork([8] * graph.num_nodes, cliques, [*own, *pairs]))
    plan, trees = Forest.of(graphs, 8), [JunctionTree.of(model) for model in models]

    def apart() -> list[torch.Tensor]:
        found = [tree.run(model.log_potentials) for tree, model in zip(trees, models, strict=True)]
        return [marginal for answer in found for marginal in answer.marginals]

    error = float((plan.run(unary, pairwise).marginals - torch.stack(apart())).abs().max())
    works: dict[str, Callable[[], object]] = {
        "plan": lambda: Forest.of(graphs, 8),
        "run": lambda: plan.run(unary, pairwise),
        "plans": lambda: [JunctionTree.of(model) for model in models],
        "runs": apart,
    }
    ms = {name: 1e3 * taken for name, taken in interleaved(works, 10).items()}
    together, each = ms["plan"] + ms["run"], ms["plans"] + ms["runs"]
    width = plan.structure.elimination.width
    what = (
        f"{len(graphs)} scene graphs, {sum(nodes)} unknown nodes of 8 states, width {width}: "
        f"plan {ms['plan']:.1f} and run {ms['run']:.1f} ms, a JunctionTree for each {ms['plans']:.0f} and "
        f"{ms['runs']:.0f} ms; marginals differ by {error:.0e}"
    )
    return [
        Row(f"{what}. Planning and running on both sides", f"{each / together:.0f} ×", "–", error < 1e-9),
        Row("the same, running alone on both sides", f"{ms['runs'] / ms['run']:.0f} ×", "–", True),
        Row("running with a plan at hand, against planning and running each", f"{each / ms['run']:.0f} ×", "–", True),
    ]


def gpu(_: Path, __: Path | None) -> list[Row]:
    """Batches on a GPU against one CPU thread, after checking that results and gradients are equal."""
    if not torch.cuda.is_available():
        raise SystemExit("Expected a CUDA device for the benchmark gpu; got none.")
    rows = []
    for k, dtype in ((2, torch.float64), (2, torch.float32), (4, torch.float64), (4, torch.float32)):
        model = random_markov_network(scene_graph(29, k), 4, batch=1000, dtype=dtype)
        tree = JunctionTree.of(model)
        here = [table.clone().requires_grad_() for table in model.log_potentials]
        there = [table.cuda().requires_grad_() for table in model.log_potentials]
        answers = tree.run(here), tree.run(there)
        for answer in answers:
            answer.log_partition.sum().backward()
        error = max(
            float((a - b.cpu()).detach().abs().max())
            for a, b in zip(*(each.marginals for each in answers), strict=True)
        )
        slope = max(float((a.grad - b.grad.cpu()).abs().max()) for a, b in zip(here, there, strict=True))
        tables = [table.detach() for table in there]

        def run(tree: JunctionTree = tree, tables: list[torch.Tensor] = tables) -> None:
            tree.run(tables)
            torch.cuda.synchronize()

        slow = shortest(lambda model=model, tree=tree: tree.run(model.log_potentials))
        quick = shortest(run)
        what = (
            f"1,000 potentials, treewidth {k + 1}, {str(dtype)[6:]} on {torch.cuda.get_device_name()}: "
            f"{quick * 1e3:.1f} ms, {slow * 1e3:.1f} ms on a CPU thread; "
            f"marginals differ by {error:.0e}, gradients by {slope:.0e}"
        )
        rows.append(Row(what, f"{slow / quick:.1f} ×", "–", error < 1e-4 and slope < 1e-3))
    return rows
