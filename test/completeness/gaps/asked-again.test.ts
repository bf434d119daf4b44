import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { addNumbers, probe } from '../../../src/completeness/gaps/candidate-threads.ts';
import { createGapDetection } from '../../../src/completeness/gaps/gap-detection.ts';
import { migratedDatabase } from '../../world/database.ts';
import { line, passMinutes, startCountingService } from './counting-service.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
const service = await startCountingService(database);
const { look, state, parts } = service;
const rounds = createGapDetection(parts);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
beforeEach(service.begin);

const caller = '17185559999';
let calls = 0;

/** A number called the line an hour ago. */
async function called(number: string): Promise<void> {
  await query(
    `insert into warehouse.calls (call_id, started_at, external_number, account_number, content_hash, source, fetch_seq, fetched_at)
     values ($1, now() - interval '1 hour', $2, $3, 'h', 'test', 1, now())`,
    `1.${++calls}`,
    number,
    line,
  );
}

/** A back-fill asked for the number on the line, and found nothing. */
async function askedInVain(number: string): Promise<void> {
  await addNumbers(db, [{ number, line }]);
  await probe(db, 100, parts);
}

/** How many minutes ago it was asked for; undefined while it is still to be. */
async function askedAgo(number: string): Promise<number | undefined> {
  const ago = await value(
    `select round(extract(epoch from now() - probed_at) / 60)::integer from ops.thread_candidates where line = $1 and number = $2`,
    line,
    number,
  );
  return ago === null ? undefined : Number(ago);
}

describe('who was asked for within the hour, and found to hold no conversation', () => {
  test('is asked for once more after a gap in the announced texts', async () => {
    await called(caller);
    await askedInVain(caller);
    await passMinutes(database, 5);
    // The calls of the time are looked for still, so the gap is looked into more than once.
    await query(
      `insert into ops.gaps (stream, from_at, to_at, reason, next_try_at)
       select stream, now() - interval '4 minutes', now() - interval '1 minute', 'a test', now() + put_off
       from (values ('texts', interval '0'), ('calls', interval '1 hour')) as g (stream, put_off)`,
    );
    await rounds.round();
    expect(await askedAgo(caller)).toBe(0);
    await passMinutes(database, 3);
    await query(`update ops.gaps set to_at = to_at - interval '3 minutes', next_try_at = now() where stream = 'texts'`);
    await rounds.round();
    expect(await askedAgo(caller)).toBe(3);
    expect(await value(`select filled_at is null from ops.gaps where stream = 'texts'`)).toBe(true);
  });

  test('is asked for once more when the line misses a text, even without a call', async () => {
    await askedInVain(caller);
    await passMinutes(database, 5);
    service.counts = { [line]: 1 };
    expect(await state()).toBe('behind');
    await passMinutes(database, 2);
    expect(await state()).toBe('behind');
    expect(await askedAgo(caller)).toBe(0);
    await passMinutes(database, 2);
    expect(await state()).toBe('behind');
    expect(await askedAgo(caller)).toBe(2);
  });

  test('is asked for again whenever somebody lists it while the line misses a text', async () => {
    await askedInVain(caller);
    await passMinutes(database, 5);
    await askedInVain(caller);
    expect(await askedAgo(caller)).toBe(5);
    service.counts = { [line]: 1 };
    expect(await state()).toBe('behind');
    await askedInVain(caller);
    expect(await askedAgo(caller)).toBe(0);
  });

  test('is asked for once more when the line misses a text', async () => {
    await called(caller);
    await askedInVain(caller);
    await passMinutes(database, 5);
    service.counts = { [line]: 1 };
    expect(await state()).toBe('behind');
    await passMinutes(database, 2);
    expect(await state()).toBe('behind');
    expect(await askedAgo(caller)).toBe(0);
    await passMinutes(database, 2);
    expect(await state()).toBe('behind');
    expect(await askedAgo(caller)).toBe(2);
  });
});

test('a line that was given up has who calls later asked for, and nobody again', async () => {
  await called(caller);
  await askedInVain(caller);
  service.counts = { [line]: 1 };
  await look();
  await passMinutes(database, 16);
  expect(await state()).toBe('unexplained');
  const late = '17185559998';
  await called(late);
  await passMinutes(database, 60);
  expect(await state()).toBe('unexplained');
  await rounds.round();
  expect(await askedAgo(late)).toBe(0);
  expect(await askedAgo(caller)).toBeGreaterThan(60);
});
