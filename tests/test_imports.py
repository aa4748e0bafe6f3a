"""A stage imports only from the stages to its left; importing the library is quick and needs no compiled core."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

import neuraltrees as nt

PACKAGE = Path(nt.__file__).parent

ORDER = [
    "version",
    "errors",
    "extras",
    "lazy",
    "files",
    "checks",
    "options",
    "movable",
    "_core",
    "products",
    "graph",
    "graph_files",
    "decomposition",
    "htree",
    "inference",
    "nn",
    "objectives",
    "data",
    "datasets",
    "scenes",
    "pools",
    "training",
    "tuning",
    "serving",
    "viewing",
    "plots",
    "experiments",
]
# Beside the line: the theory is about trees and networks, and the command line sees everything.
ALLOWED = {stage: {*ORDER[:place], stage} for place, stage in enumerate(ORDER)}
ALLOWED["theory"] = {*ORDER[: ORDER.index("nn") + 1], "theory"}
ALLOWED["experiments"] |= {"theory"}
ALLOWED["cli"] = {*ORDER, "theory", "cli", ""}
ALLOWED["__main__"] = ALLOWED["cli"]


def stage_of(module: str) -> str:
    """The part of a module's name that names its stage; the package itself is the stage ''."""
    return module.removeprefix("neuraltrees").removeprefix(".").split(".")[0]


def imported(source: str, module: str, is_package: bool = False) -> Iterator[tuple[int, str]]:
    """Every module of the library that the source imports, with its line: anywhere in it, and by name as well."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            whole_package = origin == "neuraltrees"
            names = [f"{origin}.{alias.name}" for alias in node.names] if whole_package else [origin]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2].strip("_") in (
            "import",
            "import_module",
        ):
            names = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == "neuraltrees")


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """The imports of a module that point to the right, each in words."""
    stage = stage_of(module)
    if stage == "":
        return [
            f"{module}:{line} imports {name}: nothing imports the command line"
            for line, name in imported(source, module, is_package)
            if stage_of(name) == "cli"
        ]
    if stage not in ALLOWED:
        return [f"{module} belongs to no stage: give {stage!r} its place in ORDER"]
    found = []
    for line, name in imported(source, module, is_package):
        target = stage_of(name)
        # `from neuraltrees import Graph` reaches through the package, which imports every stage.
        target = target if target in ALLOWED else ""
        if target not in ALLOWED[stage]:
            found.append(f"{module}:{line} imports {name}: {stage} may not import {target or 'the whole package'}")
    return found


def modules() -> Iterator[tuple[Path, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield path, ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_stage_imports_from_its_left() -> None:
    found = [
        violation
        for path, module in modules()
        for violation in violations(path.read_text(), module, path.name == "__init__.py")
    ]
    assert found == []


def test_the_modules_are_found() -> None:
    names = [module for _, module in modules()]
    for stage in ("errors", "files", "_core", "graph", "decomposition.decompose", "htree.htree"):
        assert f"neuraltrees.{stage}" in names
    assert "neuraltrees" in names


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("neuraltrees.graph", "import neuraltrees.htree"),
        ("neuraltrees.graph", "from neuraltrees.decomposition import decompose"),
        ("neuraltrees.graph", "from neuraltrees.decomposition.decompose import decompose"),
        ("neuraltrees.graph", "from neuraltrees import decomposition"),
        ("neuraltrees.graph", "from neuraltrees import TreeDecomposition"),
        ("neuraltrees.graph", "import neuraltrees as nt"),
        ("neuraltrees.graph", "from .decomposition import decompose"),
        ("neuraltrees.graph", "from . import decomposition"),
        ("neuraltrees.decomposition.decompose", "from ..htree import build_htree"),
        ("neuraltrees.decomposition.decompose", "def f():\n    from neuraltrees.htree import build_htree"),
        ("neuraltrees.decomposition.decompose", "class A:\n    def f(self):\n        import neuraltrees.htree.build"),
        ("neuraltrees.decomposition.decompose", "if TYPE_CHECKING:\n    from neuraltrees.htree import HTree"),
        (
            "neuraltrees.decomposition.decompose",
            "try:\n    import os, neuraltrees.nn\nexcept ImportError:\n    pass",
        ),
        ("neuraltrees.decomposition.decompose", "importlib.import_module('neuraltrees.htree')"),
        ("neuraltrees.decomposition.decompose", "tree = __import__('neuraltrees.htree')"),
        ("neuraltrees._core", "from neuraltrees.graph import Graph"),
        ("neuraltrees.errors", "from neuraltrees.files import PathLike"),
        ("neuraltrees.htree.build", "from neuraltrees.inference import junction_tree"),
        ("neuraltrees.inference.exact", "from neuraltrees.objectives import Objective"),
        ("neuraltrees.inference.exact", "from neuraltrees.nn import NeuralTree"),
        ("neuraltrees.theory.bounds", "from neuraltrees.data import HTreeData"),
        ("neuraltrees.training.fit", "from neuraltrees.theory import approximate"),
        ("neuraltrees.nn.model", "from neuraltrees.data import HTreeData"),
        ("neuraltrees.data.transform", "from neuraltrees.datasets import Planetoid"),
        ("neuraltrees.training.fit", "from neuraltrees.experiments import table"),
        ("neuraltrees.experiments.table", "from neuraltrees.cli import app"),
        ("neuraltrees.htree.build", "from neuraltrees import cli"),
        ("neuraltrees", "from neuraltrees.cli import app"),
        ("neuraltrees.utils", ""),
    ],
)
def test_imports_to_the_right_are_found(module: str, source: str) -> None:
    assert len(violations(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("neuraltrees.graph", "import numpy as np\nfrom pathlib import Path\nimport neuraltrees_extra"),
        ("neuraltrees.graph", "from neuraltrees.errors import InputError\nfrom neuraltrees.files import read_whole"),
        ("neuraltrees.graph", "from neuraltrees._core import native"),
        ("neuraltrees.htree.build", "from neuraltrees.graph import Graph\nfrom neuraltrees.htree.htree import HTree"),
        ("neuraltrees.htree.build", "from .htree import HTree\nfrom . import storage\nfrom ..graph import Graph"),
        ("neuraltrees.htree.build", "from neuraltrees import decomposition, errors"),
        ("neuraltrees.inference.exact", "from neuraltrees.htree import HTree"),
        (
            "neuraltrees.experiments.table",
            "from neuraltrees.training import fit\nfrom neuraltrees.nn import GNN",
        ),
        ("neuraltrees.cli.htree", "import neuraltrees as nt\nfrom neuraltrees.inference import bounds"),
        ("neuraltrees.cli.htree", "from neuraltrees import __version__\nfrom neuraltrees.cli.terminal import show"),
        ("neuraltrees", "from neuraltrees.htree import HTree\nfrom neuraltrees.inference import bounds"),
    ],
)
def test_imports_to_the_left_are_allowed(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_relative_imports_of_a_package_start_at_itself() -> None:
    assert violations("from .build import build_htree", "neuraltrees.htree", is_package=True) == []
    assert len(violations("from ..nn import NeuralTree", "neuraltrees.htree", is_package=True)) == 1


def run(script: str) -> str:
    """What a fresh interpreter prints."""
    # torch-geometric's import meets a deprecation in torch that is not ours.
    environment = {**os.environ, "PYTHONWARNINGS": "error,ignore:`torch.jit.script` is deprecated:DeprecationWarning"}
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=200)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_importing_the_library_imports_nothing_slow() -> None:
    slow = ["torch", "torch_geometric", "matplotlib", "networkx", "scipy", "safetensors", "neuraltrees._core._native"]
    assert run(f"import sys, neuraltrees; print([name for name in {slow} if name in sys.modules])") == "[]"


def test_a_decomposition_needs_no_torch() -> None:
    script = """
