import { request } from 'undici';
import { type Settings, weaknessesOf } from '../../config/settings.ts';
import {
  accountReads,
  createService,
  meaningOf,
  operations,
  type Scope,
  type Service,
  ServiceError,
  type Subscription,
} from '../api-client/client.ts';
import type { ReadySettings } from '../context.ts';
import { compareAccount } from '../credentials/account-check.ts';
import { createDatabase, type Database, type OpenDatabase, query, sql } from '../db/database.ts';
import { isMigrated } from '../db/migrate.ts';
import { describeRefusal } from '../db/refusals.ts';
import { SharedSessions } from '../db/session.ts';
import { writeProbe } from '../db/write-probe.ts';
import { createQueues, type Queues } from '../queues/queues.ts';
import { isSameZone, otherZone } from '../reporting/params.ts';
import { toType } from '../shared/command-name.ts';
import { eventTypeOf } from '../shared/event-types.ts';
import type { Log } from '../shared/log.ts';
import { maskNumbers } from '../shared/masking.ts';
import { openAgent } from '../shared/proxy.ts';
import type { Pair } from '../shared/thread.ts';
import { wantedTypes } from '../sync/subscriptions/ensure.ts';
import { deliversTo, hookUrl } from '../sync/subscriptions/matching.ts';
import { directory } from '../warehouse/directory.ts';
import { adviceOf, type Finding, type Level } from './check.ts';
import { findings } from './checks.ts';
import { migrationsMissing } from './postgres.ts';

/** One sentence about a subject. `ok` only if it was proven. A notice isn't a fault. */
export interface Diagnosis {
  readonly subject: string;
  readonly level: 'ok' | Level;
  readonly sentence: string;
  /** What to do; nothing if all is well. */
  readonly remedy?: string;
  /** The id of the health check that found it. */
  readonly check?: string;
}

type Words = Omit<Diagnosis, 'subject'>;

const ok = (sentence: string): Words => ({ level: 'ok', sentence });
const notice = (sentence: string, remedy: string): Words => ({ level: 'notice', sentence, remedy });
const warning = (sentence: string, remedy: string): Words => ({ level: 'warning', sentence, remedy });
const problem = (sentence: string, remedy: string): Words => ({ level: 'problem', sentence, remedy });
const wordsOf = ({ check, level, sentence, ...rest }: Finding): Words => ({
  check,
  level,
  sentence,
  remedy: adviceOf(rest),
});

/** Whether the operator has to act. */
export const isFault = ({ level }: Pick<Diagnosis, 'level'>): boolean => level === 'warning' || level === 'problem';

/**
 * Runs the health checks, and probes what they can't see: whether Postgres, the service and the receiver answer, and
 * whether Postgres accepts writes. Changes nothing. A part that can't be checked yields a diagnosis too. Never rejects.
 */
export async function diagnose(settings: ReadySettings, log: Log): Promise<Diagnosis[]> {
  const { databaseUrl, api } = settings;
  await using database = createDatabase({ url: databaseUrl, log, maxConnections: 2, name: 'doctor' });
  const { db } = database;
  let serviceAheadMs: number | undefined;
  const onAnswer = ({ date }: { date: string | undefined }) => {
    const at = Date.parse(date ?? '');
    // The header has whole seconds: it is rounded down, by half a second on average.
    if (!Number.isNaN(at)) serviceAheadMs = at + 500 - Date.now();
  };
  const service =
    api.baseUrl !== undefined && api.key !== undefined
      ? createService({ baseUrl: api.baseUrl, apiKey: api.key, log, retry: { tries: 2 }, onAnswer })
      : undefined;
  const found: Diagnosis[] = [];
  const add = (subject: string, words: readonly Words[]) => found.push(...words.map((each) => ({ subject, ...each })));
  try {
    add('Settings', await probeSettings(settings, db));
    const postgres = await probePostgres(db);
    add('Postgres', postgres.found);
    if (postgres.isUsable) add('Mirror', await checkHealth(settings, database, log));
    const asked = service ? await probeApi(service, db) : { found: [noApi] };
    add('API', [...asked.found, ...(await compareClocks(serviceAheadMs, db))]);
    add('Receiver', await probeReceiver(settings, asked.subscriptions, await isDelivered(db)));
  } finally {
    await service?.close();
  }
  return found;
}

const noApi: Words & { subscriptions?: undefined } = warning(
  'API_BASE_URL or API_KEY is not set here, so the service was not asked.',
  'Set both to the values that the worker has.',
);

