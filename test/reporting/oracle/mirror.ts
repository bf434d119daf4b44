import type { RetentionDays } from '../../../config/settings.ts';
import { apiKey, createService } from '../../../src/api-client/client.ts';
import { scheduleHours, unproveHours } from '../../../src/completeness/coverage/coverage.ts';
import { createReconciler } from '../../../src/completeness/coverage/reconcile.ts';
import { query as ask, inTransaction } from '../../../src/db/database.ts';
import { markDirty, type Target } from '../../../src/inbox/targets.ts';
import { eraseNumber } from '../../../src/privacy/erase.ts';
import { createRetention } from '../../../src/privacy/retention.ts';
import { drainRollups } from '../../../src/reporting/rollups.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { createLog } from '../../../src/shared/log.ts';
import { createSync } from '../../../src/sync/sync.ts';
import { migratedDatabase, type TestDatabase } from '../../world/database.ts';
import type { Account, AccountCall, AccountText, Definitions } from './account.ts';
import { hour, second } from './clock.ts';
import type { Row } from './rows.ts';

/** The account in the sandbox, and the warehouse that mirrors it through the API. */
export interface Mirror extends Pick<TestDatabase, 'query' | 'db'> {
  /** Lets the sandbox show the account as it is now. */
  publish(account: Account): void;
  define(definitions: Definitions): Promise<void>;
  /** Reads targets, and what these reads lead to, until nothing is pending; waits between reads are skipped. */
  read(targets: readonly Target[]): Promise<void>;
  /** Compares hours with the call history, which lists calls without their legs. */
  compareHours(begins: readonly number[]): Promise<void>;
  /** How many calls the service lists that began in `[from, to)`. */
  countCalls(from: Date, to: Date): Promise<number>;
  erase(number: string): Promise<void>;
  /** Removes content that is older than its days, and counts it by table. */
  removeContent(days: RetentionDays): Promise<Readonly<Record<string, number>>>;
  drain(): Promise<void>;
  /** Reads views at one moment, which is also their now(). */
  look<Result>(read: (now: number, rows: ReadRows) => Promise<Result>): Promise<Result>;
  /** Notes texts in the send ledger, as the rules do before they are sent. */
  sendByRule(texts: readonly AccountText[]): Promise<void>;
  close(): Promise<void>;
}

type ReadRows = (view: string, where?: string) => Promise<Row[]>;

const noPauses = { activeMs: 0, refusedMs: 0 };
const noQueues = { forget: async () => 0 };
const log = createLog('silent');
const never = new AbortController().signal;

