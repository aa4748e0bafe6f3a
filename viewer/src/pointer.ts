// Mouse, pen and touch on the scene: hovering highlights, a click or tap selects, a double click zooms to a node.

import type { Store } from "./store";
import type { World } from "./world";

const STILL = 6; // pixels that a click may move

export function followPointer(world: World, store: Store): void {
  const { canvas } = world;
  let start: { x: number; y: number } | null = null;
  let down = 0;
  canvas.addEventListener("pointerdown", (event) => {
    down++;
    start = { x: event.offsetX, y: event.offsetY };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch" || down) return;
    const node = world.pick(event.offsetX, event.offsetY, 5);
    store.hover(node === null ? null : { kind: "node", index: node });
    canvas.style.cursor = node === null ? "grab" : "pointer";
  });
  const up = (event: PointerEvent): void => {
    down = Math.max(0, down - 1);
    if (event.type === "pointercancel" || !start || Math.hypot(event.offsetX - start.x, event.offsetY - start.y) > STILL) return;
    const node = world.pick(event.offsetX, event.offsetY, event.pointerType === "touch" ? 18 : 6);
    store.select(node === null ? null : { kind: "node", index: node });
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => store.hover(null));
  canvas.addEventListener("dblclick", (event) => {
    const node = world.pick(event.offsetX, event.offsetY, 6);
    if (node === null) world.home();
    else world.approach(node);
  });
}
