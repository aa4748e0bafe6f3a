// States of the labels and what changed between them; the time of a map that grows.

import { counted, percent, spaced } from "./content";
import { element, make, word } from "./dom";
import { clipped } from "./overlay";
import type { Difference, Store } from "./store";

const MOST_CHANGES = 60;

export class States {
  private readonly root = element("states");

  constructor(
    private readonly store: Store,
    private readonly approach: (node: number) => void,
  ) {
    store.listen((change) => {
      if (change === "frame" || change === "state") this.show();
    });
    this.show();
  }

  private show(): void {
    const { store } = this;
    const names = store.frame.stateNames;
    this.root.hidden = names.length < 2;
    if (this.root.hidden) return this.root.replaceChildren();
    const choice = make("div", { class: "segments", role: "radiogroup", "aria-label": "State" });
    names.forEach((name, i) => {
      const input = make("input", { type: "radio", name: "state", value: i });
      input.checked = i === store.state;
      input.addEventListener("change", () => store.setState(i));
      choice.append(make("label", {}, input, word(name)));
    });
    const compare = make("select", { id: "compare", "aria-label": "Compared with" }, make("option", { value: -1 }, "nothing"));
    names.forEach((name, i) => i !== store.state && compare.append(make("option", { value: i }, name)));
    compare.value = String(store.compared);
    compare.addEventListener("change", () => store.setState(store.state, Number(compare.value)));
    const parts: Node[] = [make("h2", {}, "Labels"), choice, make("label", { class: "field" }, make("span", {}, "compared with"), compare)];
    if (store.compared >= 0) parts.push(...this.changes());
    this.root.replaceChildren(...parts);
  }

  private changes(): Node[] {
    const found = this.store.differences;
    const renamed = found.filter((each) => each.renamed).length;
    const list = make("ul", { class: "changes" });
    for (const each of found.slice(0, MOST_CHANGES)) list.append(make("li", {}, this.button(each)));
    const what = found.length ? `${counted(renamed, "label")} changed, ${found.length - renamed} with another confidence` : "No label changed.";
    return [make("p", { id: "change-count" }, what), list];
  }

  private button({ node, before, after, renamed, gain }: Difference): HTMLElement {
    const { store } = this;
    const sure = (p: number | null | undefined): string => (p == null ? "" : ` ${percent(p)}`);
    const button = make("button", { type: "button", class: renamed ? "renamed" : "" });
    if (after?.confirmed) button.append("✓ ", word(spaced(after.name)), make("small", {}, " confirmed"));
    else if (renamed) button.append(word(clipped(spaced(before?.name ?? "none"), 24)), make("small", {}, sure(before?.confidence)), " → ", word(clipped(spaced(after?.name ?? "none"), 24), "now"), make("small", {}, sure(after?.confidence)));
    else button.append(word(store.title(node)), make("small", {}, ` ${sure(before?.confidence)} ${gain > 0 ? "↗" : "↘"}${sure(after?.confidence)}`));
    button.addEventListener("click", () => {
      store.select({ kind: "node", index: node });
      this.approach(node);
    });
    button.addEventListener("pointerenter", (event) => event.pointerType !== "touch" && store.hover({ kind: "node", index: node }));
    button.addEventListener("pointerleave", () => store.hover(null));
    return button;
  }
}

export class Timeline {
  private readonly slider = element<HTMLInputElement>("time");
  private readonly button = element<HTMLButtonElement>("play");
  private timer = 0;

  constructor(private readonly store: Store) {
    const last = store.frames.length - 1;
    element("timeline").hidden = last < 1;
    this.slider.max = String(last);
    this.slider.addEventListener("input", () => {
      this.stop();
      store.setFrame(Number(this.slider.value));
    });
    this.button.addEventListener("click", () => this.toggle());
    store.listen((change) => change === "frame" && this.show());
    this.show();
  }

  step(by: number): void {
    this.stop();
    this.store.setFrame(this.store.frameNumber + by);
  }

  toggle(): void {
    if (this.store.frames.length < 2) return;
    if (this.timer) return this.stop();
    if (this.store.frameNumber === this.store.frames.length - 1) this.store.setFrame(0);
    this.timer = window.setInterval(() => {
      this.store.setFrame(this.store.frameNumber + 1);
      if (this.store.frameNumber === this.store.frames.length - 1) this.stop();
    }, 1200);
    this.mark();
  }

  private stop(): void {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.mark();
  }

  private mark(): void {
    this.button.classList.toggle("playing", this.timer !== 0);
    this.button.setAttribute("aria-label", this.timer ? "Pause" : "Play");
  }

  private show(): void {
    const { store } = this;
    const { frame, before } = store;
    this.slider.value = String(store.frameNumber);
    const added = before ? [...frame.id].filter((id) => !before.place.has(id)).length : 0;
    const gone = before ? [...before.id].filter((id) => !frame.place.has(id)).length : 0;
    const news = [added ? `+${added}` : "", gone ? `−${gone}` : ""].filter(Boolean).join(" ");
    const text = `${store.frameNumber + 1} / ${store.frames.length} · ${clipped(frame.name, 28)}`;
    this.slider.setAttribute("aria-valuetext", `${text} ${news}`);
    element("moment").replaceChildren(word(text), make("small", {}, news ? ` ${news} ${added + gone === 1 ? "node" : "nodes"}` : ""));
  }
}
