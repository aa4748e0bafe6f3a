from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Int8 = npt.NDArray[np.int8]
Float64 = npt.NDArray[np.float64]
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
