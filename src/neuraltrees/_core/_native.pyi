from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Int8 = npt.NDArray[np.int8]
Float64 = npt.NDArray[np.float64]
Float32 = npt.NDArray[np.float32]
Index = Int32 | Int64
Csr = tuple[Int64, Int32]

MAX_GRAPH_NODES: int

def graph_from_edges(source: Index, target: Index, num_nodes: int) -> Csr: ...
def moral_graph(source: Int64, target: Int64, num_nodes: int) -> Csr: ...
def connected_components(ptr: Int64, adj: Int32) -> Int32: ...
def induced_subgraph(ptr: Int64, adj: Int32, nodes: Int32) -> Csr: ...
def parse_gr(text: bytes) -> Csr: ...
def parse_td(text: bytes) -> tuple[Int64, Int32, Int32, int]: ...
def decompose(
    ptr: Int64,
    adj: Int32,
    method: str,
    seed: int,
    restarts: int,
    time_limit: float,
    threads: int,
    refine: bool,
    progress: Callable[[int, int], object] | None,
) -> tuple[Int64, Int32, Int32, int, int, Int8 | None, Int32 | None]: ...
def decomposition_from_order(ptr: Int64, adj: Int32, order: Int32) -> tuple[Int64, Int32, Int32]: ...
def decomposition_violation(ptr: Int64, adj: Int32, bag_ptr: Int64, bag_nodes: Int32, edges: Int32) -> str | None: ...
def block_cut_tree(ptr: Int64, adj: Int32) -> tuple[Int64, Int32, Int64, Int32, Int32]: ...
def spqr_trees(ptr: Int64, adj: Int32) -> tuple[Int8, Int32, Int64, Int32, Int64]: ...
def sample_bounded_treewidth(ptr: Int64, adj: Int32, k: int, seed: int) -> tuple[Int64, Int32, Int64, Int32, Int32]: ...
def bounded_subgraph(
    ptr: Int64, adj: Int32, k: int, seed: int, restarts: int
) -> tuple[Int64, Int32, Int64, Int32, Int32]: ...
def build_htree(
    ptr: Int64,
    adj: Int32,
    bag_ptr: Int64,
    bag_nodes: Int32,
    edges: Int32,
    kinds: Int8 | None,
    bag_order: Int32 | None,
    method: str,
    seed: int,
    restarts: int,
    max_nodes: int,
    threads: int,
    terminal_bags: bool,
    trusted: bool,
    bits: int,
    announce: Callable[[int, int], object],
) -> tuple[Index, Index, Index, Index, Index, Index, Index, Index, Index | None]: ...
def htree_violation(
    ptr: Int64,
    adj: Int32,
    parent: Index,
    level: Index,
    kappa: Index,
    edge_index: Index,
    edge_type: Index,
    bag_ptr: Index,
    bag_nodes: Index,
    component: Index,
    kind: Index,
) -> str | None: ...
def htree_diameters(parent: Index, edge_index: Index, edge_type: Index, component: Index) -> Int64: ...
def least_states(ptr: Int64, adj: Int32, log_states: Float64, seed: int) -> tuple[Int64, Int32, Int32]: ...

class PairwisePlan:
    width: int
    entries: int
    @staticmethod
    def of(
        known: npt.NDArray[np.uint8],
        labels: Int64,
        owner: Int64,
        first: Int64,
        last: Int64,
        num_graphs: int,
        states: int,
        most_entries: int,
    ) -> PairwisePlan | None: ...
    def run32(self, addresses: list[int], sizes: list[int], shared_tables: bool, shared_weight: bool) -> bool: ...
    def run64(self, addresses: list[int], sizes: list[int], shared_tables: bool, shared_weight: bool) -> bool: ...

class JunctionRuns:
    def joint(self, potential: int) -> Float64: ...

class JunctionSteps:
    states: float
    num_tables: int
    @staticmethod
    def search(
        cardinalities: Int64, scope_ptr: Int64, scope_nodes: Int32, observed: dict[int, int], seed: int
    ) -> JunctionSteps: ...
    @staticmethod
    def of(
        cardinalities: Int64, scope_ptr: Int64, scope_nodes: Int32, bag_ptr: Int64, bag_nodes: Int32, edges: Int32
    ) -> JunctionSteps: ...
    def bags(self) -> tuple[Int64, Int32, Int32]: ...
    def run(
        self,
        tables: list[int],
        batch: int,
        is_double: bool,
        observed: dict[int, int],
        marginals: bool,
        progress: Callable[[int], object] | None,
    ) -> tuple[Float64, JunctionRuns]: ...

Float = TypeVar("Float", np.float32, np.float64)

