// What the user has chosen. Parts of the page listen for changes and redraw themselves.

import { Frame, type Content, type Label } from "./content";

export type Focus = { kind: "node" | "bag"; index: number };
export type Colouring = "room" | "type" | "label" | "confidence";
export type Change = "frame" | "state" | "focus" | "selection" | "colour" | "spread" | "layers" | "names" | "theme" | "search";

/** What is highlighted: nodes of the scene and of the tree. */
export interface Lit {
  focus: Focus;
  nodes: Set<number>;
  near: Set<number>;
  tree: Set<number>;
}

/** How the label of a node differs between the two states that are compared. */
export interface Difference {
  node: number;
  before: Label | null;
  after: Label | null;
  renamed: boolean;
  gain: number;
}

const LEAST_GAIN = 0.1; // smaller changes of a confidence are not marked

export class Store {
  readonly frames: Frame[];
  frameNumber: number;
  state = 0;
  compared = -1;
  hovered: Focus | null = null;
  selected: Focus | null = null;
  colouring: Colouring = "room";
  spread = 1;
  namesShown = true;
  dark = false;
  hiddenTypes = new Set<number>();
  search = "";
  private listeners: ((change: Change) => void)[] = [];
  private lights: { of: Focus; lit: Lit } | null = null;
  private marked: Difference[] | null = null;

  constructor(readonly content: Content) {
    this.frames = content.frames.map((frame) => new Frame(content, frame));
    this.frameNumber = this.frames.length - 1;
    this.state = this.frame.states.length - 1;
    this.compared = this.defaultComparison();
  }

  get frame(): Frame {
    return this.frames[this.frameNumber];
  }

  get before(): Frame | null {
    return this.frameNumber > 0 ? this.frames[this.frameNumber - 1] : null;
  }

  listen(listener: (change: Change) => void): void {
    this.listeners.push(listener);
  }

  tell(change: Change): void {
    for (const listener of this.listeners) listener(change);
  }

  setFrame(number: number): void {
    const next = Math.max(0, Math.min(this.frames.length - 1, number));
    if (next === this.frameNumber) return;
    const id = this.selected?.kind === "node" ? this.frame.id[this.selected.index] : null;
    this.frameNumber = next;
    this.lights = this.marked = null;
    this.hovered = null;
    const place = id === null ? undefined : this.frame.place.get(id);
    this.selected = place === undefined ? null : { kind: "node", index: place };
    this.state = Math.min(this.state, this.frame.states.length - 1);
    // A frame may have fewer states, and a state is not compared with itself.
    if (this.compared >= this.frame.states.length || this.compared === this.state) this.compared = this.defaultComparison();
    this.tell("frame");
  }

  setState(state: number, compared: number = this.defaultComparison(state)): void {
    if (state < 0 || state >= this.frame.states.length) return;
    this.state = state;
    this.compared = compared === state ? -1 : compared;
    this.marked = null;
    this.tell("state");
  }

  private defaultComparison(state: number = this.state): number {
    return state - 1;
  }

  hover(focus: Focus | null): void {
    if (focus?.kind === this.hovered?.kind && focus?.index === this.hovered?.index) return;
    this.hovered = focus;
    this.tell("focus");
  }

  select(focus: Focus | null): void {
    this.selected = focus;
    this.tell("selection");
    this.tell("focus");
  }

  get focus(): Focus | null {
    return this.hovered ?? this.selected;
  }

  get lit(): Lit | null {
    const focus = this.focus;
    if (!focus) return null;
    if (this.lights?.of !== focus) this.lights = { of: focus, lit: this.light(focus) };
    return this.lights.lit;
  }

  private light(focus: Focus): Lit {
    const { frame } = this;
    const tree = frame.tree;
    if (focus.kind === "bag" && tree) {
      const node = tree.node[focus.index];
      if (node >= 0) return { focus, nodes: new Set([node]), near: this.nearTo(node), tree: tree.holding(node) };
      const nodes = new Set(tree.members(focus.index));
      return { focus, nodes, near: new Set(), tree: new Set(tree.below(focus.index)) };
    }
    const node = focus.index;
    return { focus, nodes: new Set([node]), near: this.nearTo(node), tree: tree ? tree.holding(node) : new Set() };
  }

  private nearTo(node: number): Set<number> {
    const found = new Set(this.frame.around(node).map((other) => other.node));
    if (this.frame.room[node] >= 0) found.add(this.frame.room[node]);
    return found;
  }

  label(node: number): Label | null {
    return this.frame.label(node, this.state);
  }

  title(node: number): string {
    return this.frame.title(node, this.state);
  }

  /** Nodes whose label differs from the state that is compared, the largest changes first. */
  get differences(): Difference[] {
    if (this.marked) return this.marked;
    const found: Difference[] = [];
    if (this.compared >= 0) {
      for (let node = 0; node < this.frame.size; node++) {
        const before = this.frame.label(node, this.compared);
        const after = this.label(node);
        const renamed = (before?.name ?? null) !== (after?.name ?? null);
        const confirmed = after?.confirmed === true && before?.confirmed !== true;
        const gain = (after?.confidence ?? 0) - (before?.confidence ?? 0);
        if (renamed || confirmed || Math.abs(gain) >= LEAST_GAIN) found.push({ node, before, after, renamed, gain });
      }
      const weight = (d: Difference) => (d.after?.confirmed ? 4 : 0) + (d.renamed ? 2 : 0) + Math.abs(d.gain);
      found.sort((a, b) => weight(b) - weight(a));
    }
    return (this.marked = found);
  }

  /** Nodes that the frame before did not have. */
  isNew(node: number): boolean {
    return this.before !== null && !this.before.place.has(this.frame.id[node]);
  }

  isHidden(node: number): boolean {
    return this.hiddenTypes.has(this.frame.type[node]);
  }
}
