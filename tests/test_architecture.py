"""docs/architecture.md: every file that it names is there, and the order of the stages is the one that is enforced."""

from __future__ import annotations

import re
from pathlib import Path

from tests.test_imports import ORDER, PACKAGE

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def test_the_files_of_the_table_are_there() -> None:
    table = PAGE.split("## I want to")[1].split("Paths are relative")[0]
    named = [name for name in re.findall(r"`([^`]+)`", table) if re.fullmatch(r"[\w./]+(\.py|\.cpp|\.ts|/)", name)]
    assert len(named) > 25
    outside = ("cpp/", "viewer/")
    missing = [name for name in named if not ((ROOT if name.startswith(outside) else PACKAGE) / name).exists()]
    assert missing == []


def test_the_order_of_the_stages_is_the_one_that_is_enforced() -> None:
    stages = re.findall(r"`(\w+)`", PAGE.split("## The order of the stages")[1].split(";")[0])
    listed = [stage for stage in stages if stage in ORDER]
    assert listed == sorted(listed, key=ORDER.index)
    assert set(ORDER) - set(stages) == {"version", "lazy", "_core"}
