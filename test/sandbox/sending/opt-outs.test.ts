import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Message } from '../../../src/sandbox/account.ts';
import { createRandom, deriveSeed } from '../../../src/sandbox/random.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { directoryOf } from '../../../src/sandbox/seed/seed.ts';
import { generateThreads } from '../../../src/sandbox/seed/texts.ts';
import { optOutChange } from '../../../src/sandbox/sending/carrier.ts';
import { caller } from '../client/caller.ts';

const line = '16465550100';
const other = '16465550101';
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
});
afterAll(() => sandbox.close());

/** Why a number is skipped; undefined when it was sent to. */
async function skipReason(number: string, from = line, target = sandbox): Promise<string | undefined> {
  const { status, body } = await caller(target)('POST', '/sms/messages', { from, to: [number], message: 'hello' });
  expect(status).toBe(body.data.skipped.length > 0 ? 200 : 201);
  return body.data.skipped[0]?.reason;
}

test('STOP holds for the line that it was sent to, until START', async () => {
  const number = '12125550101';
  await sandbox.emit.sms({ line, number, text: 'Stop.' });
  expect(await skipReason(number)).toBe('opted_out');
  expect(await skipReason(number, other)).toBeUndefined();
  await sandbox.emit.sms({ line, number, text: 'are you still there?' });
  await sandbox.emit.sms({ line: other, number, text: 'START' });
  expect(await skipReason(number)).toBe('opted_out');
  await sandbox.emit.sms({ line, number, text: 'start' });
  expect(await skipReason(number)).toBeUndefined();
});

test('our own STOP opts nobody out', async () => {
  const number = '12125550102';
  await sandbox.emit.sms({ line, number, direction: 'out', text: 'STOP' });
  expect(await skipReason(number)).toBeUndefined();
});

test('in a group only the one who said it opts out', async () => {
  const [speaker, silent] = ['12125550103', '12125550104'] as const;
  await sandbox.emit.sms({ line, number: speaker, participants: [speaker, silent], text: 'STOP' });
  expect(await skipReason(speaker)).toBe('opted_out');
  expect(await skipReason(silent)).toBeUndefined();
});

test('deleting the STOP undoes nothing', async () => {
  const ask = caller(sandbox);
  const number = '12125550105';
  const stop = await sandbox.emit.sms({ line, number, text: 'STOP' });
  expect((await ask('DELETE', `/sms/conversations/${line}/${number}/messages/${stop.id}`)).status).toBe(204);
  expect(await skipReason(number)).toBe('opted_out');
  expect((await ask('DELETE', `/sms/conversations/${line}/${number}`)).status).toBe(204);
  expect(await skipReason(number)).toBe('opted_out');
});

test('who said STOP in the seeded history is opted out, after a start, a reset and a restart', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  try {
    const first = await createSandbox({ dataDir, calls: 0, threads: 80, seed: 1 });
    const stopped = await seededStops(first, 80);
    expect(stopped.length).toBeGreaterThan(1);
    const [kept, lifted] = stopped as [Message, Message];
    for (const pair of stopped) expect(await skipReason(pair.from, pair.line, first)).toBe('opted_out');
    await first.reset();
    expect(await skipReason(kept.from, kept.line, first)).toBe('opted_out');
    await first.emit.sms({ line: lifted.line, number: lifted.from, text: 'START' });
    await caller(first)('DELETE', `/sms/conversations/${kept.line}/${kept.number}`);
    await first.close();

    const second = await createSandbox({ dataDir });
    expect(await skipReason(kept.from, kept.line, second)).toBe('opted_out');
    expect(await skipReason(lifted.from, lifted.line, second)).toBeUndefined();
    await second.reset();
    expect(await skipReason(lifted.from, lifted.line, second)).toBe('opted_out');
    await second.close();
  } finally {
    await rm(dataDir, { recursive: true });
  }
});

/** One STOP of each customer who said it in the seeded history; the first is checked to stand in its thread. */
async function seededStops(target: Sandbox, threads: number): Promise<Message[]> {
  const origin = { seed: 1, calls: 0, threads, startedAt: Date.now() };
  const random = createRandom(deriveSeed(origin.seed, 'threads'));
  const messages = generateThreads({ random, directory: directoryOf(origin) }, threads, origin.startedAt, 1);
  const stops = messages.filter(({ direction, text }) => direction === 'in' && text === 'STOP');
  const [first] = stops;
  if (first === undefined) return [];
  const { body } = await caller(target)('GET', `/sms/conversations/${first.line}/${first.number}`);
  expect(body.data.messages.map(({ text }: { text: string }) => text)).toContain('STOP');
  return stops.filter(({ from }, index) => stops.findIndex((one) => one.from === from) === index);
}

const out = ['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT'];
const back = ['START', 'UNSTOP', 'YES'];

test.each<[string, 'out' | 'in' | null]>([
  ...out.map((word): [string, 'out'] => [word, 'out']),
  ...back.map((word): [string, 'in'] => [word, 'in']),
  ['stop', 'out'],
  ['  Stop. ', 'out'],
  ['"STOP!!"', 'out'],
  ['¡stop!\r\n', 'out'],
  ['yes…', 'in'],
  ['', null],
  ['...', null],
  ['HELP', null],
  ['stop by at 5', null],
  ['please stop', null],
  ['STOP STOP', null],
  ['S.T.O.P', null],
  ['STOPS', null],
  ['nonstop', null],
  ['STOP 1', null],
  ['ſtop', null],
  ['stóp', null],
  ['ﬆop', null],
  ['constructor', null],
])('%j: %s', (text, change) => {
  expect(optOutChange(text)).toBe(change);
});
