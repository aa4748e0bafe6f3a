"""Without an optional dependency, what needs it says how to install it, and all else works."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from neuraltrees.errors import MissingExtraError, NeuralTreesError
from neuraltrees.extras import require

ROOT = Path(__file__).resolve().parent.parent
HIDDEN = "import sys; sys.modules.update(dict.fromkeys({modules!r})); "
MESSAGE = "Expected {} to be installed for {}; it is missing. Run: pip install 'neuraltrees[{}]'."


def run(modules: list[str], script: str) -> str:
    """What a fresh interpreter prints on both streams, in which these modules cannot be imported."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", HIDDEN.format(modules=modules) + script]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=200)
    said = ran.stderr.removeprefix("loading …\n")  # on a slow machine
    return f"{ran.stdout}{said}exit {ran.returncode}"


def command(*arguments: object) -> str:
    return f"from neuraltrees.cli import main; main({list(map(str, arguments))!r})"


def test_require_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError) as error:
        require("matplotlib", extra="plots", what="figures")
    assert str(error.value) == MESSAGE.format("matplotlib", "figures", "plots")
    assert isinstance(error.value, NeuralTreesError) and isinstance(error.value, ImportError)


def test_a_module_that_is_there_and_broken_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_a_module.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="no_such_module") as error:
        require("half_a_module", extra="plots", what="figures")
    assert not isinstance(error.value, MissingExtraError)


def test_every_extra_that_is_named_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {"experiments", "hydra", "molecules", "onnx", "plots", "ray", "report", "rerun", "serve", "tensorboard"}
    assert set(extras) == {*named, "all", "docs"}
    assert extras["all"] == [f"neuraltrees[{','.join(sorted(named))}]"]
    assert any(each.startswith("matplotlib") for each in extras["plots"])
    base = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert not any(each.lower().startswith(("matplotlib", "jinja2", "optuna", "ray", "tensorboard")) for each in base)


def test_figures_without_matplotlib() -> None:
    script = "import neuraltrees as nt; nt.draw(nt.Graph([[0], [1]]))"
    assert MESSAGE.format("matplotlib", "figures", "plots") in run(["matplotlib"], script)


@pytest.mark.parametrize("modules", [["matplotlib"], ["jinja2", "matplotlib"]])
def test_the_demo_says_it_before_the_work(modules: list[str], tmp_path: Path) -> None:
    said = run(modules, command("demo", "--out", tmp_path / "demo"))
    assert said == f"Error: {MESSAGE.format(modules[0], 'the report', 'report')}\nexit 2"
    assert not (tmp_path / "demo").exists()


def test_reproduce_says_it_before_the_work(tmp_path: Path) -> None:
    said = run(["matplotlib"], command("reproduce", "expressivity", "--quick", "--out", tmp_path / "out"))
    # A slow machine says that it is loading.
    assert said.removeprefix("loading …\n") == f"Error: {MESSAGE.format('matplotlib', 'figures', 'plots')}\nexit 2"
    assert not (tmp_path / "out").exists()


def test_tune_tunes_without_a_figure(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("dataset: synthetic\nscenes: 20\nconv: gcn\nmodel: gnn\nepochs: 1\nhidden: 4\n")
    grid = ["--layers", "1", "--hidden", "4", "--lr", "0.01", "--dropout", "0.5", "--weight-decay", "0"]
    said = run(["matplotlib"], command("tune", "--config", config, "--out", tmp_path / "out", *grid))
    assert said.endswith("exit 0"), said
    assert f"not drawn. {MESSAGE.format('matplotlib', 'figures', 'plots')}" in said
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"best.yaml", "config.yaml", "tuning.json"}


@pytest.mark.parametrize(
    ("module", "what", "extra"),
    [
        ("fastapi", "neuraltrees serve", "serve"),
        ("uvicorn", "neuraltrees serve", "serve"),
        ("prometheus_client", "neuraltrees serve", "serve"),
    ],
)
def test_a_server_says_what_it_lacks(module: str, what: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from neuraltrees.serving.server import Limits, Server

    monkeypatch.setitem(sys.modules, module, None)
    service = SimpleNamespace(what="nothing", model="none")
    with pytest.raises(MissingExtraError) as error:
        Server(service, Limits(), ("127.0.0.1", 0))  # type: ignore[arg-type]
    assert str(error.value) == MESSAGE.format(module, what, extra)


@pytest.mark.parametrize("name", ["tune", "reproduce", "prepare"])
def test_ray_is_asked_for_before_the_work(name: str, tmp_path: Path) -> None:
    options = {
        "tune": ["--dataset", "synthetic", "--out", tmp_path / "out"],
        "reproduce": ["table1", "--quick", "--out", tmp_path / "out"],
        "prepare": ["--dataset", "synthetic", "--columns", tmp_path / "out"],
    }
    said = run(["ray"], command(name, *options[name], "--executor", "ray"))
    assert said == f"Error: {MESSAGE.format('ray', 'the executor ray', 'ray')}\nexit 2"
    assert not (tmp_path / "out").exists()
