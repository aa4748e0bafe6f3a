"""What all commands have in common: examples, names of options, --json, --quiet and --verbose, and completion."""

from __future__ import annotations

import inspect
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
import typer.main

from neuraltrees.cli import COMMANDS, app, main
from neuraltrees.cli.terminal import Volume, notes

CLICK: Any = typer.main.get_command(app)
GOLDEN = "p tw 5 6\n1 2\n1 3\n2 4\n3 4\n3 5\n4 5\n"


@pytest.fixture(autouse=True)
def usual_volume() -> Any:
    yield
    Volume.set(quiet=False, verbose=False)


def examples(name: str) -> list[str]:
    """The examples in the help of a command, without the word before them."""
    found = re.findall(r"^ *(?:Example|Molecules): (.*)$", inspect.getdoc(COMMANDS[name]) or "", flags=re.MULTILINE)
    return [str(each) for each in found]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_parses(name: str) -> None:
    assert examples(name)
    for example in examples(name):
        program, command, *arguments = shlex.split(example)
        assert (program, command) == ("neuraltrees", name)
        CLICK.commands[name].make_context(name, arguments).close()


def test_an_example_that_does_not_parse_would_be_noticed() -> None:
    with pytest.raises(typer.TyperException, match="--no-such-option"):
        CLICK.commands["bench"].make_context("bench", ["--no-such-option"])


