import type { OnOpen } from '../nemesis/proxy.ts';
import { seed } from '../random.ts';
import { createPart } from './part.ts';
import { freePort } from './ports.ts';
import { type FaultyService, openService } from './service.ts';

/** Starts a sandbox in a process of its own, in which nothing happens that a test does not want. */
export async function openSandbox(onOpen: OnOpen): Promise<FaultyService> {
  const port = await freePort();
  const args = ['sandbox', '--port', port, '--seed', seed, '--calls', 20, '--threads', 10].map(String);
  const sandbox = createPart(
    { name: 'sandbox', args: [...args, '--no-traffic', '--json'], env: {}, readyWords: '"apiKey"' },
    onOpen,
  );
  await sandbox.start();
  return openService(`http://127.0.0.1:${port}`);
}
