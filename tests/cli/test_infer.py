"""neuraltrees infer as a person runs it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from neuraltrees.cli import main

UAI = "MARKOV\n2\n2 2\n1\n2 0 1\n4\n1 2 3 4\n"
BIF = """network x {}
variable a { type discrete [ 2 ] { no, yes }; }
variable b { type discrete [ 2 ] { no, yes }; }
probability ( a ) { table 0.5, 0.5; }
probability ( b | a ) { (no) 0.75, 0.25; (yes) 0.25, 0.75; }
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.uai"
    path.write_text(UAI)
    (tmp_path / "model.uai.evid").write_text("1 0 1\n")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["infer", *(str(argument) for argument in arguments)])
    output = capsys.readouterr()
    return int(end.value.code or 0), output.out, output.err


def test_marginals_are_printed(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, model, "--uai") == (0, "MAR\n2 2 0.3 0.7 2 0.4 0.6\n", "")
    code, output, errors = run(capsys, model)
    assert (code, errors) == (0, "")
    assert [line.split() for line in output.splitlines()[1:3]] == [
        ["0", "0:", "0.3000", "1:", "0.7000"],
        ["1", "0:", "0.4000", "1:", "0.6000"],
    ]


def test_evidence_counts_when_it_is_given(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = run(capsys, model, "--evidence", f"{model}.evid", "--uai")
    assert (code, output) == (0, "MAR\n2 2 0 1 2 0.428571429 0.571428571\n")


def test_partition_function_and_best_assignment(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = run(capsys, model, "--task", "pr", "--uai")
    assert code == 0
    assert output == "PR\n1\n"
    assert run(capsys, model, "--task", "map", "--uai")[1] == "MAP\n2 1 1\n"
    assert run(capsys, model, "--task", "pr")[1].startswith("log10 of the partition function: 1\n")


def test_bif(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.bif"
    path.write_text(BIF)
    (tmp_path / "seen.evid").write_text("1 1 1")
    assert run(capsys, path, "--uai")[1] == "MAR\n2 2 0.5 0.5 2 0.5 0.5\n"
    assert run(capsys, path, "--evidence", tmp_path / "seen.evid", "--uai")[1] == "MAR\n2 2 0.25 0.75 2 0 1\n"
    pr = run(capsys, path, "--evidence", tmp_path / "seen.evid", "--task", "pr", "--uai")[1].split()
    assert float(pr[1]) == pytest.approx(math.log10(0.5))


def test_evidence_and_answers_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.bif"
    path.write_text(BIF)
    (tmp_path / "seen.txt").write_text("b = yes\n\n")
    code, output, _ = run(capsys, path, "--observe", "b=yes")
    assert code == 0
    assert output.splitlines()[1].split() == ["a", "no:", "0.2500", "yes:", "0.7500"]
    assert output.splitlines()[2].split() == ["b", "no:", "0.0000", "yes:", "1.0000", "observed"]
    for given in (["--observe", "b=yes"], ["--observe", "1=1"], ["--evidence", tmp_path / "seen.txt"]):
        found = json.loads(run(capsys, path, *given, "--json")[1])
        assert found["marginals"]["a"] == pytest.approx({"no": 0.25, "yes": 0.75})
    found = json.loads(run(capsys, path, "--observe", "b=yes", "--task", "map", "--json")[1])
    assert found["assignment"] == {"a": "yes", "b": "yes"}


NAMES = {
    "state": ("b=maybe", "Expected a state of b out of no, yes; got 'maybe'."),
    "variable": ("c=yes", "Expected a variable out of a, b; got 'c'."),
    "number": ("7=0", "Expected a variable between 0 and 1; got 7."),
    "no state": ("b", "--observe: expected VARIABLE=STATE; got 'b'."),
}


@pytest.mark.parametrize(("given", "message"), NAMES.values(), ids=NAMES)
def test_wrong_names(given: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.bif"
    path.write_text(BIF)
    code, output, errors = run(capsys, path, "--observe", given)
    assert (code, output, errors) == (2, "", f"Error: {message}\n")


def test_json_without_out_is_the_answer(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, model, "--json")[1])
    assert found["marginals"] == [pytest.approx([0.3, 0.7]), pytest.approx([0.4, 0.6])]
    assert json.loads(run(capsys, model, "--json", "--task", "pr")[1])["log10_partition"] == pytest.approx(1.0)


def test_answers_are_written(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "answer.MAR"
    code, output, errors = run(capsys, model, "--out", out)
    assert (code, errors) == (0, "")
    assert output.splitlines()[0] == "Exact inference on model.uai"
    assert out.read_text() == "MAR\n2 2 0.3 0.7 2 0.4 0.6\n"
    found = json.loads(run(capsys, model, "--out", out, "--task", "map", "--json")[1])
    assert (found["task"], found["variables"], found["table_entries"], found["width"]) == ("map", 2, 4, 1)
    assert out.read_text() == "MAP\n2 1 1\n"


BAD = {
    "no such file": (["nowhere.uai"], "No such file or directory: nowhere.uai"),
    "ending": (["model.txt"], "Expected a model that ends in .uai or .bif, plain, .gz or .xz; got model.txt."),
    "task": (["{model}", "--task", "mmap"], "--task"),
    "malformed": (["{broken}"], "broken.uai: line 2: expected the number of variables"),
    "other evidence": (["{model}", "--evidence", "{other}"], "Expected evidence on variables between 0 and 1; got 7."),
    "impossible": (["{zero}"], "Expected evidence of positive probability"),
    "endless limit": (["{model}", "--memory-limit", "inf"], "Expected --memory-limit as a number of GiB; got inf."),
    "too large": (["{model}", "--memory-limit", "0.00000001"], "Expected clique tables of at most 10 bytes"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_code_2(
    arguments: list[str], message: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"broken": "MARKOV\nx", "other": "1 7 0", "zero": UAI.replace("1 2 3 4", "0 0 0 0")}
    for name, content in files.items():
        (tmp_path / f"{name}.uai").write_text(content)
    names = {name: tmp_path / f"{name}.uai" for name in files}
    out = tmp_path / "out"
    out.write_text("precious")
    code, output, errors = run(capsys, *(each.format(model=model, **names) for each in arguments), "--out", out)
    assert (code, output) == (2, "")
    assert errors.startswith("Error: ") and errors.count("\n") == 1
    assert message in errors
    assert out.read_text() == "precious"


def test_where_nothing_can_be_written_nothing_is_computed(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neuraltrees.inference.JunctionTree.of", lambda *_: pytest.fail("computed"))
    for out, message in ((tmp_path / "nowhere" / "out", "Create the folder first."), (tmp_path, "got the folder")):
        code, output, errors = run(capsys, model, "--out", out)
        assert (code, output) == (2, "")
        assert message in errors


def test_impossible_evidence_has_a_partition_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "zero.uai"
    path.write_text(UAI.replace("1 2 3 4", "0 0 0 0"))
    assert run(capsys, path, "--task", "pr", "--uai") == (0, "PR\n-inf\n", "")


def test_help_explains(capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = run(capsys, "--help")
    assert code == 0
    assert "junction-tree algorithm" in output and "--evidence" in output
