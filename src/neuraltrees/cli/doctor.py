"""neuraltrees doctor: what is installed, what is missing, and how to install it."""

from __future__ import annotations

import json as to_json
import os
import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Any

import typer

from neuraltrees.cli.options import AsJson, DataRoot
from neuraltrees.cli.terminal import print_table, say, working
from neuraltrees.datasets.inventory import found_datasets
from neuraltrees.datasets.root import VARIABLE, find_data_root
from neuraltrees.version import __version__

# The modules of packages whose names differ in more than hyphens.
MODULES = {"pyyaml": "yaml", "pyzmq": "zmq", "rerun-sdk": "rerun", "scikit-learn": "sklearn"}
OPTIONAL = re.compile(r"""extra == ["']([\w-]+)["']""")


def doctor(data_root: DataRoot = None, json: AsJson = False) -> None:
    """Show the versions, devices, datasets and optional packages found on this machine, and what is missing.

    Every package that is missing comes with the command that installs it. The exit code is 1 if the library cannot
    work, else 0.

    Example: neuraltrees doctor
    """
    with working("looking for packages and datasets"):
        found = {
            "neuraltrees": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "core": _core(),
            "packages": {name: _version(name) for name in _packages(None)},
            "devices": _devices(),
            "data_root": str(find_data_root(data_root)),
            "datasets": found_datasets(data_root),
            "extras": {extra: _missing(extra) for extra in _extras()},
        }
    problems = _problems(found)
    if json:
        print(to_json.dumps(found | {"problems": problems}, indent=1))
    else:
        _show(found, problems)
    if problems:
        raise typer.Exit(1)


def _core() -> dict[str, Any]:
    """Whether the compiled core can be loaded, and from where."""
    from importlib import import_module

    try:
        module = import_module("neuraltrees._core._native")
    except ImportError as error:
        return {"built": False, "error": str(error)}
    return {"built": True, "file": module.__file__}


def _requirements() -> list[str]:
    try:
        return requires("neuraltrees") or []
    except PackageNotFoundError:  # used from its source folder
        return []


def _extras() -> list[str]:
    return sorted({each for line in _requirements() for each in OPTIONAL.findall(line)} - {"all"})


def _packages(extra: str | None) -> list[str]:
    """The packages that the library needs, or that one of its extras needs."""
    lines = [line for line in _requirements() if (OPTIONAL.findall(line) or [None]) == [extra]]
    return [re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0] for line in lines]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _missing(extra: str) -> list[str]:
    """The packages of an extra that cannot be imported."""
    names = {name: MODULES.get(name.lower(), name.lower().replace("-", "_")) for name in _packages(extra)}
    return [name for name, module in names.items() if find_spec(module) is None]


def _devices() -> list[dict[str, Any]]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found: list[dict[str, Any]] = [{"name": "cpu", "cores": cores}]
    if find_spec("torch") is None:
        return found
    import torch

    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        about = torch.cuda.get_device_properties(number)
        found.append({"name": f"cuda:{number}", "what": about.name, "gib": round(about.total_memory / 2**30, 1)})
    return found


def _problems(found: dict[str, Any]) -> list[str]:
    """What keeps the library from working, with the remedy."""
    problems = []
    if not found["core"]["built"]:
        problems.append(
            f"The compiled core cannot be loaded: {found['core']['error']}. Install the wheel, or build it in the "
            f"source folder with a C++20 compiler: pip install ."
        )
    lacking = [name for name, installed in found["packages"].items() if installed is None]
    if lacking:
        problems.append(f"Missing packages. Run: pip install {' '.join(lacking)}")
    return problems


def _show(found: dict[str, Any], problems: list[str]) -> None:
    core = found["core"]
    rows = [
        ("neuraltrees", found["neuraltrees"]),
        ("Python", found["python"]),
        ("platform", found["platform"]),
        ("core", core["file"] if core["built"] else "missing"),
        *((name, installed or "missing") for name, installed in found["packages"].items()),
    ]
    print_table("Versions", (), rows)
    devices = [(each["name"], _device_in_words(each)) for each in found["devices"]]
    if len(devices) == 1:
        devices.append(("cuda", "none found"))
    print_table("Devices", (), devices)
    there = [name for name, is_there in found["datasets"].items() if is_there]
    absent = [name for name, is_there in found["datasets"].items() if not is_there]
    print_table(
        "Datasets",
        (),
        [
            ("data root", f"{found['data_root']} (--data-root, or the environment variable {VARIABLE})"),
            ("found", ", ".join(there) or "none"),
            ("not found", ", ".join(absent) or "none"),
            ("need no files", "synthetic, buildings"),
        ],
    )
    extras = [
        (extra, f"missing {', '.join(names)}. Run: pip install 'neuraltrees[{extra}]'" if names else "installed")
        for extra, names in found["extras"].items()
    ]
    print_table("Extras", (), extras)
    for problem in problems:
        say(problem)
    if not problems:
        say("Everything that the library needs is installed.")


def _device_in_words(device: dict[str, Any]) -> str:
    return f"{device['cores']} cores" if device["name"] == "cpu" else f"{device['what']}, {device['gib']} GiB"
