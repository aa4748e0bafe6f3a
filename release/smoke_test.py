"""Tries an installed neuraltrees as a newcomer would: `python smoke_test.py`, or `--core` where torch is not installed.

Run it outside of the source folder, so that what is imported is what was installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

GRAPH = "p tw 4 5\n1 2\n2 3\n3 4\n4 1\n1 3\n"
ROOM = {
    "nodes": [
        {"type": "room", "x": [0.0, 0.0, 1.3, 4.0, 3.0, 2.6]},
        {"type": "object", "x": [0.5, 0.4, 0.4, 0.6, 0.6, 0.9], "name": "box"},
        {"type": "object", "x": [1.0, -0.5, 0.9, 0.4, 0.4, 0.5]},
    ],
    "edges": [[0, 1], [0, 2], [1, 2]],
}

SCENE = {
    "nodes": [
        {"id": "room", "type": "room", "position": [0, 0, 1.3], "size": [4, 3, 2.6]},
        {"id": "box", "type": "object", "position": [0.5, 0.4, 0.4], "size": [0.6, 0.6, 0.9]},
    ],
    "edges": [["box", "room"]],
}


def command(*arguments: str) -> str:
    """The output of a command; if it fails, an error with both streams."""
    ran = subprocess.run([sys.executable, "-m", "neuraltrees", *arguments], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"neuraltrees {' '.join(arguments)}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def try_core(folder: Path) -> None:
    """Decompositions in Python and on the command line, which need no torch."""
    import neuraltrees as nt

    assert nt.__version__ == version("neuraltrees"), (nt.__version__, version("neuraltrees"))
    graph = nt.Graph([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    assert nt.decompose(graph, "exact").width == 2
    assert nt.sample_bounded_treewidth(graph, k=1).decomposition.width == 1
    path = folder / "graph.gr"
    path.write_text(GRAPH)
    assert json.loads(command("decompose", str(path), "--json"))["width"] == 2
    assert nt.__version__ in command("--version")


def try_all(folder: Path) -> None:
    """H-trees, a training, and predictions of the models that come with the package."""
    import neuraltrees as nt

    assert json.loads(command("doctor", "--json"))["problems"] == []
    assert nt.build_htree(nt.Graph([[0, 1, 2], [1, 2, 0]])).treewidth == 2
    out = folder / "run"
    command("train", "--dataset", "synthetic", "--scenes", "30", "--epochs", "2", "--out", str(out), "--quiet")
    room, scene = folder / "room.json", folder / "scene.json"
    room.write_text(json.dumps(ROOM))
    found = json.loads(command("predict", str(out / "model.safetensors"), str(room), "--json"))
    assert [node["type"] for node in found["graphs"][0]["nodes"]] == ["room", "object", "object"]
    scene.write_text(json.dumps(SCENE))
    found = json.loads(command("predict", "scenes", str(scene), "--json"))
    assert sorted(node["type"] for node in found["nodes"]) == ["object", "room"]
    if find_spec("rdkit") is not None:
        found = json.loads(command("predict", "solubility", "CCO", "--json"))
        assert all(-5 < value < 3 for value in found["molecules"][0]["values"].values()), found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        try_core(Path(folder))
        if "--core" not in sys.argv[1:]:
            try_all(Path(folder))
    print(f"neuraltrees {version('neuraltrees')} works with Python {sys.version.split()[0]}.")


if __name__ == "__main__":
    main()
