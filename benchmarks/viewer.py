"""Benchmarks the page of `neuraltrees view`: its size, and the time to the first picture in headless Chromium.

.venv/bin/python benchmarks/viewer.py
.venv/bin/python benchmarks/viewer.py --rooms 10 125 500 --repeats 5
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.table import Table

from neuraltrees.viewing import scene_page

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.scenes.scenes import building
from tests.viewing.browser import ARGUMENTS, executable

OBJECTS = 15
BAR_SECONDS, BAR_MEGABYTES, BAR_NODES = 2.0, 2.0, 2000
# As soon as the page says that it has drawn, a pixel is read, which waits until everything is drawn indeed. The clock
# starts when the page is asked for.
WATCH = """new MutationObserver((_, observer) => {
  if (!document.documentElement.dataset.ready) return;
  observer.disconnect();
  const gl = document.getElementById("world").getContext("webgl2");
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  window.firstPicture = performance.now() / 1000;
}).observe(document, { attributes: true, subtree: true });"""
# The least that a page with a canvas for 3D can do.
BARE = """<!doctype html><canvas id="world" width="640" height="700"></canvas><script>
const gl = document.getElementById("world").getContext("webgl2", { antialias: true });
gl.clear(gl.COLOR_BUFFER_BIT);
document.documentElement.dataset.ready = "1";
</script>"""
console = Console(width=130)


@dataclass(frozen=True)
class Times:
    """Seconds to the first picture by the clock and of the processor, in a fresh browser."""

    wall: float
    processor: float


def processor_seconds() -> float:
    """What the browser has used so far, all of its processes together."""
    used = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        used += times.user + times.system
    return used


def first_picture(engine: Any, path: Path) -> Times:
    browser = engine.chromium.launch(executable_path=executable(), args=ARGUMENTS)
    try:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(WATCH)
        page.goto("about:blank")
        before = processor_seconds()
        page.goto(path.as_uri())
        page.wait_for_function("() => window.firstPicture", timeout=120_000)
        return Times(page.evaluate("() => window.firstPicture"), processor_seconds() - before)
    finally:
        browser.close()


def row(name: str, path: Path, times: list[Times], bare: list[Times], barred: bool) -> tuple[str, ...]:
    wall, processor = (sorted(getattr(each, key) for each in times) for key in ("wall", "processor"))
    ratio = statistics.median(processor) / statistics.median(each.processor for each in bare)
    size = path.stat().st_size / 1e6
    met = "✓" if statistics.median(wall) <= BAR_SECONDS and size <= BAR_MEGABYTES else "✗"
    bar = f"{BAR_SECONDS:g} s, {BAR_MEGABYTES:g} MB {met}" if barred else "–"
    numbers = (
        f"{wall[0]:.2f}",
        f"{statistics.median(wall):.2f}",
        f"{statistics.median(processor):.2f}",
        f"{ratio:.1f} ×",
    )
    return (name, f"{size:.2f}", *numbers, bar)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rooms", type=int, nargs="+", default=[12, 125, 500], help=f"rooms of {OBJECTS} objects each")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    table = Table("page", "MB", "shortest s", "median s", "processor s", "against bare", "bar (median)")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as engine:
        path = Path(folder) / "bare.html"
        path.write_text(BARE)
        bare = [first_picture(engine, path) for _ in range(given.repeats)]
        table.add_row(*row("bare canvas", path, bare, bare, False))
        for rooms in given.rooms:
            scene = building("grid", rooms, OBJECTS)
            path = Path(folder) / f"{rooms}.html"
            start = time.perf_counter()
            path.write_text(scene_page(scene), "utf-8")
            name = f"{scene.num_nodes:,} nodes, made in {time.perf_counter() - start:.2f} s"
            times = [first_picture(engine, path) for _ in range(given.repeats)]
            table.add_row(*row(name, path, times, bare, scene.num_nodes == BAR_NODES))
    console.print(table)


if __name__ == "__main__":
    main()
