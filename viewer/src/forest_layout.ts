// Where the nodes of an H-tree are drawn: roots in a column, what is below them to the right, one row per leaf.

import type { Tree } from "./content";

export interface Layout {
  rows: number;
  levels: number;
  /** The row of every tree node, in units of rows; bags are in the middle of their leaves. */
  row: Float64Array;
  /** The column of every tree node; leaves are all in the last one. */
  column: Int32Array;
  /** The leaf in every row. */
  leaves: number[];
}

export function layoutOf(tree: Tree): Layout {
  const row = new Float64Array(tree.size);
  const column = new Int32Array(tree.size);
  const leaves: number[] = [];
  const levels = tree.level.reduce((most, level) => Math.max(most, level), 0);
  let rows = 0;
  const order = rootOrder(tree);
  order.forEach((root, i) => {
    const below = preorder(tree, root);
    for (const node of below) {
      column[node] = tree.level[node];
      if (tree.children[node].length) continue;
      if (tree.node[node] >= 0) column[node] = Math.max(1, levels);
      row[node] = rows++;
      leaves.push(node);
    }
    for (const node of below.reverse()) {
      const children = tree.children[node];
      if (children.length) row[node] = (row[children[0]] + row[children[children.length - 1]]) / 2;
    }
    if (i < order.length - 1) rows += 0.6;
  });
  return { rows: Math.max(1, rows), levels: Math.max(1, levels), row, column, leaves };
}

function preorder(tree: Tree, start: number): number[] {
  const found: number[] = [];
  const left = [start];
  while (left.length) {
    const node = left.pop()!;
    found.push(node);
    for (let i = tree.children[node].length - 1; i >= 0; i--) left.push(tree.children[node][i]);
  }
  return found;
}

/** Roots of one component together, along the tree that they form, short branches first. */
function rootOrder(tree: Tree): number[] {
  const near = new Map<number, number[]>(tree.roots.map((root) => [root, []]));
  for (const [a, b] of tree.joined) {
    near.get(a)?.push(b);
    near.get(b)?.push(a);
  }
  const seen = new Set<number>();
  const found: number[] = [];
  for (const start of near.keys()) {
    if (seen.has(start)) continue;
    const parent = new Map<number, number>([[start, -1]]);
    const walk = [start];
    for (const root of walk) {
      for (const other of near.get(root)!) {
        if (parent.has(other)) continue;
        parent.set(other, root);
        walk.push(other);
      }
    }
    const weight = new Map<number, number>();
    for (const root of [...walk].reverse()) {
      weight.set(root, (weight.get(root) ?? 0) + 1);
      const above = parent.get(root)!;
      if (above >= 0) weight.set(above, (weight.get(above) ?? 0) + weight.get(root)!);
    }
    const left = [start];
    while (left.length) {
      const root = left.pop()!;
      seen.add(root);
      found.push(root);
      const next = near.get(root)!.filter((other) => parent.get(other) === root);
      left.push(...next.sort((a, b) => weight.get(b)! - weight.get(a)!));
    }
  }
  return found;
}
