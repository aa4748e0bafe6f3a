// The list of nodes, with search and the layers that are shown.

import { counted, percent, shortId, spaced } from "./content";
import { element, make, word } from "./dom";
import { plural } from "./overlay";
import { css, type Colours } from "./palette";
import type { Store } from "./store";

const ROW = 34;
const SPARE = 6;

export class Panel {
  private readonly list = element("list");
  private readonly rows = element("rows");
  private readonly search = element<HTMLInputElement>("search");
  private found: number[] = [];
  private active = 0;

  constructor(
    private readonly store: Store,
    private readonly colours: Colours,
    private readonly approach: (node: number) => void,
  ) {
    this.layers();
    this.filter();
    this.search.addEventListener("input", () => {
      store.search = this.search.value;
      this.filter();
      store.tell("search");
    });
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "Enter") {
        event.preventDefault();
        this.list.focus();
        this.choose(0);
      } else if (event.key === "Escape") this.clear();
    });
    this.list.addEventListener("scroll", () => this.render());
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("pointermove", (event) => {
      const node = this.at(event.target);
      if (event.pointerType !== "touch") store.hover(node === null ? null : { kind: "node", index: node });
    });
    this.list.addEventListener("pointerleave", () => store.hover(null));
    this.list.addEventListener("click", (event) => {
      const node = this.at(event.target);
      if (node !== null) this.choose(this.found.indexOf(node));
    });
    this.list.addEventListener("dblclick", (event) => {
      const node = this.at(event.target);
      if (node !== null) this.approach(node);
    });
    new ResizeObserver(() => this.render()).observe(this.list);
    store.listen((change) => {
      if (change === "frame") this.layers();
      if (change === "frame" || change === "state" || change === "layers") this.filter();
      if (change === "selection") this.follow();
      if (change === "focus" || change === "colour" || change === "theme") this.render();
    });
  }

  focusSearch(): void {
    this.search.focus();
    this.search.select();
  }

  private clear(): void {
    this.search.value = this.store.search = "";
    this.filter();
    this.search.blur();
  }

  private at(target: EventTarget | null): number | null {
    const row = (target as HTMLElement | null)?.closest<HTMLElement>("[data-node]");
    return row ? Number(row.dataset.node) : null;
  }

  private layers(): void {
    const { store } = this;
    const counts = new Map<number, number>();
    for (const type of store.frame.type) counts.set(type, (counts.get(type) ?? 0) + 1);
    const buttons = store.content.types.flatMap((name, type) => {
      if (!counts.has(type)) return [];
      const button = make(
        "button",
        { type: "button", class: "layer", "aria-pressed": String(!store.hiddenTypes.has(type)) },
        plural(name),
        " ",
        make("small", {}, counts.get(type)!.toLocaleString("en")),
      );
      button.addEventListener("click", () => {
        if (!store.hiddenTypes.delete(type)) store.hiddenTypes.add(type);
        button.setAttribute("aria-pressed", String(!store.hiddenTypes.has(type)));
        store.tell("layers");
      });
      return [button];
    });
    element("layers").replaceChildren(...buttons);
  }

  /** Which nodes the list has: the layers that are shown, and all words of the search. */
  private filter(): void {
    const { store } = this;
    const { frame } = store;
    const words = store.search.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    this.found = [...frame.type.keys()].filter((node) => {
      if (store.isHidden(node)) return false;
      if (!words.length) return true;
      const room = frame.room[node] >= 0 ? store.title(frame.room[node]) : "";
      const text = [store.title(node), frame.names[node] ?? "", frame.typeName(node), frame.idText(node), shortId(frame.idText(node)), room];
      const all = text.join(" ").toLocaleLowerCase();
      return words.every((each) => all.includes(each));
    });
    const order = (node: number): number => (frame.typeName(node) === "agent" ? 1e9 : 0) + frame.type[node];
    this.found.sort((a, b) => order(a) - order(b) || a - b);
    this.active = 0;
    element("matches").textContent = words.length ? `${counted(this.found.length, "node")} of ${frame.size.toLocaleString("en")}` : "";
    this.list.scrollTop = 0;
    this.render();
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    if (event.key in steps) {
      event.preventDefault();
      event.stopPropagation();
      const fresh = this.store.selected === null && event.key === "ArrowDown";
      this.choose(fresh ? this.active : this.active + steps[event.key]);
    } else if (event.key === "Enter" && this.found.length) {
      event.preventDefault();
      this.approach(this.found[this.active]);
    }
  }

  private choose(place: number): void {
    if (!this.found.length) return;
    this.active = Math.max(0, Math.min(this.found.length - 1, place));
    this.store.hovered = null;
    this.store.select({ kind: "node", index: this.found[this.active] });
  }

  /** Scrolls to the node that was selected elsewhere. */
  private follow(): void {
    const { selected } = this.store;
    const place = selected?.kind === "node" ? this.found.indexOf(selected.index) : -1;
    if (place >= 0) {
      this.active = place;
      const [top, bottom] = [this.list.scrollTop, this.list.scrollTop + this.list.clientHeight];
      if (place * ROW < top) this.list.scrollTop = place * ROW;
      else if ((place + 1) * ROW > bottom) this.list.scrollTop = (place + 1) * ROW - this.list.clientHeight;
    }
    this.render();
  }

  /** Only the rows in view are elements; each says which of how many it is. */
  private render(): void {
    const { store } = this;
    const { frame, lit, selected } = store;
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - SPARE);
    const last = Math.min(this.found.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / ROW) + SPARE);
    this.rows.style.height = `${this.found.length * ROW}px`;
    const changed = new Set(store.differences.filter((each) => each.renamed || each.after?.confirmed).map((each) => each.node));
    const rows = this.found.slice(first, last).map((node, i) => {
      const label = store.label(node);
      const isSelected = selected?.kind === "node" && selected.index === node;
      const row = make("div", {
        role: "option",
        id: `option-${node}`,
        class: ["row", lit?.nodes.has(node) ? "lit" : "", changed.has(node) ? "changed" : ""].filter(Boolean).join(" "),
        "data-node": node,
        "aria-selected": String(isSelected),
        "aria-setsize": this.found.length,
        "aria-posinset": first + i + 1,
      });
      const dot = make("i", { class: `dot ${frame.typeName(node) === "object" ? "square" : ""}` });
      dot.style.background = css(this.colours.of(node));
      row.style.top = `${(first + i) * ROW}px`;
      const sure = label?.confirmed ? "✓" : label?.confidence != null ? percent(label.confidence) : "";
      const news = store.isNew(node) ? make("span", { class: "new" }, "new") : "";
      row.append(dot, word(store.title(node), "title"), news, make("small", {}, sure || spaced(frame.typeName(node))));
      return row;
    });
    this.rows.replaceChildren(...rows);
    const shown = this.found[this.active];
    if (selected?.kind === "node" && shown === selected.index) this.list.setAttribute("aria-activedescendant", `option-${shown}`);
    else this.list.removeAttribute("aria-activedescendant");
  }
}
