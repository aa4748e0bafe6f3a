"""Bounded-treewidth sampling (Yoo et al., WSDM 2020) over NetworkX graphs, and the facts every sample obeys."""

from __future__ import annotations

import heapq

import networkx as nx

from .decomposition import bags_with, check_decomposition

Bag = frozenset[int]


def sample_bounded_treewidth(graph: nx.Graph, k: int, seed: int = 0) -> tuple[nx.Graph, nx.Graph]:
    """A spanning subgraph of treewidth at most k, and its decomposition as a forest of frozensets.

    Grows a k-tree: the unsampled node with most neighbours in one bag joins that bag, for which a member of a full
    bag is left out, a non-neighbour first. A node that joins lets its unsampled neighbours score the new bag alone.
    """
    near = {node: set(graph[node]) - {node} for node in graph}
    sample = nx.empty_graph(graph)
    bags: list[set[int]] = []
    links: list[tuple[int, int]] = []
    best: dict[int, tuple[float, int]] = {}
    queue: list[tuple[float, int, int]] = []
    sampled: set[int] = set()

    def join(node: int, bag: int) -> None:
        sample.add_edges_from((node, member) for member in bags[bag] & near[node])
        sampled.add(node)
        bags[bag].add(node)
        for other in near[node] - sampled:
            score = len(bags[bag] & near[other]) + _tie_break(seed, node, other)
            if other not in best or score > best[other][0]:
                best[other] = score, bag
                heapq.heappush(queue, (-score, other, bag))

    for start in graph:
        if start in sampled:
            continue
        bags.append(set())
        join(start, len(bags) - 1)
        while queue:
            _, node, bag = heapq.heappop(queue)
            if node in sampled:
                continue
            if len(bags[bag]) > k:
                spare = bags[bag] - near[node] or bags[bag]
                dropped = min(spare, key=lambda member: _tie_break(seed, node, member))
                links.append((bag, len(bags)))
                bags.append(bags[bag] - {dropped})
                bag = len(bags) - 1
            join(node, bag)

    forest: nx.Graph = nx.Graph()
    forest.add_nodes_from(frozenset(bag) for bag in bags)
    forest.add_edges_from((frozenset(bags[i]), frozenset(bags[j])) for i, j in links)
    return sample, forest


def check_sample(graph: nx.Graph, sample: nx.Graph, bags: list[Bag], tree_edges: list[tuple[int, int]], k: int) -> None:
    """The facts of a sample, for graphs on 0..n-1: raises AssertionError with the first that fails."""
    n, m, kept = len(graph), graph.number_of_edges(), sample.number_of_edges()
    check_decomposition(n, sample.edges, bags, tree_edges)
    facts = {
        "the sample spans the nodes of the graph": set(sample) == set(graph),
        "no bag has more than k + 1 vertices": all(len(bag) <= k + 1 for bag in bags),
        "the sample has at most kn - k(k+1)/2 edges": n <= k or kept <= k * n - k * (k + 1) // 2,
        "the components of the graph stay connected": _components(sample) == _components(graph),
        "k = 1 keeps a spanning forest": k > 1 or kept == n - len(_components(graph)),
        "a graph that fits in k + 1 vertices is kept whole": n > k + 1 or kept == m,
    }
    for fact, holds in facts.items():
        if not holds:
            raise AssertionError(f"does not hold: {fact}")
    if not all(graph.has_edge(u, v) for u, v in sample.edges):
        raise AssertionError("the sample has an edge that is not in the graph")
    holders = bags_with(n, bags)
    for u, v in graph.edges:
        if sample.has_edge(u, v) == holders[u].isdisjoint(holders[v]):
            raise AssertionError(f"the edge {u}-{v} is kept without a bag, or in a bag and not kept")


def _components(graph: nx.Graph) -> set[Bag]:
    return {frozenset(nodes) for nodes in nx.connected_components(graph)}


def _tie_break(seed: int, u: int, v: int) -> float:
    """A number in [0, 1) that depends on the seed and the pair alone; Python hashes integers without a salt."""
    return hash((seed, min(u, v), max(u, v))) % 2**32 / 2**32
