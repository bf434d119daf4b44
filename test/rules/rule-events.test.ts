import { beforeEach, describe, expect, test } from 'vitest';
import { query as ask, inTransaction, type Transaction } from '../../src/db/database.ts';
import { hasDueEvents, takeEvents } from '../../src/rules/rule-events.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db, query } = database;
beforeEach(() =>
  query(
    'truncate ops.rule_events, ops.sync_targets, warehouse.calls, warehouse.transcripts, warehouse.transcript_bodies',
  ),
);

/** The keys of all events that are taken in one round, by batches. */
async function takenBy(tx: Transaction, limit: number): Promise<string[]> {
  const keys: string[] = [];
  for (let after = '0'; ; ) {
    const batch = await takeEvents(tx, limit, after);
    keys.push(...batch.map(({ key }) => key));
    if (batch.length < limit) return keys;
    after = batch.at(-1)?.eventId ?? after;
  }
}
const taken = () => inTransaction(db, (tx) => takenBy(tx, 500));

test('what waits for a retry, or for a rule with after, is not due', async () => {
  await query(
    `insert into ops.rule_events (kind, key, happened_at, due_at, tries, after_seconds) values
       ('message_received', '1/1', now(), now() + interval '1 minute', 1, null),
       ('message_received', '1/2', now(), now() + interval '1 hour', 0, 3600)`,
  );
  expect(await hasDueEvents(db)).toBe(false);
  await query('update ops.rule_events set due_at = now()');
  expect(await hasDueEvents(db)).toBe(true);
});

test('a round takes all that is due in the order of mirroring', async () => {
  await query(
    `insert into ops.rule_events (kind, key, happened_at)
     select 'message_received', '1/' || n, now() - n * interval '1 second' from generate_series(1, 1200) n`,
  );
  expect(await taken()).toEqual(Array.from({ length: 1_200 }, (_, at) => `1/${at + 1}`));
});

describe('a missed call that is mirrored late', () => {
  const own = '1783385493.7';
  const event = (key = own, more: Record<string, string> = {}) => {
    const columns = { kind: `'call_missed'`, key: `'${key}'`, happened_at: `now() - interval '3 minutes'`, ...more };
    const [names, values] = [Object.keys(columns), Object.values(columns)];
    return query(`insert into ops.rule_events (${names.join(', ')}) values (${values.join(', ')})`);
  };
  const target = (key: string, more: Record<string, string> = {}) => {
    const columns = { kind: `'call'`, key: `'${key}'`, ...more };
    const [names, values] = [Object.keys(columns), Object.values(columns)];
    return query(`insert into ops.sync_targets (${names.join(', ')}) values (${values.join(', ')})`);
  };

  test.each([
    ['a later one', '1783385494.1'],
    ['another one of its second', '1783385493.6'],
    ['one with an id of more digits', '17833854930.1'],
  ])('waits while %s is still to be read', async (_, key) => {
    await event();
    await target(key);
    expect(await taken()).toEqual([]);
    await query('update ops.sync_targets set clean_version = dirty_version');
    expect(await taken()).toEqual([own]);
  });

  test('waits for a later one, although its own and many earlier ones are to be read too', async () => {
    await event();
    await target(own);
    await query(
      `insert into ops.sync_targets (kind, key) select 'call', 1783385493 - n || '.' || n from generate_series(1, 50) n`,
    );
    expect(await taken()).toEqual([own]);
    await event();
    await target('1783385493.9');
    expect(await taken()).toEqual([]);
  });

  test('of which the latest is to be read again waits for none, and those before it wait for it', async () => {
    await event('1783385493.5');
    await event();
    await target('1783385499.1');
    await query(`update ops.rule_events set key = '1783385499.1' where key = '${own}'`);
    expect(await taken()).toEqual(['1783385499.1']);
  });

  const later = '1783385494.1';
  test.each<[string, Record<string, string>]>([
    ['a read that failed', { attempts: '1' }],
    ['history', { priority: '1' }],
    ['a read that is due later', { due_at: `now() + interval '10 seconds'` }],
    ['a thread', { kind: `'thread'`, key: `'19999999999/17185550123'` }],
  ])('does not wait for %s', async (_, more) => {
    await event();
    await target(later, more);
    expect(await taken()).toEqual([own]);
  });

  test.each<[string, Record<string, string>]>([
    ['a minute', { noted_at: `now() - interval '61 seconds'` }],
    ['the time of a rule with after', { after_seconds: '120', rules: `'["any"]'` }],
  ])('waits no longer than %s', async (_, more) => {
    await event(own, more);
    await target(later);
    expect(await taken()).toEqual([own]);
  });

  test.each<[string, Record<string, string>]>([
    ['one that was mirrored at once', { happened_at: `now() - interval '20 seconds'` }],
    ['a call that was answered', { kind: `'call_ended'` }],
  ])('%s does not wait', async (_, more) => {
    await event(own, more);
    await target(later);
    expect(await taken()).toEqual([own]);
  });

  test('an id of another format keeps nothing from being taken', async () => {
    await event('of-another-format');
    await event();
    await target('unlike.any');
    await target('1783385400.1');
    await query(`update ops.rule_events set noted_at = now() - interval '2 minutes' where key = '${own}'`);
    expect(await taken()).toContain(own);
  });
});

