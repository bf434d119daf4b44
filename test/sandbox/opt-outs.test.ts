import { expect, test } from 'vitest';
import { optOutChange } from '../../src/sandbox/sending/carrier.ts';
import { caller, line, otherLine as other, sandboxOfFile, sandboxOfTest } from './client/caller.ts';

const { sandbox, ask } = await sandboxOfFile();
const number = '12125550101';

/** Why a number is skipped; undefined when it was sent to. */
async function skipReason(number: string, from = line, target = sandbox): Promise<string | undefined> {
  const { status, body } = await caller(target)('POST', '/sms/messages', { from, to: [number], message: 'hello' });
  expect(status).toBe(body.data.skipped.length > 0 ? 200 : 201);
  return body.data.skipped[0]?.reason;
}

test('STOP holds for the line that it was sent to, until START', async () => {
  await sandbox.emit.sms({ line, number, text: 'Stop.' });
  expect([await skipReason(number), await skipReason(number, other)]).toEqual(['opted_out', undefined]);
  await sandbox.emit.sms({ line, number, text: 'are you still there?' });
  await sandbox.emit.sms({ line: other, number, text: 'START' });
  expect(await skipReason(number)).toBe('opted_out');
  await sandbox.emit.sms({ line, number, text: 'start' });
  expect(await skipReason(number)).toBeUndefined();
});

test('our own STOP opts nobody out, and in a group only the one who said it', async () => {
  await sandbox.emit.sms({ line, number, direction: 'out', text: 'STOP' });
  expect(await skipReason(number)).toBeUndefined();
  const [speaker, silent] = ['12125550103', '12125550104'] as const;
  await sandbox.emit.sms({ line, number: speaker, participants: [speaker, silent], text: 'STOP' });
  expect([await skipReason(speaker), await skipReason(silent)]).toEqual(['opted_out', undefined]);
});

test('deleting the STOP undoes nothing', async () => {
  const { id } = await sandbox.emit.sms({ line, number, text: 'STOP' });
  for (const path of [`/messages/${id}`, '']) {
    expect((await ask('DELETE', `/sms/conversations/${line}/${number}${path}`)).status).toBe(204);
    expect(await skipReason(number)).toBe('opted_out');
  }
});

test('who said STOP in the seeded history is opted out, after a start and after a reset', async () => {
  const { sandbox: seeded } = await sandboxOfTest({ threads: 80, seed: 1 });
  const stops = [...seeded.store.messages.values()].filter(
    ({ direction, text }) => direction === 'in' && text === 'STOP',
  );
  for (const time of [1, 2]) {
    expect(stops.length).toBeGreaterThan(time);
    for (const { from, line } of stops) expect(await skipReason(from, line, seeded)).toBe('opted_out');
    await seeded.reset();
  }
});

test.each(['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'stop', '  Stop. ', '"STOP!!"', '¡stop!\r\n'])(
  '%j opts out',
  (text) => expect(optOutChange(text)).toBe('out'),
);

test.each(['START', 'UNSTOP', 'YES', 'yes…'])('%j opts in again', (text) => expect(optOutChange(text)).toBe('in'));

test.each([
  ...['', '...', 'HELP', 'stop by at 5', 'please stop', 'STOP STOP', 'S.T.O.P', 'STOPS', 'nonstop', 'STOP 1'],
  ...['ſtop', 'stóp', 'ﬆop', 'constructor'],
])('%j changes nothing', (text) => expect(optOutChange(text)).toBeNull());
