"""Canonical decomposition → a code per bag and per member: a hash of the structure of the bag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from neuraltrees.decomposition.decomposition import BagKind, TreeDecomposition
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph, Int64

if TYPE_CHECKING:
    import networkx as nx

Hash: TypeAlias = npt.NDArray[np.uint64]

MANY = 128  # members; a larger bag that is not planar is refined by vertices, not by pairs of vertices


@dataclass(frozen=True, eq=False)
class BagCodes:
    """Codes of bags and of their members, which do not depend on the numbers of the nodes; see `bag_codes`.

    Shapes: bags :math:`(B)`, members :math:`(·)`

    Args:
        bags: a code per bag.
        members: a code per member of a bag, in the order of `TreeDecomposition.bag_nodes`.
    """

    bags: Int64
    members: Int64


def bag_codes(graph: Graph, decomposition: TreeDecomposition) -> BagCodes:
    """A code of every bag of a canonical decomposition, and of every member's place in its bag.

    The code of a bag is a hash of its skeleton: its kind and size, its edges, and which of them are virtual, that is,
    lead to the rest of a block. The code of a member adds its place: two members have the same code if an automorphism
    of the skeleton maps one to the other.

    - A cycle: the pattern of virtual edges around it, independent of the first node and the direction.
    - A planar rigid bag has a unique embedding up to reflection (Whitney). Up to collisions of 64-bit hashes, two such
      bags have equal codes only if their skeletons are isomorphic, and two members only if an automorphism maps one to
      the other. The codes come from refining directed edges by their successors around vertices and faces (Hopcroft and
      Tarjan 1973), which on these graphs finds the classes of Weinberg's walks.
    - Other rigid bags: the colours of refinement by pairs of vertices, which is as strong as 3-WL, for up to 128
      members; for more, plain colour refinement. Isomorphic skeletons have equal codes, but others may have them too.

    Args:
        graph: the graph.
        decomposition: `decompose(graph, "canonical")`, also with `refine`.

    >>> from neuraltrees import decompose
    >>> prism = Graph([[0, 1, 2, 3, 4, 5, 0, 1, 2], [1, 2, 0, 4, 5, 3, 3, 4, 5]])
    >>> codes = bag_codes(prism, decompose(prism, "canonical"))
    >>> codes.bags.shape, len(set(codes.members.tolist()))  # all nodes of a prism are alike
    ((1,), 1)
    """
    graph = Graph.of(graph)
    if not isinstance(decomposition, TreeDecomposition) or decomposition.kinds is None:
        raise InputError(
            "Expected a canonical decomposition, whose bags have kinds; got "
            f"{'one without kinds' if isinstance(decomposition, TreeDecomposition) else type(decomposition).__name__}. "
            'Make it with decompose(graph, "canonical").'
        )
    if not decomposition.was_made_for(graph):
        decomposition.validate(graph)
    bags = _Bags(graph, decomposition)
    bags.code_small()
    bags.code_cycles()
    for bag in np.flatnonzero((bags.kinds == BagKind.RIGID) | (bags.kinds == BagKind.OTHER)).tolist():
        bags.code_one(bag)
    return BagCodes(bags.bag_codes.view(np.int64), bags.member_codes.view(np.int64))


class _Bags:
    """The bags with their virtual edges, and the codes computed so far."""

    def __init__(self, graph: Graph, td: TreeDecomposition) -> None:
        assert td.kinds is not None and td.bag_order is not None
        self.graph, self.td, self.kinds = graph, td, td.kinds
        self.size = np.diff(td.bag_ptr)
        self.bag_of = np.repeat(np.arange(len(self.size)), self.size)
        self.keys = self.bag_of * max(graph.num_nodes, 1) + td.bag_nodes  # ascending
        self.bag_codes: Hash = np.zeros(len(self.size), np.uint64)
        self.member_codes: Hash = np.zeros(len(self.bag_of), np.uint64)
        # Every neighbour of kind PAIR stands for a virtual edge.
        both = np.concatenate([td.edges, td.edges[:, ::-1]])
        joined = both[(self.kinds[both[:, 1]] == BagKind.PAIR) & (self.kinds[both[:, 0]] != BagKind.VERTEX)]
        self.virtual = joined[np.argsort(joined[:, 0], kind="stable")]
        self.virtual_ptr = np.searchsorted(self.virtual[:, 0], np.arange(len(self.size) + 1))

    def ends(self, pairs: Int64) -> Int64:
        """Both members of each of these bags of size two; shape (·, 2)."""
        first = self.td.bag_ptr[pairs]
        return np.stack([self.td.bag_nodes[first], self.td.bag_nodes[first + 1]], 1).astype(np.int64)

    def code_small(self) -> None:
        """Codes of vertices, bridges and pairs, whose members are all equivalent."""
        known = np.isin(self.kinds, (BagKind.VERTEX, BagKind.BRIDGE, BagKind.PAIR))
        parts = np.bincount(self.virtual[:, 1], minlength=len(self.size))
        real = np.zeros(len(self.size), np.int64)
        pairs = np.flatnonzero(self.kinds == BagKind.PAIR)
        real[pairs] = _have_edges(self.graph, self.ends(pairs))
        self.bag_codes[known] = _hash(self.kinds, parts, real)[known]
        inside = known[self.bag_of]
        self.member_codes[inside] = _mix(self.bag_codes[self.bag_of][inside])

    def code_cycles(self) -> None:
        """Codes of cycles: the pattern of virtual edges read from every member, in both directions."""
        inside = np.flatnonzero(self.kinds[self.bag_of] == BagKind.CYCLE)
        if not len(inside):
            return
        assert self.td.bag_order is not None
        n = max(self.graph.num_nodes, 1)
        order = self.bag_of * n + self.td.bag_order
        sorted_place = np.searchsorted(self.keys, order)  # from places in cyclic order to places in `bag_nodes`
        place = np.empty_like(sorted_place)
        place[sorted_place] = np.arange(len(order))
        start, size = self.td.bag_ptr[self.bag_of], self.size[self.bag_of]
        around = self.virtual[self.kinds[self.virtual[:, 0]] == BagKind.CYCLE]
        ends = self.ends(around[:, 1].astype(np.int64))
        a, b = (place[np.searchsorted(self.keys, around[:, 0] * n + ends[:, i])] for i in (0, 1))
        following = start[a] + (a - start[a] + 1) % size[a]
        mark = np.zeros(len(order), np.uint64)  # is the edge from this place to the next virtual?
        mark[np.where(following == b, a, b)] = 1
        first, count, at = start[inside], size[inside], inside - start[inside]
        forward = _words(mark, first, count, at, 1)
        backward = _words(mark, first, count, at, -1)
        codes = _hash(np.minimum(forward, backward), np.maximum(forward, backward), count)
        cycle = self.bag_of[inside]
        least = np.full(len(self.size), np.iinfo(np.uint64).max, np.uint64)
        np.minimum.at(least, cycle, codes)
        cycles = self.kinds == BagKind.CYCLE
        self.bag_codes[cycles] = _hash(self.kinds, self.size, least)[cycles]
        self.member_codes[sorted_place[inside]] = _hash(self.bag_codes[cycle], codes)

    def code_one(self, bag: int) -> None:
        """Codes of a rigid bag, or of a part of one."""
        part = slice(self.td.bag_ptr[bag], self.td.bag_ptr[bag + 1])
        members = self.td.bag_nodes[part]
        inside = self.graph.subgraph(members)
        sources = np.repeat(np.arange(len(members)), np.diff(inside.indptr)).tolist()
        pairs = self.virtual[self.virtual_ptr[bag] : self.virtual_ptr[bag + 1], 1]
        virtual = np.searchsorted(members, self.ends(pairs.astype(np.int64)))
        edges = {(u, v): 1 for u, v in zip(sources, inside.indices.tolist(), strict=True) if u < v}
        edges |= {(min(u, v), max(u, v)): 2 for u, v in virtual.tolist()}
        skeleton = np.array([(u, v, mark) for (u, v), mark in sorted(edges.items())], np.int64).reshape(-1, 3)
        embedding = _embedding(len(members), skeleton) if self.kinds[bag] == BagKind.RIGID else None
        if embedding is None:
            whole, places = _refine_colours(len(members), skeleton)
        else:
            whole, places = _refine_darts(len(members), edges, embedding)
        code = _hash(np.array([self.kinds[bag]]), np.array([len(members)]), np.array([embedding is None]), whole)
        self.bag_codes[bag] = code[0]
        self.member_codes[part] = _hash(code, places)


def _have_edges(graph: Graph, pairs: Int64) -> npt.NDArray[np.bool_]:
    source = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    known = np.append(source * graph.num_nodes + graph.indices, -1)  # ascending, except for the last entry
    asked = pairs[:, 0] * graph.num_nodes + pairs[:, 1]
    found: npt.NDArray[np.bool_] = known[np.searchsorted(known[:-1], asked)] == asked
    return found


def _words(mark: Hash, first: Int64, count: Int64, at: Int64, step: int) -> Hash:
    """Hashes of the marks around the cycle, read from every place; combined from words of length 1, 2, 4, …"""

    def moved(values: Hash, by: Int64 | int) -> Hash:
        return values[home + (at + step * by) % count]

    # The arrays hold one cycle after another; `home` is where the cycle of each place begins.
    home = np.arange(len(at)) - at
    word = _hash(mark[first + (at - (step < 0)) % count])
    whole, length, done = _hash(count), 1, np.zeros(len(at), np.int64)
    while length <= int(count.max()):
        used = (count & length) > 0
        whole = np.where(used, _hash(whole, moved(word, done)), whole)
        done += length * used
        word = _hash(word, moved(word, length))
        length *= 2
    return whole


def _embedding(n: int, skeleton: Int64) -> nx.PlanarEmbedding[int] | None:
    """A planar embedding of the skeleton; None if it is not planar."""
    import networkx as nx

    if len(skeleton) > 3 * n - 6:
        return None
    planar, embedding = nx.check_planarity(nx.Graph(skeleton[:, :2].tolist()))
    return cast("nx.PlanarEmbedding[int]", embedding) if planar else None


def _refine_darts(n: int, edges: dict[tuple[int, int], int], embedding: nx.PlanarEmbedding[int]) -> tuple[Hash, Hash]:
    """A hash of a 3-connected planar graph, and a hash of the orbit of every vertex.

    Directed edges whose codes agree after the refinement have the same universal cover. The sphere has no covering but
    itself, so an automorphism maps one to the other, and two graphs with the same codes are isomorphic.
    """
    darts = [(u, v) for u in range(n) for v in embedding.neighbors_cw_order(u)]
    number = {dart: i for i, dart in enumerate(darts)}
    tail = np.array([u for u, _ in darts])
    back = np.array([number[v, u] for u, v in darts])
    after = np.array([number[u, embedding[u][v]["cw"]] for u, v in darts])
    before = np.argsort(after)
    mark = np.array([edges[min(dart), max(dart)] for dart in darts])
    degree = np.bincount(tail)[tail]
    found = []
    for turn in (after, before):
        face = turn[back]  # the next directed edge around the face
        code = _hash(mark, degree, _lengths_of_cycles(face))
        classes = 0
        while (count := len(np.unique(code))) > classes:
            classes = count
            code = _hash(code, code[turn], code[back])
        code = _hash(code, code[turn], code[back])
        places = np.zeros(n, np.uint64)
        np.add.at(places, tail, _mix(code))
        found.append((_hash(_mix(code).sum(keepdims=True), np.array([classes])), places))
    (one, here), (other, there) = found
    return _either_way(one, other), _either_way(here, there)


def _either_way(a: Hash, b: Hash) -> Hash:
    return _hash(np.minimum(a, b), np.maximum(a, b))


def _lengths_of_cycles(step: Int64) -> Int64:
    """The length of the cycle of a permutation on which every place lies."""
    length = np.zeros(len(step), np.int64)
    for first in range(len(step)):
        if length[first]:
            continue
        cycle, at = [first], int(step[first])
        while at != first:
            cycle.append(at)
            at = int(step[at])
        length[cycle] = len(cycle)
    return length


def _refine_colours(n: int, skeleton: Int64) -> tuple[Hash, Hash]:
    """A hash of a graph with marked edges, and one per vertex, by refinement of pairs or, beyond MANY, of vertices."""
    u, v, mark = skeleton.T
    source, target, marks = np.concatenate([u, v]), np.concatenate([v, u]), _hash(np.concatenate([mark, mark]))
    classes = 0
    if n > MANY:
        colour = np.zeros(n, np.uint64)
        while (count := len(np.unique(colour))) > classes:
            classes = count
            heard = np.zeros(n, np.uint64)
            np.add.at(heard, source, _hash(colour[target], marks))
            colour = _hash(colour, heard)
        return _hash(_mix(colour).sum(keepdims=True), np.array([classes])), colour
    pairs = np.zeros((n, n), np.uint64)
    pairs[source, target] = marks
    pairs[np.arange(n), np.arange(n)] = 1
    while (count := len(np.unique(pairs))) > classes:
        classes = count
        first, second = _hash(pairs), _mix(pairs)
        heard = np.stack([_mix(first[i][:, None] + second).sum(0) for i in range(n)])
        pairs = _hash(pairs, heard)
    places = _hash(pairs.diagonal(), _mix(pairs).sum(1))
    return _hash(_mix(pairs).sum().reshape(1), np.array([classes])), places


def _mix(values: Hash) -> Hash:
    """The finaliser of SplitMix64: a bijection of 64-bit numbers that spreads every bit over all bits."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _hash(*columns: npt.NDArray[Any]) -> Hash:
    """A hash of every row."""
    code: Hash = np.full(1, 0x9E3779B97F4A7C15, np.uint64)
    for column in columns:
        code = _mix(code * np.uint64(0xD1342543DE82EF95) + _mix(column.astype(np.uint64) + np.uint64(1)))
    return code