def root_at_centres(ptr: Int64, adj: Int32) -> tuple[Int64, Int64, Int64, int, int]: ...
def root_as_given(parent: Int64) -> tuple[Int64, Int64, Int64, int, int]: ...
def cut_forest(parent: Int64, weight: Float64, parts: int) -> Int32: ...
def sweep(
    parent: Int64,
    order: Int64 | None,
    tree_ptr: Int64,
    values: npt.NDArray[Float],
    factors: npt.NDArray[Float],
    per_node: bool,
    sums: npt.NDArray[Float],
    out: npt.NDArray[Float],
    threads: int,
) -> None: ...
def sweep_gradients(
    parent: Int64,
    order: Int64 | None,
    tree_ptr: Int64,
    grad: npt.NDArray[Float],
    factors: npt.NDArray[Float],
    per_node: bool,
    sums: npt.NDArray[Float],
    out: npt.NDArray[Float],
    grad_values: npt.NDArray[Float],
    grad_factors: npt.NDArray[Float],
    threads: int,
) -> None: ...
def multiplies_faster() -> bool: ...
def multiply(a: Float32, b: Float32, out: Float32, threads: int) -> None: ...
def relu_sum(
    source: Int64,
    target: Int64,
    kind: Int64 | None,
    x: npt.NDArray[Float],
    table: npt.NDArray[Float] | None,
    out: npt.NDArray[Float],
    threads: int,
) -> None: ...
def edge_sum(source: Int64, target: Int64, x: npt.NDArray[Float], out: npt.NDArray[Float], threads: int) -> None: ...
def relu_sum_gradients(
    source: Int64,
    target: Int64,
    kind: Int64 | None,
    grad: npt.NDArray[Float],
    x: npt.NDArray[Float],
    table: npt.NDArray[Float] | None,
    of_x: npt.NDArray[Float],
    of_table: npt.NDArray[Float] | None,
    threads: int,
) -> None: ...
def drop_entries(
    h: npt.NDArray[Float],
    size: int,
    entries: Int32,
    keys: Int32,
    low: float,
    factor: float,
    out: npt.NDArray[Float],
    threads: int,
) -> None: ...
def norm_relu(
    h: npt.NDArray[Float],
    size: int,
    copies: npt.NDArray[Float] | None,
    scale: npt.NDArray[Float],
    shift: npt.NDArray[Float],
    running_mean: npt.NDArray[Float],
    running_var: npt.NDArray[Float],
    momentum: float,
    relu: bool,
    entries: Int32 | None,
    keys: Int32 | None,
    low: float,
    factor: float,
    residual: npt.NDArray[Float] | None,
    out: npt.NDArray[Float],
    mean: npt.NDArray[Float],
    inverse: npt.NDArray[Float],
    threads: int,
) -> None: ...
def norm_relu_gradients(
    grad: npt.NDArray[Float],
    h: npt.NDArray[Float],
    size: int,
    copies: npt.NDArray[Float] | None,
    scale: npt.NDArray[Float],
    shift: npt.NDArray[Float],
    mean: npt.NDArray[Float],
    inverse: npt.NDArray[Float],
    relu: bool,
    entries: Int32 | None,
    keys: Int32 | None,
    low: float,
    factor: float,
    of_h: npt.NDArray[Float],
    of_scale: npt.NDArray[Float],
    of_shift: npt.NDArray[Float],
    threads: int,
) -> None: ...
def read_spark_json(text: bytes) -> dict[str, Any] | None: ...
def read_spark_binary(message: bytes) -> dict[str, Any] | None: ...
def spliced(text: bytes, start: Int64, stop: Int64, values: list[bytes]) -> bytes: ...
def probability_texts(names: list[str], rows: Float64) -> list[bytes]: ...
def label_texts(heads: list[str], names: list[str], rows: Float64, chosen: Int64, top: Int64) -> list[str]: ...
def return_probabilities(
    source: Int64, target: Int64, node_ptr: Int64, edge_ptr: Int64, out: Float32 | Float64, threads: int
) -> None: ...
def gated_means(
    source: Int64, relation: Int64 | None, start: Int64, h: Float32, gates: Float32 | None, out: Float32
) -> None: ...
def add_rows(target: Int64, weight: Float32, h: Float32, out: Float32) -> None: ...
def edge_states(relation: Int64, geometry: Float32, weight: Float32, out: Float32) -> None: ...
def typed_part(
    num_types: int,
    node_type: Int64,
    position: Float64,
    ends: Int64,
    parent: Int64,
    kappa: Int64,
    bag_ptr: Int64,
    bag_nodes: Int64,
    root_source: Int64,
    root_target: Int64,
) -> tuple[Int64, Int64, Int64, Int64, Int64, Float32, Float32, Int64, Float64, Int64]: ...
def nearby_pairs(
    position: Float64, size: Float64, group: Int64, on_gap: float, near_factor: float, near_gap: float
) -> tuple[Int64, Int64, Int64]: ...
def take_apart(
    edges: Int64, is_room: npt.NDArray[np.uint8]
) -> tuple[Int64, Int64, Int64, Int64, Int64, Int64, Int64]: ...
