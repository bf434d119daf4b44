import type { Context } from '../context.ts';
import { type ConnectionLimit, connectionLimits, goneAfterSeconds, judgeConnections } from '../db/connection-limits.ts';
import { refusals, refusedMs } from '../db/connections.ts';
import { type Database, query, sql } from '../db/database.ts';
import type { Mode } from '../ledger/limits.ts';
import { startLoop } from '../shared/loop.ts';
import { receiverAt } from '../sync/subscriptions/matching.ts';
import { countingReport, type Report, reportColumns, watchForLostWrites } from './lost-writes.ts';

/** A running process, as it last reported itself. */
export interface RunningProcess {
  /** `web` receives webhooks; `worker` reads, writes and evaluates rules; `start` does both. */
  readonly role: 'web' | 'worker' | 'start';
  /** Maximum connections to Postgres. */
  readonly connections: number;
  /** Null if it evaluates no rules. */
  readonly rulesMode: Mode | null;
}

const reportEveryMs = 5_000;

/** SQL: the rows of the processes that run. */
export const running = sql`(select * from ops.processes where seen_at > now() - ${sql.lit(goneAfterSeconds)} * interval '1 second')`;

/** The running processes, oldest first. */
export function readProcesses(db: Database): Promise<RunningProcess[]> {
  return query<RunningProcess>(
    db,
    sql`select role, coalesce(connections, 0) as connections, rules_mode as "rulesMode"
     from ${running} p order by started_at, process_id`,
  );
}

/**
 * Reports this process to the others every few seconds until `stop`. The same statement notices when the database went
 * back in time (`lost-writes.ts`).
 */
export function reportProcess(context: Context, role: RunningProcess['role']) {
  const { database, processId, connections, metrics, service, settings, log } = context;
  const { db } = database;
  const lostWrites = watchForLostWrites(context);
  const { publicUrl, secret } = settings.receiver;
  const addressHash =
    role !== 'worker' && publicUrl !== undefined && secret !== undefined ? receiverAt(publicUrl, secret) : null;

  async function report(): Promise<void> {
    const before = (ms: number | undefined) => sql`now() - ${ms ?? null} * interval '1 ms'`;
    const facts = {
      role,
      seen_at: sql`now()`,
      rules_mode: role === 'web' ? null : settings.rulesMode,
      connections: connections ?? null,
      address_hash: addressHash,
      api_failing_from: before(service?.circuit.failingMs()),
      account_problem: service?.accountProblem() ?? null,
      disk_full_at: before(refusedMs(settings.databaseUrl, refusals.diskFull)),
      read_only_at: before(refusedMs(settings.databaseUrl, refusals.readOnly)),
      is_refusing: metrics.isRefusing(),
    };
    const names = Object.keys(facts).map((name) => sql.ref(name));
    const [seen] = await query(
      db,
      // Killed processes leave their rows behind.
      sql<Report>`with gone as (
          delete from ops.processes where seen_at < now() - interval '1 day' and process_id <> ${processId}
        ), reported as (
          insert into ops.processes (process_id, ${sql.join(names)})
          values (${processId}, ${sql.join(Object.values(facts))})
          on conflict (process_id) do update set ${sql.join(names.map((name) => sql`${name} = excluded.${name}`))}
        ), ${countingReport(lostWrites.known())}
        select ${reportColumns} from before`,
    );
    if (seen) await lostWrites.compare(seen);
  }

  const loop = startLoop({ name: 'Reporting this process', everyMs: reportEveryMs, log, job: report });
  void loop.kick();
  return {
    async stop() {
      await loop.stop();
      await query(db, sql`delete from ops.processes where process_id = ${processId}`).catch(() => undefined);
    },
  };
}

/**
 * Compares the connections of all running processes with Postgres's limit. Without processes, assumes a web and a
 * worker.
 */
export async function readConnections(db: Database, poolSize: number): Promise<ReturnType<typeof judgeConnections>> {
  const limits = await query<ConnectionLimit>(db, connectionLimits, []);
  const running = await readProcesses(db).catch(() => []);
  const assumed = ['web', 'worker'].map((role) => ({ role, connections: poolSize }));
  const [tightest] = limits;
  if (!tightest) throw new Error('Postgres names no limit on connections');
  return judgeConnections(running.length > 0 ? running : assumed, tightest);
}

/** Logs the possible connections and the limit of Postgres. Logs nothing while Postgres is unreachable. */
export async function reportConnections({
  database: { db },
  settings,
  log,
}: Pick<Context, 'database' | 'settings' | 'log'>): Promise<void> {
  const judgement = await readConnections(db, settings.poolSize).catch(() => undefined);
  if (!judgement) return;
  if (judgement.remedy === undefined) log.info(judgement.sentence);
  else log.warn(`${judgement.sentence} ${judgement.remedy}`);
}
