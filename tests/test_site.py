"""The site: its Python and its commands work, every page can be reached, every public name has an example."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import io
import re
import shlex
import sys
import tomllib
import types
import warnings
from pathlib import Path
from typing import Any

import matplotlib
import pytest
import typer.main

import neuraltrees as nt
from neuraltrees.cli import app

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*") if path.suffix in (".md", ".rst") and "results/" not in str(path))
TUTORIALS = sorted(path for path in (DOCS / "tutorials").glob("*.md") if path.stem != "index")
GUIDES = [*(DOCS / f"{name}.md" for name in ("index", "start", "canonical")), *sorted((DOCS / "guides").glob("*.md"))]
RUN_BY_OTHER_TESTS = {"crf", "extending", "graphs", "inference", "molecules", "scenes", "serving", "theory", "viewer"}
RUN_BY_OTHER_TESTS |= {"your_own_graphs"}  # by tests/test_examples.py, tests/test_extending.py and tests/theory
PACKAGES = ("data", "datasets", "decomposition", "graph_files", "htree", "inference", "nn", "objectives", "scenes")
PACKAGES += ("serving", "theory", "training", "tuning")


sys.path.insert(0, str(DOCS / "_ext"))
from formulas import formula  # noqa: E402
from offline import check_site, loaded_from_elsewhere  # noqa: E402
from page_examples import has_example, is_used, pages_with, python_of  # noqa: E402  the site uses both


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    if importlib.util.find_spec("IPython") is None:  # of the site's own requirements; tutorials show pictures by it
        shown = types.ModuleType("IPython.display")
        shown.SVG = lambda path: Path(path).read_text()  # type: ignore[attr-defined]
        around = types.ModuleType("IPython")
        around.version_info = (9, 0)  # type: ignore[attr-defined]  # matplotlib asks for both
        around.get_ipython = lambda: None  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "IPython", around)
        monkeypatch.setitem(sys.modules, "IPython.display", shown)
    monkeypatch.setattr(matplotlib, "_called_from_pytest", True, raising=False)
    matplotlib.use("Agg")
    return tmp_path


def run_page(path: Path) -> str:
    """What the Python of a page prints; the epochs of tutorials are cut short."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for code in python_of(path):
            if path in TUTORIALS:
                code = re.sub(r"epochs=(\d\d+)", "epochs=6", code)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", nt.NeuralTreesWarning)
                exec(compile(code, path.name, "exec"), names)
    return printed.getvalue()


def test_the_python_of_every_page_is_run() -> None:
    run = {*GUIDES, *TUTORIALS} | {DOCS / f"{name}.md" for name in RUN_BY_OTHER_TESTS}
    assert [path.name for path in PAGES if python_of(path) and path not in run] == []


@pytest.mark.parametrize("path", [path for path in GUIDES if python_of(path)], ids=lambda path: path.stem)
def test_python_of_the_guides_prints_what_its_comments_say(path: Path, elsewhere: Path) -> None:
    printed = run_page(path).splitlines()
    promised = re.findall(r"^ *print\(.*\)  # (.*)$", "".join(python_of(path)), flags=re.MULTILINE)
    assert [line for line in promised if line not in printed] == []


RUN_BELOW = "several_machines"  # it starts processes: run once, by the test that looks at its losses


@pytest.mark.parametrize("path", [path for path in TUTORIALS if path.stem != RUN_BELOW], ids=lambda path: path.stem)
def test_tutorials_run(path: Path, elsewhere: Path) -> None:
    assert run_page(path).strip()


def test_several_processes_have_the_losses_of_one(elsewhere: Path) -> None:
    printed = run_page(DOCS / "tutorials" / "several_machines.md")
    differences = re.findall(r"^largest difference in \d+ epochs: (\S+)$", printed, flags=re.MULTILINE)
    assert len(differences) == 2, printed
    assert max(map(float, differences)) < 1e-4


def test_every_error_of_the_page_is_raised(elsewhere: Path) -> None:
    printed = run_page(DOCS / "guides" / "errors.md")
    page = python_of(DOCS / "guides" / "errors.md")[1]
    kinds = re.findall(r"^    nt\.(\w+Error): lambda", page, flags=re.MULTILINE)
    assert len(kinds) >= 5
    assert [kind for kind in kinds if f"{kind} - " not in printed] == []


def commands_of(path: Path) -> list[str]:
    """The commands in shell blocks, in indented blocks and between backticks, those that torchrun starts among them."""
    text = path.read_text()
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").split("\n")]
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    lines += re.findall(r"^ {4}(\S.*)$", text, flags=re.MULTILINE)
    lines += [" ".join(line.split()) for line in re.findall(r"`([^`]+)`", text)]
    found = [re.match(r"(?:torchrun .* -m )?(neuraltrees [a-z].*)", line.removeprefix("$ ")) for line in lines]
    return [each[1].split("  #")[0].split(" > ")[0].strip() for each in found if each]


def test_commands_of_all_pages_parse() -> None:
    click: Any = typer.main.get_command(app)
    parsed, wrong = 0, []
    for path in [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]:
        for line in commands_of(path):
            words = shlex.split(line)
            if words[1] not in click.commands:
                wrong.append((path.name, line))
            elif len(words) > 2 and "…" not in line and "--help" not in words:  # else the command is only named
                try:
                    click.commands[words[1]].make_context(words[1], words[2:]).close()
                except Exception as error:
                    wrong.append((path.name, f"{line}: {error}"))
                parsed += 1
    assert wrong == []
    assert parsed > 60


