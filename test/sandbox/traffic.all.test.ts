import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { caller } from './client/caller.ts';
import { createReceiver } from './client/receiver.ts';

test('traffic lets texts and calls happen, each call from ringing to its end', async () => {
  await using receiver = await createReceiver();
  const sandbox = await createSandbox({ calls: 0, threads: 0, traffic: { everyMs: 40 } });
  try {
    const ask = caller(sandbox);
    for (const type of ['AccountRealTimeCalls', 'AccountEndedCalls', 'AccountSMS']) {
      await ask('POST', '/webhooks', { type, url: `${receiver.url}/${type}` });
    }
    await receiver.until(5, ({ path }) => path === '/AccountSMS');
    // A call may have begun to ring before anybody had subscribed to that.
    const isRinging = (callId: unknown) =>
      receiver.received.some(
        ({ path, json }) => path === '/AccountRealTimeCalls' && json.callId === callId && json.status === 'ringing',
      );
    const [ended] = await receiver.until(
      1,
      ({ path, json }) => path === '/AccountEndedCalls' && isRinging(json.callId),
    );
    const { callId } = ended?.json ?? {};
    const live = receiver.received.filter(
      ({ path, json }) => path === '/AccountRealTimeCalls' && json.callId === callId,
    );
    expect(live.map(({ json }) => json.status)).toContain('ringing');
    expect(live[0]?.json).toMatchObject({ callStartTime: expect.stringMatching(/[+-]\d\d:00$/), UniqueId: callId });
    const { body } = await ask('GET', `/calls/${callId}`);
    expect(
      Math.abs(Date.parse(body.data.startTime) / 1000 + body.data.durationSeconds - Date.now() / 1000),
    ).toBeLessThan(5);
  } finally {
    await sandbox.close();
  }
});

test('nothing keeps a process alive after close', async () => {
  const entry = new URL('../../src/sandbox/sandbox.ts', import.meta.url).href;
  const script = `
    import { createSandbox } from ${JSON.stringify(entry)};
    const sandbox = await createSandbox({ calls: 10, threads: 2, traffic: { everyMs: 5 } });
    const headers = { authorization: 'Bearer ' + sandbox.apiKey, 'content-type': 'application/json' };
    const body = JSON.stringify({ type: 'AccountSMS', url: 'http://127.0.0.1:1/' });
    await fetch(sandbox.url + '/api/public/v1/webhooks', { method: 'POST', headers, body });
    for (let count = 0; count < 5; count++) { await sandbox.emit.sms(); await sandbox.emit.call(); }
    await sandbox.close();
    console.log('closed');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(60_000) });
  expect(code).toBe(0);
});

test('a port that is taken rejects and leaves nothing open', async () => {
  const first = await createSandbox({ calls: 0, threads: 0 });
  await expect(createSandbox({ calls: 0, threads: 0, port: Number(new URL(first.url).port) })).rejects.toThrow(
    /EADDRINUSE/,
  );
  await first.close();
  await expect(fetch(first.url)).rejects.toThrow();
});
