import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { caller } from './client/caller.ts';

test('nothing keeps a process alive after close', async () => {
  const entry = new URL('../../src/sandbox/sandbox.ts', import.meta.url).href;
  // It is closed once a webhook is there, however long that takes on a busy machine.
  const script = `
    import { createSandbox } from ${JSON.stringify(entry)};
    const sandbox = await createSandbox({ calls: 10, threads: 2, traffic: { everyMs: 5 } });
    console.log(JSON.stringify({ url: sandbox.url, apiKey: sandbox.apiKey }));
    while (sandbox.store.subscriptions.size() === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    for (let count = 0; count < 5; count++) { await sandbox.emit.sms(); await sandbox.emit.call(); }
    await sandbox.close();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  const hook = { type: 'AccountSMS', url: 'http://127.0.0.1:1/' };
  expect((await caller(JSON.parse(String(line)))('POST', '/webhooks', hook)).status).toBe(201);
  const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(60_000) });
  expect(code).toBe(0);
});
