// The layers in 3D.

import { AmbientLight, DirectionalLight, Group, Scene, Vector3, WebGLRenderer } from "three";
import { View } from "./camera";
import type { Frame } from "./content";
import { markSize, Space } from "./geometry";
import { mix, type Colours, type Rgb } from "./palette";
import { BOX_EDGES, dispose, Lines, PLATE_EDGES, Shapes, type Triple } from "./shapes";
import type { Store } from "./store";

const DIMMED = { light: 0.84, dark: 0.72 }; // how far what is not lit fades into the ground
const BORDER = 0.35; // of a layer around its nodes

/** Where a node is on the screen, how large, and how far away. */
export interface Projected {
  x: Float32Array;
  y: Float32Array;
  radius: Float32Array;
  depth: Float32Array;
}

export class World {
  readonly space: Space;
  readonly view: View;
  projected!: Projected;
  onDrawn: () => void = () => {};
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly group = new Group();
  private points: Triple[] = [];
  private solids: { shapes: Shapes; nodes: number[] }[] = [];
  private boxes: number[] = [];
  private boxLines!: Lines;
  private edgeLines!: Lines;
  private rooms: number[] = [];
  private plates: { shapes: Shapes; lines: Lines; low: boolean }[] = [];
  private layers: number[] = [];
  private planes!: Shapes;
  private planeLines!: Lines;
  private pending = false;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly store: Store,
    private readonly colours: Colours,
  ) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.space = new Space(store);
    this.view = new View(canvas);
    this.view.onMove = () => this.draw();
    this.view.covered = store.frames.length > 1 ? 56 : 0; // by the time line
    const sun = new DirectionalLight(0xffffff, 1.7);
    sun.position.set(-3, -6, 12);
    this.scene.add(new AmbientLight(0xffffff, 1.9), sun, this.group);
    canvas.addEventListener("webglcontextrestored", () => this.draw());
    this.build();
    store.listen((change) => {
      if (change === "frame" || change === "layers") this.build();
      else if (change === "spread") this.place();
      if (change === "spread" && this.view.untouched) this.home();
      if (["focus", "colour", "theme", "state", "spread"].includes(change)) this.paint();
    });
  }

  /** Looks at the whole scene; at all frames, so that the camera stays while a map grows. */
  home(): void {
    const { space, store } = this;
    const corners: Triple[] = [];
    for (const type of store.content.types.keys()) {
      for (const corner of [0, 1, 2, 3]) corners.push(this.corner(corner, space.lift(type, store.spread)));
    }
    for (const frame of store.frames) for (let node = 0; node < frame.size; node++) corners.push(space.point(frame, node, store.spread));
    this.view.home(corners.length > 20_000 ? corners.filter((_, i) => i % 10 === 0) : corners);
    this.draw();
  }

  approach(node: number): void {
    this.view.approach(this.points[node]);
  }

  resize(width: number, height: number): void {
    if (!width || !height) return;
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio || 1));
    this.renderer.setSize(width, height, false);
    this.view.camera.aspect = width / height;
    this.view.camera.updateProjectionMatrix();
    if (this.view.untouched) this.home();
    this.draw();
  }

  private corner(corner: number, level: number): Triple {
    const [x, y] = [this.space.width / 2 + BORDER, this.space.depth / 2 + BORDER];
    return [corner & 1 ? x : -x, corner & 2 ? y : -y, level];
  }

  /** Where the name of each layer stands on the screen: at its leftmost corner. */
  layerCorners(): { x: number; y: number; type: number }[] {
    return this.layers.map((type) => {
      const corners = [0, 1, 2, 3].map((corner) => {
        const point = new Vector3(...this.corner(corner, this.space.lift(type, this.store.spread))).project(this.view.camera);
        return { x: ((point.x + 1) / 2) * this.canvas.clientWidth, y: ((1 - point.y) / 2) * this.canvas.clientHeight, type };
      });
      return corners.reduce((left, each) => (each.x < left.x ? each : left));
    });
  }

  /** Makes the shapes of a frame. */
  private build(): void {
    const { frame, content } = this.store;
    const { group } = this;
    dispose(group);
    const shown = [...frame.type.keys()].filter((node) => !this.store.isHidden(node));
    this.layers = [...new Set(frame.type)].filter((type) => content.types[type] !== "agent" && !this.store.hiddenTypes.has(type));
    this.planes = new Shapes(group, "plate", this.layers.length, 0.035);
    this.planeLines = new Lines(group, this.layers.length * PLATE_EDGES.length, -1);
    this.rooms = shown.filter((node) => frame.typeName(node) === "room" && frame.extent[3 * node] > 0);
    this.plates = [false, true].map((low) => ({
      shapes: new Shapes(group, "plate", Math.max(1, this.rooms.length)),
      lines: new Lines(group, this.rooms.length * PLATE_EDGES.length, -1),
      low,
    }));
    for (const { shapes } of this.plates) shapes.mesh.count = this.rooms.length;
    this.edgeLines = new Lines(group, (2 * frame.edges.length) / 3);
    this.boxes = shown.filter((node) => this.isBox(frame, node));
    const balls = shown.filter((node) => !this.isBox(frame, node));
    const large = balls.filter((node) => markSize(frame.typeName(node)) > 0.1);
    const small = balls.filter((node) => markSize(frame.typeName(node)) <= 0.1);
    this.solids = [];
    if (this.boxes.length) this.solids.push({ shapes: new Shapes(group, "box", this.boxes.length, 0.78), nodes: this.boxes });
    if (large.length) this.solids.push({ shapes: new Shapes(group, large.length > 60 ? "ball" : "fine ball", large.length), nodes: large });
    if (small.length) this.solids.push({ shapes: new Shapes(group, "ball", small.length), nodes: small });
    this.boxLines = new Lines(group, this.boxes.length * BOX_EDGES.length);
    const numbers = (): Float32Array => new Float32Array(frame.size);
    this.projected = { x: numbers(), y: numbers(), radius: numbers(), depth: numbers() };
    this.place();
    this.paint();
  }

  private isBox(frame: Frame, node: number): boolean {
    return frame.typeName(node) === "object" && frame.extent[3 * node] > 0;
  }

  private boxOf(node: number): Triple {
    const { factor } = this.space;
    return [0, 1, 2].map((axis) => Math.max(0.02, this.store.frame.extent[3 * node + axis] * factor)) as Triple;
  }

  private radiusOf(node: number): number {
    return markSize(this.store.frame.typeName(node)) * this.space.markFactor;
  }

  /** Moves the shapes to where they belong. */
  private place(): void {
    const { space, store } = this;
    const { frame, spread } = store;
    this.points = Array.from({ length: frame.size }, (_, node) => space.point(frame, node, spread));
    const { points } = this;
    for (const { shapes, nodes } of this.solids) {
      nodes.forEach((node, i) => {
        const radius = this.radiusOf(node);
        shapes.place(i, points[node], nodes === this.boxes ? this.boxOf(node) : [radius, radius, radius]);
      });
    }
    this.boxes.forEach((node, i) => {
      const size = this.boxOf(node);
      BOX_EDGES.forEach((corner, k) => {
        const [x, y, z] = [corner & 1, (corner >> 1) & 1, corner >> 2].map((bit, axis) => points[node][axis] + (bit - 0.5) * size[axis]);
        this.boxLines.place(i * BOX_EDGES.length + k, x, y, z);
      });
    });
    for (let i = 0; i < frame.edges.length; i += 3) {
      this.edgeLines.place((2 * i) / 3, ...points[frame.edges[i]]);
      this.edgeLines.place((2 * i) / 3 + 1, ...points[frame.edges[i + 1]]);
    }
    const ground = Math.max(0, store.content.types.indexOf("object"));
    for (const { shapes, lines, low } of this.plates) {
      this.rooms.forEach((node, i) => {
        const [w, d, h] = this.boxOf(node);
        const [x, y, z] = points[node];
        const under = Math.max(0, z - space.lift(frame.type[node], spread) - h / 2);
        const level = low ? under + space.lift(ground, spread) : z - (1 - spread) * (h / 2);
        shapes.place(i, [x, y, level], [w, d, low ? 0.004 : 0.05]);
        PLATE_EDGES.forEach((corner, k) => lines.place(i * PLATE_EDGES.length + k, x + (corner & 1 ? w : -w) / 2, y + (corner & 2 ? d : -d) / 2, level + (low ? 0 : 0.026)));
      });
    }
    this.layers.forEach((type, i) => {
      const level = space.lift(type, spread) - 0.02;
      this.planes.place(i, [0, 0, level], [space.width + 2 * BORDER, space.depth + 2 * BORDER, 0.001]);
      PLATE_EDGES.forEach((corner, k) => this.planeLines.place(i * PLATE_EDGES.length + k, ...this.corner(corner, level)));
    });
    this.draw();
  }

  /** Gives everything its colour: lit, faded, or as usual. */
  private paint(): void {
    const { store, colours } = this;
    const { frame, lit } = store;
    const { ground, ink, line } = colours.theme;
    const shades = Array.from({ length: frame.size }, (_, node): Rgb => {
      const colour = colours.of(node);
      if (!lit || lit.nodes.has(node)) return colour;
      return mix(colour, ground, lit.near.has(node) ? 0.3 : store.dark ? DIMMED.dark : DIMMED.light);
    });
    for (const { shapes, nodes } of this.solids) nodes.forEach((node, i) => shapes.paint(i, shades[node]));
    this.boxes.forEach((node, i) => {
      const isLit = lit?.nodes.has(node) ?? false;
      const alpha = !lit || isLit ? 0.9 : lit.near.has(node) ? 0.6 : 0.2;
      this.boxLines.paint(i * BOX_EDGES.length, mix(shades[node], ink, isLit ? 0.6 : 0.3), alpha, BOX_EDGES.length);
    });
    this.paintEdges(shades);
    for (const { shapes, lines, low } of this.plates) {
      shapes.opacity = (low ? 0.1 : store.dark ? 0.3 : 0.24) * (lit ? 0.7 : 1);
      this.rooms.forEach((node, i) => {
        shapes.paint(i, shades[node]);
        lines.paint(i * PLATE_EDGES.length, shades[node], (low ? 0.35 : 0.9) * (!lit || lit.nodes.has(node) ? 1 : 0.6), PLATE_EDGES.length);
      });
    }
    this.layers.forEach((_, i) => {
      this.planes.paint(i, store.dark ? [0.6, 0.75, 0.9] : [0.25, 0.35, 0.45]);
      this.planeLines.paint(i * PLATE_EDGES.length, line, store.spread > 0.02 ? 0.9 : 0.25, PLATE_EDGES.length);
    });
    this.draw();
  }

  private paintEdges(shades: Rgb[]): void {
    const { frame, lit, content } = this.store;
    const agent = content.types.indexOf("agent");
    const { ink } = this.colours.theme;
    const between = frame.edges.length > 6000 ? 0.14 : 0.32; // many lines hide each other
    for (let i = 0; i < frame.edges.length; i += 3) {
      const [a, b] = [frame.edges[i], frame.edges[i + 1]];
      const hidden = this.store.isHidden(a) || this.store.isHidden(b);
      const agents = Number(frame.type[a] === agent) + Number(frame.type[b] === agent);
      let alpha = hidden || agents === 1 ? 0 : frame.type[a] === frame.type[b] ? 0.6 : between;
      const touched = lit !== null && (lit.nodes.has(a) || lit.nodes.has(b));
      const strong = lit !== null && touched && (lit.nodes.size === 1 || (lit.nodes.has(a) && lit.nodes.has(b)));
      if (lit && !hidden) alpha = strong ? 0.95 : touched && !agents ? 0.25 : Math.min(alpha, 0.06);
      this.edgeLines.paint((2 * i) / 3, strong ? mix(shades[a], ink, 0.35) : shades[a], alpha);
      this.edgeLines.paint((2 * i) / 3 + 1, strong ? mix(shades[b], ink, 0.35) : shades[b], alpha);
    }
  }

  draw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => this.pending && this.drawNow());
  }

  drawNow(): void {
    this.pending = false;
    this.project();
    this.renderer.render(this.scene, this.view.camera);
    this.onDrawn();
  }

  private project(): void {
    const { frame } = this.store;
    const { x, y, radius, depth } = this.projected;
    const { camera } = this.view;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    camera.updateMatrixWorld();
    const pixels = height / 2 / Math.tan((camera.fov * Math.PI) / 360);
    const point = new Vector3();
    for (let node = 0; node < frame.size; node++) {
      point.set(...this.points[node]).applyMatrix4(camera.matrixWorldInverse);
      depth[node] = -point.z;
      const size = this.isBox(frame, node) ? Math.hypot(...this.boxOf(node)) * 0.32 : this.radiusOf(node);
      radius[node] = (size * pixels) / Math.max(0.01, depth[node]);
      point.applyMatrix4(camera.projectionMatrix);
      x[node] = ((point.x + 1) / 2) * width;
      y[node] = ((1 - point.y) / 2) * height;
    }
  }

  /** The node at a place on the screen, or null. */
  pick(x: number, y: number, slack: number): number | null {
    const found = this.projected;
    let [best, least] = [null as number | null, Infinity];
    for (let node = 0; node < this.store.frame.size; node++) {
      if (this.store.isHidden(node) || found.depth[node] <= 0) continue;
      const distance = Math.hypot(found.x[node] - x, found.y[node] - y);
      const reach = Math.min(60, found.radius[node]) + slack;
      if (distance > reach) continue;
      const aside = this.store.frame.typeName(node) === "agent" ? 0.3 : 0; // a robot's path crosses everything
      const score = distance / reach + found.depth[node] / 400 + Math.min(60, found.radius[node]) / 400 + aside;
      if (score < least) [best, least] = [node, score];
    }
    return best;
  }
}
