"""Grids of hyper-parameters: the values to try for each, and all their combinations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import product
from typing import TypeAlias, get_args, get_type_hints

from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.training_spec import TrainingSpec

Value: TypeAlias = str | int | float | bool | None
Stages: TypeAlias = Sequence[Collection[str]]


class Point(Mapping[str, Value]):
    """One value for every tuned hyper-parameter, by name. Immutable and hashable.

    >>> point = Point(layers=2, lr=0.01)
    >>> point["layers"], str(point), point == Point(lr=0.01, layers=2)
    (2, 'layers 2, lr 0.01', True)
    """

    def __init__(self, **values: Value) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Point({', '.join(f'{name}={value!r}' for name, value in self.items())})"

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {shown(value)}" for name, value in self.items())

    def applied(self, network: NetworkSpec, training: TrainingSpec) -> tuple[NetworkSpec, TrainingSpec]:
        """A network and its training with these values.

        >>> network, training = Point(layers=2, lr=0.01).applied(NetworkSpec(conv="gin"), TrainingSpec(epochs=9))
        >>> network.conv, network.layers, training.epochs, training.lr
        ('gin', 2, 9, 0.01)
        """
        of_network = {name: value for name, value in self.items() if _spec(name) is NetworkSpec}
        of_training = {name: value for name, value in self.items() if _spec(name) is TrainingSpec}
        return network.replace(**of_network), training.replace(**of_training)


class Grid(Mapping[str, tuple[Value, ...]]):
    """The values to try for each hyper-parameter: any options of `NetworkSpec` and `TrainingSpec`.

    Numbers are sorted in ascending order, other values stay in the order given. Immutable and hashable.

    >>> grid = Grid(layers=(3, 2), conv=("sage", "gcn"))
    >>> grid["layers"], grid.size, grid.points()[0]
    ((2, 3), 4, Point(layers=2, conv='sage'))
    >>> Grid(layers=(0, 1))
    Traceback (most recent call last):
    neuraltrees.errors.InputError: Expected layers to be at least 1; got 0.
    """

    def __init__(self, **axes: Iterable[Value]) -> None:
        if not axes:
            raise InputError("Expected at least one hyper-parameter to tune; got none.")
        self._axes = {name: _axis(name, values) for name, values in axes.items()}

    def __getitem__(self, name: str) -> tuple[Value, ...]:
        return self._axes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._axes)

    def __len__(self) -> int:
        return len(self._axes)

    def __hash__(self) -> int:
        return hash(frozenset(self._axes.items()))

    def __repr__(self) -> str:
        return f"Grid({', '.join(f'{name}={values!r}' for name, values in self.items())})"

    @property
    def size(self) -> int:
        """The number of points."""
        return len(self.points())

    def points(self) -> list[Point]:
        """All combinations; the last hyper-parameter changes fastest."""
        return [Point(**dict(zip(self, values, strict=True))) for values in product(*self.values())]

    def replace(self, **axes: Iterable[Value]) -> Grid:
        """A copy with other values for some hyper-parameters, or with more hyper-parameters."""
        return Grid(**(dict(self) | axes))

    def stage(self, names: Collection[str], best: Mapping[str, Value]) -> Grid:
        """The part in which these hyper-parameters vary; the others have their values in `best`, else their first ones.

        >>> Grid(layers=(1, 2), dropout=(0.25, 0.5), lr=(0.1, 0.2)).stage(["lr"], {"layers": 2})
        Grid(layers=(2,), dropout=(0.25,), lr=(0.1, 0.2))
        """
        return Grid(**{n: values if n in names else (best.get(n, values[0]),) for n, values in self.items()})

    def stages(self, wanted: Stages) -> list[tuple[str, ...]]:
        """The hyper-parameters of this grid by stage; those that no stage names belong to the first.

        >>> Grid(layers=(1, 2), heads=(2, 4), dropout=(0.25, 0.5)).stages(PAPER_STAGES)
        [('heads', 'layers'), ('dropout',)]
        """
        named = {name for stage in wanted for name in stage}
        rest = tuple(name for name in self if name not in named)
        listed = [tuple(name for name in stage if name in self) for stage in wanted]
        return [names for names in (rest + sum(listed[:1], ()), *listed[1:]) if names]


def shown(value: Value) -> str:
    """A value as text."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _spec(name: str) -> type[NetworkSpec] | type[TrainingSpec]:
    """The specification with the option of that name."""
    options = {each.name: spec for spec in (NetworkSpec, TrainingSpec) for each in fields(spec)}
    if name not in options:
        raise InputError(
            f"Expected a hyper-parameter out of {', '.join(options)}; got {name!r}.{did_you_mean(name, options)}"
        )
    return options[name]


def _axis(name: str, values: Iterable[Value]) -> tuple[Value, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"Expected the values of {name} as a list, such as {name}=({values!r},); got {values!r}.")
    spec, listed = _spec(name), list(values)
    if not listed:
        raise InputError(f"Expected at least one value of {name}; got none.")
    for value in listed:
        spec(**{name: value})  # type: ignore[arg-type]  # values are checked here, at run time
    if len(set(listed)) < len(listed):
        raise InputError(f"Expected every value of {name} once; got {', '.join(map(str, listed))}.")
    hint = get_type_hints(spec)[name]
    if float in (hint, *get_args(hint)):
        listed = [float(value) if isinstance(value, int) else value for value in listed]
    numbers = [value for value in listed if isinstance(value, int | float) and not isinstance(value, bool)]
    return tuple(sorted(numbers) if len(numbers) == len(listed) else listed)


# The paper's grid: rounds, size and learning rate first, then dropout and regularisation.
PAPER_GRID = Grid(
    layers=(1, 2, 3, 4, 5, 6),
    hidden=(16, 32, 64, 128, 256),
    lr=(0.0005, 0.001, 0.005, 0.01),
    dropout=(0.25, 0.5, 0.75),
    weight_decay=(0.0, 1e-4, 1e-3, 1e-2),
)
PAPER_STAGES: Stages = (("layers", "hidden", "lr"), ("dropout", "weight_decay"))
