import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { caller } from './client/caller.ts';

const hook = { type: 'AccountSMS', url: 'http://127.0.0.1:1/' };

/** A process that starts a sandbox, prints where it is and does what the rest of the script says. */
async function start(options: object, rest = '') {
  const entry = new URL('../../src/sandbox/sandbox.ts', import.meta.url).href;
  const script = `
    import { createSandbox } from ${JSON.stringify(entry)};
    const sandbox = await createSandbox(${JSON.stringify(options)});
    const { url, apiKey } = sandbox;
    console.log(JSON.stringify({ url, apiKey }));
    ${rest}`;
  const arguments_ = ['--input-type=module', '-e', script];
  const child = spawn(process.execPath, arguments_, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  return { child, running: JSON.parse(String(line)) };
}

test('nothing keeps a process alive after close', async () => {
  const { child, running } = await start(
    { calls: 10, threads: 2, traffic: { everyMs: 5 } },
    `setTimeout(async () => {
      for (let count = 0; count < 5; count++) { await sandbox.emit.sms(); await sandbox.emit.call(); }
      await sandbox.close();
    }, 1_000);`,
  );
  expect((await caller(running)('POST', '/webhooks', hook)).status).toBe(201);
  const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(60_000) });
  expect(code).toBe(0);
});