/** Call at the top level of a test file or suite. */
export async function openMirror(): Promise<Mirror> {
  const { db, query, ...database } = await migratedDatabase();
  const sandbox = await createSandbox({ calls: 0, threads: 0 });
  const service = createService({ baseUrl: sandbox.url, credential: apiKey(sandbox.apiKey), log });
  const common = { db, service, log, pauses: noPauses, onAnswer: () => undefined, notify: () => undefined };
  const sync = createSync({
    ...common,
    recheckDelays: [60],
    directoryEverySeconds: 600,
    now: () => new Date(),
    onCallsGone: unproveHours,
  });
  const reconciler = createReconciler(common);

  async function read(targets: readonly Target[]): Promise<void> {
    await markDirty(db, targets, noPauses);
    const asked = new Set(targets.map(({ kind, key }) => `${kind} ${key}`));
    for (let round = 0; round < 8; round += 1) {
      const pending = await query<Target>(
        `update ops.sync_targets set due_at = now() where dirty_version > clean_version
           and (kind in ('recordings', 'transcripts') or kind || ' ' || key = any($1)) returning kind, key`,
        [...asked],
      );
      // The directory is always due again.
      const due = pending.filter(({ kind }) => round === 0 || (kind !== 'users' && kind !== 'lines'));
      if (due.length === 0) return;
      await Promise.all(due.map((target) => sync.read(target, never)));
    }
    throw new Error('some targets are read again and again');
  }

  return {
    db,
    query,
    read,
    publish: (account) => show(sandbox, account),
    define: (definitions) => define(query, definitions),
    async compareHours(begins) {
      for (const begin of begins) await scheduleHours(db, { from: begin / second, to: (begin + hour) / second });
      for (let round = await reconciler.round(); round.compared > 0; ) round = await reconciler.round();
    },
    async countCalls(from, to) {
      // The end of a search is inclusive, and it takes whole seconds.
      const window = { start: from.getTime() / second, end: to.getTime() / second - 1, limit: 1 };
      const { data } = await service.calls.search(window);
      if (data.total === undefined) throw new Error('the service told no total');
      return data.total;
    },
    async erase(number) {
      await eraseNumber({ db, queues: noQueues, knownAfterMs: 0 }, number);
    },
    removeContent: (days) => createRetention({ db, log, days }).round(never),
    drain: () => drainRollups(db),
    look: (look) =>
      inTransaction(db, async (tx) => {
        await ask(tx, 'set transaction isolation level repeatable read', []);
        const [moment] = await ask<{ now: Date }>(tx, 'select now()', []);
        return look(Number(moment?.now), async (view, where = 'true') => {
          const shown = await ask<{ row: Row }>(tx, `select to_jsonb(v) as row from ${view} v where ${where}`, []);
          return shown.map(({ row }) => row);
        });
      }),
    async sendByRule(texts) {
      for (const { message } of texts) {
        const at = new Date(message.sentAt);
        await query(
          `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, expires_at, message_id,
             planned_at, reserved_at, dispatched_at, settled_at)
           values ('thanks', $1, $2, 'message', $3::text, $4, 'live', 'text', 'SENT', $4, $3::text::bigint, $4, $4, $4, $4)`,
          ...[message.line, message.number, String(message.id), at],
        );
      }
    },
    async close() {
      await service.close();
      await sandbox.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

function show({ store }: Sandbox, { users, lines, calls, texts }: Account): void {
  replace(store.users, users, ({ id }) => id);
  replace(store.lines, lines, ({ number }) => number);
  replace(
    store.calls,
    [...calls.values()].map(({ call, transcripts }: AccountCall) => ({ ...call, transcripts })),
    ({ id }) => id,
  );
  replace(
    store.messages,
    [...texts.values()].map(({ message }) => message),
    ({ id }) => id,
  );
}

interface Held<Key, Entity> {
  values(): Entity[];
  put(entity: Entity): Entity;
  delete(key: Key): boolean;
}

function replace<Key, Entity>(table: Held<Key, Entity>, entities: readonly Entity[], keyOf: (entity: Entity) => Key) {
  const kept = new Set(entities.map(keyOf));
  for (const key of table.values().map(keyOf)) if (!kept.has(key)) table.delete(key);
  for (const entity of entities) table.put(entity);
}

async function define(query: TestDatabase['query'], definitions: Definitions): Promise<void> {
  const { schedule, deliveryWords } = definitions;
  await query('delete from reporting.business_hours');
  await query('delete from reporting.holidays');
  await query('update reporting.schedules set time_zone = $1', schedule.zone);
  for (const { isodow, opens, closes } of schedule.hours) {
    await query(
      `insert into reporting.business_hours values (1, $1, time '00:00' + make_interval(mins => $2::integer),
         case $3::integer when 1440 then time '24:00' else time '00:00' + make_interval(mins => $3::integer) end)`,
      ...[isodow, opens, closes],
    );
  }
  for (const date of schedule.holidays) await query('insert into reporting.holidays values (1, $1)', date);
  await query(
    `update reporting.params set time_zone = $1, service_level_seconds = $2, short_abandon_seconds = $3,
       callback_window = make_interval(secs => $4::integer), session_gap = make_interval(secs => $5::integer)`,
    ...[definitions.timeZone, definitions.serviceLevelSeconds, definitions.shortAbandonSeconds],
    ...[definitions.callbackWindow / second, definitions.sessionGap / second],
  );
  for (const [word, meaning] of Object.entries(deliveryWords)) {
    await query(
      'insert into reporting.delivery_status_map values ($1, $2) on conflict (word) do update set delivery_class = excluded.delivery_class',
      ...[word, meaning],
    );
  }
}
