// Mouse, touch and keys on the H-tree.

import type { Forest } from "./forest";
import type { Store } from "./store";

const STILL = 6; // pixels that a click may move

export function listenToForest(forest: Forest, store: Store, announce: (text: string) => void): void {
  followPointers(forest, store);
  forest.canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=" || event.key === "-") return forest.zoom(event.key === "-" ? 0.8 : 1.25);
    const next = forest.step(event.key);
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    forest.cursor = next;
    store.hovered = null;
    store.select({ kind: "bag", index: next });
    forest.show(next);
    announce(described(store, next));
  });
}

function followPointers(forest: Forest, store: Store): void {
  const { canvas } = forest;
  const pointers = new Map<number, { x: number; y: number }>();
  let [moved, strip] = [0, false];
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    moved = 0;
    strip = forest.isOnStrip(event.offsetX);
    if (strip) forest.jump(event.offsetY);
  });
  canvas.addEventListener("pointermove", (event) => {
    const { offsetX, offsetY } = event;
    const last = pointers.get(event.pointerId);
    if (!last) {
      const found = forest.isOnStrip(offsetX) ? null : forest.pick(offsetX, offsetY, Math.max(9, 0.6 * forest.rowHeight));
      store.hover(found === null ? null : { kind: "bag", index: found });
      canvas.style.cursor = found === null ? "default" : "pointer";
      return;
    }
    moved += Math.abs(offsetY - last.y) + Math.abs(offsetX - last.x);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (strip) forest.jump(offsetY);
    else if (other) {
      const factor = (Math.abs(offsetY - other.y) + 20) / (Math.abs(last.y - other.y) + 20);
      forest.zoom(Math.max(0.8, Math.min(1.25, factor)), (offsetY + other.y) / 2);
    } else forest.scrollBy(last.y - offsetY);
    pointers.set(event.pointerId, { x: offsetX, y: offsetY });
  });
  const end = (event: PointerEvent): void => {
    if (!pointers.delete(event.pointerId) || event.type === "pointercancel" || moved > STILL || strip) return;
    const found = forest.pick(event.offsetX, event.offsetY, event.pointerType === "touch" ? 18 : 10);
    forest.cursor = found ?? -1;
    store.select(found === null ? null : { kind: "bag", index: found });
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => pointers.size || store.hover(null));
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) forest.zoom(Math.exp(-0.01 * event.deltaY), event.offsetY);
      else forest.scrollBy(event.deltaY);
    },
    { passive: false },
  );
}

/** A tree node in words. */
function described(store: Store, index: number): string {
  const tree = store.frame.tree!;
  if (tree.node[index] >= 0) return `Leaf: ${store.title(tree.node[index])}`;
  const names = tree.members(index).map((each) => store.title(each));
  return `${tree.parent[index] < 0 ? "Root bag" : "Bag"} of ${names.length}: ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}`;
}