async function probeSettings(settings: ReadySettings, db: Database): Promise<Words[]> {
  const isOtherZone = !(await isSameZone(db, settings.timeZone).catch(() => true));
  return [
    ok('The settings are well-formed.'),
    ...(isOtherZone ? [problem(`TIME_ZONE=${settings.timeZone} ${otherZone.fault}`, otherZone.remedy)] : []),
    ...weaknessesOf(settings).map((each) => warning(each, `${toType('settings')} describes each variable.`)),
  ];
}

/** Whether subscriptions of ours are in place. */
const isDelivered = async (db: Database): Promise<boolean> =>
  (await query(db, sql`select from ops.subscription_watch where state = 'in_place'`).catch(() => [])).length > 0;

/** The health checks of the status page. */
async function checkHealth(settings: ReadySettings, database: OpenDatabase, log: Log): Promise<Words[]> {
  const { redisUrl, databaseUrl } = settings;
  let queues: Queues | undefined;
  try {
    queues = await createQueues({ redisUrl, databaseUrl, log, isReadOnly: true });
    const found = (await findings({ database, queues, settings })).map(wordsOf);
    if (!found.some(isFault)) found.push(ok('The queues answer, and nothing is overdue, parked, failing or refused.'));
    return found;
  } catch (error) {
    const remedy = `Run ${toType('migrate')} and ${toType('doctor')} again.`;
    return [problem(`The health checks cannot run: ${messageOf(error)}.`, remedy)];
  } finally {
    await queues?.close();
  }
}

const oldestVersion = 150_000;
const maxSkewSeconds = 2;

interface Server {
  number: number;
  version: string;
  commits: string;
  fsync: string;
  /** Standbys of the server that its commits do not wait for. */
  asynchronous: number;
  readOnly: boolean;
  now: Date;
}

/** Probes the server. `isUsable`: it answers and has the schema, so the health checks can run. */
async function probePostgres(db: Database): Promise<{ found: Words[]; isUsable: boolean }> {
  const began = Date.now();
  let server: Server | undefined;
  try {
    [server] = await query<Server>(
      db,
      sql`select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
         current_setting('synchronous_commit') as commits, current_setting('fsync') as fsync,
         (select count(*) from pg_stat_replication r where current_setting('synchronous_standby_names') = ''
           and not exists (select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical'))::int as asynchronous,
         pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as "readOnly",
         clock_timestamp() as now`,
    );
  } catch (error) {
    return { found: [refusedBy(error)], isUsable: false };
  }
  if (!server) return { found: [], isUsable: false };
  const skew = (server.now.getTime() - (began + Date.now()) / 2) / 1_000;
  // If it can't be read, the health checks say so.
  const isUsable = await isMigrated(db).catch(() => true);
  const schema = isUsable ? ok('The schema has all migrations of this release.') : wordsOf(migrationsMissing);
  return { found: [...judgeServer(server, skew), schema, ...(await probeWrites(db, server))], isUsable };
}

function refusedBy(error: unknown): Words {
  const refusal = error instanceof SharedSessions ? { ...error, sentence: error.message } : describeRefusal(error);
  return problem(
    refusal?.sentence ?? `Postgres cannot be reached: ${messageOf(error)}.`,
    refusal?.remedy ?? 'Check that it runs, and that the host, user, password and database of DATABASE_URL are right.',
  );
}

/** The settings of the server. `skewSeconds`: by how much its clock is ahead of this machine’s. */
export function judgeServer({ number, version, fsync, commits, asynchronous }: Server, skewSeconds: number): Words[] {
  const skew = Math.abs(skewSeconds);
  return [
    number < oldestVersion
      ? problem(`Postgres ${version} is too old.`, 'Use Postgres 15 or newer.')
      : ok(`Postgres ${version} answers.`),
    fsync === 'off'
      ? problem('A crash of the machine can corrupt the database (fsync is off).', 'Set fsync to on.')
      : commits === 'off'
        ? problem(
            'A crash can lose deliveries that were answered 202 (synchronous_commit is off).',
            'Set synchronous_commit to on for the user of DATABASE_URL.',
          )
        : asynchronous > 0
          ? notice(
              'Postgres has a standby and does not wait for it: if that is promoted, the last commits are lost.',
              'Name it in synchronous_standby_names, unless it is only read. Trunkline notices such a loss, and reads again what it can.',
            )
          : ok(`Commits are durable (synchronous_commit is ${commits}).`),
    skew > maxSkewSeconds
      ? warning(
          `The clock of Postgres is ${skew.toFixed(1)} s ${skewSeconds > 0 ? 'ahead of' : 'behind'} this machine’s.`,
          'Set both clocks by NTP: rechecks for late recordings shift by the difference.',
        )
      : ok('The clocks of Postgres and of this machine agree.'),
  ];
}

