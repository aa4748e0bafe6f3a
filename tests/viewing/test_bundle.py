"""The page that is shipped belongs to the sources in viewer/."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

VIEWER = Path(__file__).parent.parent.parent / "viewer"


def shipped() -> str:
    return files("neuraltrees.viewing").joinpath("viewer.html").read_text("utf-8")


def test_the_shipped_page_was_built_from_the_sources_as_they_are() -> None:
    names = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"]
    names += [f"src/{path.name}" for path in (VIEWER / "src").iterdir()]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(f"{name}\n{(VIEWER / name).read_text('utf-8')}\n".encode())
    (found,) = re.findall(r'<meta name="viewer-sources" content="(\w+)">', shipped())
    assert found == digest.hexdigest(), "viewer/ was changed after the page was built: run `make viewer`"


def test_building_it_again_gives_the_same_bytes(tmp_path: Path) -> None:
    if shutil.which("node") is None or not (VIEWER / "node_modules").is_dir():
        pytest.skip("Node.js or viewer/node_modules is missing; `make viewer` installs what the page is built from")
    command = ["node", "build.mjs", str(tmp_path / "viewer.html")]
    subprocess.run(command, cwd=VIEWER, check=True, capture_output=True, timeout=300)
    assert (tmp_path / "viewer.html").read_text("utf-8") == shipped()


def test_the_licence_of_three_is_in_the_page() -> None:
    page = shipped()
    assert "three.js authors" in page
    assert "The above copyright notice and this permission notice shall be included" in page


def test_versions_are_pinned() -> None:
    import json

    package = json.loads((VIEWER / "package.json").read_text())
    lock = json.loads((VIEWER / "package-lock.json").read_text())["packages"]
    assert package["devDependencies"]["three"]
    for name, version in package["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        assert lock[f"node_modules/{name}"]["version"] == version
    assert all("integrity" in each for path, each in lock.items() if path)
