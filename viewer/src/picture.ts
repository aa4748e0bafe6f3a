// The picture as a PNG file, names included.

import { css } from "./palette";
import { theme } from "./palette";
import type { Store } from "./store";
import type { World } from "./world";

export function savePicture(world: World, store: Store, title: string): void {
  world.drawNow(); // the drawing buffer is kept only until the browser has shown it
  const overlay = document.getElementById("overlay") as HTMLCanvasElement;
  const canvas = document.createElement("canvas");
  canvas.width = world.canvas.width;
  canvas.height = world.canvas.height;
  const context = canvas.getContext("2d")!;
  context.fillStyle = css(theme(store.dark).ground);
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(world.canvas, 0, 0);
  context.drawImage(overlay, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => {
    if (!blob) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "scene"}.png`;
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }, "image/png");
}
