// The H-tree beside the scene: roots at the left, leaves with their names at the right.

import type { Tree } from "./content";
import { layoutOf, type Layout } from "./forest_layout";
import { clipped } from "./overlay";
import { css, mix, type Colours, type Rgb } from "./palette";
import type { Store } from "./store";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
const OVERVIEW = 14; // width of the strip that shows the whole tree
const TOP = 14;

export class Forest {
  private readonly context: CanvasRenderingContext2D;
  private tree: Tree | null = null;
  private layout: Layout | null = null;
  private bagColour: Rgb[] = [];
  private bagSize: Int32Array = new Int32Array(0);
  rowHeight = 16;
  private scroll = 0;
  private width = 0;
  private height = 0;
  private pending = false;
  /** The tree node that keys start from. */
  cursor = -1;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly store: Store,
    private readonly colours: Colours,
  ) {
    this.context = canvas.getContext("2d")!;
    this.load();
    store.listen((change) => {
      if (change === "frame") this.load();
      if (change === "colour" || change === "theme" || change === "state") this.paintBags();
      if (change === "focus") this.reveal();
      this.draw();
    });
  }

  private load(): void {
    this.tree = this.store.frame.tree;
    this.layout = this.tree && layoutOf(this.tree);
    this.cursor = -1;
    this.paintBags();
    this.fit();
  }

  private paintBags(): void {
    const { tree } = this;
    if (!tree) return;
    const members = Array.from({ length: tree.size }, (_, i) => (tree.parent[i] < 0 || tree.node[i] < 0 ? tree.members(i) : [tree.node[i]]));
    this.bagSize = Int32Array.from(members, (each) => each.length);
    this.bagColour = members.map((each) => this.colours.ofMany(each));
    this.draw();
  }

  resize(width: number, height: number): void {
    if (!width || !height) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const first = !this.width;
    [this.width, this.height] = [width, height];
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (first) this.fit();
    this.limit();
    this.drawNow();
  }

  private get least(): number {
    return this.layout ? Math.min(20, (this.height - 2 * TOP) / this.layout.rows) : 16;
  }

  /** Rows as large as fit the height, but legible. */
  private fit(): void {
    this.rowHeight = Math.max(this.least, 15);
    this.scroll = 0;
    this.limit();
  }

  private limit(): void {
    if (!this.layout) return;
    this.rowHeight = Math.max(this.least, Math.min(40, this.rowHeight));
    this.scroll = Math.max(0, Math.min(this.layout.rows * this.rowHeight + 2 * TOP - this.height, this.scroll));
  }

  private get namesWidth(): number {
    return this.rowHeight >= 9 ? Math.min(150, 0.36 * this.width) : 14;
  }

  private get arcs(): number {
    return Math.min(90, 0.2 * this.width);
  }

  private x(node: number): number {
    const layout = this.layout!;
    const right = this.width - OVERVIEW - this.namesWidth - 10;
    return this.arcs + 6 + (layout.column[node] / layout.levels) * (right - this.arcs - 6);
  }

  private y(node: number): number {
    return TOP + (this.layout!.row[node] + 0.5) * this.rowHeight - this.scroll;
  }

  /** Where a tree node is in the canvas. */
  point(node: number): { x: number; y: number } {
    return { x: this.x(node), y: this.y(node) };
  }

  /** What of the tree is lit; null if nothing is, or nothing that is part of it. */
  private get lit(): Set<number> | null {
    return this.store.lit?.tree.size ? this.store.lit.tree : null;
  }

  /** Scrolls to the lit nodes unless one of them is in view. */
  private reveal(): void {
    const { lit } = this.store;
    if (!lit || !this.layout || lit.focus.kind === "bag" || this.canvas.matches(":hover")) return;
    const leaves = [...lit.tree].filter((node) => this.tree!.node[node] === lit.focus.index);
    if (!leaves.length || leaves.some((node) => this.y(node) > 0 && this.y(node) < this.height)) return;
    this.scroll += this.y(leaves[0]) - this.height / 2;
    this.limit();
  }

  show(node: number): void {
    if (this.y(node) < 20 || this.y(node) > this.height - 20) this.scroll += this.y(node) - this.height / 2;
    this.limit();
    this.draw();
  }

  draw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => this.drawNow());
  }

  private drawNow(): void {
    this.pending = false;
    const { context, tree, layout, width, height } = this;
    const { ink, faint, line, ground } = this.colours.theme;
    context.clearRect(0, 0, width, height);
    if (!tree || !layout) {
      context.font = `13px ${FONT}`;
      context.textAlign = "center";
      context.fillStyle = css(faint);
      context.fillText("no H-tree", width / 2, height / 2);
      return;
    }
    const { lit } = this;
    const inView = (node: number): boolean => this.y(node) > -this.rowHeight && this.y(node) < height + this.rowHeight;
    this.drawArcs(lit);
    const radius = Math.max(1.2, Math.min(6, 0.32 * this.rowHeight));
    for (const onlyLit of lit ? [false, true] : [false]) {
      for (let node = 0; node < tree.size; node++) {
        const parent = tree.parent[node];
        const isLit = lit?.has(node) ?? false;
        if (lit && isLit !== onlyLit) continue;
        if (parent >= 0 && (inView(node) || inView(parent))) {
          const strong = isLit && lit!.has(parent);
          this.branch(parent, node, strong ? css(mix(this.bagColour[node], ink, 0.35), 0.95) : lit ? css(line, 0.5) : css(this.bagColour[node], 0.45), strong ? 2 : 1);
        }
      }
      for (let node = 0; node < tree.size; node++) {
        const isLit = lit?.has(node) ?? false;
        if ((lit && isLit !== onlyLit) || !inView(node)) continue;
        this.mark(node, radius, isLit, lit !== null, ground, ink);
      }
    }
    this.drawNames(inView);
    this.overview();
  }

  private branch(parent: number, node: number, colour: string, thick: number): void {
    const { context } = this;
    const [x0, y0, x1, y1] = [this.x(parent), this.y(parent), this.x(node), this.y(node)];
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + 0.5 * (x1 - x0), y0, x0 + 0.5 * (x1 - x0), y1, x1, y1);
    context.strokeStyle = colour;
    context.lineWidth = thick;
    context.stroke();
  }

  private drawArcs(lit: Set<number> | null): void {
    const { context } = this;
    const { faint, ink, line } = this.colours.theme;
    for (const [a, b] of this.tree!.joined) {
      const [y0, y1] = [this.y(a), this.y(b)].sort((one, other) => one - other);
      if (y1 < 0 || y0 > this.height) continue;
      const bow = Math.min(this.arcs - 4, 5 + 0.3 * (y1 - y0) ** 0.8);
      const x = this.x(a);
      const strong = lit !== null && lit.has(a) && lit.has(b);
      context.beginPath();
      context.moveTo(x, y0);
      context.bezierCurveTo(x - 1.33 * bow, y0, x - 1.33 * bow, y1, x, y1);
      context.strokeStyle = strong ? css(ink, 0.9) : lit ? css(line, 0.6) : css(faint, 0.5);
      context.lineWidth = strong ? 2 : 1.2;
      context.stroke();
    }
  }

  private mark(node: number, radius: number, isLit: boolean, faded: boolean, ground: Rgb, ink: Rgb): void {
    const { context, store } = this;
    const tree = this.tree!;
    const leaf = tree.node[node] >= 0;
    const [x, y] = [this.x(node), this.y(node)];
    const colour = this.bagColour[node];
    const size = isLit ? radius * 1.35 : leaf ? radius : radius * (tree.parent[node] < 0 ? 1.3 : 1.1);
    context.beginPath();
    if (leaf) {
      const type = store.frame.typeName(tree.node[node]);
      if (type === "room") context.arc(x, y, size * 1.1, 0, 2 * Math.PI);
      else context.rect(x - size * 0.85, y - size * 0.85, size * 1.7, size * 1.7);
      context.fillStyle = css(colour, faded && !isLit ? 0.25 : 1);
      context.fill();
    } else {
      const wide = size * (1 + 0.35 * Math.min(4, Math.max(0, this.bagSize[node] - 1)));
      context.roundRect(x - wide, y - size, 2 * wide, 2 * size, size);
      context.fillStyle = css(isLit ? colour : mix(colour, ground, 0.72));
      context.fill();
      context.strokeStyle = css(colour, faded && !isLit ? 0.3 : 1);
      context.lineWidth = 1.3;
      context.stroke();
    }
    if (isLit || node === this.cursor) {
      context.strokeStyle = css(ink);
      context.lineWidth = this.isFocus(node) || node === this.cursor ? 2.2 : 1;
      context.stroke();
    }
  }

  private isFocus(node: number): boolean {
    const { focus } = this.store;
    return focus?.kind === "bag" && focus.index === node;
  }

  private drawNames(inView: (node: number) => boolean): void {
    if (this.rowHeight < 9) return;
    const { context, store } = this;
    const { ink, faint, mark } = this.colours.theme;
    const { lit } = this;
    const changed = new Set(store.differences.filter((each) => each.renamed || each.after?.confirmed).map((each) => each.node));
    const size = Math.min(12, this.rowHeight - 2);
    context.textAlign = "left";
    context.textBaseline = "middle";
    const most = Math.floor(this.namesWidth / (0.52 * size));
    for (const leaf of this.layout!.leaves) {
      if (!inView(leaf)) continue;
      const node = this.tree!.node[leaf];
      if (node < 0) continue;
      const isLit = lit?.has(leaf) ?? false;
      context.font = `${isLit || store.frame.typeName(node) === "room" ? 600 : 400} ${size}px ${FONT}`;
      context.fillStyle = css(changed.has(node) ? mark : isLit ? ink : lit ? faint : ink, lit && !isLit ? 0.45 : 0.9);
      context.fillText(clipped(store.title(node), most), this.x(leaf) + 11, this.y(leaf) + 0.5);
    }
  }

  /** The whole tree in a strip: colours of the leaves, what is lit, and which part is in view. */
  private overview(): void {
    const { context, width, height, layout } = this;
    const { ink, line } = this.colours.theme;
    const { lit } = this;
    const [left, tall] = [width - OVERVIEW + 3, height - 2 * TOP];
    const scale = tall / layout!.rows;
    context.fillStyle = css(line, 0.35);
    context.fillRect(left, TOP, OVERVIEW - 6, tall);
    for (const leaf of layout!.leaves) {
      const isLit = lit?.has(leaf) ?? false;
      if (lit && !isLit) continue;
      context.fillStyle = css(this.bagColour[leaf], lit ? 1 : 0.75);
      context.fillRect(left, TOP + layout!.row[leaf] * scale, OVERVIEW - 6, Math.max(lit ? 2 : 0.8, scale * 0.8));
    }
    const whole = layout!.rows * this.rowHeight + 2 * TOP;
    if (whole > height + 1) {
      context.strokeStyle = css(ink, 0.7);
      context.lineWidth = 1.5;
      context.strokeRect(left - 1.5, TOP + (this.scroll / whole) * tall, OVERVIEW - 3, Math.max(8, (height / whole) * tall));
    }
  }

  pick(x: number, y: number, slack: number): number | null {
    if (!this.tree || !this.layout) return null;
    let [best, least] = [null as number | null, slack];
    for (let node = 0; node < this.tree.size; node++) {
      const leaf = this.tree.node[node] >= 0;
      const dy = Math.abs(this.y(node) - y);
      if (dy > slack) continue;
      const dx = x - this.x(node);
      const distance = Math.hypot(leaf && dx > 0 ? Math.max(0, dx - this.namesWidth) : dx, dy);
      if (distance < least) [best, least] = [node, distance];
    }
    return best;
  }

  /** Whether a place is on the strip that shows the whole tree. */
  isOnStrip(x: number): boolean {
    return this.layout !== null && x > this.width - OVERVIEW;
  }

  scrollBy(pixels: number): void {
    this.scroll += pixels;
    this.limit();
    this.draw();
  }

  /** Scrolls to a place on the strip. */
  jump(y: number): void {
    if (!this.layout) return;
    const whole = this.layout.rows * this.rowHeight + 2 * TOP;
    this.scroll = ((y - TOP) / (this.height - 2 * TOP)) * whole - this.height / 2;
    this.scrollBy(0);
  }

  zoom(factor: number, around = this.height / 2): void {
    const row = (around + this.scroll - TOP) / this.rowHeight;
    this.rowHeight *= factor;
    this.limit();
    this.scroll = row * this.rowHeight + TOP - around;
    this.scrollBy(0);
  }

  /** The tree node that an arrow key leads to. */
  step(key: string): number | undefined {
    const { tree, layout, cursor } = this;
    if (!tree || !layout) return undefined;
    const column = (node: number): number[] =>
      [...tree.parent.keys()].filter((i) => layout.column[i] === layout.column[node]).sort((a, b) => layout.row[a] - layout.row[b]);
    const first = (): number => column(tree.roots[0])[0];
    if (cursor < 0) return key.startsWith("Arrow") || key === "Home" ? first() : undefined;
    switch (key) {
      case "ArrowLeft":
        return tree.parent[cursor] >= 0 ? tree.parent[cursor] : undefined;
      case "ArrowRight":
        return tree.children[cursor][0];
      case "ArrowDown":
      case "ArrowUp": {
        const all = column(cursor);
        return all[all.indexOf(cursor) + (key === "ArrowDown" ? 1 : -1)];
      }
      case "Home":
        return first();
      case "Enter":
        return cursor;
    }
    return undefined;
  }
}
