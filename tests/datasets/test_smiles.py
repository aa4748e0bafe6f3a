"""Molecules from SMILES: the features of OGB, what does not parse, scaffolds, and tables of a chemist."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

import neuraltrees as nt
from neuraltrees.datasets import DataSpec, MoleculesFromSmiles, load_task
from neuraltrees.datasets.molecules import moleculenet
from neuraltrees.objectives import Classification, MultiLabel, Regression

pytest.importorskip("rdkit", reason="SMILES need the extra molecules")

from neuraltrees.datasets.scaffolds import scaffold_parts
from neuraltrees.datasets.smiles import features_of
from neuraltrees.datasets.smiles_table import read_smiles
from tests.oracle.molecules import rebuilt

# The first molecules of ESOL, as published.
ESOL = [
    "OCC3OC(OCC2OC(OC(C#N)c1ccccc1)C(O)C(O)C2O)C(O)C(O)C3O ",
    "Cc1occc1C(=O)Nc2ccccc2",
    "CC(C)=CCCC(C)=CC(=O)",
    "c1ccc2c(c1)ccc3c2ccc4c5ccccc5ccc43",
    "c1ccsc1",
    "c2ccc1scnc1c2 ",
    "Clc1cc(Cl)c(c(Cl)c1)c2c(Cl)cccc2Cl",
    "CC12CCC3C(CCc4cc(O)ccc34)C2CCC1O",
    "ClC4=C(Cl)C5(Cl)C3C1CC(C2OC12)C3C4(Cl)C5(Cl)Cl",
    "COc5cc4OCC3Oc2c1CC(Oc1ccc2C(=O)C3c4cc5OC)C(C)=C ",
    "O=C1CCCN1",
    "Clc1ccc2ccccc2c1",
]


def test_as_the_open_graph_benchmark_has_them(data_root: Path) -> None:
    packed, _ = moleculenet("esol", data_root)
    for mine, other in zip(MoleculesFromSmiles(ESOL), packed.graphs()[: len(ESOL)], strict=True):
        assert all(torch.equal(mine[name], other[name]) for name in ("x", "edge_index", "edge_attr"))


@pytest.mark.parametrize("name", ["esol", "freesolv"])
def test_all_molecules_have_the_features_and_the_scaffold_split_of_the_open_graph_benchmark(
    name: str, data_root: Path
) -> None:
    """Rebuilt from their elements, charges, hydrogens and bonds; the notation of stereo is lost by that."""
    from rdkit import Chem

    packed, part = moleculenet(name, data_root)
    smiles = []
    for graph in packed:
        molecule = rebuilt(graph)
        atoms, _, bonds = features_of(molecule)
        assert [row[:1] + row[2:] for row in atoms] == [row[:1] + row[2:] for row in graph.x.tolist()]
        assert [row[::2] for row in bonds] == graph.edge_attr[::2, ::2].tolist()
        smiles.append(Chem.MolToSmiles(molecule))
    assert torch.equal(scaffold_parts(smiles, 0.8), part)


def test_features_of_known_molecules() -> None:
    alanine, butene, ammonium, nitrile, methyl, methane = MoleculesFromSmiles(
        ["C[C@H](N)C(=O)O", "C/C=C/C", "[NH4+]", "CC#N", "[CH3]", "C"]
    )
    # number, chirality, degree, charge, hydrogens, radicals, hybridisation, aromatic, ring
    assert alanine.x.tolist() == [
        [5, 0, 4, 5, 3, 0, 2, 0, 0],
        [5, 2, 4, 5, 1, 0, 2, 0, 0],
        [6, 0, 3, 5, 2, 0, 2, 0, 0],
        [5, 0, 3, 5, 0, 0, 1, 0, 0],
        [7, 0, 1, 5, 0, 0, 1, 0, 0],
        [7, 0, 2, 5, 1, 0, 1, 0, 0],
    ]
    assert butene.edge_attr.tolist() == [[0, 0, 0]] * 2 + [[1, 2, 0]] * 2 + [[0, 0, 0]] * 2
    assert ammonium.x.tolist() == [[6, 0, 4, 6, 4, 0, 2, 0, 0]]
    assert nitrile.x[1:, 6].tolist() == [0, 0]
    assert nitrile.edge_attr[2:].tolist() == [[2, 0, 0], [2, 0, 0]]
    assert methyl.x[0, 5] == 1
    assert (methane.num_nodes, methane.edge_index.shape, methane.edge_attr.shape) == (1, (2, 0), (0, 3))
    assert MoleculesFromSmiles(["*C"])[0].x[0, 0] == 118


def test_any_molecule_is_within_the_vocabulary() -> None:
    odd = ["[U]", "[Cl-]", "F[P-](F)(F)(F)(F)F", "[Fe+6]", "[Og]", "O=S(=O)(O)O", "[2H]C", "C1=CC=CC=C1.[Na+]"]
    molecules = MoleculesFromSmiles(odd)
    assert molecules.kept == list(range(len(odd)))
    nt.Task(
        [graph.clone() for graph in _with_y(molecules)],
        nt.Regression(("a",)),
        features=molecules.features,
        edge_features=molecules.edge_features,
    )


def _with_y(molecules: MoleculesFromSmiles) -> list[torch.Tensor]:
    graphs = molecules.graphs()
    for graph in graphs:
        graph.y = torch.zeros(1, 1)
    return graphs


def test_what_does_not_parse_is_listed_and_the_rest_goes_on(capfd: pytest.CaptureFixture[str]) -> None:
    molecules = MoleculesFromSmiles(["CCO", "C1CC", "", "C(C)(C)(C)(C)C", "CC", "[Xx]"], y=[1, 2, 3, 4, 5, 6])
    assert molecules.kept == [0, 4]
    assert [(each.place, each.smiles) for each in molecules.skipped] == [
        (1, "C1CC"),
        (2, ""),
        (3, "C(C)(C)(C)(C)C"),
        (5, "[Xx]"),
    ]
    assert [each.why.split()[0] for each in molecules.skipped] == ["no", "empty", "Explicit", "no"]
    assert [int(graph.y) for graph in molecules] == [1, 5]
    assert repr(molecules) == "MoleculesFromSmiles(2, skipped=4)"
    assert capfd.readouterr().err == ""


def test_bad_arguments() -> None:
    with pytest.raises(nt.InputError, match="a list of SMILES; got 'CCO'"):
        MoleculesFromSmiles("CCO")
    with pytest.raises(nt.InputError, match="a row of y for each of 1 SMILES"):
        MoleculesFromSmiles(["CCO"], y=[1.0, 2.0])


def test_without_rdkit_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(nt.MissingExtraError, match=r"pip install 'neuraltrees\[molecules\]'"):
        MoleculesFromSmiles(["CCO"])


def test_molecules_of_one_scaffold_are_in_one_part() -> None:
    rings = ["c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CC1", "c1ccsc1", "C1CCC1", "C1CCNC1", "c1ccoc1", "C1CCOC1", "C1CO1"]
    smiles = [f"{'C' * (1 + n % 5)}{rings[n // 5]}" for n in range(50)]
    part = scaffold_parts(smiles, 0.6)
    assert part.bincount().tolist() == [30, 10, 10]
    for scaffold in range(10):
        assert len(set(part[5 * scaffold : 5 * scaffold + 5].tolist())) == 1
    assert torch.equal(part, scaffold_parts(smiles, 0.6))
    with pytest.raises(nt.InputError, match=r"got 0, 0 and 3 of 3 .*: 3 of them have no ring.* Use split=random"):
        scaffold_parts(["C", "CC", "CCC"])


HEADER = "Compound ID,SMILES,logS,active,kind,both,part\n"
ROWS = [
    f"m{n},C1{'C' * (n % 7 + 1)}C1{'O' * (n % 3)}{'C' * (n // 21)},{n / 10:.1f},{n % 2},"
    f"{('low', 'mid', 'high')[n % 3]},{1 + n % 2},{('train', 'train', 'val', 'test')[n % 4]}\n"
    for n in range(40)
]


def table(folder: Path, rows: list[str] | None = None, header: str = HEADER) -> str:
    path = folder / "my.csv"
    path.write_text(header + "".join(ROWS if rows is None else rows))
    return str(path)


def test_a_table_of_numbers(tmp_path: Path) -> None:
    task = load_task(DataSpec(dataset=table(tmp_path), smiles="smiles", target="logS", train_share=0.8))
    assert isinstance(task.objective, Regression)
    assert (task.objective.names, task.objective.metric.name) == (("logS",), "rmse")
    assert task.split(0).counts == (32, 4, 4)
    assert task.split(0) != task.split(1)
    y = task.y[task.split(0).train]
    assert task.objective.mean == pytest.approx((float(y.mean()),), rel=1e-5)
    assert (task.features, task.edge_features) == (MoleculesFromSmiles.features, MoleculesFromSmiles.edge_features)


def test_what_is_learned_follows_from_the_cells(tmp_path: Path) -> None:
    path = table(tmp_path)
    labels = load_task(DataSpec(dataset=path, smiles="SMILES", target="active")).objective
    assert isinstance(labels, MultiLabel) and labels.metric.name == "roc-auc"
    kind = load_task(DataSpec(dataset=path, smiles="SMILES", target="kind"))
    assert isinstance(kind.objective, Classification)
    assert kind.labels == {"graph": ("high", "low", "mid")}
    assert kind.y.flatten().tolist()[:3] == [1, 2, 0]
    both = load_task(DataSpec(dataset=path, smiles="SMILES", target="both"))
    assert both.labels == {"graph": ("1", "2")}
    numbers = load_task(DataSpec(dataset=path, smiles="SMILES", target="logS,active", task="regression"))
    assert isinstance(numbers.objective, Regression) and numbers.y.shape == (40, 2)
    classes = load_task(DataSpec(dataset=path, smiles="SMILES", target="logS", task="classification"))
    assert len(classes.labels["graph"]) == 40


def test_yes_and_no_in_words(tmp_path: Path) -> None:
    rows = [f"{'C' * (n + 1)},{('Active', 'inactive', '')[n % 3]},{('yes', 'no')[n % 2]}\n" for n in range(12)]
    task = load_task(
        DataSpec(dataset=table(tmp_path, rows, "SMILES,a,b\n"), smiles="SMILES", target="a, b", train_share=0.5)
    )
    assert isinstance(task.objective, MultiLabel) and task.objective.labels == ("a", "b")
    assert task.y[:3].nan_to_num(-1).tolist() == [[1, 1], [0, 0], [-1, 1]]


def test_splits_of_a_table(tmp_path: Path) -> None:
    path = table(tmp_path)
    given = load_task(DataSpec(dataset=path, smiles="SMILES", target="logS", split_column="part"))
    assert given.split(0).counts == (20, 10, 10)
    assert given.split(0) == given.split(5)
    scaffold = load_task(DataSpec(dataset=path, smiles="SMILES", target="logS", split="scaffold", train_share=0.8))
    assert scaffold.split(0) == scaffold.split(1)


def test_rows_that_do_not_parse_are_reported_by_line(tmp_path: Path) -> None:
    rows = list(ROWS)
    rows[3] = "m3,C1CC,1.0,0,low,1,train\n"
    rows[8] = "m8,,1.0,0,low,1,train\n"
    rows[9] = "m9,CC,,0,low,1,train\n"
    with pytest.warns(nt.NeuralTreesWarning, match=r"my.csv: left out 2 rows .*: line 5 'C1CC' \(.*\); line 10 ''"):
        task = load_task(DataSpec(dataset=table(tmp_path, rows), smiles="SMILES", target="logS"))
    assert len(task.graphs) == 37
    with pytest.warns(nt.NeuralTreesWarning, match="left out 1 row whose SMILES does not parse"):
        load_task(DataSpec(dataset=table(tmp_path, [*ROWS, rows[3]]), smiles="SMILES", target="logS"))
    many = ["x,C1CC,1.0,0,low,1,train\n"] * 9
    with pytest.warns(nt.NeuralTreesWarning, match=r"left out 9 rows .*; and 4 more\."):
        load_task(DataSpec(dataset=table(tmp_path, [*ROWS, *many]), smiles="SMILES", target="logS"))


def test_molecules_in_several_rows_are_reported_where_a_random_split_may_part_them(tmp_path: Path) -> None:
    rows = [*ROWS, "m40,OCC,1.0,0,low,1,test\n", "m41,CCO,1.1,1,low,1,train\n"]  # ethanol, written in two ways
    random = DataSpec(dataset=table(tmp_path, rows), smiles="SMILES", target="logS")
    with pytest.warns(
        nt.NeuralTreesWarning, match=r"my.csv: 1 molecule stands in several rows \(lines 42, 43\), and a"
    ):
        load_task(random)
    load_task(random.replace(split="scaffold"))  # which keeps them together; a warning would be an error here
    load_task(random.replace(split_column="part"))


WRONG: dict[str, tuple[dict[str, str], str]] = {
    "smiles column": ({"smiles": "SMILE"}, r"a column 'SMILE' with SMILES; .* Did you mean SMILES\?"),
    "target column": ({"target": "LogP"}, r"a column 'LogP' with the target; got the columns Comp.* mean logS\?"),
    "no target": ({"target": ""}, "Expected target=COLUMN, what to learn; the table has Compound ID, logS"),
    "split column": ({"split_column": "kind"}, "line 2: expected train, val, test or nothing in 'kind'; got 'low'"),
    "not smiles": ({"smiles": "kind"}, "expected SMILES in column 'kind'; none of 40 cells parses. The first: 'low'"),
    "mixed": ({"target": "logS,active"}, r"one kind; got 'logS' \(numbers\), 'active' \(yes or no\). Train them apart"),
    "classes": (
        {"target": "logS,kind"},
        "numbers or yes and no; got the classes 'high', 'low', 'mid' in column 'kind'",
    ),
    "numbers": ({"target": "kind", "task": "regression"}, "line 2: expected a number in column 'kind'; got 'low'"),
    "ending": (
        {"dataset": "zinc"},
        "a table that ends in .csv, .tsv or .txt, since there is smiles=SMILES; got 'zinc'",
    ),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
@pytest.mark.filterwarnings("ignore:.*left out 40 rows")
def test_wrong_options(changes: dict[str, str], message: str, tmp_path: Path) -> None:
    options = {"dataset": table(tmp_path), "smiles": "SMILES", "target": "logS"} | changes
    with pytest.raises(nt.InputError, match=message):
        load_task(DataSpec(**options))  # type: ignore[arg-type]


CELLS = {
    "a number with a sign": (["m,CC,<0.3,1,low,1,train\n"], "logS", r"line 42: expected a number .*; got '<0.3'"),
    "infinity": (["m,CC,inf,1,low,1,train\n"], "logS", "line 42: expected a number"),
    "cut short": (["m,CC,0.3,1\n"], "logS", "line 42: expected 7 cells as in the header, got 4. The file may be cut"),
}


@pytest.mark.parametrize(("more", "target", "message"), CELLS.values(), ids=CELLS)
def test_wrong_cells(more: list[str], target: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(nt.InputError, match=message):
        load_task(DataSpec(dataset=table(tmp_path, ROWS + more), smiles="SMILES", target=target))


def test_missing_labels(tmp_path: Path) -> None:
    empty = [row.replace(f",{n / 10:.1f},", ",NaN,") for n, row in enumerate(ROWS)]
    with pytest.raises(nt.InputError, match="expected at least one value in column 'logS'; all cells are empty"):
        load_task(DataSpec(dataset=table(tmp_path, empty), smiles="SMILES", target="logS"))
    no_val = [empty[n] if n % 4 == 2 else row for n, row in enumerate(ROWS)]
    with pytest.raises(nt.InputError, match="validation molecules with a target; all 10 rows of that part have none"):
        load_task(DataSpec(dataset=table(tmp_path, no_val), smiles="SMILES", target="logS", split_column="part"))
    train_only = [row.replace("test", "train") for row in ROWS]
    with pytest.raises(nt.InputError, match="test molecules with a target; no row is of that part"):
        load_task(DataSpec(dataset=table(tmp_path, train_only), smiles="SMILES", target="logS", split_column="part"))


def test_lists_of_smiles(tmp_path: Path) -> None:
    plain = tmp_path / "a.smi"
    plain.write_text("CCO ethanol, absolute\n\n# a comment\nc1ccccc1\tbenzene\nC/C=C\\C\n")
    found = read_smiles(plain)
    assert found.smiles == ["CCO", "c1ccccc1", "C/C=C\\C"]
    assert (found.lines, found.names) == ([1, 4, 5], ["ethanol, absolute", "benzene", ""])
    (tmp_path / "b.txt").write_text("smiles,name\nCCO,ethanol\n")
    assert read_smiles(tmp_path / "b.txt").names == ["ethanol"]
    (tmp_path / "c.csv").write_text("id,Smiles,mass\n7,CCO,46\n")
    assert (read_smiles(tmp_path / "c.csv").smiles, read_smiles(tmp_path / "c.csv").names) == (["CCO"], ["7"])
    (tmp_path / "d.csv").write_text("CCO,ethanol\nCC,ethane\n")
    assert (read_smiles(tmp_path / "d.csv").lines, read_smiles(tmp_path / "d.csv").names) == (
        [1, 2],
        ["ethanol", "ethane"],
    )
    (tmp_path / "e.csv").write_text("compound,structure\nethanol,CCO\n")
    assert read_smiles(tmp_path / "e.csv", "structure").smiles == ["CCO"]
    with pytest.raises(nt.InputError, match="a column 'SMILES' with SMILES; got the columns compound, structure"):
        read_smiles(tmp_path / "e.csv")
    (tmp_path / "f.smi").write_text("\n")
    with pytest.raises(nt.InputError, match="a SMILES per line; got none"):
        read_smiles(tmp_path / "f.smi")
    (tmp_path / "g.smi").write_bytes(b"CCO\n\xff\xfe\n")
    with pytest.raises(nt.ParseError, match=r"g.smi: line 2: expected text in UTF-8"):
        read_smiles(tmp_path / "g.smi")
    with pytest.raises(nt.InputError, match=r"ends in .smi, .*; got .*h.pdf"):
        read_smiles(tmp_path / "h.pdf")