def test_every_page_can_be_reached() -> None:
    reached, left = set(), [DOCS / "index.md"]
    while left:
        page = left.pop()
        if page in reached:
            continue
        reached.add(page)
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL):
            names = [line for line in tree.split("\n") if line.strip() and not line.startswith(":")]
            for name in names:
                found = [page.parent / f"{name}{ending}" for ending in (".md", ".rst")]
                left += [each.resolve() for each in found if each.exists()]
                assert any(each.exists() for each in found), (page.name, name)
    assert set(PAGES) - reached == set()


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for path in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
            if "://" not in target and not (path.parent / target).exists():
                broken.append((path.name, target))
    assert broken == []


def public_names() -> list[tuple[str, str]]:
    """Every public name with the package that lists it, once."""
    found = {name: "neuraltrees" for name in nt.__all__ if name != "__version__"}
    for package in PACKAGES:
        module = importlib.import_module(f"neuraltrees.{package}")
        found |= {name: module.__name__ for name in module.__all__ if name not in found}
    return [(module, name) for name, module in found.items()]


def test_every_public_name_is_documented_with_an_example() -> None:
    """In its own docstring, in that of a method, or in the Python of a page, which the reference then links to."""
    bare = []
    for module, name in public_names():
        value = getattr(importlib.import_module(module), name)
        if not (inspect.isclass(value) or inspect.isroutine(value) or hasattr(value, "__wrapped__")):
            assert not callable(value) or isinstance(value, types.UnionType), f"{module}.{name}"  # else a constant
            continue
        text = inspect.getdoc(value) or ""
        assert text and not text.startswith(f"{name}("), f"{module}.{name} has no docstring of its own"
        if not has_example(value) and not pages_with(name):
            bare.append(f"{module}.{name}")
    assert bare == []


@pytest.mark.parametrize(
    ("line", "shows"),
    [
        ("nt.draw(graph)", True),
        ("class Own(draw):", True),
        ("found = run()  # a draw", True),
        ("from neuraltrees import draw", False),
        ("print(isinstance(found, draw))", False),
        ("draw = torch.Generator()", False),
        ("redraw(graph)", False),
        ("pen.draw(graph)", False),
    ],
)
def test_an_example_uses_a_name(line: str, shows: bool) -> None:
    assert is_used("draw", line) == shows


def docstrings() -> list[str]:
    """The docstrings of all modules, classes and functions of the package."""
    found = []
    for path in sorted((ROOT / "src" / "neuraltrees").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                found.append(ast.get_docstring(node) or "")
    return found


def test_every_formula_becomes_html() -> None:
    text = "\n\n".join(docstrings())
    formulas = re.findall(r":math:`([^`]+)`", text) + re.findall(r"\.\. math:: ((?:.+\n?)+)", text)
    assert len(formulas) > 200
    rendered = [formula(each) for each in formulas]
    assert [each for each in rendered if re.search(r"\\|[{}]", each)] == []
    assert formula(r"\exp\Bigl(\hat x_v\Bigr) \propto 1") == "exp(x\u0302<sub>v</sub>) ∝ 1"
    with pytest.raises(ValueError, match=r"got \\unheard"):
        formula(r"\unheard of")


def test_every_package_has_a_page_of_its_names() -> None:
    listed = re.findall(
        r"^\.\. public:: neuraltrees\.([\w.]+)$",
        "\n".join(path.read_text() for path in (DOCS / "api").glob("*.rst")),
        flags=re.MULTILINE,
    )
    assert set(PACKAGES) <= set(listed)


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ('<script defer src="https://cdn.example/mathjax.js"></script>', True),
        ("<link rel=stylesheet href=//fonts.example/css>", True),
        ('<img alt="a" src="http://example.org/a.png">', True),
        ("@import url('https://fonts.example/css');", True),
        ("body { background: url(https://example.org/a.png) }", True),
        ('<a href="https://example.org">a link</a> <img src="_images/a.svg">', False),
        ('<script src="../_static/documentation_options.js"></script>', False),
    ],
)
def test_what_a_page_loads_from_the_network_is_found(text: str, loads: bool) -> None:
    assert bool(loaded_from_elsewhere(text)) == loads


def test_the_build_checks_that_nothing_is_loaded_from_the_network(tmp_path: Path) -> None:
    """With `-W`, as `make docs` has it, a warning of the check ends the build with an error."""
    assert '"offline"' in (DOCS / "conf.py").read_text() and "sphinx -W" in (ROOT / "Makefile").read_text()
    (tmp_path / "api").mkdir()
    (tmp_path / "index.html").write_text("<p>offline</p>")
    (tmp_path / "api" / "page.html").write_text('<script src="https://example.org/a.js"></script>')
    assert check_site(tmp_path) == ["api/page.html: https://example.org/a.js"]


def test_the_extra_docs_names_what_the_pins_have() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pins = (DOCS / "requirements.txt").read_text().lower().replace("_", "-")
    names = [re.split(r"[<>=\[]", each)[0] for each in extras["docs"]]
    assert [name for name in names if name != "neuraltrees" and f"{name}==" not in pins] == []
