"""External convolutions: any PyG convolution class as a round of AGG, for one run or R."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.func import functional_call

from neuraltrees.errors import InputError
from neuraltrees.nn.conv.convolution import Convolution, ConvOptions, needed
from neuraltrees.nn.ensemble.backend import SCATTER, Backend
from neuraltrees.nn.ensemble.dropout import DropoutMasks
from neuraltrees.nn.ensemble.sparse import Coefficients, Map, SparseMap
from neuraltrees.nn.messages import Messages

MakeConv: TypeAlias = Callable[..., nn.Module]


class ExternalConv(Convolution):
    """Wraps a PyG convolution, made as `make(in_channels, out_channels)` and called as `conv(h, edge_index)`.

    Where messages carry edge features, a constructor that takes `edge_dim` gets their size and a `forward` that takes
    `edge_attr` gets the features. Nothing is known about what such a class computes, so it gets every node of the graph
    or tree with its own state: equal states are not merged. R runs have R sets of weights, stacked, and are computed
    one after another. Random numbers that it draws in training, such as dropout, are seeded by the run and the step.

    Args:
        make: a PyG convolution class, or a function of the sizes such as `partial(GATConv, heads=2, concat=False)`.
        in_channels: size of the states.
        out_channels: requested size of the result; `width` is the actual one.
        options: runs and edge features; relations are refused.
    """

    capturable = False  # such a class may wait for the GPU

    def __init__(
        self, make: MakeConv, in_channels: int, out_channels: int, options: ConvOptions = ConvOptions()
    ) -> None:
        super().__init__(in_channels, out_channels, options)
        if options.relations > 1:
            raise InputError(
                "Expected gcn, sage, gat or gin for relations; got a PyG class, which has no relations. Leave "
                "relations out."
            )
        made = [_make(make, in_channels, out_channels, options) for _ in range(options.runs or 1)]
        self.reads_edges = options.edge_channels is not None and "edge_attr" in _parameters(type(made[0]).forward)
        self.width = self._measured_width(made[0])
        self.masks: DropoutMasks | None = None
        self.place = 0
        if options.runs is None:
            self.conv = made[0]
            return
        # A list hides the template from `parameters()`: its weights are replaced by those of a run in every call.
        self._template = [made[0]]
        self._names = {name: f"stacked_{name.replace('.', '__')}" for name in _tensors(made[0])}
        for name, stacked in self._names.items():
            values = torch.stack([_tensors(each)[name].detach() for each in made])
            if isinstance(_tensors(made[0])[name], nn.Parameter):
                self.register_parameter(stacked, nn.Parameter(values))
            else:
                self.register_buffer(stacked, values)

    def reset_parameters(self) -> None:
        if self.options.runs is None:
            _reset(self.conv)
            return
        (template,) = self._template
        for run in range(self.options.runs):
            _reset(template)
            with torch.no_grad():
                for name, value in _tensors(template).items():
                    getattr(self, self._names[name])[run] = value

    def __deepcopy__(self, memo: dict[int, Any]) -> ExternalConv:
        """A copy. Results that a PyG class keeps from its last call are detached in it: torch cannot copy them."""
        hidden = [each for made in self.__dict__.get("_template", ()) for each in made.modules()]
        for module in (*self.modules(), *hidden):
            for value in vars(module).values():
                if isinstance(value, Tensor) and not value.is_leaf:
                    memo[id(value)] = value.detach().clone()
        copy = type(self).__new__(type(self))
        memo[id(self)] = copy
        copy.__dict__.update(deepcopy(self.__dict__, memo))
        return copy

    def bind(self, messages: Messages, backend: Backend = SCATTER, pool: Coefficients | None = None) -> Edges:
        carried = backend.map(messages.carried()) if self.reads_edges else None
        return Edges(torch.stack([messages.source, messages.target]), carried)

    def forward(self, h: Tensor | SparseMap, bound: Edges, edges: Tensor | None = None) -> Tensor:
        if not isinstance(h, Tensor):
            raise InputError("Expected dense features for a PyG convolution; got sparse ones. Use x.to_dense().")
        carried = bound.carried(needed(edges)) if bound.carried is not None else None
        if self.options.runs is None:
            return self._call(self.conv, h, bound.edge_index, carried)
        outs = []
        for run in range(self.options.runs):
            with self._seeded(run):
                of_run = None if carried is None else _of_run(carried, run)
                outs.append(self._call(partial(self._run, run), _of_run(h, run), bound.edge_index, of_run))
        return torch.stack(outs, 1)

    def _run(self, run: int, *args: Tensor, **kwargs: Tensor) -> Tensor:
        (template,) = self._template
        template.train(self.training)
        weights = {name: getattr(self, stacked)[run] for name, stacked in self._names.items()}
        out: Tensor = functional_call(template, weights, args, kwargs)
        return out

    def _call(self, conv: Callable[..., Tensor], h: Tensor, edge_index: Tensor, edges: Tensor | None) -> Tensor:
        return conv(h, edge_index, edge_attr=edges) if self.reads_edges else conv(h, edge_index)

    def _measured_width(self, conv: nn.Module) -> int:
        """The size of the result, measured on a graph of two nodes: concatenated heads make it larger."""
        like = next(iter(_tensors(conv).values()), torch.zeros(()))
        device = like.device
        edges = torch.zeros(2, self.options.edge_channels or 1, device=device) if self.reads_edges else None
        x, index = torch.zeros(2, self.in_channels, device=device), torch.tensor([[0, 1], [1, 0]], device=device)
        probe = deepcopy(conv).eval()  # some convolutions cache the first graph
        try:
            with torch.no_grad():
                out = self._call(probe, x, index, edges)
        except Exception as error:
            raise InputError(
                f"Expected a PyG convolution that is called as conv(h, edge_index) on states of size "
                f"{self.in_channels}; {type(conv).__name__} raised {type(error).__name__}: {error}"
            ) from error
        if not isinstance(out, Tensor) or out.dim() != 2 or out.shape[0] != 2:
            came = f"shape {tuple(out.shape)}" if isinstance(out, Tensor) else type(out).__name__
            raise InputError(f"Expected {type(conv).__name__} to return a state per node; got {came} for two nodes.")
        return out.shape[1]

    @contextmanager
    def _seeded(self, run: int) -> Iterator[None]:
        """Makes the random numbers of a run depend only on its seed, the step and the place in the network."""
        if not self.training or self.masks is None:
            yield
            return
        with torch.random.fork_rng():
            torch.manual_seed(self.masks.seed_of(run, self.place))
            yield


@dataclass(frozen=True)
class Edges:
    """The arguments of an external convolution: the edges, and the map from edge features to them."""

    edge_index: Tensor
    carried: Map | None


def _make(make: MakeConv, in_channels: int, out_channels: int, options: ConvOptions) -> nn.Module:
    extra: dict[str, Any] = {}
    if options.edge_channels is not None and "edge_dim" in _parameters(make):
        extra["edge_dim"] = options.edge_channels
    try:
        conv = make(in_channels, out_channels, **extra)
    except Exception as error:
        raise InputError(
            f"Expected a PyG convolution class or function that is called as conv(in_channels, out_channels); "
            f"{getattr(make, '__name__', make)!s} raised {type(error).__name__}: {error}. Set other arguments with "
            f"functools.partial."
        ) from error
    if not isinstance(conv, nn.Module):
        raise InputError(f"Expected conv(in_channels, out_channels) to make a module; got {type(conv).__name__}.")
    return conv


def _parameters(function: Callable[..., Any]) -> set[str]:
    """The parameter names of a function, or of the constructors of a class and its parents."""
    if isinstance(function, partial):
        return _parameters(function.func) - set(function.keywords)
    if inspect.isclass(function):
        return {name for kind in function.__mro__ for name in _names(kind.__dict__.get("__init__"))}
    return _names(function)


def _names(function: Any) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    return dict(module.named_parameters()) | dict(module.named_buffers())


def _of_run(h: Tensor, run: int) -> Tensor:
    """The states of one run; states that all runs share have no run dimension."""
    return h if h.dim() == 2 else h[:, run]


def _reset(conv: nn.Module) -> None:
    reset = getattr(conv, "reset_parameters", None)
    if reset is None:
        raise InputError(f"Expected {type(conv).__name__} to have reset_parameters; it has none.")
    reset()
