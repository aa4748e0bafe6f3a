"""What a release needs: one version everywhere, pins that agree, and workflows that call what is there."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import neuraltrees as nt

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def pins(path: str) -> dict[str, str]:
    lines = (ROOT / path).read_text().split()
    assert all("==" in line for line in lines)
    return {name.lower().replace("_", "-"): version for name, version in (line.split("==") for line in lines)}


def test_the_version_stands_in_one_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["scikit-build"]["metadata"]["version"]["input"] == "src/neuraltrees/version.py"
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == nt.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", nt.__version__)


def test_a_tag_of_this_commit_names_the_version() -> None:
    command = ["git", "tag", "--points-at", "HEAD"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    if ran.returncode:
        pytest.skip("needs a git checkout, to see the tags")
    tags = [tag for tag in ran.stdout.split() if re.fullmatch(r"v\d.*", tag)]
    assert tags in ([], [f"v{nt.__version__}"])
    if tags:
        assert re.search(rf"^## {re.escape(nt.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("path", ["docs/requirements.txt", "release/requirements.txt"])
def test_pins_agree(path: str) -> None:
    ours, theirs = pins("requirements.txt"), pins(path)
    assert {name: version for name, version in theirs.items() if ours.get(name, version) != version} == {}


def test_the_wheel_is_built_for_every_python_that_is_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(project["project"]["classifiers"]))
    built = [f"3.{tag[3:5]}" for tag in project["tool"]["cibuildwheel"]["build"]]
    assert promised == built == ["3.11", "3.12", "3.13"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_is_there(path: Path) -> None:
    workflow: dict[str, Any] = yaml.safe_load(path.read_text())
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = "\n".join(step.get("run", "") for step in steps)
    assert set(re.findall(r"\bmake ([a-z-]+)", commands)) <= targets
    named = re.findall(r"\b(?:release|docs|tests)/[\w./]+\.(?:py|txt)", commands)
    assert [each for each in named if not (ROOT / each).exists()] == []
    assert all("@" in step["uses"] for step in steps if "uses" in step)


def test_there_are_workflows_for_tests_and_releases() -> None:
    assert {path.name for path in WORKFLOWS} >= {"test.yml", "release.yml"}
