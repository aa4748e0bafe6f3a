"""Codes of bags: the same for isomorphic skeletons, and for planar ones only for these."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher
from scipy.spatial import Delaunay

import neuraltrees as nt
from neuraltrees import BagKind
from tests.oracle import strategies
from tests.oracle.bridge import to_graph


def codes_of(graph: nx.Graph) -> tuple[nt.TreeDecomposition, nt.BagCodes]:
    td = nt.decompose(to_graph(graph), "canonical")
    return td, nt.bag_codes(to_graph(graph), td)


def one_code(graph: nx.Graph) -> tuple[int, list[int]]:
    """The codes of a graph that is one bag, and of its nodes."""
    td, codes = codes_of(graph)
    assert len(td.bags) == 1
    return int(codes.bags[0]), codes.members.tolist()


def listed(graph: nx.Graph, names: dict[int, int] | None = None) -> list[tuple]:
    td, codes = codes_of(graph)
    assert td.kinds is not None
    out = []
    for b, bag in enumerate(td.bags):
        places = codes.members[td.bag_ptr[b] : td.bag_ptr[b + 1]].tolist()
        members = sorted((v if names is None else names[v], code) for v, code in zip(bag, places, strict=True))
        out.append((int(td.kinds[b]), members, int(codes.bags[b])))
    return sorted(out)


@given(graph=strategies.graphs(max_nodes=16), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=120)
def test_the_numbers_of_the_nodes_do_not_matter(graph: nx.Graph, seed: int) -> None:
    check_permuted(graph, seed)


def check_permuted(graph: nx.Graph, seed: int) -> None:
    names = random.Random(seed).sample(range(len(graph)), len(graph))
    old = {new: v for v, new in enumerate(names)}
    permuted = nx.empty_graph(len(graph))
    permuted.add_edges_from((names[u], names[v]) for u, v in graph.edges)
    assert listed(permuted, old) == listed(graph)


def planar_graphs() -> list[nx.Graph]:
    """3-connected and planar: all of at most seven nodes, and some larger ones, of which many differ in little."""
    graphs = [g for g in nx.graph_atlas_g() if len(g) >= 4 and nx.node_connectivity(g) >= 3]
    graphs = [g for g in graphs if nx.check_planarity(g)[0]]
    graphs += [nx.circular_ladder_graph(n) for n in range(3, 9)] + [nx.wheel_graph(n) for n in range(8, 12)]
    graphs += [nx.dodecahedral_graph(), nx.icosahedral_graph(), nx.cubical_graph(), nx.octahedral_graph()]
    draw = np.random.default_rng(0)
    while len(graphs) < 160:
        triangles = Delaunay(draw.random((int(draw.integers(8, 13)), 2))).simplices
        graph = nx.Graph([pair for t in triangles.tolist() for pair in combinations(t, 2)])
        for edge in random.Random(len(graphs)).sample(sorted(graph.edges), 4):
            graph.remove_edge(*edge)
            if nx.node_connectivity(graph) < 3:
                graph.add_edge(*edge)
        if nx.node_connectivity(graph) >= 3:
            graphs.append(nx.convert_node_labels_to_integers(graph))
    return graphs


PLANAR = planar_graphs()


def test_codes_of_planar_bags_are_complete() -> None:
    codes = [one_code(graph)[0] for graph in PLANAR]
    groups = defaultdict(list)
    for graph, code in zip(PLANAR, codes, strict=True):
        groups[str(sorted(sorted(graph.degree[w] for w in graph[v]) for v in graph))].append((graph, code))
    compared = 0
    for group in groups.values():
        for (a, code), (b, other) in combinations(group, 2):
            assert (code == other) == nx.is_isomorphic(a, b)
            compared += 1
    assert compared > 5
    assert len({code for group in groups.values() for _, code in group[:1]}) == len(groups)


def orbits(graph: nx.Graph, marks: dict[frozenset, int] | None = None) -> list[frozenset[int]]:
    """The orbits of the symmetries that keep the marks of edges."""
    marked = graph.copy()
    nx.set_edge_attributes(marked, {e: (marks or {}).get(frozenset(e), 0) for e in marked.edges}, "mark")
    images = defaultdict(set)
    for mapping in GraphMatcher(marked, marked, edge_match=lambda a, b: a["mark"] == b["mark"]).isomorphisms_iter():
        for v, w in mapping.items():
            images[v].add(w)
    return [frozenset(images[v]) for v in sorted(marked)]


def test_codes_of_members_are_orbits() -> None:
    for graph in PLANAR:
        if len(graph) > 12:
            continue
        check_orbits(one_code(graph)[1], orbits(graph))


def check_orbits(codes: list[int], expected: list[frozenset[int]]) -> None:
    for v, w in combinations(range(len(codes)), 2):
        assert (codes[v] == codes[w]) == (w in expected[v])


def test_virtual_edges_count() -> None:
    """Some edges of a wheel become paths: the bag in the middle is the same graph, with other marks."""
    wheel = nx.wheel_graph(6)
    found: dict[int, list[tuple[nx.Graph, dict[frozenset, int]]]] = defaultdict(list)
    edges = sorted(wheel.edges)
    for chosen in [c for size in range(4) for c in combinations(edges, size)]:
        graph = wheel.copy()
        for number, (u, v) in enumerate(chosen):
            graph.remove_edge(u, v)
            nx.add_path(graph, [u, 6 + number, v])
        td, codes = codes_of(graph)
        bag = td.kinds.tolist().index(BagKind.RIGID)
        marks = {frozenset(edge): 1 for edge in chosen}
        found[int(codes.bags[bag])].append((wheel, marks))
        check_orbits(codes.members[td.bag_ptr[bag] : td.bag_ptr[bag + 1]].tolist(), orbits(wheel, marks))
    classes = [group[0] for group in found.values()]
    for a, b in combinations(classes, 2):
        assert not _isomorphic(a, b)
    for group in found.values():
        assert all(_isomorphic(group[0], other) for other in group[1:])
    assert len(classes) > 20


def _isomorphic(a: tuple[nx.Graph, dict[frozenset, int]], b: tuple[nx.Graph, dict[frozenset, int]]) -> bool:
    marked = []
    for graph, marks in (a, b):
        copy = graph.copy()
        nx.set_edge_attributes(copy, {e: marks.get(frozenset(e), 0) for e in copy.edges}, "mark")
        marked.append(copy)
    return nx.is_isomorphic(*marked, edge_match=lambda x, y: x["mark"] == y["mark"])


@pytest.mark.parametrize("size", [3, 4, 5, 6])
def test_patterns_around_cycles(size: int) -> None:
    """Codes of cycles agree exactly if a rotation or a reflection takes one pattern of virtual edges to the other."""
    by_code, by_pattern = {}, {}
    for pattern in product((0, 1), repeat=size):
        graph = nx.cycle_graph(size)
        for i, virtual in enumerate(pattern):
            if virtual:  # a triangle behind the edge makes it virtual
                nx.add_path(graph, [i, len(graph), (i + 1) % size])
        td, codes = codes_of(graph)
        (bag,) = (b for b in range(len(td.bags)) if set(td.bags[b]) == set(range(size)) and len(td.bags[b]) == size)
        words = {
            v: min(
                tuple(pattern[(v + i) % size] for i in range(size)),
                tuple(pattern[(v - 1 - i) % size] for i in range(size)),
            )
            for v in range(size)
        }
        least = min(words.values())
        assert by_code.setdefault(int(codes.bags[bag]), least) == least
        assert by_pattern.setdefault(least, int(codes.bags[bag])) == int(codes.bags[bag])
        places = codes.members[td.bag_ptr[bag] : td.bag_ptr[bag + 1]].tolist()
        for v, w in combinations(range(size), 2):
            assert (places[v] == places[w]) == (words[v] == words[w])


def test_bags_that_are_not_planar() -> None:
    """As strong as 3-WL: not all of these are told apart by degrees."""
    graphs = [
        nx.complete_graph(5),
        nx.complete_bipartite_graph(3, 3),
        nx.petersen_graph(),
        nx.circulant_graph(13, [1, 5]),
        nx.circulant_graph(13, [1, 2]),
        nx.circulant_graph(13, [1, 3, 4]),
        nx.random_regular_graph(4, 14, seed=1),
        nx.random_regular_graph(4, 14, seed=2),
        nx.random_regular_graph(3, 200, seed=3),
    ]
    graphs = [nx.convert_node_labels_to_integers(graph) for graph in graphs]
    found = [one_code(graph) for graph in graphs]
    assert len({code for code, _ in found}) == len(graphs)
    assert all(len(set(found[i][1])) == 1 for i in range(6))  # all their nodes are alike
    for seed, graph in enumerate(graphs):
        check_permuted(graph, seed)


def test_pairs_and_single_vertices() -> None:
    graph = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4), (4, 5)])
    td, codes = codes_of(graph)
    other = nx.complete_bipartite_graph(2, 3)
    pairs = codes.bags[td.kinds == BagKind.PAIR].tolist()
    td_other, codes_other = codes_of(other)
    assert pairs[0] not in codes_other.bags[td_other.kinds == BagKind.PAIR]  # one has an edge, the other a third part
    assert len(set(codes.bags[td.kinds == BagKind.BRIDGE].tolist())) == 1
    assert len(set(codes.bags[td.kinds == BagKind.VERTEX].tolist())) == 1
    assert (codes.bags.dtype, codes.members.dtype) == (np.int64, np.int64)
    assert len(codes.members) == len(td.bag_nodes)


def test_a_long_cycle() -> None:
    graph = nt.Graph(np.stack([np.arange(10**5), (np.arange(10**5) + 1) % 10**5]))
    codes = nt.bag_codes(graph, nt.decompose(graph, "canonical"))
    assert len(set(codes.members.tolist())) == 1


def test_trees_with_codes_tell_all_small_planar_graphs_apart() -> None:
    """Colour refinement over bags, nodes and edges, from these codes, on all planar graphs of at most seven nodes."""
    graphs = [g for g in nx.graph_atlas_g() if nx.check_planarity(g)[0]]
    seen = {colours(graph): graph for graph in graphs}
    assert len(seen) == len(graphs) > 1000


def colours(graph: nx.Graph) -> tuple:
    td, codes = codes_of(graph)
    bag_of = np.repeat(np.arange(len(td.bags)), np.diff(td.bag_ptr)).tolist()
    member = list(zip(bag_of, td.bag_nodes.tolist(), codes.members.tolist(), strict=True))
    bags: list[object] = codes.bags.tolist()
    nodes: list[object] = [0] * len(graph)
    for _ in range(len(graph)):
        heard_bags: list[list] = [[] for _ in bags]
        heard_nodes: list[list] = [[] for _ in nodes]
        for bag, node, place in member:
            heard_bags[bag].append((place, nodes[node]))
            heard_nodes[node].append((place, bags[bag]))
        for u, v in graph.edges:
            heard_nodes[u].append((-1, nodes[v]))
            heard_nodes[v].append((-1, nodes[u]))
        for a, b in td.edges.tolist():
            heard_bags[a].append((-1, bags[b]))
            heard_bags[b].append((-1, bags[a]))
        bags = [hash((own, tuple(sorted(heard)))) for own, heard in zip(bags, heard_bags, strict=True)]
        nodes = [hash((own, tuple(sorted(heard)))) for own, heard in zip(nodes, heard_nodes, strict=True)]
    return len(graph), tuple(sorted(bags)), tuple(sorted(nodes))


def test_empty() -> None:
    for nodes in (0, 2):
        graph = nt.Graph([[], []], num_nodes=nodes)
        codes = nt.bag_codes(graph, nt.decompose(graph, "canonical"))
        assert codes.bags.shape == codes.members.shape == (nodes,)


def test_refined_bags_have_codes() -> None:
    graph = to_graph(nx.icosahedral_graph())
    codes = nt.bag_codes(graph, td := nt.decompose(graph, "canonical", refine="min_fill"))
    assert len(codes.bags) == len(td.bags) > 1 and (codes.members != 0).all()


def test_bad_input() -> None:
    graph = nt.Graph([[0, 1], [1, 2]])
    with pytest.raises(nt.InputError, match="got one without kinds"):
        nt.bag_codes(graph, nt.decompose(graph))
    with pytest.raises(nt.InputError, match="got int"):
        nt.bag_codes(graph, 3)
    with pytest.raises(nt.InvalidDecompositionError, match="of 3 nodes; got one of 2 nodes"):
        nt.bag_codes(graph, nt.decompose(nt.Graph([[0], [1]]), "canonical"))