@pytest.mark.parametrize("arguments", [[], *([name] for name in COMMANDS)], ids=["neuraltrees", *COMMANDS])
def test_flags_are_listed_without_a_type(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`--json <bool>` would look as if a value had to follow."""
    with pytest.raises(SystemExit):
        main([*arguments, "--help"])
    help_text = capsys.readouterr().out
    assert "--help" in help_text and "<bool>" not in help_text


def plain_type(annotation: Any) -> str:
    """The name of a type, whether it may be None or not; paths and choices are texts."""
    if get_origin(annotation) is Literal:
        return "str"
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)] or [annotation]
    texts = (str, Path, StrEnum)
    return ", ".join("str" if isinstance(kind, type) and issubclass(kind, texts) else str(kind) for kind in kinds)


def test_one_name_means_one_thing() -> None:
    """The same option has the same type and the same short form wherever it is."""
    kinds: dict[str, set[Any]] = defaultdict(set)
    for command in CLICK.commands.values():
        for option in (each for each in command.params if each.opts[0].startswith("-")):
            for flag in option.opts:
                kinds[flag].add((plain_type(option.type_descriptor.annotation), option.is_flag))
    differ = {flag: found for flag, found in kinds.items() if len(found) > 1}
    lists = {"--layers", "--hidden", "--lr", "--dropout", "--weight-decay"}  # several values of each, to tune
    assert set(differ) - lists == set(), differ


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_json_and_can_be_quiet(name: str) -> None:
    flags = {flag for each in CLICK.commands[name].params for flag in each.opts}
    assert {"--json", "--quiet", "-q", "--verbose", "-v"} <= flags


def test_quiet_hides_notes_and_keeps_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges = tmp_path / "friends.csv"
    edges.write_text("source,target,since\nada,bob,3\n")
    said = {}
    for flag in ("--quiet", "--verbose"):
        with pytest.raises(SystemExit) as end:
            main(["decompose", str(edges), flag])
        assert not end.value.code
        said[flag] = capsys.readouterr()
    assert said["--quiet"].err == ""
    assert "width" in said["--quiet"].out
    assert "Not used of friends.csv: since." in said["--verbose"].err
    assert re.search(r"^reading friends.csv: \d+\.\d\d s$", said["--verbose"].err, flags=re.MULTILINE)


def test_verbose_shows_where_an_error_arose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.gr"
    path.write_text("p tw x\n")
    for flag, traced in (("--quiet", False), ("--verbose", True)):
        with pytest.raises(SystemExit) as end:
            main(["decompose", str(path), flag])
        assert end.value.code == 2
        errors = capsys.readouterr().err
        assert "Error:" in errors
        assert ("Traceback" in errors) == traced


def test_quiet_and_verbose_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["doctor", "--quiet", "--verbose"])
    assert end.value.code == 2
    assert capsys.readouterr().err == "Error: Expected one of --quiet and --verbose; got both.\n"
    assert not notes.quiet


MISTYPED = {
    "command": (["trian"], "Expected a command out of demo, .*; got 'trian'. Did you mean train?"),
    "option": (["train", "--epochz", "3"], "an option of neuraltrees train; got '--epochz'. Did you mean --epochs?"),
    "dataset": (["train", "--dataset", "synthtic"], "Did you mean synthetic?"),
    "model": (["train", "--model", "neuraltree"], "got 'neuraltree'. Did you mean neural-tree?"),
    "conv": (["train", "--conv", "saeg"], "got 'saeg'. Did you mean sage?"),
    "choice": (["infer", "x.bif", "--task", "marg"], "got 'marg'. Did you mean mar?"),
    "method": (["decompose", "x.gr", "--method", "min_fil"], "got 'min_fil'. Did you mean min_fill?"),
    "experiment": (["reproduce", "tabel1"], "got 'tabel1'. Did you mean table1?"),
    "trained model": (["predict", "solubilty", "CCO"], "got 'solubilty'. Did you mean solubility?"),
}


@pytest.mark.parametrize("case", MISTYPED)
def test_mistyped_names_are_suggested(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, message = MISTYPED[case]
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert re.search(message.replace("?", r"\?"), capsys.readouterr().err)


def test_names_that_are_like_nothing_get_no_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["xyzzy"])
    assert "Did you mean" not in capsys.readouterr().err


def run_in_terminal(*arguments: str, **environment: str) -> str:
    """What a command prints when its standard output is a terminal."""
    main_end, other_end = pty.openpty()
    settings = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    ran = subprocess.Popen(
        [sys.executable, "-m", "neuraltrees", *arguments],
        stdout=other_end,
        stderr=subprocess.DEVNULL,
        env=settings | {"TERM": "xterm-256color", "COLUMNS": "120"} | environment,
    )
    os.close(other_end)
    parts = []
    while True:
        try:
            part = os.read(main_end, 65536)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        parts.append(part)
    os.close(main_end)
    assert ran.wait(60) == 0
    return b"".join(parts).decode()


COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|38|9[0-7])")


def test_colours_are_for_terminals_alone(tmp_path: Path) -> None:
    path = tmp_path / "golden.gr"
    path.write_text(GOLDEN)
    assert "\x1b[" in run_in_terminal("decompose", str(path))
    assert COLOUR.search(run_in_terminal("--help"))
    assert not COLOUR.search(run_in_terminal("--help", NO_COLOR="1"))
    command = [sys.executable, "-m", "neuraltrees", "decompose", str(path)]
    piped = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200)
    assert "\x1b" not in piped.stdout + piped.stderr


def test_completion_completes_commands_and_options() -> None:
    for words, number, expected in (("neuraltrees tr", "1", "train"), ("neuraltrees train --ep", "2", "--epochs")):
        settings = os.environ | {"COMP_WORDS": words, "COMP_CWORD": number, "_NEURALTREES_COMPLETE": "complete_bash"}
        command = Path(sys.executable).parent / "neuraltrees"
        ran = subprocess.run([str(command)], capture_output=True, text=True, env=settings, check=False, timeout=200)
        assert ran.stdout.split() == [expected]


def test_experiments_are_listed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["reproduce", "--list", "--json"])
    listed = json.loads(capsys.readouterr().out)
    assert {"name": "table1"}.items() <= listed[0].items()
    assert all(each["what"] for each in listed)


def test_tune_and_demo_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("dataset: synthetic\nscenes: 20\nconv: gcn\nmodel: gnn\nepochs: 1\nhidden: 4\n")
    grid = ["--layers", "1,2", "--hidden", "4", "--lr", "0.01", "--dropout", "0.5", "--weight-decay", "0"]
    with pytest.raises(SystemExit) as end:
        main(["tune", "--config", str(config), "--out", str(tmp_path / "tuned"), *grid, "--json", "--quiet"])
    said = capsys.readouterr()
    assert (end.value.code or 0, said.err) == (0, "")
    found = json.loads(said.out)
    assert found["metric"] == "accuracy" and found["best"]["layers"] in (1, 2)
    assert {trial["point"]["layers"] for trial in found["trials"]} == {1, 2}
    assert Path(found["config"]).exists()

    size = ["--scenes", "12", "--runs", "1", "--epochs", "1", "--workers", "1"]
    with pytest.raises(SystemExit) as end:
        main(["demo", "--out", str(tmp_path / "demo"), *size, "--json"])
    assert not end.value.code
    found = json.loads(capsys.readouterr().out)
    assert len(found["networks"]) == 8 and Path(found["report"]).exists()
    assert 0 <= found["exact_head"] <= 1 and 0 < found["optimum"] <= 1
