// Keys that work anywhere on the page.

import type { Timeline } from "./states";
import type { Store } from "./store";
import type { World } from "./world";

interface Parts {
  store: Store;
  world: World | null;
  timeline: Timeline;
  search: () => void;
  help: () => void;
  theme: () => void;
  names: () => void;
  save: () => void;
}

export function listenToKeys({ store, world, timeline, search, help, theme, names, save }: Parts): void {
  const anywhere: Record<string, () => void> = {
    "/": search,
    "?": help,
    d: theme,
    n: names,
    p: save,
    "0": () => world?.home(),
    ",": () => timeline.step(-1),
    ".": () => timeline.step(1),
    "[": () => store.setState(store.state - 1),
    "]": () => store.setState(store.state + 1),
    Escape: () => store.select(null),
    " ": () => timeline.toggle(),
  };
  const onWorld: Record<string, () => void> = {
    ArrowLeft: () => world?.view.turn(-0.12, 0),
    ArrowRight: () => world?.view.turn(0.12, 0),
    ArrowUp: () => world?.view.turn(0, 0.1),
    ArrowDown: () => world?.view.turn(0, -0.1),
    "+": () => world?.view.zoom(0.85),
    "=": () => world?.view.zoom(0.85),
    "-": () => world?.view.zoom(1.18),
    Home: () => world?.home(),
  };
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog")) return;
    if (target.closest("select, textarea, input")) {
      const range = target instanceof HTMLInputElement && (target.type === "range" || target.type === "radio");
      if (!range || event.key.startsWith("Arrow") || event.key === "Home" || event.key === " ") return;
    }
    if (event.key === " " && target.closest("button")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = (target === world?.canvas ? onWorld[key] : undefined) ?? anywhere[key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
