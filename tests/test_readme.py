"""The README's Python runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_python_of_the_readme_prints_what_its_comments_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(snippets) == 3
    for code in snippets:
        exec(compile(code, "README.md", "exec"), {})
    promised = re.findall(r"^ *print\(.*\)  # (.*)$", "".join(snippets), flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
    assert {path.name for path in tmp_path.iterdir()} == {"htree.svg", "htree.safetensors", "model.safetensors"}