const provenance = `source, fetch_seq, fetched_at`;
const read = `'a test', 1, now()`;

test('an unanswered call waits for its legs, one by one', async () => {
  await query(
    `insert into warehouse.calls (call_id, status, leg_count, ended_at, ${provenance}) values
       ('1783385493.1', 'missed', 0, now(), ${read}), ('1783385493.2', 'missed', 1, now(), ${read}),
       ('1783385493.3', 'answered', 0, now(), ${read}), ('1783385493.4', 'voicemail', null, now(), ${read})`,
  );
  await query(
    `insert into ops.rule_events (kind, key, happened_at)
     select kind, call_id, now() from warehouse.calls, unnest(array['call_ended', 'call_missed']) kind order by call_id, kind`,
  );
  const twice = (...ids: string[]) => ids.flatMap((id) => [id, id]);
  expect(await taken()).toEqual(twice('1783385493.2', '1783385493.3'));
  await query(`update warehouse.calls set leg_count = 2 where call_id = '1783385493.4'`);
  expect(await taken()).toEqual(twice('1783385493.4'));
  await query(`update ops.rule_events set noted_at = now() - interval '61 seconds'`);
  expect(await taken()).toEqual(twice('1783385493.1'));
});

test('a transcript waits for its call, for five minutes', async () => {
  const transcribed = (id: number, call: string) =>
    query(
      `insert into warehouse.transcripts (transcript_id, call_id, ${provenance}) values (${id}, '${call}', ${read})`,
    );
  await transcribed(1, '1783385493.1');
  await transcribed(2, '1783385493.2');
  await query(
    `insert into ops.rule_events (kind, key, happened_at) values ('transcript_ready', '1', now()), ('action_required', '2', now())`,
  );
  expect(await taken()).toEqual([]);
  await query(`insert into warehouse.calls (call_id, ended_at, ${provenance}) values ('1783385493.2', now(), ${read})`);
  expect(await taken()).toEqual(['2']);
  await query(`update ops.rule_events set noted_at = now() - interval '5 minutes 1 second'`);
  expect(await taken()).toEqual(['1']);
});

describe('the work of a round', () => {
  /** How many rows of a table this transaction has read. */
  async function rowsRead(tx: Transaction, table: string): Promise<number> {
    const [row] = await ask<{ rows: number }>(
      tx,
      `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as rows from pg_stat_xact_user_tables where relid = $1::regclass`,
      [table],
    );
    return row?.rows ?? 0;
  }

  /** Rows read for each of so many events, while as many calls are to be read; half of the events wait for them. */
  async function workOf(count: number) {
    await query('truncate ops.rule_events, ops.sync_targets');
    await query(
      `insert into ops.sync_targets (kind, key) select 'call', 1783385000 + n % 100 || '.' || n from generate_series(1, ${count}) n`,
    );
    await query(
      `insert into ops.rule_events (kind, key, happened_at)
       select 'call_missed', case when n % 2 = 0 then 1783384000 else 1783386000 end || '.' || n, now() - interval '5 minutes'
       from generate_series(1, ${count}) n`,
    );
    return inTransaction(db, async (tx) => {
      const before = [await rowsRead(tx, 'ops.rule_events'), await rowsRead(tx, 'ops.sync_targets')] as const;
      const keys = await takenBy(tx, 500);
      const events = (await rowsRead(tx, 'ops.rule_events')) - before[0];
      const targets = (await rowsRead(tx, 'ops.sync_targets')) - before[1];
      return { taken: keys.length / count, events: events / count, targets: targets / count };
    });
  }

  test('is in proportion to what is pending: no event is compared with each call that is to be read', async () => {
    for (const count of [1_000, 4_000]) {
      const { taken, events, targets } = await workOf(count);
      expect(taken).toBe(0.5);
      // Passed once, locked and deleted.
      expect(events).toBeLessThan(4);
      // Once in each batch, of which there are count / 1,000 and a last one.
      expect(targets).toBeLessThanOrEqual(count / 1_000 + 1);
    }
  });
});
