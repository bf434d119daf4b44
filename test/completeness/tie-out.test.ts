import { afterAll, expect, test } from 'vitest';
import type { Service } from '../../src/api-client/client.ts';
import { createAttribution } from '../../src/completeness/attribution.ts';
import { backfillCalls } from '../../src/completeness/coverage/backfill.ts';
import { reportFindings } from '../../src/ops/health-checks/reporting.ts';
import { readReporting } from '../../src/ops/snapshot/reporting.ts';
import { part } from '../../src/ops/snapshot.ts';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { drainRollups } from '../../src/reporting/rollups.ts';
import type { CallEvent } from '../../src/sandbox/traffic/events.ts';
import { asOwner, createWorld, until } from '../world.ts';

const monthDays = 31;
const world = await createWorld({ backend: 'postgres' });
afterAll(() => world.close());
const { query, value, sandbox, context } = world;
const { db } = context.database;
const shared = {
  ...{ db, log: context.log, pauses: context.pauses, notify: context.notifier.notify },
  onAnswer: () => undefined,
};

const midnight = Math.floor(Date.now() / 86_400_000) * 86_400;
const onDay = (back: number, second: number) => midnight - back * 86_400 + second;
const emit = (event: CallEvent) =>
  sandbox.emit.call({ announce: false, transcriptAfterMs: null, recordingAfterMs: 0, ...event });

const service = context.service as Service;

/** All that is due this night. */
async function night(): Promise<void> {
  await drainRollups(db);
  const attribution = createAttribution({ ...shared, service }, monthDays);
  do {
    // As if this did not run within the first minutes of a day.
    await query(
      `update ops.coverage set proven_at = greatest(proven_at, to_at + interval '15 minutes') where proven_at is not null`,
    );
  } while (await attribution.round());
  await world.settled();
}
async function nextNight(): Promise<void> {
  await query('update ops.attribution_days set compare_again_at = now() where compare_again_at is not null');
  await night();
}
const findings = async () => reportFindings({ takenAt: new Date(), reporting: await part(() => readReporting(db)) });
const trust = (where: string) =>
  query<{ figure: string; difference: number; call_ids: string[]; explained: string | null }>(
    `select figure, difference, call_ids, explained from reporting.trust where ${where} order by local_date, figure`,
  );

const made: { id: string; status: string }[] = [];

test('figures of closed days tie out with the service after a month that drifted', async () => {
  // Two users are enough: each is searched for on each day.
  const [, , ...others] = sandbox.store.users.values();
  for (const { id } of others) sandbox.store.users.delete(id);
  await world.settled();
  await query(
    'update warehouse.users set deleted_at = now() where user_id = any($1)',
    others.map(({ id }) => id),
  );
  for (let back = 1; back <= monthDays; back += 1) {
    for (const second of [0, 30_000, 50_000, 86_399]) {
      made.push(await emit({ startTime: new Date(onDay(back, second) * 1_000).toISOString() }));
    }
  }
  const late = await emit({
    startTime: new Date(onDay(3, 40_000) * 1_000).toISOString(),
    status: 'answered',
    legsAfterMs: 500,
  });
  await world.settled();
  const range = { from: onDay(monthDays + 1, 0), to: onDay(0, 0) };
  const filled = await backfillCalls(
    { ...shared, service },
    { range, withArtefacts: true },
    () => undefined,
    new AbortController().signal,
  );
  expect(filled.unproven).toEqual([]);
  await world.settled();

  // What no webhook tells, after the hours were compared.
  const changed = made.filter((_, at) => at % 9 === 0);
  for (const { id, status } of changed) {
    await emit({ callId: id, status: status === 'missed' ? 'voicemail' : 'missed', recorded: false });
  }
  const lost = await emit({ startTime: new Date(onDay(5, 60_000) * 1_000).toISOString(), status: 'answered' });
  const [deleted = '', erased = '', unlisted = ''] = [1, 2, 4].map((at) => made[at]?.id);
  sandbox.store.calls.delete(unlisted);
  await query(`update warehouse.calls set deleted_at = now(), deleted_reason = 'test' where call_id = $1`, deleted);
  const number = await value('select external_number from warehouse.calls where call_id = $1', erased);
  await eraseNumber({ db, queues: context.queues, knownAfterMs: 0 }, String(number));

  await night();
  const first = await trust('true');
  const named = new Set(first.flatMap(({ call_ids }) => call_ids));
  expect(changed.filter(({ id }) => named.has(id))).toHaveLength(changed.length);
  expect([...named]).toEqual(expect.arrayContaining([lost.id, unlisted]));
  expect(await trust('is_unexplained')).toEqual([]);
  expect(await value(`select count(distinct local_date)::integer from reporting.trust where kind = 'day'`)).toBe(
    monthDays,
  );

  await until(async () => {
    await query('update ops.sync_targets set due_at = now() where misses > 0 and dirty_version > clean_version');
    return (await value('select deleted_at is not null from warehouse.calls where call_id = $1', unlisted)) === true;
  });
  await nextNight();
  expect(await trust(`is_unexplained or explained ~ 'read again'`)).toEqual([]);
  expect(await value('select status from warehouse.calls where call_id = $1', changed[0]?.id)).toMatch(
    /missed|voicemail/,
  );
  expect(await value('select deleted_at from warehouse.calls where call_id = $1', lost.id)).toBeNull();
  expect(await value(`select leg_count > 0 from warehouse.calls where call_id = $1`, late.id)).toBe(true);
  // Of calls that the service lists no more, or lists although they were deleted.
  for (const { explained } of await trust('difference <> 0')) expect(explained).not.toBeNull();
  expect(await findings()).toEqual([]);
});

test('where the service contradicts itself, the call is named, and a check warns after it was read again', async () => {
  await query('delete from ops.attribution_days where local_date = current_date - 1');
  await query('delete from ops.tie_outs where local_date = current_date - 1');
  const startTime = new Date(onDay(1, 70_000) * 1_000).toISOString();
  const call = { startTime, direction: 'inbound', status: 'missed', shown: { status: 'answered' } } as const;
  const { id } = await emit({ ...call, announce: true });
  await world.settled();
  const reads = () => sandbox.requests(100_000).filter(({ path }) => path.endsWith(`/calls/${id}`)).length;
  const before = reads();
  await night();
  const reading = '1 just read again';
  expect(await trust(`'${id}' = any(call_ids) and kind = 'status'`)).toEqual([
    { figure: 'inbound answered', difference: -1, call_ids: [id], explained: reading },
    { figure: 'inbound missed', difference: 1, call_ids: [id], explained: reading },
  ]);
  expect(await findings()).toEqual([]);
  const again = reads();
  expect(again).toBeGreaterThan(before);

  await nextNight();
  await nextNight();
  expect(reads()).toBe(again);
  expect(await trust('is_unexplained')).toMatchObject([{ figure: 'inbound answered' }, { figure: 'inbound missed' }]);
  expect(await findings()).toMatchObject([
    { check: 'reports_differ', level: 'warning', detail: expect.stringContaining(`(calls ${id})`) },
  ]);

  await query(`update ops.tie_outs set explained = 'the portal shows it twice' where '${id}' = any(call_ids)`);
  await nextNight();
  expect(await findings()).toEqual([]);
});
