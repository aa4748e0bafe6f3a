// Names, confidences and marks of changes over the picture.

import { percent, spaced } from "./content";
import { css, mix, type Colours } from "./palette";
import type { Difference, Store } from "./store";
import type { World } from "./world";

const MOST_NAMES = 160;
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
const CELL = 24;

interface Tag {
  node: number;
  weight: number;
  large: boolean;
  /** Whether it is written even where other names are. */
  forced: boolean;
}

export class Overlay {
  private readonly context: CanvasRenderingContext2D;
  private taken: [number, number, number, number][][] = [];
  private columns = 1;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly store: Store,
    private readonly colours: Colours,
    private readonly world: World,
  ) {
    this.context = canvas.getContext("2d")!;
  }

  resize(width: number, height: number): void {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  draw(): void {
    const { context, canvas, store } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    context.clearRect(0, 0, width, height);
    this.columns = Math.ceil(width / CELL) + 1;
    this.taken = Array.from({ length: this.columns * (Math.ceil(height / CELL) + 1) }, () => []);
    this.layerNames();
    const changes = new Map(store.differences.map((difference) => [difference.node, difference]));
    this.marks(changes);
    for (const tag of this.tags(changes)) this.name(tag, changes.get(tag.node));
  }

  private layerNames(): void {
    const { context, store, world } = this;
    if (store.spread < 0.15) return;
    const { faint, ground } = this.colours.theme;
    context.font = `600 12px ${FONT}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    for (const { x, y, type } of world.layerCorners()) {
      const word = plural(store.content.types[type]);
      const width = context.measureText(word).width;
      const beside = x > width + 22;
      const left = beside ? x - width - 10 : Math.max(10, x);
      const level = beside ? y : y - 12;
      this.free(left - 4, level - 9, left + width + 4, level + 9, true);
      context.lineWidth = 4;
      context.strokeStyle = css(ground, 0.9);
      context.strokeText(word, left, level);
      context.fillStyle = css(faint);
      context.fillText(word, left, level);
    }
  }

  /** Rings around nodes that are new, have another label or confidence, or are confirmed, and around a selected node. */
  private marks(changes: Map<number, Difference>): void {
    const { context, store } = this;
    const { mark, fresh, ink, faint } = this.colours.theme;
    const found = this.world.projected;
    const many = store.before !== null && [...store.frame.type.keys()].filter((node) => store.isNew(node)).length > 400;
    for (let node = 0; node < store.frame.size; node++) {
      if (store.isHidden(node) || found.depth[node] <= 0) continue;
      const change = changes.get(node);
      const isNew = !many && store.isNew(node) && store.frame.typeName(node) !== "agent";
      const isSelected = store.selected?.kind === "node" && store.selected.index === node;
      if (!change && !isNew && !isSelected) continue;
      const radius = Math.min(46, Math.max(6, found.radius[node] + 4));
      context.beginPath();
      context.arc(found.x[node], found.y[node], radius, 0, 2 * Math.PI);
      context.setLineDash(isNew && !change ? [3, 3] : []);
      context.lineWidth = change?.renamed || isSelected ? 2.5 : 1.5;
      context.globalAlpha = store.lit && !store.lit.nodes.has(node) && !store.lit.near.has(node) ? 0.3 : 1;
      context.strokeStyle = css(change ? (change.renamed || change.after?.confirmed ? mark : mix(faint, this.colours.theme.ground, 0.35)) : isSelected ? ink : fresh);
      context.stroke();
      context.setLineDash([]);
      context.globalAlpha = 1;
    }
  }

  /** Which names are written, the most important first. */
  private tags(changes: Map<number, Difference>): Tag[] {
    const { store } = this;
    const { frame, lit } = store;
    const found = this.world.projected;
    const weights: Record<string, number> = { building: 40, floor: 35, room: 30, object: 8 };
    const tags: Tag[] = [];
    const context = frame.type.filter((type) => store.content.types[type] === "room").length <= 24 ? "room" : "";
    for (let node = 0; node < frame.size; node++) {
      if (store.isHidden(node) || found.depth[node] <= 0) continue;
      const type = frame.typeName(node);
      const isLit = lit?.nodes.has(node) ?? false;
      const change = changes.get(node);
      const base = weights[type];
      const marked = change !== undefined && (change.renamed || change.after?.confirmed === true);
      if (!isLit && (!store.namesShown || (base === undefined && !marked) || (lit && !lit.near.has(node) && !marked && type !== context))) continue;
      const weight = (isLit ? 1000 : 0) + (change?.after?.confirmed ? 400 : marked ? 200 : change ? 50 : 0) + (lit?.near.has(node) ? 100 : 0) + (base ?? 0) * 10 + Math.min(30, found.radius[node]) - found.depth[node] / 10;
      tags.push({ node, weight, large: (base ?? 0) >= 30, forced: isLit });
    }
    return tags.sort((a, b) => b.weight - a.weight).slice(0, MOST_NAMES);
  }

  private name({ node, large, forced }: Tag, change: Difference | undefined): void {
    const { context, store } = this;
    const { ink, faint, ground, mark } = this.colours.theme;
    const found = this.world.projected;
    const label = store.label(node);
    const faded = store.lit !== null && !forced;
    const size = (large ? 13 : 11) - (this.canvas.clientWidth < 480 ? 1 : 0);
    const title = clipped(store.title(node), 34);
    const old = change?.renamed && change.before ? `${clipped(spaced(change.before.name), 20)} → ` : "";
    const sure = label?.confirmed ? " ✓" : label?.confidence != null ? ` ${percent(label.confidence)}` : "";
    const bold = `${large || forced || old ? 600 : 500} ${size}px ${FONT}`;
    const thin = `400 ${size - 1}px ${FONT}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.font = thin;
    const [before, after] = [context.measureText(old).width, context.measureText(sure).width];
    context.font = bold;
    const middle = context.measureText(title).width;
    const width = before + middle + after;
    const above = Math.min(40, found.radius[node]) + size * 0.9;
    const inside = (x: number): number => Math.max(8, Math.min(this.canvas.clientWidth - width - 8, x));
    const beside = Math.min(40, found.radius[node]) + 6;
    const places: [number, number][] = [
      [inside(found.x[node] - width / 2), found.y[node] - above],
      [inside(found.x[node] - width / 2), found.y[node] + above],
      [inside(found.x[node] + beside), found.y[node]],
      [inside(found.x[node] - beside - width), found.y[node]],
    ];
    if (forced) for (const step of [1, 2, 3]) places.push([places[0][0], places[0][1] - step * (size + 10)], [places[1][0], places[1][1] + step * (size + 10)]);
    const place = places.find(([x, y]) => this.free(x - 3, y - size / 2 - 2, x + width + 3, y + size / 2 + 3, false)) ?? (forced ? places[0] : null);
    if (!place) return;
    const [x, y] = place;
    this.free(x - 3, y - size / 2 - 2, x + width + 3, y + size / 2 + 3, true);
    context.globalAlpha = faded ? 0.55 : 1;
    if (large || forced) {
      context.fillStyle = css(ground, 0.86);
      context.beginPath();
      context.roundRect(x - 6, y - size / 2 - 4, width + 12, size + 8, 6);
      context.fill();
    }
    context.lineJoin = "round";
    context.lineWidth = 3.5;
    context.strokeStyle = css(ground, 0.9);
    const write = (text: string, at: number, font: string, colour: string): void => {
      if (!text) return;
      context.font = font;
      if (!large && !forced) context.strokeText(text, at, y);
      context.fillStyle = colour;
      context.fillText(text, at, y);
    };
    write(old, x, thin, css(faint));
    write(title, x + before, bold, css(change?.renamed ? mark : ink));
    write(sure, x + before + middle, thin, css(label?.confirmed ? mark : faint));
    if (label?.confidence != null && (large || forced)) {
      context.fillStyle = css(this.colours.theme.line);
      context.fillRect(x, y + size / 2 + 1, width, 2);
      context.fillStyle = css(this.colours.of(node));
      context.fillRect(x, y + size / 2 + 1, width * label.confidence, 2);
    }
    context.globalAlpha = 1;
  }

  /** Whether nothing is written here yet; takes the place where `take` says so. */
  private free(left: number, top: number, right: number, bottom: number, take: boolean): boolean {
    const cells: number[] = [];
    for (let column = Math.max(0, Math.floor(left / CELL)); column <= Math.min(this.columns - 1, Math.floor(right / CELL)); column++) {
      for (let row = Math.max(0, Math.floor(top / CELL)); row <= Math.floor(bottom / CELL); row++) {
        const cell = row * this.columns + column;
        if (cell >= this.taken.length) continue;
        if (!take && this.taken[cell].some(([a, b, c, d]) => left < c && a < right && top < d && b < bottom)) return false;
        cells.push(cell);
      }
    }
    if (take) for (const cell of cells) this.taken[cell].push([left, top, right, bottom]);
    return true;
  }
}

export function plural(type: string): string {
  const word = spaced(type);
  return (word.charAt(0).toUpperCase() + word.slice(1)).replace(/y$/, "ie").replace(/(s|x|ch)$/, "$1e") + "s";
}

export const clipped = (text: string, most: number): string => ([...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);
