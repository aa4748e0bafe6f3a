// Builds the page from its parts.

import { Card } from "./card";
import { counted, type Content } from "./content";
import { element, make, word } from "./dom";
import { Forest } from "./forest";
import { listenToForest } from "./forest_input";
import { showHelp } from "./help";
import { listenToKeys } from "./keys";
import { Overlay } from "./overlay";
import { Colours, css } from "./palette";
import { Panel } from "./panel";
import { savePicture } from "./picture";
import { States, Timeline } from "./states";
import { Store, type Colouring } from "./store";
import { Tooltip } from "./tooltip";
import { followPointer } from "./pointer";
import { World } from "./world";

const content = JSON.parse(element("content").textContent!) as Content;
const store = new Store(content);
const colours = new Colours(store);

function setTheme(dark: boolean, keep: boolean): void {
  store.dark = dark;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  element("theme").setAttribute("aria-pressed", String(dark));
  if (keep) {
    try {
      localStorage.setItem("neuraltrees-theme", dark ? "dark" : "light");
    } catch {
      // a page from a file may have no storage
    }
  }
  store.tell("theme");
}

function storedTheme(): string | null {
  try {
    return localStorage.getItem("neuraltrees-theme");
  } catch {
    return null;
  }
}

const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
let chosen = storedTheme();
setTheme(chosen ? chosen === "dark" : wantsDark.matches, false);
wantsDark.addEventListener("change", () => chosen || setTheme(wantsDark.matches, false));
const switchTheme = (): void => {
  chosen = store.dark ? "light" : "dark";
  setTheme(chosen === "dark", true);
};
element("theme").addEventListener("click", switchTheme);

const announcer = element("announcer");
const announce = (text: string): void => void (announcer.textContent = text);

function makeWorld(): World | null {
  try {
    return new World(element<HTMLCanvasElement>("world"), store, colours);
  } catch (error) {
    console.warn(`no WebGL: ${error}`);
    element("no-webgl").hidden = false;
    return null;
  }
}

const world = makeWorld();
const overlay = world && new Overlay(element<HTMLCanvasElement>("overlay"), store, colours, world);
const approach = (node: number): void => world?.approach(node);
const forest = new Forest(element<HTMLCanvasElement>("tree"), store, colours);
listenToForest(forest, store, announce);
new Card(store, colours);
const panel = new Panel(store, colours, approach);
new States(store, approach);
const timeline = new Timeline(store);
new Tooltip(store);

if (world && overlay) {
  world.onDrawn = () => overlay.draw();
  followPointer(world, store);
}

const title = element("title");
title.append(word(content.title));

function showSummary(): void {
  const { frame } = store;
  const tree = frame.tree;
  element("summary").textContent = [counted(frame.size, "node"), counted(frame.edges.length / 3, "edge"), frame.note].filter(Boolean).join(" · ");
  element("tree-facts").textContent = tree ? `${tree.size.toLocaleString("en")} nodes · ${tree.note}` : "";
  document.body.classList.toggle("no-tree", store.frames.every((each) => each.tree === null));
}

function showLegend(): void {
  const { entries, scale } = colours.legend();
  const few = entries.slice(0, 10);
  const items = few.map(([name, colour]) => {
    const dot = make("i", { class: "dot" });
    dot.style.background = css(colour);
    return make("span", {}, dot, word(name));
  });
  if (entries.length > few.length) items.push(make("span", {}, `+ ${entries.length - few.length}`));
  element("legend").className = scale ? "scale" : "";
  element("legend").replaceChildren(...items);
}

const colourings: [Colouring, string][] = [["room", "by room"], ["type", "by layer"], ["label", "by label"], ["confidence", "by confidence"]];
const colourChoice = element<HTMLSelectElement>("colour");
colourChoice.append(...colourings.map(([value, text]) => make("option", { value }, text)));
colourChoice.value = store.colouring;
colourChoice.addEventListener("change", () => {
  store.colouring = colourChoice.value as Colouring;
  store.tell("colour");
});
const spread = element<HTMLInputElement>("spread");
spread.addEventListener("input", () => {
  store.spread = Number(spread.value);
  store.tell("spread");
});
const switchNames = (): void => {
  store.namesShown = !store.namesShown;
  element("names").setAttribute("aria-pressed", String(store.namesShown));
  store.tell("names");
  world?.draw();
};
element("names").addEventListener("click", switchNames);
const save = (): void => void (world && savePicture(world, store, content.title));
element("picture").addEventListener("click", save);
element("help-button").addEventListener("click", showHelp);
listenToKeys({ store, world, timeline, search: () => panel.focusSearch(), help: showHelp, theme: switchTheme, names: switchNames, save });

// On narrow screens one of these is shown under the scene.
const tabs = [["list", "Nodes"], ["tree", "H-tree"], ["view", "View"]] as const;
function showTab(name: string): void {
  document.body.dataset.tab = name;
  for (const button of element("tabs").children) button.setAttribute("aria-pressed", String((button as HTMLElement).dataset.tab === name));
}
for (const [name, text] of tabs) {
  const button = make("button", { type: "button", "data-tab": name }, text);
  button.addEventListener("click", () => showTab(name));
  element("tabs").append(button);
}
showTab("tree");

store.listen((change) => {
  if (change === "frame") showSummary();
  if (change === "frame" || change === "state" || change === "colour" || change === "theme") showLegend();
  if (change === "selection" && store.selected?.kind === "node") announce(`${store.title(store.selected.index)}, ${store.frame.typeName(store.selected.index)}`);
});
showSummary();
showLegend();

let fitted = "";
function fit(): void {
  const [stage, box] = [element("stage"), element("tree-box")];
  const size = [stage.clientWidth, stage.clientHeight, box.clientWidth, box.clientHeight, window.devicePixelRatio].join();
  if (size === fitted) return;
  fitted = size;
  overlay?.resize(stage.clientWidth, stage.clientHeight);
  world?.resize(stage.clientWidth, stage.clientHeight);
  forest.resize(box.clientWidth, box.clientHeight);
  world?.drawNow(); // at once, so that nothing flickers
}
const observer = new ResizeObserver(fit);
observer.observe(element("stage"));
observer.observe(element("tree-box"));
fit();
document.documentElement.dataset.ready = String(Math.round(performance.now())); // milliseconds since the page was asked for

/** For tests and for scripts in the console. */
declare global {
  interface Window {
    sceneView: object;
  }
}
window.sceneView = {
  store,
  world,
  nodePoint: (node: number) => world && { x: world.projected.x[node], y: world.projected.y[node] },
  treePoint: (node: number) => forest.point(node),
  camera: () => world && world.view.camera.position.toArray(),
  lit: () => store.lit && { nodes: [...store.lit.nodes], tree: [...store.lit.tree] },
};
