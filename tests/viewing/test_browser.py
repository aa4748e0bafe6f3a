"""The page in a browser: hovering links scene and tree both ways, and keys, touch, search and slider work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuraltrees.scenes import LabelState, NodeLabel, Scene, SceneNode, SceneTracker, read_scene, typed_tree
from neuraltrees.viewing import SceneFrame, write_scene_page
from tests.scenes.scenes import building
from tests.viewing.browser import ARGUMENTS, Opened, executable, launched

EVIL = "</script><script>window.broken=1</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


def house() -> Scene:
    nodes = [
        SceneNode("house", "building", position=(4, 2, 1)),
        SceneNode("kitchen", "room", position=(1, 2, 1), size=(4, 4, 2.5)),
        SceneNode("bath", "room", position=(8, 2, 1), size=(3, 4, 2.5)),
        SceneNode("oven", "object", position=(0, 1, 0.5), size=(0.8, 0.8, 0.9)),
        SceneNode("fridge", "object", position=(2.4, 3.4, 0.9), size=(0.7, 0.7, 1.8)),
        SceneNode("tub", "object", position=(8, 3, 0.3), size=(1.7, 0.8, 0.6), name=EVIL),
        SceneNode("sink", "object", position=(9, 0.5, 0.8), size=(0.5, 0.4, 0.2)),
    ]
    edges = [("kitchen", "house"), ("bath", "house"), ("kitchen", "bath"), ("oven", "kitchen"), ("fridge", "kitchen")]
    return Scene.of(nodes, [*edges, ("tub", "bath"), ("sink", "bath")])


def states() -> list[LabelState]:
    before = {
        "kitchen": NodeLabel("office", probabilities={"office": 0.5, "kitchen": 0.45}),
        "oven": NodeLabel("box", probabilities={"box": 0.6, "oven": 0.4}),
        "bath": NodeLabel("bath", probabilities={"bath": 0.5}),
    }
    after = {
        "kitchen": NodeLabel("kitchen", probabilities={"kitchen": 0.9, "office": 0.05}),
        "oven": NodeLabel("oven", probabilities={"oven": 1.0}),
        "bath": NodeLabel("bath", probabilities={"bath": 0.52}),
    }
    return [LabelState("predicted", before), LabelState("oven confirmed", after, confirmed={"oven"})]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    write_scene_page(house(), folder / "house.html", title=f"House {EVIL}")
    write_scene_page(house(), folder / "states.html", labels=states())
    tracker = SceneTracker(Scene.of([SceneNode("hall", "room", position=(0, 0, 1), size=(3, 3, 2))]))
    frames = [SceneFrame(tracker.scene, "first", tree=tracker.tree)]
    for number in range(3):
        tracker.update([SceneNode(f"box {number}", "object", position=(number, 0, 0.5), size=(0.5, 0.5, 0.5))])
        tracker.update(edges=[(f"box {number}", "hall")])
        frames.append(SceneFrame(tracker.scene, f"with box {number}", tree=tracker.tree))
    write_scene_page(frames, folder / "growing.html")
    before, after = states()
    uneven = [SceneFrame(house(), "two", (before, after)), SceneFrame(house(), "three", (before, before, after))]
    write_scene_page(uneven, folder / "uneven.html")
    write_scene_page(building("grid", 125, 15), folder / "large.html")
    return {path.stem: path for path in folder.iterdir()}


@pytest.fixture
def opened(browser: Any, pages: dict[str, Path]) -> Iterator[Any]:
    """Opens pages; at the end none has logged an error or asked for anything but itself."""
    found: list[Opened] = []

    def open_page(name: str, **options: Any) -> Opened:
        found.append(Opened(browser, pages[name], **options))
        return found[-1]

    yield open_page
    for each in found:
        foreign = [
            url for url in each.asked if url not in (each.path.as_uri(), "data:,") and not url.startswith("blob:")
        ]
        each.close()
        assert each.logged == [] and foreign == []


def test_the_policy_stops_requests_and_foreign_code(browser: Any, pages: dict[str, Path]) -> None:
    view = Opened(browser, pages["house"])
    refused: dict[str, str] = {}
    view.page.on("requestfailed", lambda request: refused.update({request.url: request.failure}))
    sent = view.run("() => fetch('https://example.invalid/x').then(() => 'sent', () => 'stopped')")
    view.run(
        """() => {
          for (const part of ["window.broken = 2", "window.broken = 3"]) {
            const script = document.createElement("script");
            script.textContent = part;
            document.body.append(script);
          }
          const image = document.createElement("img");
          image.src = "https://example.invalid/image.png";
          document.body.append(image);
        }"""
    )
    view.page.wait_for_function("() => document.images[0].complete")
    assert sent == "stopped" and view.run("() => window.broken") is None
    assert {refused.get(url) for url in view.asked if "example" in url} == {"csp"}
    assert all("Content Security Policy" in line for line in view.logged) and len(view.logged) >= 4
    view.close()


def test_without_webgl_the_list_and_the_tree_work(browser: Any, pages: dict[str, Path]) -> None:
    arguments = [*ARGUMENTS, "--disable-3d-apis"]
    other = browser.browser_type.launch(executable_path=executable(), args=arguments)
    view = Opened(other, pages["house"])
    assert view.page.locator("#no-webgl").is_visible()
    view.page.mouse.move(*view.tree_point(0))
    assert view.lit() is not None
    view.page.locator("#search").fill("oven")
    view.page.locator(".row").click()
    assert view.run("() => sceneView.store.selected.index") == view.node("oven")
    assert view.logged and all("WebGL" in line for line in view.logged)
    other.close()


@pytest.mark.parametrize("name", ["empty", "single", "from nothing"])
def test_scenes_with_next_to_nothing(name: str, browser: Any, tmp_path: Path) -> None:
    nothing, one = Scene.of([]), Scene.of([SceneNode("a", "thing")])
    shown = {"empty": [nothing], "single": [one], "from nothing": [nothing, one, nothing]}[name]
    write_scene_page(shown, tmp_path / "page.html")
    view = Opened(browser, tmp_path / "page.html")
    for number in range(len(shown)):
        view.run(f"() => sceneView.store.setFrame({number})")
        view.settle()
    assert view.logged == []
    view.close()


@pytest.mark.parametrize("name", ["hydra_gnn/x8F5xyUWy9e_0_gt_partial_dsg_600", "spark_dsg/apartment_igx_dsg"])
def test_shared_scenes(name: str, browser: Any, data_root: Path, tmp_path: Path) -> None:
    scene = read_scene(data_root / "dsg" / f"{name}.json")
    write_scene_page(scene, tmp_path / "page.html")
    view = Opened(browser, tmp_path / "page.html")
    tree = typed_tree(scene)
    node = tree.graph.ids[3]
    view.page.locator("#search").fill(str(node))
    view.page.locator(".row").first.hover()
    holding = {i for i in range(tree.htree.num_nodes) if 3 in tree.htree.bag(i)}
    assert view.lit() == {"nodes": {scene.number[node]}, "tree": holding}
    assert view.logged == [] and set(view.asked) <= {view.path.as_uri(), "data:,"}
    view.close()


def test_it_draws(opened: Any) -> None:
    view = opened("house")
    assert view.page.title() == f"House {EVIL}" == view.page.locator("#title").inner_text()
    assert view.page.locator("#summary").inner_text().startswith("7 nodes")
    assert view.run("() => window.broken") is None
    # The canvas is not empty: many colours where the layers are.
    shot = view.page.locator("#stage").screenshot()
    assert len(shot) > 15_000
    assert view.page.locator("#no-webgl").is_hidden()


def test_a_name_that_is_html_is_text(opened: Any) -> None:
    view = opened("house")
    view.page.locator("#search").fill("window.broken")
    assert view.page.locator(".row").count() == 1
    view.page.locator(".row").hover()
    assert EVIL in view.page.locator("#card").inner_text()
    assert view.run("() => window.broken") is None and view.page.locator("#card script").count() == 0


def test_hovering_a_node_lights_its_leaves_and_bags(opened: Any) -> None:
    view = opened("house")
    scene = house()
    tree = typed_tree(scene)
    for name in ("kitchen", "tub"):
        view.page.mouse.move(*view.node_point(name))
        view.settle()
        node = tree.graph.ids.index(name)
        holding = {i for i in range(tree.htree.num_nodes) if node in tree.htree.bag(i)}
        assert view.lit() == {"nodes": {scene.number[name]}, "tree": holding}
        assert not view.page.locator("#tooltip").is_hidden()
    view.page.mouse.move(300, 70)
    view.settle()
    assert view.lit() is None and view.page.locator("#tooltip").is_hidden()


def test_hovering_the_tree_lights_the_nodes_of_the_bag(opened: Any) -> None:
    view = opened("house")
    scene = house()
    tree = typed_tree(scene)
    number = [scene.number[name] for name in tree.graph.ids]
    for place in range(tree.htree.num_nodes):
        view.page.mouse.move(*view.tree_point(place))
        view.settle()
        bag = {number[v] for v in tree.htree.bag(place)}
        found = view.lit()
        assert found is not None and found["nodes"] == bag and place in found["tree"]
    picture = view.page.locator("#overlay").screenshot()
    view.page.mouse.move(300, 70)
    view.settle()
    assert view.page.locator("#overlay").screenshot() != picture


def test_the_list_lights_as_well_and_search_finds(opened: Any) -> None:
    view = opened("house")
    page = view.page
    page.keyboard.press("/")
    page.keyboard.type("OVEN kitch")
    assert page.locator("#matches").inner_text() == "1 node of 7"
    page.locator(".row").hover()
    assert view.lit()["nodes"] == {view.node("oven")}
    page.locator(".row").click()
    page.mouse.move(640, 60)
    assert view.lit()["nodes"] == {view.node("oven")}, "a click selects"
    page.locator("#search").fill("no such thing")
    assert page.locator(".row").count() == 0 and page.locator("#matches").inner_text() == "0 nodes of 7"


def test_keys(opened: Any) -> None:
    view = opened("house")
    page = view.page
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    selected = view.run("() => sceneView.store.selected")
    assert selected == {"kind": "node", "index": view.node("house")}
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert view.run("() => sceneView.store.selected.index") == view.node("bath")
    option = page.locator("#list").get_attribute("aria-activedescendant")
    assert page.locator(f"#{option}").get_attribute("aria-selected") == "true"
    before = view.run("() => sceneView.camera()")
    page.keyboard.press("Enter")
    assert view.run("() => sceneView.camera()") != before, "Enter goes there"
    page.locator("#world").focus()
    for key in ("ArrowLeft", "ArrowUp", "+", "-"):
        before = view.run("() => sceneView.camera()")
        page.keyboard.press(key)
        assert view.run("() => sceneView.camera()") != before, key
    page.keyboard.press("Escape")
    assert view.run("() => sceneView.store.selected") is None
    page.locator("#tree").focus()
    page.keyboard.press("ArrowDown")
    assert view.run("() => sceneView.store.selected.kind") == "bag"
    page.keyboard.press("ArrowRight")
    assert view.page.locator("#announcer").inner_text() != ""
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
    page.keyboard.press("n")
    assert page.locator("#names").get_attribute("aria-pressed") == "false"


def test_everything_can_be_reached_by_tab(opened: Any) -> None:
    page = opened("states").page
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("() => document.activeElement.id || document.activeElement.className"))
    assert {
        "colour",
        "spread",
        "names",
        "theme",
        "help-button",
        "search",
        "list",
        "world",
        "tree",
        "compare",
    } <= reached


def test_the_slider_changes_the_scene(opened: Any) -> None:
    view = opened("growing")
    page = view.page
    assert (
        page.locator("#moment").inner_text().startswith("4 / 4 · with box 2")
        and view.run("() => sceneView.store.frame.size") == 4
    )
    page.locator("#time").focus()
    page.keyboard.press("ArrowLeft")
    assert view.run("() => sceneView.store.frame.size") == 3
    assert "+1" in page.locator("#moment").inner_text()
    assert page.locator(".row .new").count() == 1
    page.locator("#time").fill("0")
    assert page.locator("#summary").inner_text().startswith("1 node ·")
    page.locator("#world").focus()
    page.keyboard.press(".")
    assert view.run("() => sceneView.store.frameNumber") == 1
    page.keyboard.press(",")
    page.keyboard.press("Space")
    page.wait_for_function("() => sceneView.store.frameNumber === 3", timeout=30_000)
    assert page.locator("#play").get_attribute("aria-label") == "Play", "it stops at the end"


def test_a_selected_node_stays_selected_over_time(opened: Any) -> None:
    view = opened("growing")
    view.run("() => sceneView.store.select({kind: 'node', index: 2})")
    view.run("() => sceneView.store.setFrame(2)")
    assert view.run("() => sceneView.store.selected.index") == view.node("box 1")
    view.run("() => sceneView.store.setFrame(0)")
    assert view.run("() => sceneView.store.selected") is None


def test_what_changed_when_a_label_was_confirmed(opened: Any) -> None:
    view = opened("states")
    page = view.page
    assert page.locator("#change-count").inner_text() == "2 labels changed, 0 with another confidence"
    lines = page.locator(".changes li").all_inner_texts()
    assert lines == ["✓ oven confirmed", "office 50 % → kitchen 90 %"]
    assert page.locator(".row.changed").count() == 2
    page.locator(".changes button").nth(1).hover()
    assert view.lit()["nodes"] == {view.node("kitchen")}
    card = page.locator("#card").inner_text()
    assert "before: office 50 %" in card and "90 %" in card
    page.keyboard.press("[")
    assert view.run("() => sceneView.store.state") == 0
    assert page.locator("#change-count").count() == 0
    page.locator("#compare").select_option("1")
    assert "kitchen 90 % → office 50 %" in page.locator(".changes").inner_text()


def test_a_frame_with_fewer_states_is_not_compared_with_itself(opened: Any) -> None:
    view = opened("uneven")
    assert view.run("() => [sceneView.store.state, sceneView.store.compared]") == [2, 1]
    view.run("() => sceneView.store.setFrame(0)")
    assert view.run("() => [sceneView.store.state, sceneView.store.compared]") == [1, 0]
    assert view.page.locator("#change-count").inner_text().startswith("2 labels changed")


def test_dark_follows_the_system_and_the_switch(opened: Any) -> None:
    def ground(view: Opened) -> str:
        return str(view.run("() => getComputedStyle(document.body).backgroundColor"))

    light, dark = opened("house", color_scheme="light"), opened("house", color_scheme="dark")
    assert ground(light) != ground(dark)
    light.page.locator("#theme").click()
    assert ground(light) == ground(dark) and light.page.locator("#theme").get_attribute("aria-pressed") == "true"
    light.page.keyboard.press("d")
    assert light.run("() => document.documentElement.dataset.theme") == "light"
    dark.page.emulate_media(color_scheme="light")
    dark.page.wait_for_function("() => document.documentElement.dataset.theme === 'light'")


def test_touch_on_a_small_screen(opened: Any) -> None:
    view = opened("house", viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    page = view.page
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    page.touchscreen.tap(*view.node_point("oven"))
    assert view.run("() => sceneView.store.selected") == {"kind": "node", "index": view.node("oven")}
    page.locator("#tabs [data-tab=tree]").tap()
    page.touchscreen.tap(*view.tree_point(0))
    assert view.run("() => sceneView.store.selected") == {"kind": "bag", "index": 0}
    page.locator("#tabs [data-tab=list]").tap()
    page.locator(".row").nth(3).tap()
    assert view.run("() => sceneView.store.selected.kind") == "node"
    page.locator("#tabs [data-tab=view]").tap()
    page.locator("#colour").select_option("type")
    assert view.run("() => sceneView.store.colouring") == "type"


def test_layers_and_colours(opened: Any) -> None:
    view = opened("states")
    page = view.page
    buttons = page.locator("#layers button").all_inner_texts()
    assert [text.split()[0] for text in buttons] == ["Buildings", "Rooms", "Objects"]
    page.locator("#layers button").nth(2).click()
    assert page.locator(".row").count() == 3
    page.mouse.move(*view.node_point("oven"))
    view.settle()
    lit = view.lit()
    assert lit is None or view.node("oven") not in lit["nodes"]
    page.locator("#layers button").nth(2).click()
    for colouring in ("type", "label", "confidence", "room"):
        page.locator("#colour").select_option(colouring)
        assert page.locator("#legend span").count() > 0
    height = view.run("() => sceneView.nodePoint(0).y - sceneView.nodePoint(3).y")
    page.locator("#spread").fill("0")
    view.settle()
    assert abs(view.run("() => sceneView.nodePoint(0).y - sceneView.nodePoint(3).y")) < abs(height) / 2


def test_the_picture_can_be_saved(opened: Any, tmp_path: Path) -> None:
    view = opened("states")
    with view.page.expect_download() as download:
        view.page.locator("#picture").click()
    download.value.save_as(tmp_path / "picture.png")
    content = (tmp_path / "picture.png").read_bytes()
    assert download.value.suggested_filename == "Scene-graph.png"
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_2000_nodes(opened: Any) -> None:
    view = opened("large")
    assert view.run("() => sceneView.store.frame.size") == 2000
    assert view.page.locator(".row").count() < 60, "only rows in view are elements"
    view.page.locator("#search").fill("object 124.14")
    assert view.page.locator(".row").count() == 1
    view.page.locator(".row").click()
    leaf = view.run("() => [...sceneView.lit().tree].find((i) => sceneView.store.frame.tree.node[i] >= 0)")
    assert 0 < view.run(f"() => sceneView.treePoint({leaf}).y") < 800, "the tree scrolls to the leaf"
