// The name of the node or bag under the pointer.

import { percent, spaced } from "./content";
import { element, make, word } from "./dom";
import { clipped } from "./overlay";
import type { Store } from "./store";

export class Tooltip {
  private readonly root = element("tooltip");

  constructor(private readonly store: Store) {
    window.addEventListener("pointermove", (event) => {
      const { innerWidth } = window;
      this.root.style.left = `${Math.min(event.clientX + 14, innerWidth - this.root.offsetWidth - 8)}px`;
      this.root.style.top = `${event.clientY + 18}px`;
    });
    store.listen((change) => change === "focus" && this.show());
  }

  private show(): void {
    const { store } = this;
    const { hovered, frame } = store;
    this.root.hidden = hovered === null;
    if (!hovered) return;
    const tree = frame.tree;
    if (hovered.kind === "bag" && tree && tree.node[hovered.index] < 0) {
      const members = tree.members(hovered.index);
      const names = members.slice(0, 6).map((node) => clipped(store.title(node), 22));
      const more = members.length > 6 ? ` and ${members.length - 6} more` : "";
      const kind = tree.parent[hovered.index] < 0 ? "root bag" : "bag";
      return this.root.replaceChildren(make("b", {}, `${kind} of ${members.length}`), make("span", {}, names.join(", ") + more));
    }
    const node = hovered.kind === "bag" ? tree!.node[hovered.index] : hovered.index;
    const label = store.label(node);
    const sure = label?.confirmed ? "confirmed" : label?.confidence != null ? percent(label.confidence) : "";
    const room = frame.room[node] >= 0 ? `in ${clipped(store.title(frame.room[node]), 24)}` : "";
    const about = [spaced(frame.typeName(node)), room, sure].filter(Boolean).join(" · ");
    this.root.replaceChildren(make("b", {}, word(clipped(store.title(node), 40))), make("span", {}, about));
  }
}