/** Commits an empty write, which a missing standby would block. The health checks tell of a server that takes none. */
async function probeWrites(db: Database, { readOnly }: Server): Promise<Words[]> {
  if (readOnly) return [];
  const refusal = await query(db, writeProbe, []).then(() => undefined, messageOf);
  if (refusal === undefined) return [ok('Postgres accepts writes.')];
  const remedy = 'Check that its disk is not full, and that the standbys it waits for run.';
  return [problem(`Postgres accepts no writes: ${refusal}.`, remedy)];
}

const probeTimeoutMs = 15_000;
const lookBackSeconds = 30 * 86_400;

/**
 * Sends one small read of each kind that the mirror needs. Changes nothing, marks nothing as read, and never rejects.
 * `subscriptions`: all of the account's, or undefined if they couldn't be listed.
 */
async function probeApi(
  service: Service,
  db: Database,
): Promise<{ found: Words[]; subscriptions?: readonly Subscription[] }> {
  const found: Words[] = [];
  const call = () => ({ signal: AbortSignal.timeout(probeTimeoutMs) });
  /** The answer, or the error, which becomes a diagnosis. */
  async function probe<T>(what: string, { scope }: { scope: Scope }, read: () => Promise<T>): Promise<T | Error> {
    try {
      const answer = await read();
      found.push(ok(`${what} can be read.`));
      return answer;
    } catch (error) {
      found.push(unreadable(what, error, scope));
      return error as Error;
    }
  }
  const { calls, conversations, lines, webhooks } = operations;

  const first = await probe('Lines', lines.list, () => service.lines.list(call()));
  // All other probes would fail in the same way.
  if (first instanceof Error && !(first instanceof ServiceError && first.advice === 'scope')) return { found };
  for (const [kind, list] of Object.entries(directory)) {
    if (kind !== 'lines') await probe(list.label, list, () => list.ask(service, call()));
  }
  const otherAccount = await compareAccount(db, accountReads(service)).catch(() => undefined);
  if (otherAccount !== undefined) {
    found.push(
      problem(`The account is not recognized: ${otherAccount}.`, meaningOf({ code: 'account_unrecognized' }).remedy),
    );
  }
  const end = Math.ceil(Date.now() / 1_000);
  const recent = await probe('Calls', calls.search, () =>
    service.calls.search({ start: end - lookBackSeconds, end, limit: 1 }, call()),
  );
  const subscriptions = await probe('Webhook subscriptions', webhooks.list, () => service.webhooks.list({}, call()));

  const callId =
    (recent instanceof Error ? undefined : recent.data.calls[0]?.id) ??
    (await held<{ id: string }>(db, 'call_id as id from warehouse.calls where deleted_at is null'))?.id;
  if (callId === undefined) found.push(unchecked('Recordings and transcripts', 'there was no call'));
  else {
    await probe('Recordings', calls.recordings, () => service.calls.recordings(callId, call()));
    await probe('Transcripts', calls.transcripts, () => service.calls.transcripts(callId, call()));
  }
  const groups = `participants_key = '' and deleted_at is null`;
  const thread = await held<Pair>(db, `line, number from warehouse.sms_conversations where ${groups}`);
  if (thread === undefined) found.push(unchecked('Texts', 'no conversation is known yet'));
  else await probe('Texts', conversations.read, () => service.conversations.read(thread, { limit: 1 }, call()));
  return subscriptions instanceof Error ? { found } : { found, subscriptions: subscriptions.data };
}

/** A row of the mirror. Undefined without one, or without Postgres. */
async function held<Row>(db: Database, what: string): Promise<Row | undefined> {
  return (await query<Row>(db, sql`select ${sql.raw(what)} limit 1`).catch(() => []))[0];
}

const unchecked = (what: string, why: string) =>
  notice(`${what} were not checked: ${why}.`, `Run ${toType('doctor')} again when there is one.`);

