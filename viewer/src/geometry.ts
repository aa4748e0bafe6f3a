// Where things are in the picture: layers pulled apart, the extent of the scene, the size of marks.

import type { Frame } from "./content";
import type { Store } from "./store";

export interface Bounds {
  low: [number, number, number];
  high: [number, number, number];
}

/** The extent of all frames, so that the camera stays while the map grows. */
export function boundsOf(frames: Frame[]): Bounds {
  const low: Bounds["low"] = [Infinity, Infinity, Infinity];
  const high: Bounds["high"] = [-Infinity, -Infinity, -Infinity];
  for (const frame of frames) {
    for (let i = 0; i < frame.size; i++) {
      for (let axis = 0; axis < 3; axis++) {
        const half = frame.extent[3 * i + axis] / 2;
        low[axis] = Math.min(low[axis], frame.at[3 * i + axis] - half);
        high[axis] = Math.max(high[axis], frame.at[3 * i + axis] + half);
      }
    }
  }
  for (let axis = 0; axis < 3; axis++) {
    if (low[axis] < high[axis]) continue;
    const middle = Number.isFinite(low[axis]) ? low[axis] : 0;
    [low[axis], high[axis]] = axis === 2 ? [middle, middle + 0.5] : [middle - 0.5, middle + 0.5]; // things stand on the ground
  }
  return { low, high };
}

/** The picture's own coordinates: the middle of the scene is the origin, and the scene about 10 wide. */
export class Space {
  readonly bounds: Bounds;
  readonly factor: number;
  readonly centre: [number, number, number];
  readonly width: number;
  readonly depth: number;
  readonly height: number;
  readonly gap: number;
  /** Marks are smaller where there are many rooms. */
  readonly markFactor: number;
  /** How many layers above the lowest one a type lies. */
  readonly rank: number[];
  readonly ranks: number;

  constructor(store: Store) {
    this.bounds = boundsOf(store.frames);
    const { low, high } = this.bounds;
    const [w, d, h] = [0, 1, 2].map((axis) => high[axis] - low[axis]);
    this.factor = 10 / Math.max(w, d, h / 2);
    this.centre = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]];
    [this.width, this.depth, this.height] = [w * this.factor, d * this.factor, h * this.factor];
    const used = store.content.types.filter((type) => type !== "agent");
    this.ranks = Math.max(1, used.length);
    this.rank = store.content.types.map((type) => Math.max(0, used.length - 1 - (type === "agent" ? used.length - 1 : used.indexOf(type))));
    // The stack is about as high as the scene is wide; layers of a house of several storeys need more.
    this.gap = Math.max(0.9 * this.height, (0.95 * Math.max(this.width, this.depth)) / Math.max(1.6, this.ranks - 0.5));
    const most = Math.max(1, ...store.frames.map((frame) => frame.type.filter((type) => store.content.types[type] === "room").length));
    this.markFactor = Math.min(1, Math.sqrt(16 / most));
  }

  lift(type: number, spread: number): number {
    return this.rank[type] * this.gap * spread;
  }

  /** The node's place in the picture. */
  point(frame: Frame, node: number, spread: number): [number, number, number] {
    const { centre, factor } = this;
    const at = frame.at;
    return [
      (at[3 * node] - centre[0]) * factor,
      (at[3 * node + 1] - centre[1]) * factor,
      (at[3 * node + 2] - centre[2]) * factor + this.lift(frame.type[node], spread),
    ];
  }

  top(spread: number): number {
    return (this.ranks - 1) * this.gap * spread + this.height;
  }
}

/** The radius of a node's mark, by its type. */
export function markSize(type: string): number {
  switch (type) {
    case "building":
      return 0.26;
    case "floor":
      return 0.22;
    case "room":
      return 0.17;
    case "object":
      return 0.07;
    case "agent":
      return 0.025;
    default:
      return 0.055;
  }
}
