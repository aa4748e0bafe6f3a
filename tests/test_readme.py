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
