"""The examples run as they are, with the public data and without, and the guide's Python too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).resolve().parent.parent


class Sandbox:
    """A folder in which an example has its home, its working and its temporary folder, and all it may write to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("home", "work", "temporary"):
            (folder / name).mkdir()

    def run(self, example: str, *arguments: object, data_root: Path | None = None) -> str:
        """What an example prints; it must succeed, quietly, and write into the folder `out` alone."""
        environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        environment |= {
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "temporary"),
            "MPLCONFIGDIR": matplotlib.get_configdir(),  # its list of fonts takes seconds to make
            "OMP_NUM_THREADS": "1",
            "NEURALTREES_DATA": str((data_root or self.folder / "nowhere").resolve()),
            "https_proxy": "http://127.0.0.1:9",  # nobody answers there: no download succeeds, and none takes long
        }
        data = _files(data_root)
        done = subprocess.run(
            [sys.executable, "-W", "error::UserWarning", ROOT / "examples" / example, *map(str, arguments)],
            cwd=self.folder / "work",
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert _files(data_root) == data
        return done.stdout

    def files(self) -> set[str]:
        """All that was written, wherever it went."""
        return _files(self.folder)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


@pytest.fixture(params=["public data", "no data"])
def maybe_data(request: pytest.FixtureRequest) -> Path | None:
    """The data root, then none."""
    return request.getfixturevalue("data_root") if request.param == "public data" else None


def test_quick_tour_compares_with_the_optimum(sandbox: Sandbox) -> None:
    printed = sandbox.run("01_quick_tour.py", "--out", "../out")
    assert "HTree(num_nodes=18, num_roots=3, num_leaves=11, num_components=1, treewidth=2)" in printed
    assert "gives 3 scores to each of 5 graph nodes" in printed
    common, ours, best = (
        _percent(printed, line) for line in ("the most common label", "this neural tree", "the best possible")
    )
    assert common < ours < best
    assert sandbox.files() == {"out/htree.svg"}


def test_without_out_files_go_to_a_folder_named_after_the_example(sandbox: Sandbox) -> None:
    sandbox.run("01_quick_tour.py", "--epochs", 1, "--seed", 3)
    assert sandbox.files() == {"work/01_quick_tour/htree.svg"}


def test_scene_graphs_are_trained_saved_labelled_and_drawn(sandbox: Sandbox, maybe_data: Path | None) -> None:
    printed = sandbox.run("02_scene_graphs.py", "--out", "../out", "--epochs", 20, data_root=maybe_data)
    assert ("Stanford3DSG: 482 scene graphs" in printed) is (maybe_data is not None)
    assert ("Generated scenes are used instead" in printed) is (maybe_data is None)
    rows = ("neural tree  ", "GNN, both directions", "GNN, stored edges")
    assert all(_percent(printed, row) > 20 for row in rows)
    assert "node 0:" in printed and "truly" in printed
    assert sandbox.files() == {"out/neural_tree.safetensors", "out/scene.svg"}


def test_citation_networks_by_treewidth(sandbox: Sandbox, maybe_data: Path | None) -> None:
    printed = sandbox.run("03_citation_networks.py", "--out", "../out", data_root=maybe_data)
    assert ("Cora: 2,708 papers of 7 topics" in printed) is (maybe_data is not None)
    assert ("A generated network of 800 papers is used instead" in printed) is (maybe_data is None)
    rows = [line for line in printed.splitlines() if line.startswith(("neural tree, k =", "GCN"))]
    assert [row[:22].strip() for row in rows] == [
        "neural tree, k = 1",
        "neural tree, k = 2",
        "neural tree, k = 4",
        "GCN",
    ]
    assert all(float(row.split()[-2]) > 25 for row in rows)
    assert sandbox.files() == {"out/table.txt"}
    assert (sandbox.folder / "out" / "table.txt").read_text().splitlines()[1:] == rows


@pytest.mark.parametrize("example", ["02_scene_graphs.py", "03_citation_networks.py"])
def test_a_missing_data_root_is_named(sandbox: Sandbox, example: str) -> None:
    printed = sandbox.run(example, "--out", "../out", "--epochs", 1, "--data-root", "elsewhere")
    assert "is not available: Expected the file elsewhere/" in printed


def test_your_own_graphs_in_python_and_on_the_command_line(sandbox: Sandbox) -> None:
    printed = sandbox.run("04_your_own_graphs.py", "--out", "../out")
    assert _percent(printed, "Test accuracy with fit") > 75
    assert _percent(printed, "with a loop of your own") > 75
    in_python = [line.split() for line in printed.splitlines() if line.startswith("  ")]
    on_the_command_line = [line.split() for line in printed.splitlines() if " sensor " in line]
    assert [row[0] for row in in_python] == ["hall", "kitchen", "bath", "attic", "study"]
    assert [[node, *label[:3]] for node, _, *label in on_the_command_line] == in_python
    assert sandbox.files() == {f"out/{name}" for name in ("model.safetensors", "house.json", "labels.json")}


def test_molecules_are_learned_and_drawn_with_what_mattered(sandbox: Sandbox) -> None:
    pytest.importorskip("rdkit", reason="SMILES need the extra molecules")
    printed = sandbox.run("05_molecules.py", "--out", "../out")
    found = re.search(r"96 molecules: test error (\S+), where values have a standard deviation of (\S+)", printed)
    assert found is not None and float(found[1]) < 0.5 * float(found[2])
    assert "c1ccccc1CCC: logP " in printed
    assert sandbox.files() == {"out/bags.svg"}


def test_scenes_are_labelled_and_a_confirmed_label_changes_others(sandbox: Sandbox) -> None:
    printed = sandbox.run("06_scenes.py", "--out", "../out", "--epochs", 10, "--buildings", 40)
    ours, best = _percent(printed, "Test accuracy"), _percent(printed, "the best possible")
    assert 25 < ours < best
    assert "a person confirms that it is" in printed and "(100 %)" in printed
    assert sandbox.files() == {"out/model.safetensors"}


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_are_short_and_say_how_to_run_them(example: Path) -> None:
    code = example.read_text()
    assert len(code.splitlines()) < 100
    assert f"    python examples/{example.name}" in code
    assert all(f'"{option}"' in code for option in ("--out", "--seed", "--epochs"))


def test_python_of_the_guide_runs_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "".join(python_blocks(ROOT / "docs" / "your_own_graphs.md")).splitlines()
    exec(compile("\n".join(lines), "your_own_graphs.md", "exec"), {"__name__": "guide"})
    promised = [line.partition(")  # ")[2] for line in lines if line.startswith("print(")]
    assert promised and capsys.readouterr().out.splitlines() == promised
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_python_of_the_guide_to_inference_runs_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(python_blocks(ROOT / "docs" / "inference.md")).splitlines()
    exec(compile("\n".join(lines), "inference.md", "exec"), {"__name__": "guide"})
    promised = [line.partition(")  # ")[2] for line in lines if line.startswith("print(")]
    assert len(promised) > 5 and capsys.readouterr().out.splitlines() == promised


def test_python_of_the_guide_to_crfs_runs_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(python_blocks(ROOT / "docs" / "crf.md")).splitlines()
    exec(compile("\n".join(lines), "crf.md", "exec"), {"__name__": "guide"})
    printed = capsys.readouterr().out
    promised = [
        line.partition(")  # ")[2].partition(":")[0] for line in lines if "  # torch.Size" in line or "  # True" in line
    ]
    assert len(promised) == 3 and all(each in printed for each in promised)


def test_python_of_the_guide_to_whole_graphs_runs_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(python_blocks(ROOT / "docs" / "graphs.md")).splitlines()
    exec(compile("\n".join(lines), "graphs.md", "exec"), {"__name__": "guide"})
    promised = [line.partition(")  # ")[2] for line in lines if line.startswith("print(")]
    assert len(promised) == 2 and capsys.readouterr().out.splitlines() == promised


def test_the_guide_to_molecules_runs_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table is made, two networks are trained on it, a list of SMILES is predicted, and the rest in Python."""
    pytest.importorskip("rdkit", reason="SMILES need the extra molecules")
    from neuraltrees.cli import main

    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "molecules.md"
    for kind, content in re.findall(r"```(\w+)\n(.*?)```", page.read_text(), flags=re.DOTALL):
        match kind:
            case "python":
                capsys.readouterr()
                exec(compile(content, "molecules.md", "exec"), {"__name__": "guide"})
                promised = [line.partition(")  # ")[2] for line in content.splitlines() if line.startswith("print(")]
                assert capsys.readouterr().out.splitlines() == promised
            case "text":
                Path("new.smi").write_text(content)
            case "sh":
                with pytest.raises(SystemExit) as end:
                    main(content.split()[1:])
                output = capsys.readouterr()
                assert not end.value.code, output.err
                if "train" in content and "logP" in content:
                    said = [line.strip() for line in output.err.splitlines() if line.startswith(("Learning", "112"))]
                    assert "\n".join(f"    {line}" for line in said) in page.read_text()
                if "predict" in content:
                    assert "left out 1 row whose SMILES does not parse: line 3 'C1CC'" in output.err
                    assert [row.split(",")[1] for row in Path("predicted.csv").read_text().splitlines()] == [
                        "name",
                        "2-ethylphenol",
                        "isonicotinic acid",
                    ]


def test_python_of_the_guide_to_scenes_runs_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "".join(python_blocks(ROOT / "docs" / "scenes.md")).splitlines()
    exec(compile("\n".join(lines), "scenes.md", "exec"), {"__name__": "guide"})
    promised = [line.partition(")  # ")[2] for line in lines if line.startswith("print(")]
    assert len(promised) > 15 and capsys.readouterr().out.splitlines() == promised
    written = {"map.json", "labelled.json", "objects.csv", "model.safetensors"}
    assert {path.name for path in tmp_path.iterdir()} == written


def test_the_guide_to_the_viewer_runs_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from neuraltrees.scenes import read_label_states

    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "viewer.md"
    lines = "".join(python_blocks(page)).splitlines()
    exec(compile("\n".join(lines), "viewer.md", "exec"), {"__name__": "guide"})
    promised = [line.partition(")  # ")[2] for line in lines if line.startswith("print(")]
    assert promised and capsys.readouterr().out.splitlines() == promised
    assert {path.name for path in tmp_path.iterdir()} == {"building.html", "growing.html"}
    (labels,) = (block.removeprefix("json\n") for block in page.read_text().split("```")[1::2] if block[:4] == "json")
    (tmp_path / "labels.json").write_text(labels)
    assert [state.name for state in read_label_states("labels.json")] == ["predicted", "confirmed"]


def test_the_guide_to_serving_runs_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Python runs, and every command has the options that it is shown with."""
    pytest.importorskip("fastapi", reason="the server needs the extra serve")
    from typer.main import get_command

    from neuraltrees.cli import app

    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "serving.md"
    lines = "".join(python_blocks(page)).splitlines()
    exec(compile("\n".join(lines), "serving.md", "exec"), {"__name__": "guide"})
    promised = [line.partition(")  # ")[2] for line in lines if line.startswith("print(")]
    assert len(promised) == 4 and capsys.readouterr().out.splitlines() == promised
    assert {path.name for path in tmp_path.iterdir()} == {"model.safetensors", "model.pt2"}
    commands = re.findall(r"^neuraltrees (\w+) (.*)$", page.read_text(), flags=re.MULTILINE)
    assert {name for name, _ in commands} == {"serve", "export"}
    for name, arguments in commands:
        get_command(app).commands[name].make_context(name, arguments.split())  # type: ignore[attr-defined]


def python_blocks(page: Path) -> list[str]:
    """The Python of a Markdown page, block by block."""
    fenced = page.read_text().split("```")[1::2]
    return [block.removeprefix("python\n") for block in fenced if block.startswith("python\n")]


def _percent(printed: str, row: str) -> float:
    """The first percentage in the line that has this text."""
    (line,) = (line for line in printed.splitlines() if row in line)
    return float(line.split(row)[1].partition("%")[0].split()[-1])


def _files(folder: Path | None) -> set[str]:
    found = [] if folder is None else [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix() for path in found}
