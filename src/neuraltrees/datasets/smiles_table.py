"""Tables of SMILES and properties as tasks, and lists of SMILES to predict for."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.folds import stored_split
from neuraltrees.data.task import Task
from neuraltrees.datasets.scaffolds import molecule_split, scaffold_parts
from neuraltrees.datasets.smiles import MoleculesFromSmiles, Unreadable
from neuraltrees.datasets.spec import DataSpec
from neuraltrees.datasets.targets import read_targets, split_names
from neuraltrees.errors import InputError, NeuralTreesWarning, ParseError
from neuraltrees.files import PathLike, read_whole
from neuraltrees.graph_files.read import ending_of
from neuraltrees.graph_files.rows import COMMENTS, decoded, lines_of, read_rows
from neuraltrees.graph_files.table import Table, read_table, table_of
from neuraltrees.objectives import Objective, Regression

LISTS = (".smi", ".smiles", ".ism", ".txt")
TABLES = (".csv", ".tsv")
PART_NAMES = {0: "training", 1: "validation", 2: "test"}
SHOWN = 5  # SMILES that a warning lists


def load_smiles(spec: DataSpec) -> Task:
    """The task of a table of molecules, by the options `smiles`, `target`, `task`, `split` and `split_column`."""
    if ending_of(spec.dataset) not in (*TABLES, ".txt"):
        raise InputError(
            f"Expected a table that ends in {', '.join(TABLES)} or .txt, since there is smiles={spec.smiles}; got "
            f"{spec.dataset!r}."
        )
    table = read_table(spec.dataset)
    texts = table.column(str(spec.smiles), "SMILES")
    names = split_names(spec.target or "")
    if not names:
        others = [name for name in table.columns if table.columns[name] is not texts]
        raise InputError(f"Expected target=COLUMN, what to learn; the table has {', '.join(others) or 'no other'}.")
    objective, y = read_targets(table, names, spec.task)
    molecules = MoleculesFromSmiles(texts)
    report_skipped(molecules.skipped, table.source, table.lines)
    if spec.split == "random" and spec.split_column is None:
        report_repeated(molecules, table.source, table.lines)
    if not len(molecules):
        raise InputError(
            f"{table.source}: expected SMILES in column {spec.smiles!r}; none of {len(table)} cells parses. The first: "
            f"{texts[0]!r:.60}."
        )
    y = y[molecules.kept]
    part = None if spec.split_column is None else _parts(table, spec.split_column)[molecules.kept]
    labelled = objective.labelled(y)
    _check_labels(table.source, labelled, part)
    kept = labelled.nonzero().flatten().tolist()
    part = None if part is None else part[kept]
    everything = molecules.graphs()
    graphs = [everything[place] for place in kept]
    for graph, place in zip(graphs, kept, strict=True):
        graph.y = y[place : place + 1]
    return _task(graphs, objective, y[kept], [molecules.smiles[place] for place in kept], part, spec)


def _task(
    graphs: list[Data], objective: Objective, y: Tensor, smiles: list[str], part: Tensor | None, spec: DataSpec
) -> Task:
    if part is None and spec.split == "scaffold":
        part = scaffold_parts(smiles, spec.train_share)
    splitter = partial(molecule_split, len(graphs), spec.train_share) if part is None else partial(stored_split, part)
    if isinstance(objective, Regression):  # of the first run's training molecules; only the unit depends on it
        objective = objective.standardised(y[splitter(spec.seed).train])
    found = MoleculesFromSmiles
    return Task(graphs, objective, splitter=splitter, features=found.features, edge_features=found.edge_features)


def report_skipped(skipped: Sequence[Unreadable], source: str, lines: Sequence[int]) -> None:
    """Warns about SMILES that do not parse, by their lines."""
    if not skipped:
        return
    listed = [f"line {lines[each.place]} {each.smiles!r:.60} ({each.why})" for each in skipped[:SHOWN]]
    rest = [f"and {len(skipped) - SHOWN:,} more"] if len(skipped) > SHOWN else []
    noun = "row whose SMILES does" if len(skipped) == 1 else "rows whose SMILES do"
    warnings.warn(
        f"{source}: left out {len(skipped):,} {noun} not parse: {'; '.join(listed + rest)}.",
        NeuralTreesWarning,
        stacklevel=2,
    )


def report_repeated(molecules: MoleculesFromSmiles, source: str, lines: Sequence[int]) -> None:
    """Warns about molecules in several rows, by their lines: a random split may train on one row and test on another.

    Molecules are compared by their canonical SMILES.
    """
    from rdkit import Chem

    rows: dict[str, list[int]] = {}
    for smiles, place in zip(molecules.smiles, molecules.kept, strict=True):
        canonical = Chem.CanonSmiles(smiles)  # type: ignore[no-untyped-call]  # RDKit has no types here
        rows.setdefault(canonical, []).append(lines[place])
    repeated = [where for where in rows.values() if len(where) > 1]
    if repeated:
        listed = [f"lines {', '.join(map(str, where[:SHOWN]))}" for where in repeated[:SHOWN]]
        rest = [f"and {len(repeated) - SHOWN:,} more"] if len(repeated) > SHOWN else []
        noun = "molecule stands" if len(repeated) == 1 else "molecules stand"
        warnings.warn(
            f"{source}: {len(repeated):,} {noun} in several rows ({'; '.join(listed + rest)}), and a random split may "
            f"put one row into training and another into test. Merge them, or split by scaffold.",
            NeuralTreesWarning,
            stacklevel=2,
        )


def _parts(table: Table, name: str) -> Tensor:
    from neuraltrees.datasets.tables import PARTS

    found = []
    for row, cell in enumerate(table.column(name, "train, val or test")):
        if cell and cell.lower() not in PARTS:
            raise InputError(f"{table.place(row)}: expected train, val, test or nothing in {name!r}; got {cell!r:.40}.")
        found.append(PARTS.get(cell.lower(), -1))
    return torch.tensor(found)


def _check_labels(source: str, labelled: Tensor, part: Tensor | None) -> None:
    """Raises `InputError` if all labels of a part are missing."""
    if not bool(labelled.any()):
        raise InputError(f"{source}: expected targets of molecules; all rows whose SMILES parse have none.")
    if part is None:
        return
    for number, name in PART_NAMES.items():
        mine = part == number
        if not bool((mine & labelled).any()):
            count = int(mine.sum())
            why = f"all {count:,} rows of that part have none" if count else "no row is of that part"
            raise InputError(f"{source}: expected {name} molecules with a target; {why}.")


@dataclass(frozen=True, eq=False)
class SmilesList:
    """SMILES with the lines of a file where they stand, and names where there are any."""

    source: str
    smiles: list[str]
    lines: list[int]
    names: list[str]


def read_smiles(path: PathLike, column: str | None = None) -> SmilesList:
    """The SMILES of a file: one per line with a name after it, or a column of a table.

    Args:
        path: `.smi` or `.txt` with a SMILES per line; `.csv` or `.tsv` with a header.
        column: of a table; by default the one called SMILES, in any case. A table without a header has them first.
    """
    ending = ending_of(path)
    if ending not in (*LISTS, *TABLES):
        raise InputError(f"Expected SMILES in a file that ends in {', '.join((*LISTS, *TABLES))}; got {path}.")
    try:
        found = _from_table(path, column) if ending in TABLES or column is not None else _from_lines(path)
    except ParseError as error:
        raise ParseError(f"{path}: {error}") from None
    if not found.smiles:
        raise InputError(f"{path}: expected a SMILES per line; got none.")
    return found


def _from_lines(path: PathLike) -> SmilesList:
    rows = []
    for number, line in enumerate(lines_of(decoded(read_whole(path))), 1):
        text = line.strip()
        if text and not text.startswith(COMMENTS):
            smiles, *name = re.split(r"[\s,;]+", text, maxsplit=1)
            rows.append((smiles, number, name[0].strip() if name else ""))
    if rows and rows[0][0].lower() == "smiles":  # a header
        rows = rows[1:]
    return SmilesList(str(path), *([list(each) for each in zip(*rows, strict=True)] if rows else ([], [], [])))


def _from_table(path: PathLike, column: str | None) -> SmilesList:
    rows = read_rows(read_whole(path), ending_of(path))
    first = [cell.lower() for cell in rows[0].cells] if rows else []
    if column is None and "smiles" not in first:
        if rows and not MoleculesFromSmiles([rows[0].cells[0]]).skipped:  # no header
            names = [row.cells[1] if len(row.cells) > 1 else "" for row in rows]
            return SmilesList(str(path), [row.cells[0] for row in rows], [row.line for row in rows], names)
        column = "SMILES"
    table = table_of(rows, str(path))
    cells = table.column(column or "smiles", "SMILES")
    named = next((name for name in table.columns if name.lower() in ("name", "id", "compound id", "title")), None)
    names = list(table.columns[named]) if named is not None else [""] * len(table)
    return SmilesList(str(path), list(cells), list(table.lines), names)
