"""The batches of a training: planned once, or with the graphs shuffled in every epoch."""

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
from neuraltrees.errors import InputError
from neuraltrees.nn.network import Network
from neuraltrees.nn.ragged import Cut
from neuraltrees.training.batches import GraphBatch, Known, divide, graphs_to_train_on
from neuraltrees.training.deck import Deck, planned_batches
from neuraltrees.training.executors import Executor
from neuraltrees.training.training_spec import TrainingSpec

A = TypeVar("A")
B = TypeVar("B")
ROUNDS_OF_DRAWS = 32  # epochs whose random draws determine the room of a batch
UNIT = 16  # numbers of rows are multiples of it, since gradients of weights are summed in up to 16 shares
DRAWS = 1000  # seeds reserved per epoch


@dataclass(frozen=True)
class Step:
    """A step of an epoch.

    Args:
        name: steps of the same name read and write the same tensors.
        batch: a function that returns its batch.
        weight: the total weight of the training items of every run, in all batches whose gradients are accumulated.
        idle: a mask of the runs without a training item in these batches; None if every run has one.
        lesson: the number of the batch's lesson.
        first, last: whether it is the first or the last of these batches; weights are updated after the last.

    Shapes: weight and idle :math:`(R)`
    """

    name: Hashable
    batch: Callable[[], GraphBatch]
    weight: Tensor
    idle: Tensor | None = None
    lesson: int = 0
    first: bool = True
    last: bool = True


class Source:
    """The batches of a training."""

    batches: Sequence[GraphBatch]
    """Batches with all items that metrics are computed on, each item once."""

    def steps(self, done: int) -> Iterator[Step]:
        """The steps of an epoch, given the number of epochs done."""
        raise NotImplementedError

    @property
    def largest(self) -> Sequence[GraphBatch]:
        """Batches that include the largest one."""
        return self.batches


class Planned(Source):
    """Batches that hold all graphs and are planned once, in one or several divisions.

    If most nodes are in graphs that no run trains on, steps leave these graphs out.

    Args:
        task: the task, with H-trees if the network needs them.
        network: the network to plan for.
        training: the numbers of batches and divisions.
        executor: determines which graphs this process computes.
        known: see `planned_batches`.
        weight: the weight of every item in the training of every run.
        train: a mask of the items that some run trains on, or one that is trained in turns with these runs.

    Shapes: weight :math:`(items + 1, R)`, train :math:`(items)`
    """

    def __init__(
        self,
        task: Task,
        network: Network,
        training: TrainingSpec,
        executor: Executor,
        known: Known | None,
        weight: Tensor,
        train: Tensor,
    ) -> None:
        self.head, self.epochs = network.head, training.epochs
        divisions = [divide(task, training.batches, number) for number in range(training.divisions)]
        _check_shares(divisions, executor)
        shares = [[executor.share(batch) for batch in division] for division in divisions]
        group = executor.group if executor.cuts else None
        whole = shares[0]
        taught = None if executor.group.size > 1 or network.has_batch_norm else graphs_to_train_on(task, train)
        if taught is not None:
            shares = [[[graph for graph in batch if taught[graph]] or batch[:1] for batch in each] for each in shares]
        self.divisions = [planned_batches(task, network, share, known, True, group) for share in shares]
        self.batches = self.divisions[0] if taught is None else planned_batches(task, network, whole, known)
        self.together = training.accumulate
        self.found = [[executor.total(weight[batch.items].sum(0)) for batch in each] for each in self.divisions]
        self.weights = [[_Weight.of(each) for each in division] for division in self.found]

    @property
    def largest(self) -> Sequence[GraphBatch]:
        return [batch for division in self.divisions for batch in division]

    def steps(self, done: int) -> Iterator[Step]:
        # The order depends only on the epoch, so that it is the same for all runs and after a training is resumed.
        order = torch.randperm(len(self.divisions[0]), generator=torch.Generator().manual_seed(done))
        division = done % len(self.divisions)
        for several in torch.split(order, self.together):
            numbers = several.tolist()
            weight = self.weights[division][numbers[0]]
            if len(numbers) > 1:
                weight = _Weight.of(torch.stack([self.found[division][number] for number in numbers]).sum(0))
            for place, number in enumerate(numbers):
                batch = self.divisions[division][number]
                lesson = self.head.turn(done, self.epochs, len(batch.lessons)) if batch.lessons else 0
                name = ("step", division, number, lesson)
                first, last = place == 0, place == len(numbers) - 1
                yield Step(name, partial(_same, batch), weight.weight, weight.idle, lesson, first, last)


