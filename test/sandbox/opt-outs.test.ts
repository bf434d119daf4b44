import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { optOutChange } from '../../src/sandbox/sending/carrier.ts';
import { caller, dataFolder, line, otherLine as other, sandboxOfFile, sandboxOfTest } from './client/caller.ts';

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

test('who said STOP in the seeded history is opted out, after a start, a reset and a restart', async () => {
  const dataDir = await dataFolder();
  const { sandbox: first } = await sandboxOfTest({ dataDir, threads: 80, seed: 1 });
  const [kept, lifted] = stopsOf(first);
  if (kept === undefined || lifted === undefined) throw new Error('fewer than two customers said STOP');
  const reasonsIn = async (target: Sandbox) => [
    await skipReason(kept.from, kept.line, target),
    await skipReason(lifted.from, lifted.line, target),
  ];
  expect(await reasonsIn(first)).toEqual(['opted_out', 'opted_out']);
  await first.reset();
  expect(await skipReason(kept.from, kept.line, first)).toBe('opted_out');
  await first.emit.sms({ line: lifted.line, number: lifted.from, text: 'START' });
  await caller(first)('DELETE', `/sms/conversations/${kept.line}/${kept.number}`);
  await first.close();

  const { sandbox: second } = await sandboxOfTest({ dataDir });
  expect(await reasonsIn(second)).toEqual(['opted_out', undefined]);
  await second.reset();
  expect(await skipReason(lifted.from, lifted.line, second)).toBe('opted_out');
});

/** One STOP of each customer who said it in the seeded history. */
function stopsOf({ store }: Sandbox) {
  const stops = [...store.messages.values()].filter(({ direction, text }) => direction === 'in' && text === 'STOP');
  return [...new Map(stops.map((message) => [message.from, message])).values()];
}

test.each(['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'stop', '  Stop. ', '"STOP!!"', '¡stop!\r\n'])(
  '%j opts out',
  (text) => expect(optOutChange(text)).toBe('out'),
);

test.each(['START', 'UNSTOP', 'YES', 'yes…'])('%j opts in again', (text) => expect(optOutChange(text)).toBe('in'));

test.each([
  ...['', '...', 'HELP', 'stop by at 5', 'please stop', 'STOP STOP', 'S.T.O.P', 'STOPS', 'nonstop', 'STOP 1'],
  ...['ſtop', 'stóp', 'ﬆop', 'constructor'],
])('%j changes nothing', (text) => expect(optOutChange(text)).toBeNull());
