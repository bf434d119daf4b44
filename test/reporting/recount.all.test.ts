import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CallSummary, createService } from '../../src/api-client/client.ts';
import { markDirty, type Target } from '../../src/inbox/targets.ts';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { drainRollups } from '../../src/reporting/rollups.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { createLog } from '../../src/shared/log.ts';
import { createSync } from '../../src/sync/sync.ts';
import { migratedDatabase } from '../world/database.ts';

/*
 * Volumes and outcomes are counted a second time, in plain code over what the service lists, of the history that the sandbox makes up.
 * What a view says of queues, agents, waits, returns and turns is worked out by hand in the other tests of this folder.
 */

const zone = 'America/New_York';
const database = await migratedDatabase();
const { db, query } = database;
const sandbox = await createSandbox({ seed: 34, calls: 300, threads: 40 });
const log = createLog('silent');
const service = createService({ baseUrl: sandbox.url, apiKey: sandbox.apiKey, log });
const sync = createSync({
  ...{ db, service, log, notify: () => undefined, now: () => new Date() },
  onCallsGone: async () => undefined,
});
afterAll(async () => {
  await service.close();
  await sandbox.close();
  await database[Symbol.asyncDispose]();
});

const parts = new Intl.DateTimeFormat('en-CA', {
  timeZone: zone,
  dateStyle: 'short',
  timeStyle: 'short',
  hourCycle: 'h23',
});
/** `2026-11-01 09`: the local day and hour. */
const hourOf = (moment: Date | string) => parts.format(new Date(moment)).replace(', ', ' ').slice(0, 13);
const dayOf = (moment: Date | string) => hourOf(moment).slice(0, 10);

const texts = () => sandbox.store.messages.values().filter(({ scheduledAt }) => scheduledAt === undefined);
const threadOf = ({ line, number, participants }: { line: string; number: string; participants: readonly string[] }) =>
  [line, number, ...(participants.length > 0 ? [participants.join(',')] : [])].join('/');

/** Every call that the service lists. */
async function listedCalls(): Promise<CallSummary[]> {
  const listed: CallSummary[] = [];
  const window = {
    start: Math.floor(Date.now() / 1_000) - 60 * 86_400,
    end: Math.floor(Date.now() / 1_000),
    limit: 100,
  };
  for (;;) {
    const { data } = await service.calls.search({ ...window, offset: listed.length });
    listed.push(...data.calls);
    if (data.calls.length === 0 || listed.length >= (data.total ?? 0)) return listed;
  }
}

async function mirror(targets: readonly Target[]): Promise<void> {
  await markDirty(db, targets);
  await Promise.all(targets.map((target) => sync.read(target, new AbortController().signal)));
  await drainRollups(db);
}

/** How many items there are of each name, sorted by name. */
function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

const totalsOf = async (statement: string) =>
  Object.fromEntries((await query<{ name: string; count: number }>(statement)).map(({ name, count }) => [name, count]));

async function expectTheSame(): Promise<void> {
  const calls = await listedCalls();
  expect(calls.length).toBeGreaterThan(250);
  const started = calls.flatMap(({ startTime, status }) => (startTime ? [{ at: startTime, status }] : []));
  expect(
    await totalsOf(
      `select to_char(local_date, 'YYYY-MM-DD ') || lpad(local_hour::text, 2, '0') as name, sum(call_count)::integer as count
       from reporting.call_hourly group by 1 order by 1`,
    ),
  ).toEqual(tally(started.map(({ at }) => hourOf(at))));
  expect(
    await totalsOf(
      `select local_date || ' ' || status as name, sum(count)::integer as count
       from reporting.call_hourly cross join lateral (values ('answered', answered_count), ('voicemail', voicemail_count),
         ('missed', missed_count + abandoned_count + short_abandoned_count), ('unknown', unknown_count)) s (status, count)
       where count > 0 group by 1 order by 1`,
    ),
  ).toEqual(tally(started.map(({ at, status }) => `${dayOf(at)} ${status ?? 'unknown'}`)));
  expect(
    await totalsOf(
      `select local_date || ' ' || line || ' ' || direction as name, sum(count)::integer as count
       from reporting.sms_daily cross join lateral (values ('in', inbound_count), ('out', outbound_count)) s (direction, count)
       where count > 0 group by 1 order by 1`,
    ),
  ).toEqual(tally(texts().map(({ sentAt, line, direction }) => `${dayOf(new Date(sentAt))} ${line} ${direction}`)));
}

beforeAll(async () => {
  await query('update reporting.params set time_zone = $1', zone);
  await mirror([
    { kind: 'users', key: 'all' },
    { kind: 'lines', key: 'all' },
    ...(await listedCalls()).map(({ id }): Target => ({ kind: 'call', key: id })),
    ...[...new Set(texts().map(threadOf))].map((key): Target => ({ kind: 'thread', key })),
  ]);
});

describe('the totals are what the service lists', () => {
  test('as first mirrored', expectTheSame);

  test('after a call turned out otherwise, one came, and a text went', async () => {
    const held = await listedCalls();
    const [text] = texts();
    const changed = sandbox.store.calls.values().find(({ status, abandoned }) => status === 'missed' && !abandoned);
    if (!changed || !text) throw new Error('The sandbox has no history');
    sandbox.store.calls.put({ ...changed, status: 'voicemail' });
    sandbox.store.messages.delete(text.id);
    await sandbox.emit.call({ status: 'missed' });
    const known = new Set(held.map(({ id }) => id));
    const fresh = (await listedCalls()).filter(({ id }) => !known.has(id));
    expect(fresh).toHaveLength(1);
    await mirror([
      ...[changed, ...fresh].map(({ id }): Target => ({ kind: 'call', key: id })),
      { kind: 'thread', key: threadOf(text) },
    ]);
    await expectTheSame();
  });

  test('after an erasure, which keeps the calls, and a rebuild', async () => {
    const [{ number } = { number: '' }] = await query<{ number: string }>(
      `select c.external_number as number from warehouse.calls c
       where c.external_number is not null and not exists (select from warehouse.sms_messages m where m.number = c.external_number) limit 1`,
    );
    await eraseNumber({ db, queues: { forget: async () => 0 }, knownAfterMs: 0 }, number);
    await drainRollups(db);
    await expectTheSame();
    await rebuildRollups(db);
    await expectTheSame();
  });
});
