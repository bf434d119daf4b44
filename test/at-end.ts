import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** Calls `end` after the test that asks for it, or after the tests of the file or group that asks at its top level. */
export function atEnd(end: () => unknown): void {
  if (TestRunner.getCurrentTest()) onTestFinished(async () => void (await end()));
  else afterAll(async () => void (await end()));
}

/** A folder that is gone at that end. */
export async function temporaryFolder(onEnd: (end: () => Promise<void>) => unknown = atEnd): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-test-'));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
