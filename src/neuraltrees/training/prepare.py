"""Columns of a large collection, made piece by piece by any number of workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from neuraltrees.checks import check_at_least
from neuraltrees.data.task import Task
from neuraltrees.files import PathLike
from neuraltrees.nn.network import Network
from neuraltrees.nn.ragged import Column, Ragged
from neuraltrees.pools import Execution
from neuraltrees.training.columns import columns_writer, open_columns
from neuraltrees.training.deck import check_cuttable, column_subject, make_columns
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.seeding import build_seeded

OnPiece = Callable[[int, int], None]
PIECE = 2048  # graphs


@dataclass(frozen=True)
class Piece:
    """Graphs `first` to `last`, excluding `last`, and the number of nodes before them."""

    first: int
    last: int
    nodes: int

    def __str__(self) -> str:
        return f"of graphs {self.first} to {self.last - 1}"


@dataclass
class ColumnJob:
    """Makes the columns of pieces of a task."""

    task: Task
    spec: NetworkSpec
    word: str = field(default="piece", init=False)
    saved: bool = field(default=False, init=False)

    @cached_property
    def network(self) -> Network:
        return build_seeded(self.spec, self.task, [0])

    def answer(self, piece: Piece) -> Ragged:
        graphs = [self.task.graphs[number] for number in range(piece.first, piece.last)]
        dtype = next(self.network.parameters()).dtype
        made = make_columns(self.task.replace(graphs=graphs, splitter=None), self.network, dtype)
        item = made.columns["item"]
        return made.with_columns({"item": Column(item.values + piece.nodes, item.space)})


def prepare(
    task: Task,
    network: NetworkSpec,
    folder: PathLike,
    *,
    execution: Execution = Execution(),  # noqa: B008  # it is immutable
    piece: int = PIECE,
    on_piece: OnPiece | None = None,
) -> bool:
    """Writes the columns of a task to a folder, from which `TrainingSpec(columns=folder)` reads them; a training then
    starts at once.

    Trees are built for one piece of the graphs at a time, so that only few of them are in memory. The content of the
    folder does not depend on the pieces and the workers. After an interruption, the folder has no columns, and the same
    call starts again.

    Args:
        task: the graphs.
        network: the network to prepare for.
        folder: the folder of the columns.
        execution: the workers that make the pieces.
        piece: number of graphs per piece.
        on_piece: called after every piece with the number of graphs that are done and the number of all graphs.

    Returns True if the columns were made, False if the folder has them already.
    """
    check_at_least("piece", piece, 1)
    execution.check()
    job = ColumnJob(task, network)
    check_cuttable(job.network)
    subject = column_subject(task, job.network, next(job.network.parameters()).dtype)
    if open_columns(folder, subject) is not None:
        return False
    before = [0, *accumulate(graph.num_nodes for graph in task.graphs)]
    total = len(task.graphs)
    pieces = [Piece(first, min(first + piece, total), before[first]) for first in range(0, total, piece)]
    done = 0
    pool = execution.pool(lambda: job)
    with columns_writer(folder, subject) as write, pool, closing(pool.attempt(pieces)) as found:
        for each, ragged in _in_order(pieces, found):
            write(ragged)
            done += each.last - each.first
            if on_piece is not None:
                on_piece(done, total)
    return True


def _in_order(pieces: list[Piece], found: Iterator[tuple[Piece, Ragged]]) -> Iterator[tuple[Piece, Ragged]]:
    """The answers in the order of the pieces."""
    early: dict[Piece, Ragged] = {}
    wanted = iter(pieces)
    waiting = next(wanted, None)
    for piece, ragged in found:
        early[piece] = ragged
        while waiting is not None and waiting in early:
            yield waiting, early.pop(waiting)
            waiting = next(wanted, None)
