import { expect, test } from 'vitest';
import { sandboxOfTest } from './client/caller.ts';
import { createReceiver } from './client/receiver.ts';

test('traffic lets texts and calls happen, each call from ringing to its end', async () => {
  const receiver = await createReceiver();
  const { ask } = await sandboxOfTest({ traffic: { everyMs: 40 } });
  for (const type of ['AccountRealTimeCalls', 'AccountEndedCalls', 'AccountSMS']) {
    await ask('POST', '/webhooks', { type, url: `${receiver.url}/${type}` });
  }
  await receiver.until(5, ({ path }) => path === '/AccountSMS');
  const live = (callId: unknown) =>
    receiver.received
      .filter(({ path, json }) => path === '/AccountRealTimeCalls' && json.callId === callId)
      .map(({ json }) => json);
  // A call may have begun to ring before anybody had subscribed to that.
  const isWhole = ({ path, json }: { path: string; json: { callId: string } }) =>
    path === '/AccountEndedCalls' && live(json.callId).some(({ status }) => status === 'ringing');
  const [ended] = await receiver.until(1, isWhole);
  const callId = ended?.json.callId;
  const began = { callStartTime: expect.stringMatching(/[+-]\d\d:00$/), UniqueId: callId };
  expect(live(callId)[0]).toMatchObject(began);
  const { startTime, durationSeconds } = (await ask('GET', `/calls/${callId}`)).body.data;
  expect(Math.abs(Date.parse(startTime) / 1000 + durationSeconds - Date.now() / 1000)).toBeLessThan(5);
});
