"""neuraltrees bench: every operation has a rival, and the ratio is theirs."""

from __future__ import annotations

import json

import pytest

from neuraltrees.cli import main
from neuraltrees.experiments import bench


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("SCENES", 12), ("NODES", 50), ("RUNS", 2), ("POTENTIALS", 3)):
        monkeypatch.setattr(bench, name, size)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as end:
        main(["bench", *arguments])
    return int(end.value.code or 0), capsys.readouterr().out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = run(capsys, "--json")
    rows = json.loads(output)
    assert code == 0 and len(rows) == 4
    for row in rows:
        assert row["ours"] > 0 < row["theirs"]
        assert row["ratio"] == pytest.approx(row["theirs"] / row["ours"])
    assert rows[0]["what"] == "H-trees of 12 generated scenes"


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = run(capsys, "--seed", "3")
    assert code == 0
    assert "1 thread" in output and output.count("×") == 4