@dataclass(frozen=True, eq=False)
class _Weight:
    """The total weight of the training items of every run, or 1 if it has none, and a mask of the runs without any.

    Shapes: weight and idle :math:`(R)`
    """

    weight: Tensor
    idle: Tensor | None

    @classmethod
    def of(cls, found: Tensor, mixed: bool | None = None) -> _Weight:
        """From the total weights; `mixed` says whether some run may have none, which is computed by default."""
        mixed = bool((found == 0).any()) if mixed is None else mixed
        return cls(torch.where(found > 0, found, 1), found == 0 if mixed else None)

    def become(self, other: _Weight) -> None:
        """Copies the values of another, in place: captured work reads these tensors."""
        self.weight.copy_(other.weight)
        if self.idle is not None and other.idle is not None:
            self.idle.copy_(other.idle)


class Drawn(Source):
    """The training graphs, shuffled in every epoch.

    Batches are made on the device. On a GPU, and for a compiled network, all have the same shapes, so that one captured
    step is replayed for all. The order depends only on the epoch and the graphs, so that it is the same for all runs of
    the same split and after a training is resumed. If the splits of runs differ, batches hold the training graphs of
    all runs; items that a run does not train on only take part in its batch norms.

    Args:
        deck: all graphs.
        training: the number of batches per epoch, and the number of batches whose gradients are accumulated.
        executor: determines which graphs this process computes.
        train, measured: masks of the items that some run trains on, and of those that metrics are computed on.
        weight: the weight of every item in the training of every run.

    Shapes: train and measured :math:`(items)`, weight :math:`(items + 1, R)`
    """

    def __init__(
        self, deck: Deck, training: TrainingSpec, executor: Executor, train: Tensor, measured: Tensor, weight: Tensor
    ) -> None:
        self.deck, self.executor, self.together = deck, executor, training.accumulate
        self.graphs = deck.graphs_with(train)
        self.sizes = torch.stack([each.cpu() for each in deck.ragged.sizes().values()])
        self.count = min(training.batches, len(self.graphs))
        self.slots = -(-len(self.graphs) // self.count)  # graphs per batch, of all processes
        self.places = -(-self.slots // executor.group.size)  # graphs per batch, of each process
        self.chosen = self._shared(self._draw(0)[0]).to(deck.device)
        self.room = self._room()
        captured = deck.device.type == "cuda" and deck.network.capturable
        self.pads = captured or training.compile
        seen = torch.split(deck.graphs_with(measured), self.slots)
        shares = [executor.share(each.tolist()) for each in seen]
        if not any(shares):
            raise InputError(
                f"Expected at least as many validation and test graphs as processes; got {sum(map(len, seen))} and "
                f"{executor.group.size}. Use fewer processes."
            )
        self.batches = [deck.batch(torch.tensor(share)) for share in shares if share]
        self.weight_of_graph = deck.weight_of_graphs(weight)
        self.mixed = not bool(((weight[:, :1] > 0) == (weight > 0)).all())
        self.weight = _Weight.of(self.weight_of_graph[0], self.mixed)

    @property
    def largest(self) -> Sequence[GraphBatch]:
        return [self._batch(), *self.batches]

    def steps(self, done: int) -> Iterator[Step]:
        drawn = self._drawn(done)
        for number, graphs in enumerate(drawn):
            self.chosen.copy_(self._shared(graphs))
            yield self._step(drawn, number)

    def _step(self, drawn: Tensor, number: int) -> Step:
        """The step of a batch, after its graphs have been set."""
        start = number - number % self.together
        several = drawn[start : start + self.together]
        if number == start:
            found = self.weight_of_graph[several.flatten().to(self.deck.device)].sum(0)
            self.weight.become(_Weight.of(found, self.mixed))
        weight, idle = self.weight.weight, self.weight.idle
        return Step("step", self._batch, weight, idle, 0, number == start, number == start + len(several) - 1)

    def _shared(self, graphs: Tensor) -> Tensor:
        """The graphs of a batch that this process computes, filled up with empty graphs."""
        mine = self.executor.share(graphs.tolist())
        return torch.tensor([*mine, *[self.deck.blank] * (self.places - len(mine))])

    def _batch(self) -> GraphBatch:
        return self.deck.batch(self.chosen, self._shapes)

    @property
    def _shapes(self) -> dict[str, int] | None:
        """The numbers of rows of all batches; None if each batch has its own."""
        return self.room if self.pads else None

    def _drawn(self, done: int) -> Tensor:
        """The graphs of every batch of an epoch, drawn again until all batches fit into `room`; few draws do not."""
        for attempt in count():
            drawn = self._draw(done, attempt)
            if bool((self._totals(drawn) < torch.tensor(list(self.room.values())).unsqueeze(1)).all()):
                break
        return drawn

    def _draw(self, done: int, attempt: int = 0) -> Tensor:
        """A random division of the graphs into batches, filled up with the empty graph.

        Shapes: → :math:`(batches, slots)`
        """
        draw = torch.Generator().manual_seed(done * DRAWS + attempt)
        order = self.graphs[torch.randperm(len(self.graphs), generator=draw)]
        drawn = order.new_full((self.count, self.slots), self.deck.blank)
        for row, part in zip(drawn, order.tensor_split(self.count), strict=True):
            row[: len(part)] = part
        return drawn

    def _totals(self, drawn: Tensor) -> Tensor:
        """The number of rows of each batch in every space, the maximum over processes.

        Shapes: → :math:`(spaces, batches)`
        """
        processes = self.executor.group.size
        shares = [drawn[:, self._places_of(rank, processes)] for rank in range(processes)]
        return torch.stack([self.sizes[:, share].sum(-1) for share in shares]).amax(0)

    def _places_of(self, rank: int, processes: int) -> slice:
        """The slots of a batch whose graphs a process computes."""
        return slice(rank, None, processes)

    def _room(self) -> dict[str, int]:
        """For every space, more rows than any batch has in the first epochs."""
        most = torch.stack([self._totals(self._draw(epoch)).amax(1) for epoch in range(ROUNDS_OF_DRAWS)]).amax(0)
        return dict(zip(self.deck.ragged.ptr, ((most // UNIT + 1) * UNIT).tolist(), strict=True))


class Prefetched(Drawn):
    """The same with the graphs in main memory or on disk: a thread prepares the next batches.

    On a GPU, each is copied to the same tensors, so that one captured step is replayed for all.
    """

    def __init__(
        self, deck: Deck, training: TrainingSpec, executor: Executor, train: Tensor, measured: Tensor, weight: Tensor
    ) -> None:
        super().__init__(deck, training, executor, train, measured, weight)
        self.cut = deck.ragged.cut(self.chosen.cpu(), self._shapes).to(deck.device)

    def steps(self, done: int) -> Iterator[Step]:
        drawn = self._drawn(done)
        for number, (graphs, cut) in enumerate(ahead((self._shared(each) for each in drawn), self._made)):
            self.chosen.copy_(graphs, non_blocking=True)
            if self.pads:
                for here, there in zip(self.cut.tensors(), cut.tensors(), strict=True):
                    here.copy_(there, non_blocking=True)
            else:
                self.cut = cut
            yield self._step(drawn, number)

    def _made(self, graphs: Tensor) -> tuple[Tensor, Cut]:
        cut = self.deck.ragged.cut(graphs, self._shapes)
        if self.deck.device.type != "cuda":
            return graphs, cut
        pinned = replace(cut, columns=_pinned(cut.columns), graph=_pinned(cut.graph), ptr=_pinned(cut.ptr))
        return graphs.pin_memory(), pinned

    def _batch(self) -> GraphBatch:
        return self.deck.batch_of(self.cut, self.chosen)


def _check_shares(divisions: Sequence[Sequence[Sequence[int]]], executor: Executor) -> None:
    """Raises `InputError`, in all processes, unless every process has a graph in every batch."""
    fewest, processes = min(len(batch) for division in divisions for batch in division), executor.group.size
    if fewest < processes and not executor.cuts:
        raise InputError(
            f"Expected a graph in every batch for each of {processes} processes; got a batch of {fewest}. Use fewer "
            f"batches or processes, or cut graphs: --partition tree."
        )


def source_for(
    task: Task,
    network: Network,
    training: TrainingSpec,
    executor: Executor,
    known: Known | None,
    masks: tuple[Tensor, Tensor, Tensor],
) -> Source:
    """The source of the batches of a training.

    Args:
        task, network, training, executor, known: see `Planned`.
        masks: the `weight` and the `train` of `Planned`, and a mask of the items for metrics.

    Shapes: masks :math:`(items + 1, R)`, :math:`(items)` and :math:`(items)`
    """
    weight, train, measured = masks
    if not training.shuffle:
        return Planned(task, network, training, executor, known, weight, train)
    if executor.cuts:
        raise InputError(
            "Expected no shuffle for trees that are cut into parts; got shuffle. Leave --shuffle out, or use "
            "--partition graphs."
        )
    with executor.group.first():
        deck = Deck(task, network, training.columns, on_device=not training.prefetch)
    kind = Prefetched if training.prefetch else Drawn
    return kind(deck, training, executor, (weight[:-1] > 0).any(1).cpu(), measured.cpu(), weight)


def _pinned(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: each.pin_memory() for name, each in tensors.items()}


def ahead(given: Iterable[A], make: Callable[[A], B], most: int = 2) -> Iterator[B]:
    """Applies `make` to each element in another thread, which is at most `most` elements ahead.

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