function unreadable(what: string, error: unknown, scope: Scope): Words {
  if (!(error instanceof ServiceError)) {
    return problem(`${what} cannot be read: ${messageOf(error)}.`, 'Check that API_BASE_URL is right.');
  }
  const { sentence, remedy } = meaningOf({ code: error.code, scope: error.scope ?? scope });
  if (error.advice === 'credential') return problem(sentence, remedy);
  const quoted = error.advice === 'scope' ? '' : ` (${maskNumbers(error.message)})`;
  const why = `${sentence.charAt(0).toLowerCase()}${sentence.slice(1, -1)}${quoted}`;
  const tell = error.advice === 'not_found' || error.advice === 'refused' ? warning : problem;
  return tell(`${what} cannot be read: ${why}.`, remedy);
}

/** Smaller differences can come from rounding and network latency. */
const maxServiceSkewSeconds = 5;

/** `aheadMs`: by how much the service's clock is ahead of this machine's. Undefined if no answer had a date. */
async function compareClocks(aheadMs: number | undefined, db: Database): Promise<Words[]> {
  const [row] = await query<{ now: Date }>(db, sql`select clock_timestamp() as now`).catch(() => []);
  if (aheadMs === undefined || !row) return [];
  const seconds = (aheadMs - (row.now.getTime() - Date.now())) / 1_000;
  if (Math.abs(seconds) <= maxServiceSkewSeconds) return [ok('The clocks of the service and of Postgres agree.')];
  const difference = `${Math.abs(seconds).toFixed(0)} s ${seconds > 0 ? 'ahead of' : 'behind'} that of Postgres`;
  return [
    warning(
      `The service’s clock is ${difference}. The age of calls and texts is wrong by as much, so rules and coverage act too early or too late.`,
      'Set the clock of the Postgres server by NTP. If it is right, tell the service’s operator.',
    ),
  ];
}

/**
 * Checks whether deliveries can arrive: the secret, the address, and the subscriptions with that address.
 * `subscriptions` is undefined if they couldn't be listed. `isDelivered`: the mirror has enabled subscriptions of ours.
 * Never rejects.
 */
export async function probeReceiver(
  { receiver: { publicUrl, secret } }: Settings,
  subscriptions: readonly Subscription[] | undefined,
  isDelivered: boolean,
): Promise<Words[]> {
  if (secret === undefined || publicUrl === undefined) {
    const remedy = 'To check the receiver, set both to its values; `start` keeps its own secret in the data folder.';
    return [
      isDelivered || secret !== undefined
        ? notice('PUBLIC_URL or WEBHOOK_SECRET is not set here, so the receiver was not asked.', remedy)
        : warning('WEBHOOK_SECRET is not set, so the addresses of the receiver are unknown here.', remedy),
    ];
  }
  const found = [await probeAddress(publicUrl, secret)];
  for (const type of subscriptions ? wantedTypes : []) {
    const ours = subscriptions?.filter((each) => deliversTo(each, hookUrl(publicUrl, secret, type))) ?? [];
    const isEnabled = ours.some((each) => each.enabled !== false && eventTypeOf(each.type ?? '') === type);
    const what = ours.length === 0 ? 'There is no subscription of' : 'The subscription is disabled or not of the type';
    found.push(
      isEnabled
        ? ok(`The subscription of ${type} is enabled.`)
        : problem(`${what} ${type}.`, `Run ${toType('subscriptions ensure')}.`),
    );
  }
  return found;
}

const reachTimeoutMs = 5_000;

/** Posts as the service delivers: a proxy may refuse POST alone, and other programs may answer 200 to everything. */
async function probeAddress(publicUrl: string, secret: string): Promise<Words> {
  const remedy = `Check that ${toType('web')} runs behind PUBLIC_URL, with the same WEBHOOK_SECRET, and that what stands in front of it passes POST requests to /hooks on.`;
  const dispatcher = await openAgent(publicUrl);
  try {
    const { statusCode, body } = await request(`${hookUrl(publicUrl, secret, 'AccountSMS')}?probe`, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
      signal: AbortSignal.timeout(reachTimeoutMs),
    });
    return statusCode === 200 && (await body.text()) === '{"ready":true}'
      ? ok('The receiver answers at PUBLIC_URL.')
      : problem(`PUBLIC_URL answers ${statusCode}, not as our receiver does.`, remedy);
  } catch (error) {
    return problem(`Nothing answers at PUBLIC_URL: ${messageOf(error)}.`, remedy);
  } finally {
    await dispatcher.destroy();
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // If a host name has several addresses, the error of a refused connection has an empty message.
  return error.message || ('code' in error ? String(error.code) : error.name);
}
