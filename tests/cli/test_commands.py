"""The commands as a person runs them: what they print, what they write, and how they fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import neuraltrees as nt
from neuraltrees.cli import main

GOLDEN = "p tw 5 6\n1 2\n1 3\n2 4\n3 4\n3 5\n4 5\n"


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    path = tmp_path / "golden.gr"
    path.write_text(GOLDEN)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return int(end.value.code or 0), output.out, output.err


def facts(output: str) -> dict[str, str]:
    """The rows of a table as a dictionary."""
    return dict(line.strip().split("  ", 1) for line in output.splitlines()[1:] if "  " in line)


def test_decompose_writes_what_it_describes(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = golden.with_suffix(".td")
    code, output, errors = run(capsys, "decompose", golden, "--method", "exact", "--out", out)
    assert (code, errors) == (0, "")
    assert output.splitlines()[0] == "Tree decomposition of golden.gr"
    shown = {name: value.strip() for name, value in facts(output).items()}
    assert {name: shown[name] for name in ("nodes", "edges", "bags", "width", "lower bound", "proven optimal")} == {
        "nodes": "5",
        "edges": "6",
        "bags": "3",
        "width": "2",
        "lower bound": "2",
        "proven optimal": "yes",
    }
    nt.TreeDecomposition.read_td(out).validate(nt.Graph.read_gr(golden))


@pytest.mark.parametrize("method", ["min_fill", "min_degree", "junction_tree", "exact", "best"])
def test_every_method_has_its_name(golden: Path, method: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = run(capsys, "decompose", golden, "-m", method, "--json")
    assert code == 0
    assert json.loads(output)["method"] == method
    assert json.loads(output)["width"] == 2


def test_htree_as_json(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output, errors = run(capsys, "htree", golden, "--json")
    assert (code, errors) == (0, "")
    found = json.loads(output)
    assert found.pop("seconds") > 0
    assert found == {
        "nodes": 5,
        "edges": 6,
        "components": 1,
        "treewidth": 2,
        "htree_nodes": 18,
        "htree_edges": 17,
        "roots": 3,
        "bags_below_the_roots": 4,
        "leaves": 11,
        "nodes_per_level": [3, 7, 8],
        "root_root_edges": 2,
        "parent_child_edges": 15,
        "diameter": 5,
    }


def test_htree_of_a_sample(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = run(capsys, "htree", golden, "--k", 1, "--json")
    found = json.loads(output)
    assert code == 0
    assert (found["treewidth"], found["edges_kept"], found["share_of_edges_kept"]) == (1, 4, 0.6667)


def test_names_of_nodes_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import safetensors

    edges = tmp_path / "friends.csv"
    edges.write_text("source,target,since\nada,bob,3\nbob,cy,1\ncy,dee,2\ndee,ada,2\n")
    td, bags, tree, nodes, picture = (
        tmp_path / name for name in ("a.td", "b.json", "c.safetensors", "d.json", "e.svg")
    )
    code, _, errors = run(capsys, "decompose", edges, "--out", td)
    assert (code, errors) == (0, "Not used of friends.csv: since.\n")
    assert td.read_text().splitlines()[:4] == [
        f'c node {v} "{n}"' for v, n in enumerate(["ada", "bob", "cy", "dee"], 1)
    ]
    named = nt.read_graph(edges)
    nt.TreeDecomposition.read_td(td).validate(named.graph)
    assert run(capsys, "decompose", edges, "--out", bags)[0] == 0
    found = {frozenset(bag) for bag in json.loads(bags.read_text())["bags"]}
    assert found == {frozenset(named.names[v] for v in bag) for bag in nt.decompose(named.graph).bags}
    assert run(capsys, "htree", edges, "--out", tree, "--draw", picture)[0] == 0
    with safetensors.safe_open(tree, "pt") as file:
        assert json.loads(file.metadata()["names"]) == ["ada", "bob", "cy", "dee"]
    assert nt.load_htree(tree) == nt.build_htree(named.graph)
    assert picture.read_text().count(">ada<") >= 2  # a node and a leaf
    assert run(capsys, "htree", edges, "--out", nodes)[0] == 0
    leaves = [node["bag"] for node in json.loads(nodes.read_text())["nodes"] if node["leaf"]]
    assert {name for bag in leaves for name in bag} == {"ada", "bob", "cy", "dee"}


def test_what_is_too_large_to_draw_is_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ladder = [(v, v + 1) for v in range(300)] + [(v, v + 2) for v in range(299)]
    path, picture = tmp_path / "ladder.txt", tmp_path / "ladder.svg"
    path.write_text("".join(f"{u} {v}\n" for u, v in ladder))
    code, output, _ = run(capsys, "htree", path, "--draw", picture)
    assert code == 0
    assert "leaves" in output and "(H-tree summed up: too large to draw)" in output
    drawn = picture.read_text()
    assert 'id="graph-node-300"' in drawn and 'id="htree-node-0"' not in drawn
    assert "level (0: roots)" in drawn


def test_htree_is_drawn_and_stored(golden: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture, stored = tmp_path / "tree.svg", tmp_path / "tree.safetensors"
    code, output, _ = run(capsys, "htree", golden, "--draw", picture, "--out", stored)
    assert code == 0
    assert picture.read_text().lstrip().startswith("<?xml")
    assert nt.load_htree(stored) == nt.build_htree(nt.Graph.read_gr(golden))
    assert "drawn to" in output and "written to" in output


def test_canonical_trees(golden: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bags, stored, nodes = tmp_path / "bags.json", tmp_path / "tree.safetensors", tmp_path / "tree.json"
    code, output, errors = run(capsys, "decompose", golden, "--method", "canonical", "--out", bags, "--json")
    assert (code, errors) == (0, "")
    counts = {name: value for name, value in json.loads(output).items() if name.endswith("_bags")}
    assert counts == {"vertex_bags": 0, "bridge_bags": 0, "cycle_bags": 2, "pair_bags": 1, "rigid_bags": 0}
    assert json.loads(bags.read_text())["kinds"] == ["cycle", "pair", "cycle"]
    options = ["--method", "canonical", "--terminal", "bag"]
    assert run(capsys, "htree", golden, *options, "--out", stored)[0] == 0
    tree = nt.build_htree(nt.Graph.read_gr(golden), method="canonical", terminal="bag")
    assert nt.load_htree(stored) == tree
    assert run(capsys, "htree", golden, *options, "--out", nodes)[0] == 0
    written = json.loads(nodes.read_text())["nodes"]
    assert [node.get("kind") for node in written] == ["cycle", "pair", "cycle", *[None] * 9]
    code, output, _ = run(capsys, "htree", golden, *options, "--k", 1, "--json")
    assert json.loads(output)["treewidth"] == 1


BAD = {
    "unknown terminal": (["htree", "{golden}", "--terminal", "leaf"], "Expected --terminal clique or bag; got 'leaf'"),
    "no such file": (["htree", "nowhere.gr"], "No such file or directory: nowhere.gr"),
    "a folder": (["decompose", "."], "Expected a graph file; got the folder ."),
    "unknown method": (["decompose", "{golden}", "--method", "magic"], "Expected --method out of min_fill, min_degree"),
    "k of 0": (["htree", "{golden}", "--k", "0"], "Expected --k as an integer of at least 1; got 0"),
    "k that is no number": (["htree", "{golden}", "--k", "two"], "Expected --k to be a whole number; got 'two'."),
    "no file": (["htree"], "Missing argument 'FILE'"),
    "unknown option": (["htree", "{golden}", "--colour"], "--colour"),
    "unknown command": (["plant"], "plant"),
    "unknown picture": (["htree", "{golden}", "--draw", "tree.gif"], "Expected a path that ends in .svg, .png, .pdf"),
    "too large": (["htree", "{golden}", "--max-nodes", "5"], "Expected an H-tree of at most 5 nodes"),
    "ending of --out": (["decompose", "{golden}", "--out", "x.foo"], "Expected --out to end in .td or .json"),
    "ending of a tree": (["htree", "{golden}", "--out", "x.td"], "Expected --out to end in .safetensors or .json"),
    "no folder": (["htree", "{golden}", "--draw", "no/where.svg"], "Create the folder first"),
    "interval": (["train", "--checkpoint-every", "-1"], "Expected --checkpoint-every to be at least 0; got '-1'."),
    "no number": (["train", "--hidden", "abc"], "Expected --hidden to be a whole number; got 'abc'."),
    "low number": (["train", "--hidden", "0"], "Expected --hidden to be at least 1; got 0."),
    "choice": (["infer", "x.uai", "--task", "foo"], "Expected --task out of mar, pr, map; got 'foo'."),
    "name twice": (["train", "--config", "{twice}"], "expected every name once; got 'hidden' in the lines 1 and 2."),
    "name": (["train", "--config", "{typo}"], "typo.yaml: Expected no other names than dataset"),
    "value": (["train", "--config", "{value}"], "value.yaml: Expected hidden to be a whole number; got 'abc'."),
    "negative seed": (["decompose", "{golden}", "--seed", "-1"], "Expected --seed between 0"),
    "no time": (
        ["decompose", "{golden}", "-m", "best", "--time-limit", "0"],
        "Expected --time-limit of more than 0 seconds",
    ),
    "malformed": (["htree", "{broken}"], "broken.gr: line 2: expected a node between 1 and 2, got 3."),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_code_2(
    arguments: list[str], message: str, golden: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.gr"
    broken.write_text("p tw 2 1\n1 3\n")
    configs = {"twice": "hidden: 4\nhidden: 8\n", "typo": "hiden: 3\n", "value": "hidden: abc\n"}
    for name, content in configs.items():
        (tmp_path / f"{name}.yaml").write_text(content)
    names = {"golden": golden, "broken": broken} | {name: tmp_path / f"{name}.yaml" for name in configs}
    filled = [argument.format(**names) for argument in arguments]
    code, output, errors = run(capsys, *filled)
    assert (code, output) == (2, "")
    assert errors.startswith("Error: ") and errors.count("\n") == 1
    assert message in errors


def test_old_file_survives_a_refused_command(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = golden.with_suffix(".td")
    out.write_text("precious")
    assert run(capsys, "decompose", golden, "--method", "magic", "--out", out)[0] == 2
    assert out.read_text() == "precious"


@pytest.mark.parametrize(
    "arguments",
    [[], ["--help"], *([command, "--help"] for command in ("demo", "train", "tune", "predict", "decompose", "htree"))],
)
def test_help_explains(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = run(capsys, *arguments)
    assert code == 0
    assert "Usage: " in output and "--help" in output


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"neuraltrees {nt.__version__}\n", "")


def test_help_does_not_wait_for_torch() -> None:
    script = "import sys; from neuraltrees.cli import app; print('torch' in sys.modules, 'matplotlib' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=200)
    assert ran.stdout == "False False\n"


def test_help_shows_brackets(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = " ".join(run(capsys, "predict", "--help")[1].split())
    assert '{"graphs": [graph, …]}' in text and '"edges": [[0, 1], …]' in text
