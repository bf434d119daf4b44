import { afterAll, beforeAll } from 'vitest';
import type { OnOpen } from '../nemesis/proxy.ts';
import { type Deployment, type DeploymentShape, deploy } from './deployment.ts';

/** What the tests of one suite share: it ends after the last of them, whatever became of it. */
export function openForSuite<T>(open: (onOpen: OnOpen) => Promise<T>): () => T {
  const ends: (() => Promise<void>)[] = [];
  let opened: T | undefined;
  beforeAll(async () => {
    opened = await open((end) => void ends.push(end));
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return () => opened as T;
}

/** One deployment for all tests of a suite: for faults that leave nothing behind. */
export function deployForSuite(shape: DeploymentShape): () => Deployment {
  return openForSuite((onOpen) => deploy(shape, onOpen));
}
