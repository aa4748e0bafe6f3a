"""A headless browser for tests of pages: what a page logs and asks for is kept, and nothing of it may be foreign."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# WebGL by software: the same picture with and without a graphics card, and inside containers.
ARGUMENTS = ["--no-sandbox", "--enable-unsafe-swiftshader"]


def executable() -> str:
    """The browser of this machine; without one the test is skipped."""
    named = os.environ.get("NEURALTREES_BROWSER")
    found = named or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser was found ({', '.join(BROWSERS)}): install chromium, or set NEURALTREES_BROWSER")
    return found


@contextmanager
def launched() -> Iterator[Any]:
    """A browser of Playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright")
    path = executable()
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Opened:
    """A page that is open, with all it logged and all addresses it asked for."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.path = path
        self.logged: list[str] = []
        self.asked: list[str] = []
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | options))
        self.page = self.context.new_page()
        self.page.on("console", self._log)
        self.page.on("pageerror", lambda error: self.logged.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]", timeout=60_000)

    def _log(self, message: Any) -> None:
        if "GL Driver Message" not in message.text:  # the browser's own remarks on drawing by software
            self.logged.append(message.text)

    def run(self, script: str) -> Any:
        return self.page.evaluate(script)

    def settle(self) -> None:
        """Waits until what changed is drawn."""
        self.run("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def node(self, node_id: str) -> int:
        """The place of a node in the frame that is shown."""
        return int(self.run(f"() => sceneView.store.frame.place.get(sceneView.store.content.ids.indexOf({node_id!r}))"))

    def point(self, canvas: str, place: dict[str, float]) -> tuple[float, float]:
        """A place of a canvas in the window."""
        box = self.page.locator(canvas).bounding_box()
        return box["x"] + place["x"], box["y"] + place["y"]

    def node_point(self, node_id: str) -> tuple[float, float]:
        return self.point("#world", self.run(f"() => sceneView.nodePoint({self.node(node_id)})"))

    def tree_point(self, place: int) -> tuple[float, float]:
        return self.point("#tree", self.run(f"() => sceneView.treePoint({place})"))

    def lit(self) -> dict[str, set[int]] | None:
        found = self.run("() => sceneView.lit()")
        return None if found is None else {key: set(value) for key, value in found.items()}

    def close(self) -> None:
        self.context.close()
