// Many shapes in one draw call: boxes and balls with a colour each, and lines whose ends have a colour and an opacity each.

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  Color,
  DynamicDrawUsage,
  Group,
  IcosahedronGeometry,
  InstancedMesh,
  LineBasicMaterial,
  LineSegments,
  Matrix4,
  MeshBasicMaterial,
  MeshLambertMaterial,
} from "three";
import type { Rgb } from "./palette";

export type Triple = [number, number, number];

const matrix = new Matrix4();
const colour = new Color();

export class Shapes {
  readonly mesh: InstancedMesh;

  /** Shaded solids, or flat plates that hide nothing. */
  constructor(group: Group, form: "box" | "plate" | "ball" | "fine ball", count: number, opacity = 1) {
    const ball = form === "ball" || form === "fine ball";
    const geometry = ball ? new IcosahedronGeometry(1, form === "ball" ? 1 : 3) : new BoxGeometry(1, 1, 1);
    const material =
      form === "plate" ? new MeshBasicMaterial({ transparent: true, opacity, depthWrite: false }) : new MeshLambertMaterial({ transparent: true, opacity });
    this.mesh = new InstancedMesh(geometry, material, count);
    this.mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = form === "plate" ? -1 : 0;
    this.mesh.setColorAt(0, colour);
    group.add(this.mesh);
  }

  set opacity(value: number) {
    (this.mesh.material as MeshBasicMaterial).opacity = value;
  }

  place(i: number, at: Triple, size: Triple): void {
    this.mesh.setMatrixAt(i, matrix.makeScale(...size).setPosition(...at));
    this.mesh.instanceMatrix.needsUpdate = true;
  }

  paint(i: number, rgb: Rgb): void {
    this.mesh.setColorAt(i, colour.setRGB(...rgb, "srgb"));
    this.mesh.instanceColor!.needsUpdate = true;
  }
}

export class Lines {
  readonly object: LineSegments;
  private readonly position: BufferAttribute;
  private readonly colour: BufferAttribute;

  constructor(group: Group, ends: number, order = 0) {
    const geometry = new BufferGeometry();
    this.position = new BufferAttribute(new Float32Array(3 * ends), 3);
    this.colour = new BufferAttribute(new Float32Array(4 * ends), 4);
    geometry.setAttribute("position", this.position);
    geometry.setAttribute("color", this.colour);
    this.object = new LineSegments(geometry, new LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }));
    this.object.frustumCulled = false;
    this.object.renderOrder = order;
    group.add(this.object);
  }

  place(end: number, x: number, y: number, z: number): void {
    this.position.setXYZ(end, x, y, z);
    this.position.needsUpdate = true;
  }

  paint(end: number, rgb: Rgb, alpha: number, count = 1): void {
    colour.setRGB(...rgb, "srgb");
    for (let i = end; i < end + count; i++) this.colour.setXYZW(i, colour.r, colour.g, colour.b, alpha);
    this.colour.needsUpdate = true;
  }
}

/** The corners of a box, two for each of its edges; a bit per axis says which side a corner is on. */
export const BOX_EDGES = [0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 1, 3, 4, 6, 5, 7, 0, 4, 1, 5, 2, 6, 3, 7];
/** The same for a rectangle. */
export const PLATE_EDGES = [0, 1, 1, 3, 3, 2, 2, 0];

export function dispose(group: Group): void {
  for (const child of [...group.children]) {
    if (child instanceof InstancedMesh || child instanceof LineSegments) {
      child.geometry.dispose();
      (child.material as MeshBasicMaterial).dispose();
      if (child instanceof InstancedMesh) child.dispose();
    }
  }
  group.clear();
}
