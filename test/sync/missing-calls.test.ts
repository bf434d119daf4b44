import { afterAll, beforeEach, expect, test } from 'vitest';
import { apiKey, createService } from '../../src/api-client/client.ts';
import { mirrorRange } from '../../src/completeness/coverage/call-pages.ts';
import { recordHours } from '../../src/completeness/coverage/coverage.ts';
import { createCallLister } from '../../src/completeness/coverage/listing.ts';
import { migratedDatabase } from '../world/database.ts';
import { captureLog } from '../world/log.ts';
import { type Asked, notFound, type Reply } from '../world/service.ts';
import { deliveryAcceptor } from './accept-delivery.ts';
import { callId, shownCall } from './call-service.ts';
import { openReaderHarness } from './reader-harness.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => database.query('truncate ops.coverage, warehouse.calls, warehouse.call_legs'));

/** A service whose search lists a call or not, and that never shows it by itself. */
async function withUnshownCall() {
  const id = callId(7_200);
  const began = Number(id.split('.')[0]);
  const hour = began - (began % 3_600);
  const { legs, ...row } = shownCall(id, { endTime: new Date((began + 30) * 1_000).toISOString() });
  const harness = await openReaderHarness(database);
  const client = createService({ baseUrl: harness.service.url, credential: apiKey('key'), log: captureLog().log });
  let search: (within: boolean) => Reply = () => ({ data: { total: 0, calls: [] } });
  harness.service.answer = ({ path, body }: Asked) => {
    if (path !== '/calls/search') return notFound;
    const { start, end } = JSON.parse(body) as { start: number; end: number };
    return search(start <= began && began <= end);
  };
  const lists = (isListed: boolean) => {
    search = (within) => ({ data: isListed && within ? { total: 1, calls: [row] } : { total: 0, calls: [] } });
  };
  const fails = (status: number, error: string) => {
    search = () => ({ error, status });
  };
  /** Compares the hour of the call; answers with its state, and whether the call is pending a read since. */
  async function compare() {
    const parts = { db: database.db, pauses: { activeMs: 0, refusedMs: 0 }, notify: () => undefined };
    const lister = createCallLister({ service: client, db: database.db, onAnswer: () => undefined });
    const span = { from: hour, to: hour + 3_600 };
    const { calls, problem } = await mirrorRange(parts, lister, span, { readPriority: 0, isWatched: true }, undefined);
    await database.db.transaction().execute((tx) => recordHours(tx, { hours: [hour], calls, problem }));
    return database.value('select state from ops.coverage where from_at = to_timestamp($1)', hour);
  }
  /** An event may have outrun the call, which is no miss; of three, the last one settles it. */
  const readToEnd = async () => {
    const turns = [await harness.read('call', id)];
    for (let at = 0; at < 3; at += 1) {
      await harness.pass({ kind: 'call', key: id });
      turns.push(await harness.readIfPending('call', id));
    }
    return turns;
  };
  const isHeld = () => database.value('select deleted_at is null from warehouse.calls where call_id = $1', id);
  const [settled, pending] = ['state', 'dirty_version > clean_version'].map(
    (what) => () => database.value(`select ${what} from ops.sync_targets where kind = 'call' and key = $1`, id),
  ) as [() => Promise<unknown>, () => Promise<unknown>];
  return { id, harness, lists, fails, compare, readToEnd, isHeld, settled, pending, client };
}

test('a call that is neither found nor listed any more is gone', async () => {
  const { lists, compare, readToEnd, isHeld, client } = await withUnshownCall();
  lists(true);
  await compare();
  lists(false);
  expect(await readToEnd()).toEqual(['later', 'later', 'later', 'gone']);
  expect(await isHeld()).toBe(false);
  await client.close();
});

test('a call that was never held is not searched for', async () => {
  const { harness, readToEnd, client } = await withUnshownCall();
  expect(await readToEnd()).toEqual(['later', 'later', 'later', 'gone']);
  expect(harness.service.asked.map(({ path }) => path)).not.toContain('/calls/search');
  await client.close();
});

test('a call that is held is given up by spaced reads, though only a delivery named it for reading', async () => {
  const { id, harness, lists, compare, isHeld, client } = await withUnshownCall();
  lists(true);
  await compare();
  lists(false);
  // As a back-fill leaves it that reads no artefacts.
  await database.query('delete from ops.sync_targets where key = $1', id);
  await deliveryAcceptor(database)('AccountEndedCalls', { kind: 'call', key: id });
  const waits: number[] = [];
  for (;;) {
    await harness.pass({ kind: 'call', key: id });
    if ((await harness.readIfPending('call', id)) === 'gone') break;
    expect(await isHeld()).toBe(true);
    waits.push(
      Number(
        await database.value(
          `select round(extract(epoch from due_at - now())) from ops.sync_targets where key = $1`,
          id,
        ),
      ),
    );
  }
  expect(waits).toEqual([1, 15, 60, 60]);
  expect(await isHeld()).toBe(false);
  await client.close();
});
