// Details of what is hovered or selected.

import { counted, percent, shortId, spaced, type Label } from "./content";
import { element, make, word } from "./dom";
import { css, type Colours } from "./palette";
import type { Focus, Store } from "./store";

const MOST_BARS = 5;
// Relations seen from their target.
const INWARD: Record<string, string> = { in: "holds", on: "carries", under: "is above", near: "near", adjacent: "adjacent" };
const MOST_NEIGHBOURS = 8;

export class Card {
  private readonly root = element("card");

  constructor(
    private readonly store: Store,
    private readonly colours: Colours,
  ) {
    store.listen((change) => {
      if (change !== "search" && change !== "spread") this.show();
    });
    this.show();
  }

  private show(): void {
    const { focus } = this.store;
    this.root.hidden = focus === null;
    this.root.replaceChildren(...(focus ? this.content(focus) : []));
  }

  private content(focus: Focus): Node[] {
    const tree = this.store.frame.tree;
    if (focus.kind === "bag" && tree) {
      const node = tree.node[focus.index];
      return node >= 0 ? this.node(node) : this.bag(focus.index);
    }
    return this.node(focus.index);
  }

  private node(node: number): Node[] {
    const { store } = this;
    const { frame } = store;
    const label = store.label(node);
    const change = store.differences.find((each) => each.node === node);
    const found: Node[] = [this.heading(store.title(node), frame.typeName(node), this.colours.of(node))];
    if (change?.renamed) found.push(make("p", { class: "was" }, "before: ", word(spaced(change.before?.name ?? "no label")), this.sureness(change.before)));
    if (label?.confirmed) found.push(make("p", { class: "confirmed" }, "✓ confirmed"));
    if (label && label.others.length) found.push(this.bars(label, change?.before ?? null));
    const facts = make("dl");
    const fact = (term: string, value: string): void => facts.append(make("dt", {}, term), make("dd", {}, word(value)));
    const name = frame.names[node];
    if (name && name !== store.title(node)) fact("name", name);
    if (frame.number[node] >= 0) fact("label number", String(frame.number[node]));
    fact("id", shortId(frame.idText(node)));
    if (frame.room[node] >= 0) fact("room", store.title(frame.room[node]));
    const size = [...frame.extent.subarray(3 * node, 3 * node + 3)];
    if (size[0] > 0) fact("size", `${size.map((each) => each.toFixed(2)).join(" × ")} m`);
    if (frame.tree) {
      const holding = frame.tree.holding(node);
      const leaves = frame.tree.leavesOf(node).length;
      fact("in the tree", leaves ? `${counted(leaves, "leaf").replace("leafs", "leaves")}, ${counted(holding.size - leaves, "bag")}` : "not part of it");
    }
    found.push(facts);
    const near = frame.around(node).filter((each) => frame.typeName(each.node) !== "agent");
    if (near.length) {
      const list = make("ul", { class: "near" });
      for (const each of near.slice(0, MOST_NEIGHBOURS)) {
        const relation = frame.content.relations[each.relation];
        list.append(make("li", {}, make("span", {}, each.outward ? relation : (INWARD[relation] ?? `← ${relation}`)), " ", word(store.title(each.node))));
      }
      if (near.length > MOST_NEIGHBOURS) list.append(make("li", {}, make("span", {}, `and ${near.length - MOST_NEIGHBOURS} more`)));
      found.push(list);
    }
    return found;
  }

  private bag(index: number): Node[] {
    const { store } = this;
    const tree = store.frame.tree!;
    const members = tree.members(index);
    const kind = tree.parent[index] < 0 ? "root bag" : `bag, level ${tree.level[index]}`;
    const list = make("ul", { class: "near" });
    for (const node of members.slice(0, 12)) list.append(make("li", {}, make("span", {}, store.frame.typeName(node)), " ", word(store.title(node))));
    if (members.length > 12) list.append(make("li", {}, make("span", {}, `and ${members.length - 12} more`)));
    return [this.heading(counted(members.length, "node"), kind, this.colours.ofMany(members)), list];
  }

  private heading(title: string, kind: string, colour: [number, number, number]): HTMLElement {
    const dot = make("i", { class: "dot" });
    dot.style.background = css(colour);
    return make("h2", {}, dot, word(title), make("small", {}, spaced(kind)));
  }

  private sureness(label: Label | null): string {
    return label?.confidence != null ? ` ${percent(label.confidence)}` : "";
  }

  /** Bars of the most probable labels; a tick shows where each was before. */
  private bars(label: Label, before: Label | null): HTMLElement {
    const table = make("div", { class: "bars" });
    const old = new Map(before?.others.map(({ name, p }) => [name, p]));
    for (const { name, p } of label.others.slice(0, MOST_BARS)) {
      const bar = make("i");
      bar.style.width = `${100 * p}%`;
      const track = make("span", { class: "track" }, bar);
      const was = old.get(name);
      if (before && was !== undefined) {
        const tick = make("b");
        tick.style.left = `${100 * was}%`;
        track.append(tick);
      }
      table.append(make("div", { class: name === label.name ? "best" : "" }, word(spaced(name)), track, make("span", { class: "p" }, percent(p))));
    }
    return table;
  }
}
