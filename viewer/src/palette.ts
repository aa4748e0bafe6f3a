// Colours that people with any colour vision can tell apart (after Okabe and Ito), for light and dark pages.

import { spaced } from "./content";
import type { Store } from "./store";

export type Rgb = [number, number, number];

const LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b5a300"];
const DARK = ["#4aa8e0", "#f0ad1e", "#1fbf92", "#de94bd", "#8fd0f7", "#f0783a", "#f0e442"];
const NOBODY = { light: "#7b8794", dark: "#8a97a5" };
// From low to high values; the lightness alone shows the order.
const SEQUENCE = { light: ["#d9c9a3", "#7d9aa8", "#1d5b8f", "#00224e"], dark: ["#3b4a63", "#6a7f8f", "#c2b15f", "#fde737"] };

export function rgb(hex: string): Rgb {
  const value = parseInt(hex.slice(1), 16);
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

export const css = ([r, g, b]: Rgb, alpha = 1): string =>
  `rgba(${Math.round(255 * r)},${Math.round(255 * g)},${Math.round(255 * b)},${alpha})`;

export const mix = (a: Rgb, b: Rgb, t: number): Rgb => [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t];

export interface Theme {
  ink: Rgb;
  faint: Rgb;
  line: Rgb;
  ground: Rgb;
  mark: Rgb;
  fresh: Rgb;
  nobody: Rgb;
}

export function theme(dark: boolean): Theme {
  return dark
    ? { ink: rgb("#e8edf2"), faint: rgb("#93a1b0"), line: rgb("#34414f"), ground: rgb("#0f151c"), mark: rgb("#ff8a4c"), fresh: rgb("#8fd0f7"), nobody: rgb(NOBODY.dark) }
    : { ink: rgb("#15202b"), faint: rgb("#5b6672"), line: rgb("#c9d1da"), ground: rgb("#f6f8fa"), mark: rgb("#c24d00"), fresh: rgb("#0072b2"), nobody: rgb(NOBODY.light) };
}

/** The i-th colour; after the first seven the same ones follow lighter or darker. */
export function category(i: number, dark: boolean): Rgb {
  const colours = dark ? DARK : LIGHT;
  const base = rgb(colours[i % colours.length]);
  const round = Math.floor(i / colours.length) % 3;
  if (!round) return base;
  return mix(base, round === 1 ? [0, 0, 0] : [1, 1, 1], 0.35);
}

function sequence(t: number, dark: boolean): Rgb {
  const stops = (dark ? SEQUENCE.dark : SEQUENCE.light).map(rgb);
  const at = Math.max(0, Math.min(1, t)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(at));
  return mix(stops[i], stops[i + 1], at - i);
}

/** Which colour each node has, and what the colours mean. */
export class Colours {
  private rooms = new Map<number, number>();
  private words = new Map<string, number>();

  constructor(private readonly store: Store) {
    // By id over all frames, so that a room keeps its colour while the map grows.
    const room = store.content.types.indexOf("room");
    for (const frame of store.frames) {
      for (let i = 0; i < frame.size; i++) {
        if (frame.type[i] === room && !this.rooms.has(frame.id[i])) this.rooms.set(frame.id[i], this.rooms.size);
      }
      for (const state of frame.states) {
        for (const label of state) if (label && !this.words.has(label.name)) this.words.set(label.name, this.words.size);
      }
    }
    if (!this.rooms.size) store.colouring = "type";
  }

  get theme(): Theme {
    return theme(this.store.dark);
  }

  of(node: number): Rgb {
    const { store } = this;
    const { frame, dark } = store;
    const none = this.theme.nobody;
    switch (store.colouring) {
      case "type":
        return category(frame.type[node], dark);
      case "label": {
        const label = store.label(node);
        return label ? category(this.words.get(label.name) ?? 0, dark) : none;
      }
      case "confidence": {
        const confidence = store.label(node)?.confidence;
        return confidence === null || confidence === undefined ? none : sequence(confidence, dark);
      }
      default: {
        const own = this.rooms.get(frame.id[node]);
        const room = own ?? (frame.room[node] >= 0 ? this.rooms.get(frame.id[frame.room[node]]) : undefined);
        return room === undefined ? none : category(room, dark);
      }
    }
  }

  /** The colour of a bag: that of its nodes where they have one, else that of nobody. */
  ofMany(nodes: number[]): Rgb {
    const all = new Set(nodes.map((node) => this.of(node).join()));
    return all.size === 1 ? this.of(nodes[0]) : this.theme.nobody;
  }

  /** The meaning of the colours: words, or a scale. */
  legend(): { entries: [string, Rgb][]; scale: boolean } {
    const { store } = this;
    const { frame, dark } = store;
    switch (store.colouring) {
      case "type":
        return { entries: store.content.types.map((type, i) => [type, category(i, dark)]), scale: false };
      case "confidence":
        return { entries: [0, 0.25, 0.5, 0.75, 1].map((p) => [`${100 * p} %`, sequence(p, dark)]), scale: true };
      case "label": {
        const counts = new Map<string, number>();
        for (const label of frame.states[store.state] ?? []) if (label) counts.set(label.name, (counts.get(label.name) ?? 0) + 1);
        const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 12);
        return { entries: most.map(([name]) => [spaced(name), category(this.words.get(name) ?? 0, dark)]), scale: false };
      }
      default: {
        const found: [string, Rgb][] = [];
        for (const [id, number] of this.rooms) {
          const place = frame.place.get(id);
          if (place !== undefined) found.push([store.title(place), category(number, dark)]);
        }
        return { entries: found, scale: false };
      }
    }
  }
}
