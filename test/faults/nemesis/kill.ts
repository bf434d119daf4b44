import type { Deployment } from '../deployment/deployment.ts';
import { type KillPoint, nameOf } from './kill-points.ts';

/** A load passes every point many times within this. */
const limit = 30_000;

/** Kills a process with SIGKILL at the moment in which a point's bytes pass, under load, and starts it again. */
export async function killAt(deployment: Deployment, point: KillPoint): Promise<void> {
  const { wires } = deployment;
  if (wires === undefined) throw new Error('only a wired deployment can be killed at a point');
  const victim = deployment[point.victim];
  const sprung = Promise.withResolvers<void>();
  wires[point.wire].set(point.trap, () => {
    victim.signal('SIGKILL');
    sprung.resolve();
  });
  const timer = setTimeout(() => {
    wires[point.wire].disarm();
    sprung.reject(new Error(`Nothing passed at "${nameOf(point)}" for ${limit / 1_000} s`));
  }, limit);
  await sprung.promise.finally(() => clearTimeout(timer));
  await victim.ended();
  await victim.start();
}
