"""Where a trainer takes its batches from: planned once, or drawn anew in every epoch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import TypeVar

import torch
from torch import Tensor

from neuraltrees.data.task import Task
from neuraltrees.nn.network import Network
from neuraltrees.nn.ragged import Cut
from neuraltrees.training.batches import GraphBatch, Known, divide
from neuraltrees.training.deck import Deck, planned_batches
from neuraltrees.training.executors import Executor
from neuraltrees.training.spec import TrainingSpec

A = TypeVar("A")
B = TypeVar("B")
ROUNDS_OF_DRAWS = 32  # epochs whose draws say how much room a batch needs
UNIT = 16  # of rows: gradients of weights are summed in so many shares
DRAWS = 1000  # seeds per epoch


@dataclass(frozen=True)
class Step:
    """A step of an epoch.

    Args:
        name: steps of the same name read and write the same tensors.
        batch: makes its batch, or has it.
        weight: how much the training items of every run weigh; None if that is to be counted.
        idle: the runs without a training item in it; None for none.
        mixed: whether some runs may have none in it, where that is to be counted.
        lesson: which of the batch's lessons it is.

    Shapes: weight and idle :math:`(R)`
    """

    name: Hashable
    batch: Callable[[], GraphBatch]
    weight: Tensor | None = None
    idle: Tensor | None = None
    mixed: bool = False
    lesson: int = 0


class Source:
    """The batches of a training."""

    batches: Sequence[GraphBatch]
    """All items that are measured, each in one batch."""

    def steps(self, done: int) -> Iterator[Step]:
        """Those of an epoch, after so many are done."""
        raise NotImplementedError

    @property
    def largest(self) -> Sequence[GraphBatch]:
        """Batches among which the largest is."""
        return self.batches


class Planned(Source):
    """Batches that hold all graphs and are planned once, in one or several divisions.

    Args:
        task: with H-trees, if the network needs them.
        network: what they are planned for.
        training: how many batches and divisions there are.
        executor: says which graphs this process computes.
        known: see `planned_batches`.
        weight: how much every item weighs in every run's training.

    Shapes: weight :math:`(items + 1, R)`
    """

    def __init__(
        self,
        task: Task,
        network: Network,
        training: TrainingSpec,
        executor: Executor,
        known: Known | None,
        weight: Tensor,
    ) -> None:
        self.head, self.epochs = network.head, training.epochs
        divisions = [divide(task, training.batches, number) for number in range(training.divisions)]
        shares = [[executor.share(batch) for batch in division] for division in divisions]
        self.divisions = [planned_batches(task, network, share, known, learn=True) for share in shares]
        self.batches = self.divisions[0]
        found = [[executor.total(weight[batch.items].sum(0)) for batch in each] for each in self.divisions]
        self.weights = [[torch.where(each > 0, each, 1) for each in division] for division in found]
        self.idle = [[each == 0 if bool((each == 0).any()) else None for each in division] for division in found]

    @property
    def largest(self) -> Sequence[GraphBatch]:
        return [batch for division in self.divisions for batch in division]

    def steps(self, done: int) -> Iterator[Step]:
        # The order depends on the epoch alone, so that it is the same for any runs and after a break.
        order = torch.randperm(len(self.batches), generator=torch.Generator().manual_seed(done))
        division = done % len(self.divisions)
        for number in order.tolist():
            batch = self.divisions[division][number]
            lesson = self.head.turn(done, self.epochs, len(batch.lessons)) if batch.lessons else 0
            name = ("step", division, number, lesson)
            weight, idle = self.weights[division][number], self.idle[division][number]
            yield Step(name, partial(_same, batch), weight, idle, lesson=lesson)


class Drawn(Source):
    """The training graphs in another order in every epoch.

    Batches are made on the device, all of the same shapes, so that one captured step serves them all. The order depends
    on the epoch and the graphs alone, so that it is the same for any runs of the same split and after a break. Batches
    of runs whose splits differ hold what any of them trains on; what a run itself does not train on takes part in its
    batch norms.

    Args:
        deck: all graphs.
        batches: how many steps an epoch has.
        executor: says which graphs this process computes.
        train, measured: which items some run trains on, and which are measured.
        weight: how much every item weighs in every run's training.

    Shapes: train and measured :math:`(items)`, weight :math:`(items + 1, R)`
    """

    def __init__(
        self, deck: Deck, batches: int, executor: Executor, train: Tensor, measured: Tensor, weight: Tensor
    ) -> None:
        self.deck, self.executor = deck, executor
        self.graphs = deck.graphs_with(train)
        self.sizes = torch.stack([each.cpu() for each in deck.ragged.sizes().values()])
        self.count = min(batches, len(self.graphs))
        self.slots = -(-len(self.graphs) // self.count)
        self.chosen = self._draw(0)[0].to(deck.device)
        self.room = self._room()
        seen = torch.split(deck.graphs_with(measured), self.slots)
        self.batches = [deck.batch(torch.tensor(executor.share(each.tolist()))) for each in seen]
        self.mixed = not bool(((weight[:, :1] > 0) == (weight > 0)).all())

    @property
    def largest(self) -> Sequence[GraphBatch]:
        return [self._batch(), *self.batches]

    def steps(self, done: int) -> Iterator[Step]:
        for graphs in self._drawn(done):
            self.chosen.copy_(self._shared(graphs))
            yield Step("step", self._batch, mixed=self.mixed)

    def _shared(self, graphs: Tensor) -> Tensor:
        """Those of the graphs of a batch that this process computes, and blanks."""
        mine = self.executor.share(graphs.tolist())
        return torch.tensor([*mine, *[self.deck.blank] * (self.slots - len(mine))])

    def _batch(self) -> GraphBatch:
        return self.deck.batch(self.chosen, self.room)

    def _drawn(self, done: int) -> Tensor:
        """The graphs of every batch of an epoch; drawn again until all of them have room, which is soon."""
        for attempt in count():
            drawn = self._draw(done, attempt)
            if bool((self._totals(drawn) < torch.tensor(list(self.room.values())).unsqueeze(1)).all()):
                break
        return drawn

    def _draw(self, done: int, attempt: int = 0) -> Tensor:
        """Shapes: → :math:`(batches, slots)`; the last graph, which has no rows, fills up."""
        draw = torch.Generator().manual_seed(done * DRAWS + attempt)
        order = self.graphs[torch.randperm(len(self.graphs), generator=draw)]
        drawn = order.new_full((self.count, self.slots), self.deck.blank)
        for row, part in zip(drawn, order.tensor_split(self.count), strict=True):
            row[: len(part)] = part
        return drawn

    def _totals(self, drawn: Tensor) -> Tensor:
        """How many rows each batch has in every space. Shapes: → :math:`(spaces, batches)`"""
        return self.sizes[:, drawn].sum(-1)

    def _room(self) -> dict[str, int]:
        """More rows than any batch of some epochs has."""
        most = torch.stack([self._totals(self._draw(epoch)).amax(1) for epoch in range(ROUNDS_OF_DRAWS)]).amax(0)
        return dict(zip(self.deck.ragged.ptr, ((most // UNIT + 1) * UNIT).tolist(), strict=True))


class Prefetched(Drawn):
    """The same with the graphs in main memory or on disk: a thread makes the batches that come next meanwhile.

    Each is copied to tensors on the device that stay where they are, so that one captured step serves all.
    """

    def __init__(
        self, deck: Deck, batches: int, executor: Executor, train: Tensor, measured: Tensor, weight: Tensor
    ) -> None:
        super().__init__(deck, batches, executor, train, measured, weight)
        self.cut = deck.ragged.cut(self.chosen.cpu(), self.room).to(deck.device)

    def steps(self, done: int) -> Iterator[Step]:
        for graphs, cut in ahead((self._shared(each) for each in self._drawn(done)), self._made):
            self.chosen.copy_(graphs, non_blocking=True)
            for here, there in zip(self.cut.tensors(), cut.tensors(), strict=True):
                here.copy_(there, non_blocking=True)
            yield Step("step", self._batch, mixed=self.mixed)

    def _made(self, graphs: Tensor) -> tuple[Tensor, Cut]:
        cut = self.deck.ragged.cut(graphs, self.room)
        if self.deck.device.type != "cuda":
            return graphs, cut
        pinned = replace(cut, columns=_pinned(cut.columns), graph=_pinned(cut.graph), ptr=_pinned(cut.ptr))
        return graphs.pin_memory(), pinned

    def _batch(self) -> GraphBatch:
        return self.deck.batch_of(self.cut, self.chosen)


def _pinned(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: each.pin_memory() for name, each in tensors.items()}


def ahead(given: Iterable[A], make: Callable[[A], B], most: int = 2) -> Iterator[B]:
    """What is made of each of the given, by a thread that is at most so many ahead.

    >>> list(ahead(range(3), lambda number: number + 1))
    [1, 2, 3]
    """
    with ThreadPoolExecutor(1) as pool:
        waiting: deque[Future[B]] = deque()
        for each in given:
            waiting.append(pool.submit(make, each))
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _same(batch: GraphBatch) -> GraphBatch:
    return batch
