import { afterAll, expect, test } from 'vitest';
import { backfillCalls } from '../../../src/completeness/coverage/backfill.ts';
import { migratedDatabase } from '../../world/database.ts';
import { callAt, createHistory, serveHistory } from './history.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

test('a back-fill counts each call once, however often the service has to be asked for it', async () => {
  const begin = 1_790_000_000 - (1_790_000_000 % 3_600);
  const history = createHistory();
  for (let at = 0; at < 1_000; at += 1) history.calls.push(callAt(begin + at * 3, at));
  history.cap = 100;
  let hasShifted = false;
  history.before = ({ offset }) => {
    if (offset !== 300 || hasShifted) return;
    hasShifted = true;
    history.calls.push(callAt(begin, 99_999));
  };
  const { client, searches } = await serveHistory(history);
  const { mirrored, unproven } = await backfillCalls(
    { service: client, db: database.db, pauses: { activeMs: 0, refusedMs: 0 } },
    { range: { from: begin, to: begin + 3_600 }, withArtefacts: false },
    () => undefined,
    new AbortController().signal,
  );
  expect([mirrored, unproven]).toEqual([1_001, []]);
  expect(searches.reduce((sum, { limit }) => sum + Math.min(limit, history.cap), 0)).toBeGreaterThan(1_200);
});