import sys, neuraltrees as nt
print(nt.decompose(nt.Graph([[0, 1, 2, 3], [1, 2, 3, 0]])).bags, "torch" in sys.modules)
"""
    assert run(script) == "[(1, 2, 3), (0, 1, 3)] False"


def test_every_public_name_is_there() -> None:
    script = """
import neuraltrees as nt
names = [name for name in dir(nt) if not name.startswith("_")]
assert all(getattr(nt, name) is not None for name in names)
print({"Graph", "decompose", "HTree", "build_htree", "save_htree", "load_htree", "draw"} <= set(names))
from neuraltrees import HTree
print(HTree is nt.HTree)
"""
    assert run(script) == "True\nTrue"
    with pytest.raises(AttributeError, match="module 'neuraltrees' has no attribute 'magic'"):
        _ = nt.magic


WITHOUT_CORE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "neuraltrees._core._native":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import neuraltrees as nt
"""


@pytest.mark.parametrize("call", ["nt.Graph([[0], [1]])", "nt.moralize([[0], [1]])", "nt.Graph.read_gr('{path}')"])
def test_without_the_compiled_core_the_first_call_says_how_to_build_it(tmp_path: Path, call: str) -> None:
    (tmp_path / "graph.gr").write_text("p tw 2 1\n1 2\n")
    script = f"""{WITHOUT_CORE}
for _ in range(2):
    try:
        {call.format(path=tmp_path / "graph.gr")}
    except nt.NativeCoreError as error:
        print(isinstance(error, ImportError), error)
"""
    first, second = run(script).splitlines()
    assert first == second
    assert first.startswith("True Expected the compiled core of neuraltrees")
    assert "_native" in first
    assert "pip install ." in first
    assert "C++20 compiler" in first


def test_without_the_compiled_core_stored_trees_are_read(tmp_path: Path) -> None:
    nt.save_htree(nt.build_htree(nt.Graph([[0], [1]])), tmp_path / "tree.safetensors")
    script = f"{WITHOUT_CORE}\nprint(nt.load_htree({str(tmp_path / 'tree.safetensors')!r}).kappa.tolist())"
    assert run(script) == "[-1, 0, 1]"


def test_the_version_is_that_of_the_package() -> None:
    assert metadata.version("neuraltrees") == nt.__version__
