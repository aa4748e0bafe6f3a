// What the page shows, as src/neuraltrees/viewing/content.py writes it.

export interface StateContent {
  name: string;
  /** One row per labelled node: place in the frame, label, confidence or null, whether confirmed, other labels. */
  labels: [number, number, number | null, 0 | 1, [number, number][]][];
}

export interface FrameContent {
  name: string;
  note: string;
  /** Places in `rows`. */
  nodes: number[];
  /** Place of the node's room in the frame, or -1. */
  room: number[];
  /** Source, target, relation, one after another. */
  edges: number[];
  tree: { parent: number[]; node: number[]; joined: number[]; note: string } | null;
  states: StateContent[];
}

export interface Content {
  title: string;
  /** Layers from top to bottom. */
  types: string[];
  relations: string[];
  /** Names of labels. */
  labels: string[];
  /** Every id that occurs, as text. */
  ids: string[];
  /** Nodes in any frame: id, type, name or null, position and size, three numbers each, number of the label or -1. */
  rows: { id: number[]; type: number[]; name: (string | null)[]; at: number[]; size: number[]; number: number[] };
  frames: FrameContent[];
}

export interface Label {
  name: string;
  confidence: number | null;
  confirmed: boolean;
  others: { name: string; p: number }[];
}

/** An H-tree; nodes of the scene are given by their places in the frame. */
export class Tree {
  readonly size: number;
  readonly parent: Int32Array;
  readonly node: Int32Array;
  readonly level: Int32Array;
  readonly children: number[][];
  readonly joined: [number, number][] = [];
  readonly note: string;
  private readonly leaves = new Map<number, number[]>();

  constructor(content: NonNullable<FrameContent["tree"]>) {
    this.size = content.parent.length;
    this.parent = Int32Array.from(content.parent);
    this.node = Int32Array.from(content.node);
    this.note = content.note;
    this.level = new Int32Array(this.size);
    this.children = Array.from({ length: this.size }, () => []);
    for (let i = 0; i < this.size; i++) {
      const above = this.parent[i];
      if (above >= 0) {
        this.children[above].push(i);
        this.level[i] = this.level[above] + 1; // a parent precedes its children
      }
      if (this.node[i] >= 0) {
        const known = this.leaves.get(this.node[i]);
        if (known) known.push(i);
        else this.leaves.set(this.node[i], [i]);
      }
    }
    for (let i = 0; i < content.joined.length; i += 2) this.joined.push([content.joined[i], content.joined[i + 1]]);
  }

  leavesOf(node: number): number[] {
    return this.leaves.get(node) ?? [];
  }

  /** All tree nodes whose bag has a node: its leaves and what is above them. */
  holding(node: number): Set<number> {
    const found = new Set<number>();
    for (const leaf of this.leavesOf(node)) {
      for (let i = leaf; i >= 0 && !found.has(i); i = this.parent[i]) found.add(i);
    }
    return found;
  }

  /** A tree node and all below it. */
  below(start: number): number[] {
    const found = [start];
    for (let i = 0; i < found.length; i++) found.push(...this.children[found[i]]);
    return found;
  }

  /** The nodes of a bag: those of the leaves below it. */
  members(start: number): number[] {
    return [...new Set(this.below(start).flatMap((i) => (this.node[i] >= 0 ? [this.node[i]] : [])))];
  }

  get roots(): number[] {
    return [...this.parent.keys()].filter((i) => this.parent[i] < 0);
  }
}

/** The scene at one time. */
export class Frame {
  readonly name: string;
  readonly note: string;
  readonly size: number;
  readonly id: Int32Array;
  readonly type: Int32Array;
  readonly names: (string | null)[];
  readonly at: Float64Array;
  readonly extent: Float64Array;
  /** Numbers of labels, -1 for none. */
  readonly number: Float64Array;
  readonly room: Int32Array;
  readonly edges: Int32Array;
  readonly tree: Tree | null;
  readonly stateNames: string[];
  readonly states: (Label | null)[][];
  readonly place = new Map<number, number>();
  private neighbours: { node: number; relation: number; outward: boolean }[][] | null = null;

  constructor(
    readonly content: Content,
    frame: FrameContent,
  ) {
    const rows = content.rows;
    this.name = frame.name;
    this.note = frame.note;
    this.size = frame.nodes.length;
    this.id = Int32Array.from(frame.nodes, (row) => rows.id[row]);
    this.type = Int32Array.from(frame.nodes, (row) => rows.type[row]);
    this.names = frame.nodes.map((row) => rows.name[row]);
    this.number = Float64Array.from(frame.nodes, (row) => rows.number[row]);
    this.at = new Float64Array(3 * this.size);
    this.extent = new Float64Array(3 * this.size);
    frame.nodes.forEach((row, i) => {
      for (let axis = 0; axis < 3; axis++) {
        this.at[3 * i + axis] = rows.at[3 * row + axis];
        this.extent[3 * i + axis] = rows.size[3 * row + axis];
      }
      this.place.set(this.id[i], i);
    });
    this.room = Int32Array.from(frame.room);
    this.edges = Int32Array.from(frame.edges);
    this.tree = frame.tree && frame.tree.parent.length ? new Tree(frame.tree) : null;
    this.stateNames = frame.states.map((state) => state.name);
    this.states = frame.states.map((state) => {
      const found: (Label | null)[] = new Array(this.size).fill(null);
      for (const [node, name, confidence, confirmed, others] of state.labels) {
        found[node] = {
          name: content.labels[name],
          confidence,
          confirmed: confirmed === 1,
          others: others.map(([label, p]) => ({ name: content.labels[label], p })),
        };
      }
      return found;
    });
  }

  typeName(node: number): string {
    return this.content.types[this.type[node]];
  }

  idText(node: number): string {
    return this.content.ids[this.id[node]];
  }

  label(node: number, state: number): Label | null {
    return this.states[state]?.[node] ?? null;
  }

  /** What people would call a node: its label, else its name, else its type and id. */
  title(node: number, state: number): string {
    const given = this.label(node, state)?.name ?? this.names[node];
    if (given) return spaced(given);
    const id = shortId(this.idText(node));
    return /^\d+$/.test(id) ? `${spaced(this.typeName(node))} ${id}` : id;
  }

  around(node: number): { node: number; relation: number; outward: boolean }[] {
    if (!this.neighbours) {
      this.neighbours = Array.from({ length: this.size }, () => []);
      for (let i = 0; i < this.edges.length; i += 3) {
        const [a, b, relation] = this.edges.subarray(i, i + 3);
        this.neighbours[a].push({ node: b, relation, outward: true });
        this.neighbours[b].push({ node: a, relation, outward: false });
      }
    }
    return this.neighbours[node];
  }
}

/** Numbers of Spark-DSG hold a letter in their highest byte: O(12) instead of 5692549928996306956. */
export function shortId(id: string): string {
  if (/^\d{16,20}$/.test(id)) {
    const number = BigInt(id);
    const letter = Number(number >> 56n);
    if (letter > 32 && letter < 127) return `${String.fromCharCode(letter)}(${number & ((1n << 56n) - 1n)})`;
  }
  return id;
}

export const spaced = (name: string): string => name.replaceAll("_", " ");
export const percent = (p: number): string => `${Math.round(100 * p)} %`;
export const counted = (count: number, word: string): string => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
