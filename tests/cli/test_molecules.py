"""A chemist at the command line: train on a table of SMILES, predict for a list of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from neuraltrees.cli import main

pytest.importorskip("rdkit", reason="SMILES need the extra molecules")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return int(end.value.code or 0), output.out, output.err


def chain(n: int) -> str:
    """An alcohol, an acid or an alkane, with a ring of three to eight atoms."""
    return f"C1{'C' * (n // 3 % 6 + 1)}C1" + "C" * (n // 9) + ("O", "C(=O)O", "")[n % 3]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [f"m{n},{chain(n)},{len(chain(n)) / 4:.2f},{int(n % 3 == 0)}\n" for n in range(60)]
    rows[7] = "m7,C1CC,0.5,1\n"
    path = tmp_path / "my.csv"
    path.write_text("name,SMILES,logS,alcohol\n" + "".join(rows))
    return path


QUICK = ("--epochs", 2, "--hidden", 8, "--layers", 2)


@pytest.mark.parametrize("model", ["neural-tree", "gnn"])
def test_from_a_table_to_predictions(
    table: Path, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ("--smiles", "SMILES", "--target", "logS", "--model", model, "--out", out, *QUICK)
    code, output, errors = run(capsys, "train", "--dataset", table, *options)
    assert code == 0, errors
    assert "my.csv: left out 1 row whose SMILES does not parse: line 9 'C1CC'" in errors
    assert "Learning logS as numbers, as the cells suggest, measured by rmse. For classes: --task" in errors
    assert "59 molecules by a random split: 47 to train, 6 to validate, 6 to test." in errors
    assert "test rmse" in output
    smiles = tmp_path / "list.smi"
    smiles.write_text("CCO ethanol\nC1CC broken\nC methane\n")
    written = tmp_path / "found.csv"
    code, output, errors = run(capsys, "predict", out / "model.safetensors", smiles, "--out", written)
    assert code == 0
    assert "list.smi: left out 1 row whose SMILES does not parse: line 2 'C1CC'" in errors
    with written.open() as file:
        found = list(csv.DictReader(file))
    assert [(row["line"], row["name"], row["smiles"]) for row in found] == [
        ("1", "ethanol", "CCO"),
        ("3", "methane", "C"),
    ]
    assert output.splitlines()[1].split() == ["line", "name", "smiles", "logS"]
    code, output, _ = run(capsys, "predict", out / "model.safetensors", smiles, "--json")
    content = json.loads(output)
    assert [each["values"]["logS"] for each in content["molecules"]] == pytest.approx(
        [float(row["logS"]) for row in found], abs=1e-5
    )
    assert content["skipped"][0]["line"] == 2
    code, output, _ = run(capsys, "predict", out / "model.safetensors", table, "--json")
    assert len(json.loads(output)["molecules"]) == 59


def test_labels(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    options = ("--smiles", "SMILES", "--target", "alcohol", "--split", "scaffold", "--out", out, *QUICK)
    code, _, errors = run(capsys, "train", "--dataset", table, *options)
    assert code == 0
    assert "Learning alcohol as yes or no" in errors and "by a scaffold split" in errors
    (tmp_path / "list.txt").write_text("CCO\n")
    code, output, _ = run(capsys, "predict", out / "model.safetensors", tmp_path / "list.txt", "--json")
    assert 0 < json.loads(output)["molecules"][0]["probabilities"]["alcohol"] < 1


def test_a_preset_fits_the_size_of_the_table(table: Path) -> None:
    from neuraltrees.training import load_config

    small = load_config(overrides={"dataset": str(table), "smiles": "SMILES", "target": "logS"})
    assert (small.batches, small.epochs, small.train_share) == (4, 60, 0.8)
    table.write_text("name,SMILES,logS\n" + "m,C,0\n" * 8_000)
    large = load_config(overrides={"dataset": str(table), "smiles": "SMILES", "target": "logS"})
    assert (large.batches, large.epochs) == (100, 30)


WRONG = {
    "column": (("--smiles", "SMILE", "--target", "logS"), "Did you mean SMILES?"),
    "no smiles": (("--target", "logS"), "Expected --smiles COLUMN beside --target logS"),
    "no target": (
        ("--smiles", "SMILES"),
        "Expected --target COLUMN, what to learn; the table has name, logS, alcohol.",
    ),
    "a graph file": ((), "For a table of molecules: --smiles COLUMN."),
    "task": (
        ("--smiles", "SMILES", "--target", "name", "--task", "regression"),
        "or learn classes: --task classification",
    ),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_wrong_options_say_what_to_do(
    options: tuple[str, ...], message: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, errors = run(capsys, "train", "--dataset", table, "--out", tmp_path / "out", *options)
    assert code == 2
    assert message in errors
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "model"), [("bace", "gnn"), ("tu:MUTAG", "neural-tree"), ("csl", "gnn")])
def test_datasets_by_name_train_with_their_presets(
    name: str, model: str, data_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--data-root", data_root, "--model", model, "--epochs", 1, "--hidden", 8, "--out", tmp_path / "out")
    code, output, errors = run(capsys, "train", "--dataset", name, *options)
    assert code == 0, errors
    metric = "roc-auc" if name == "bace" else "accuracy"
    parts = "graph" if model == "gnn" else "graph+tree"
    assert f"{model} + bags ({parts}) on {name}: test {metric}" in output


def test_a_network_of_a_public_dataset_predicts_for_smiles(
    data_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same molecules from SMILES and from the file of the dataset have the same predictions."""
    from neuraltrees.datasets.molecules import moleculenet
    from neuraltrees.serving import Predictor

    model = tmp_path / "out" / "model.safetensors"
    options = ("--data-root", data_root, "--epochs", 1, "--hidden", 8, "--out", tmp_path / "out")
    assert run(capsys, "train", "--dataset", "freesolv", *options)[0] == 0
    (tmp_path / "a.smi").write_text("Cc1occc1C(=O)Nc2ccccc2 fenfuram\nCC(C)=CCCC(C)=CC(=O) citral\n")
    code, output, _ = run(capsys, "predict", model, tmp_path / "a.smi", "--json")
    assert code == 0
    found = [list(each["values"].values()) for each in json.loads(output)["molecules"]]
    stored = Predictor.load(model).predict(moleculenet("esol", data_root)[0].graphs()[1:3])
    assert found == [pytest.approx(each[0].tolist(), abs=1e-5) for each in stored]


def test_a_model_of_other_graphs_reads_no_smiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(capsys, "train", "--dataset", "synthetic", "--scenes", 20, "--out", out, *QUICK)[0] == 0
    (tmp_path / "a.smi").write_text("CCO\n")
    code, _, errors = run(capsys, "predict", out / "model.safetensors", tmp_path / "a.smi")
    assert code == 2
    assert "Expected a model trained on molecules with the features ogb-atoms" in errors


def test_nothing_parses(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert (
        run(capsys, "train", "--dataset", table, "--smiles", "SMILES", "--target", "logS", "--out", out, *QUICK)[0] == 0
    )
    (tmp_path / "a.smi").write_text("ethanol\n")
    code, _, errors = run(capsys, "predict", out / "model.safetensors", tmp_path / "a.smi", "--out", tmp_path / "o.csv")
    assert code == 2
    assert "expected SMILES; none of 1 parses" in errors
    assert not (tmp_path / "o.csv").exists()
