// The camera of the scene.

import { PerspectiveCamera, Vector3 } from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Triple } from "./shapes";

const NEAREST = 1.2;
const FARTHEST = 120;
const DIRECTION = new Vector3(-0.6, -1, 0.66).normalize();
const MARGIN = 44; // pixels around the scene, for names
const LEFT = 92; // those at the left, for the names of layers

export class View {
  readonly camera = new PerspectiveCamera(26, 1, 0.1, 400);
  /** Pixels at the bottom that something else covers. */
  covered = 0;
  /** Whether the user has not moved the camera yet. */
  untouched = true;
  onMove: () => void = () => {};
  private readonly controls: OrbitControls;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.maxPolarAngle = 0.62 * Math.PI;
    this.controls.minDistance = NEAREST;
    this.controls.maxDistance = FARTHEST;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", () => this.onMove());
    this.controls.addEventListener("start", () => (this.untouched = false));
  }

  /** Looks at all of these points from as near as they allow. */
  home(points: Triple[]): void {
    const { camera } = this;
    const half = Math.tan((camera.fov * Math.PI) / 360);
    const [width, height] = [this.canvas.clientWidth || 1, this.canvas.clientHeight || 1];
    const left = width > 560 ? LEFT : MARGIN / 2;
    const beside = MARGIN / 2;
    const roomAcross = half * camera.aspect * Math.max(0.3, 1 - (left + beside) / width);
    const roomAlong = half * Math.max(0.3, 1 - (2 * MARGIN + this.covered) / height);
    camera.position.copy(DIRECTION).multiplyScalar(30);
    camera.lookAt(0, 0, 0);
    camera.updateMatrixWorld();
    const right = new Vector3().setFromMatrixColumn(camera.matrixWorld, 0);
    const up = new Vector3().setFromMatrixColumn(camera.matrixWorld, 1);
    const seen = points.map((point) => {
      const vector = new Vector3(...point);
      return { across: vector.dot(right), along: vector.dot(up), near: vector.dot(DIRECTION) };
    });
    // Twice is enough to centre the picture, in which what is near is larger.
    let [across, along, distance] = [0, 0, 20];
    for (let round = 0; round < 3; round++) {
      const x = seen.map((each) => (each.across - across) / (distance - each.near));
      const y = seen.map((each) => (each.along - along) / (distance - each.near));
      across += ((Math.min(...x) + Math.max(...x)) / 2) * distance;
      along += ((Math.min(...y) + Math.max(...y)) / 2) * distance;
      distance = Math.max(3, ...seen.map((each) => each.near + Math.max(Math.abs(each.across - across) / roomAcross, Math.abs(each.along - along) / roomAlong)));
    }
    across -= ((left - beside) * half * camera.aspect * distance) / width;
    along -= (this.covered * half * distance) / height;
    const target = new Vector3().addScaledVector(right, across).addScaledVector(up, along);
    // The point on the line of sight that is amid the scene is the one to turn around.
    const depth = (Math.min(...seen.map((each) => each.near)) + Math.max(...seen.map((each) => each.near))) / 2;
    camera.position.copy(target).addScaledVector(DIRECTION, distance);
    this.controls.target.copy(target).addScaledVector(DIRECTION, depth);
    this.untouched = true;
    this.controls.update();
  }

  approach(point: Triple): void {
    const offset = this.offset();
    this.controls.target.set(...point);
    this.move(offset.setLength(Math.min(offset.length(), 9)));
  }

  turn(across: number, along: number): void {
    const offset = this.offset();
    const radius = offset.length();
    const around = Math.atan2(offset.y, offset.x) + across;
    const above = Math.max(-0.2, Math.min(1.5, Math.asin(offset.z / radius) + along));
    this.move(offset.set(Math.cos(around) * Math.cos(above), Math.sin(around) * Math.cos(above), Math.sin(above)).multiplyScalar(radius));
  }

  zoom(factor: number): void {
    const offset = this.offset();
    this.move(offset.setLength(Math.max(NEAREST, Math.min(FARTHEST, offset.length() * factor))));
  }

  private offset(): Vector3 {
    return this.camera.position.clone().sub(this.controls.target);
  }

  private move(offset: Vector3): void {
    this.camera.position.copy(this.controls.target).add(offset);
    this.untouched = false;
    this.controls.update();
    this.onMove();
  }
}
