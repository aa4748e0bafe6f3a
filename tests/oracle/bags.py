"""Rounds on nodes, edges and bags by loops over them, one vector at a time, for one run of a network in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees import Graph, bag_codes, decompose
from neuraltrees.htree import HTree

CYCLE = 3
EPSILON = 1e-5
Vectors = list[Tensor]


@dataclass
class Bag:
    """A bag: its kind and size, the graph nodes of its leaves in their order, and the bags next to it."""

    kind: int
    size: int
    members: list[int]
    beside: list[int]

    def neighbours(self, node: int) -> list[int]:
        """The nodes before and after one of a cycle."""
        at = self.members.index(node)
        return [self.members[at - 1], self.members[(at + 1) % len(self.members)]]


def bags_of(tree: HTree) -> list[Bag]:
    """The bags of an H-tree in the order of the tree."""
    kappa, parent, kind = tree.kappa.tolist(), tree.parent.tolist(), tree.kind.tolist()
    numbers = [node for node in range(tree.num_nodes) if kappa[node] < 0]
    place = {node: number for number, node in enumerate(numbers)}
    found = [Bag(kind[node], len(tree.bag(node)), [], []) for node in numbers]
    for node in range(tree.num_nodes):
        if kappa[node] >= 0:
            found[place[parent[node]]].members.append(kappa[node])
    for a, b in tree.edge_index.t().tolist():
        if a in place and b in place:
            found[place[b]].beside.append(place[a])
    return found


def codes_of(data: Data) -> dict[tuple[int, frozenset[int]], tuple[Tensor, dict[int, Tensor]]]:
    """By kind and nodes of every bag of the canonical decomposition: its code and those of its members, as signs."""
    graph = Graph.from_data(data)
    td = decompose(graph, "canonical")
    codes = bag_codes(graph, td)
    assert td.kinds is not None
    found = {}
    for number, bag in enumerate(td.bags):
        places = codes.members[td.bag_ptr[number] : td.bag_ptr[number + 1]].tolist()
        signs = {node: signs_of(code) for node, code in zip(bag, places, strict=True)}
        found[int(td.kinds[number]), frozenset(bag)] = signs_of(int(codes.bags[number])), signs
    return found


def signs_of(code: int) -> Tensor:
    return torch.tensor([1.0 if code >> bit & 1 else -1.0 for bit in range(64)], dtype=torch.float64)


class Oracle:
    """The states of a network with `BagRounds`, from its weights and the tree alone.

    Args:
        state: the network's weights and statistics.
        run: which of several runs; None where there is one without the dimension.
        data: a graph or a batch, with its H-tree.
        options: parts of every layer, and the options `start`, `features`, `rings`, `edge_states`, `gated`, `aggr`,
            `skip`; how many layers an update has follows from the weights.
        training: whether batch norms use the statistics of the data, which are then updated in `state`.
        layer_norm: whether norms are layer norms.
    """

    def __init__(
        self,
        state: Mapping[str, Tensor],
        run: int | None,
        data: Data,
        layers: Sequence[Sequence[str]],
        options: Mapping[str, object],
        training: bool = False,
        layer_norm: bool = False,
    ) -> None:
        self.state = {name: (value if run is None else value[run]).clone() for name, value in state.items()}
        self.layers, self.options, self.training, self.layer_norm = layers, options, training, layer_norm
        self.edges = data.edge_index.t().tolist()
        self.reads_bags = any(part in ("tree", "sweep") for parts in layers for part in parts)
        self.bags = bags_of(data.htree) if self.reads_bags else []
        self.codes = codes_of(data) if options["codes"] else {}

    def linear(self, name: str, x: Tensor) -> Tensor:
        z = x @ self.state[f"{name}.weight"]
        return z + self.state[f"{name}.bias"] if f"{name}.bias" in self.state else z

    def rounds(self, x: Vectors, edge_attr: Vectors | None) -> tuple[Vectors, Vectors]:
        """The states of nodes and bags after the last layer."""
        h = [self.linear("schedule.start", each) for each in x]
        for bag in self.bags if self.options["codes"] else []:
            for node, signs in self.codes[bag.kind, frozenset(bag.members)][1].items():
                h[node] = h[node] + signs @ self.state["schedule.of_place.weight"]
        e = edge_attr
        if self.options["edge_states"]:
            zero = torch.zeros_like(h[0])
            e = [zero for _ in self.edges] if e is None else [self.linear("schedule.edge_start", each) for each in e]
        b: Vectors = []
        for number, parts in enumerate(self.layers):
            if not b and ("tree" in parts or "sweep" in parts):
                b = [self.first(bag, h, e) for bag in self.bags]
            h, b, e = self.layer(f"schedule.layers.{number}", parts, h, b, e)
        return h, b

    def first(self, bag: Bag, h: Vectors, e: Vectors | None) -> Tensor:
        b = torch.zeros_like(h[0])
        if self.options["start"] != "zero":
            for node in bag.members:
                b = b + h[node] / (len(bag.members) if self.options["start"] == "mean" else 1)
        if self.options["codes"]:
            b = b + self.codes[bag.kind, frozenset(bag.members)][0] @ self.state["schedule.of_code.weight"]
        if self.options["features"]:
            table = self.state["schedule.about.weight"]
            b = b + table[bag.kind] + table[6 + min(bag.size, 32)]
            for number, (u, v) in enumerate(self.edges):
                if e is not None and u in bag.members and v in bag.members:
                    b = b + e[number] @ self.state["schedule.inside.weight"]
        return b

    def layer(
        self, name: str, parts: Sequence[str], h: Vectors, b: Vectors, e: Vectors | None
    ) -> tuple[Vectors, Vectors, Vectors | None]:
        on_tree = "tree" in parts or "sweep" in parts
        summed = f"{name}.nodes.lin1.weight" not in self.state
        if on_tree:
            heard = [[self.of_nodes(name, bag, h, e), self.of_bags(name, bag, b)] for bag in self.bags]
            if not summed:
                heard = [[own, *inputs] for own, inputs in zip(b, heard, strict=True)]
            if "sweep" in parts:
                for inputs, swept in zip(heard, self.sweep(name, b), strict=True):
                    inputs.append(swept)
            b = self.update(f"{name}.bags", b, heard)
        about = []
        for v, own in enumerate(h):
            inputs = [] if summed else [own]
            if "graph" in parts:
                arrived = []
                for number, (u, w) in enumerate(self.edges):
                    if w == v:
                        sent = h[u] @ self.state[f"{name}.graph.of_node.weight"] if summed else h[u]
                        if e is not None:
                            sent = sent + self.linear(f"{name}.graph.lin_edge", e[number])
                        arrived.append(sent.relu())
                if summed:
                    arrived.append(self.linear(f"{name}.graph.of_node", own).relu())
                received = self.together(arrived, own)
                inputs = [received if summed else own + received]
            if on_tree:
                read = [b[i] for i, bag in enumerate(self.bags) if v in bag.members]
                told = self.together(read, own)
                inputs.append(self.linear(f"{name}.to_nodes", told) if summed else told)
            about.append(inputs)
        h = self.update(f"{name}.nodes", h, about, bool(self.options["skip"]))
        if self.options["edge_states"] and e is not None:
            around = []
            for number, (u, v) in enumerate(self.edges):
                inputs = [e[number], h[u] + h[v]]
                if on_tree:
                    both = (b[i] for i, bag in enumerate(self.bags) if u in bag.members and v in bag.members)
                    inputs.append(sum(both, torch.zeros_like(h[u])))
                around.append(inputs)
            e = self.update(f"{name}.edges", e, around)
        return h, b, e

    def together(self, vectors: Vectors, like: Tensor) -> Tensor:
        """The sum or the mean of what a node reads; zero if it reads nothing."""
        total = sum(vectors, torch.zeros_like(like))
        return total / max(1, len(vectors)) if self.options["aggr"] == "mean" else total

    def of_nodes(self, name: str, bag: Bag, h: Vectors, e: Vectors | None) -> Tensor:
        received = torch.zeros_like(h[0])
        for v in bag.members:
            z = self.linear(f"{name}.tree.of_node", h[v])
            if self.options["rings"] and bag.kind == CYCLE:
                for u in bag.neighbours(v):
                    z = z + h[u] @ self.state[f"{name}.tree.of_ring.weight"]
                    for number, ends in enumerate(self.edges):
                        if e is not None and ends == [u, v]:
                            z = z + self.linear(f"{name}.tree.of_edge", e[number])
            received = received + z.relu()
        return received

    def of_bags(self, name: str, bag: Bag, b: Vectors) -> Tensor:
        sent = (self.linear(f"{name}.tree.of_bag", b[other]).relu() for other in bag.beside)
        return sum(sent, torch.zeros_like(b[0]))

    def sweep(self, name: str, b: Vectors) -> Vectors:
        values = [self.linear(f"{name}.to_sweep", each) for each in b]
        rate = (-self.state[f"{name}.sweep.log_distance"]).exp()
        gated = self.options["gated"]
        gates = [self.linear(f"{name}.sweep.gate", each) if gated else None for each in values]
        found = []
        for start in range(len(b)):
            weight, waiting = {start: torch.ones_like(rate)}, [start]
            while waiting:
                here = waiting.pop()
                for other in self.bags[here].beside:
                    if other not in weight:
                        factor = (-rate).exp()
                        one, two = gates[here], gates[other]
                        if one is not None and two is not None:
                            factor = factor * torch.sigmoid(one + two)
                        weight[other] = weight[here] * factor
                        waiting.append(other)
            total = sum((each * values[bag] for bag, each in weight.items()), torch.zeros_like(rate))
            found.append(total * rate.tanh().sqrt())
        return found

    def update(self, name: str, h: Vectors, inputs: list[list[Tensor]], skip: bool = True) -> Vectors:
        z = [sum(each, torch.zeros_like(own)) for own, each in zip(h, inputs, strict=True)]
        if f"{name}.lin1.weight" in self.state:
            z = [self.linear(f"{name}.lin1", torch.cat(each)) for each in inputs]
        z = [each.relu() for each in self.norm(f"{name}.norm1", z)]
        if f"{name}.lin2.weight" in self.state:
            z = self.norm(f"{name}.norm2", [self.linear(f"{name}.lin2", each) for each in z])
        return [old + new if skip else new for old, new in zip(h, z, strict=True)]

    def norm(self, name: str, h: Vectors) -> Vectors:
        scale, shift = self.state[f"{name}.weight"], self.state[f"{name}.bias"]
        if self.layer_norm:
            return [(x - x.mean()) / (x.var(correction=0) + EPSILON).sqrt() * scale + shift for x in h]
        mean, var = self.state[f"{name}.running_mean"], self.state[f"{name}.running_var"]
        if self.training and h:
            old_mean, old_var = mean, var
            mean = sum(h, torch.zeros_like(mean)) / len(h)
            squares = sum(((x - mean) ** 2 for x in h), torch.zeros_like(mean))
            var = squares / len(h)
            self.state[f"{name}.running_mean"] = 0.9 * old_mean + 0.1 * mean
            self.state[f"{name}.running_var"] = 0.9 * old_var + 0.1 * squares / max(1, len(h) - 1)
        return [(x - mean) / (var + EPSILON).sqrt() * scale + shift for x in h]

    def summed(self, h: Vectors, b: Vectors, graph: Sequence[int], bag_graph: Sequence[int]) -> Tensor:
        """The answers of a graph head that sums nodes, and bags where there are any."""
        answers = []
        for number in range(max([*graph, *bag_graph], default=0) + 1):
            seen = sum((x for x, g in zip(h, graph, strict=True) if g == number), torch.zeros_like(h[0]))
            if self.reads_bags:
                bags = (x for x, g in zip(b, bag_graph, strict=True) if g == number)
                seen = torch.cat([seen, sum(bags, torch.zeros_like(h[0]))])
            answers.append(self.linear("head.lin2", self.linear("head.lin1", seen).relu()))
        return torch.stack(answers)
