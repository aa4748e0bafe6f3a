"""The page on the theory runs as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

PAGE = Path(__file__).parents[2] / "docs" / "theory.md"


@pytest.fixture(autouse=True)
def default_dtype() -> Iterator[None]:
    """The page works in float64; other tests do not."""
    yield
    torch.set_default_dtype(torch.float32)


def test_python_of_the_page_prints_what_its_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text()
    snippets = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(snippets) == 8
    names: dict[str, object] = {}
    for code in snippets:
        exec(compile(code, PAGE.name, "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    shown = re.findall(r"^    (\(.*\))$", text, flags=re.MULTILINE)  # what a loop prints stands below it
    assert [line for line in printed if line in shown] == shown
    promised = re.findall(r"^ *print\(.*\)  # (.*)$", "".join(snippets), flags=re.MULTILINE)
    assert [line for line in printed if line not in shown] == promised
