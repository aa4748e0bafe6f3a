// What the page shows and how to use it.

import { element, make } from "./dom";

const KEYS: [string, string][] = [
  ["/", "search"],
  ["← → ↑ ↓", "turn the scene, or move through the list or the tree, whichever has the focus"],
  ["+ −", "zoom the scene or the tree"],
  ["0", "the whole scene again"],
  ["Enter", "go to the node that is selected in the list"],
  [", .", "earlier, later"],
  ["Space", "play a map that grows"],
  ["[ ]", "previous, next state of the labels"],
  ["N", "names on or off"],
  ["D", "dark or light"],
  ["P", "save the picture"],
  ["Esc", "select nothing"],
];

export function showHelp(): void {
  const dialog = element<HTMLDialogElement>("help");
  if (!dialog.childElementCount) {
    const table = make("dl");
    for (const [key, what] of KEYS) table.append(make("dt", {}, ...key.split(" ").flatMap((each) => [make("kbd", {}, each), " "])), make("dd", {}, what));
    const close = make("button", { type: "button" }, "Close");
    close.addEventListener("click", () => dialog.close());
    const text = (line: string): HTMLElement => make("p", {}, line);
    dialog.append(
      make("h2", {}, "Reading this page"),
      text("The layers of the scene stand one above the other. Drag to turn, scroll or pinch to zoom, drag with the right button or two fingers to move; a double click goes to a node."),
      text("Beside it is the H-tree: root bags at the left, joined as in the tree decomposition; below each, to the right, its smaller bags and leaves. Squares are leaves of objects, circles of rooms. A node may have several leaves."),
      text("Hover or tap a node, and its leaves and bags light up; hover a bag, and its nodes do. A ring marks what changed: thick, another label; thin, another confidence; dashed, a new node; ✓ a confirmed label."),
      make("h2", {}, "Keys"),
      table,
      close,
    );
  }
  dialog.showModal();
}
