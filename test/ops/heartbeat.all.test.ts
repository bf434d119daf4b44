import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { inherited } from '../inherited.ts';

const heartbeat = fileURLToPath(new URL('../../src/ops/heartbeat.ts', import.meta.url));

test('a process ends whose event loop is stuck, and none that only waits', async () => {
  const script = `
    import { startHeartbeat } from ${JSON.stringify(heartbeat)};
    startHeartbeat(console, 2);
    setTimeout(() => { console.log('waited'); for (;;); }, 4_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { env: inherited });
  const [[, signal], out, err] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  expect({ signal, out, err }).toMatchObject({
    signal: 'SIGKILL',
    out: 'waited\n',
    err: expect.stringContaining('The event loop was stuck for 2 s'),
  });
});
