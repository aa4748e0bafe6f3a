// The help dialog.

import { element, make } from "./dom";

const KEYS: [string, string][] = [
  ["/", "search"],
  ["← → ↑ ↓", "turn the scene, or move through the list or the tree, whichever has the focus"],
  ["+ −", "zoom the scene or the tree"],
  ["0", "show the whole scene"],
  ["Enter", "go to the node that is selected in the list"],
  [", .", "previous, next time"],
  ["Space", "play or pause a map that grows"],
  ["[ ]", "previous, next state of the labels"],
  ["N", "show or hide names"],
  ["D", "dark or light colours"],
  ["P", "save the picture as PNG"],
  ["Esc", "clear the selection"],
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
      text("The layers of the scene are drawn above each other. Drag to turn, scroll or pinch to zoom, drag with the right button or two fingers to move; double-click a node to zoom to it."),
      text("Next to it is the H-tree: root bags at the left, joined as in the tree decomposition; to the right of each, its smaller bags and its leaves. Squares are leaves of objects, circles are leaves of rooms. A node may have several leaves."),
      text("Hover over a node or tap it to highlight its leaves and bags; hover over a bag to highlight its nodes. Rings mark changes: a thick ring is another label, a thin ring another confidence, a dashed ring a new node; ✓ is a confirmed label."),
      make("h2", {}, "Keys"),
      table,
      close,
    );
  }
  dialog.showModal();
}
