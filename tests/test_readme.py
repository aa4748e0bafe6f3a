"""The README's Python runs as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_python_of_the_readme_prints_what_its_comments_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(snippets) == 2
    for code in snippets:
        exec(compile(code, "README.md", "exec"), {})
    promised = re.findall(r"^ *print\(.*\)  # (.*)$", "".join(snippets), flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
    assert {path.name for path in tmp_path.iterdir()} == {"htree.svg", "model.safetensors"}


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 120


def test_its_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)", README.read_text())
    assert [each for each in targets if "://" not in each and not (README.parent / each).exists()] == []


def test_its_commands_parse() -> None:
    import typer.main

    from neuraltrees.cli import app

    click: Any = typer.main.get_command(app)
    commands = re.findall(r"^neuraltrees ([^#\n]+)|`neuraltrees ([^`]+)`", README.read_text(), flags=re.MULTILINE)
    assert len(commands) >= 6
    for line in (first or second for first, second in commands):
        name, *arguments = shlex.split(line)
        click.commands[name].make_context(name, arguments).close()


def row_of(section: str, *first: str) -> list[str]:
    """The cells of the row of docs/results.md that begins with these, in a section; without standard deviations."""
    page = (README.parent / "docs" / "results.md").read_text()
    text = page.split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [[cell.split(" ± ")[0].strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines()]
    return next(row for row in rows if tuple(row[: len(first)]) == first)


def test_its_results_are_those_of_the_page() -> None:
    """docs/results.md is written from the records, which tests/experiments/test_summary.py checks."""
    text = README.read_text()
    table1 = {name: row_of("table1", name) for name in ("GCN", "GraphSAGE", "GAT", "GIN")}
    assert ", ".join(f"{name} {row[4]} / {row[3]}" for name, row in table1.items()) in text
    _, posterior, gnn, tree, head, *_ = row_of("structured-scenes", "1,000")
    assert f"| {gnn}, {tree}, **{head}**; {posterior} |" in text
    gains = [row_of("structured-scenes", scenes)[7].split()[0] for scenes in ("100", "10,000")]
    assert f"{gains[1]} to {gains[0]} points ahead".replace("+", "") in text and "with 30 to 10,000" in text
    names = ("graph and tree, long", "GNN, long", "graph and tree", "GNN", "GNN, walks")
    zinc = [f"{float(row_of('molecules-zinc', name)[3]):.3f}" for name in names]
    assert f"| {zinc[1]}, **{zinc[0]}** |" in text
    assert f"an error of {zinc[0]}, a GNN of the same recipe {zinc[1]} ({zinc[2]} and {zinc[3]} with" in text
    assert f"a GNN with random-walk encodings has {zinc[4]}" in text
    *_, pairs, planar, _ = row_of("expressivity-graphs", "graph and tree, codes")
    assert f"{pairs} told apart, all {planar} planar pairs" in text
    nearest = row_of("Gap to the exact posterior", "300,000", "GNN")
    assert nearest[10] == "-1.0" and "with 300,000 scenes a GNN is 1 point below the optimum" in text
