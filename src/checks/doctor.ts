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
  wordsOf,
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
const tell =
  (level: Level) =>
  (sentence: string, remedy: string): Words => ({ level, sentence, remedy });
const [notice, warning, problem] = [tell('notice'), tell('warning'), tell('problem')];
const toldBy = ({ check, level, sentence, ...rest }: Finding): Words => ({
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
    const asked = service && (await probeApi(service, db));
    add('API', asked?.found ?? [noApi]);
    if (serviceAheadMs !== undefined && postgres.aheadMs !== undefined) {
      add('API', [compareClocks('the service', serviceAheadMs - postgres.aheadMs, 'Postgres', maxServiceSkewMs)]);
    }
    add('Receiver', await probeReceiver(settings, asked?.subscriptions));
  } finally {
    await service?.close();
  }
  return found;
}

const noApi = warning(
  'API_BASE_URL or API_KEY isn’t set here, so the service wasn’t asked.',
  'Set both as the worker has them.',
);

async function probeSettings(settings: ReadySettings, db: Database): Promise<Words[]> {
  const isOtherZone = !(await isSameZone(db, settings.timeZone).catch(() => true));
  return [
    ok('The settings are well-formed.'),
    ...(isOtherZone ? [problem(`TIME_ZONE=${settings.timeZone} ${otherZone.fault}`, otherZone.remedy)] : []),
    ...weaknessesOf(settings).map((each) => warning(each, `${toType('settings')} describes each variable.`)),
  ];
}

/** The health checks of the status page. */
async function checkHealth(settings: ReadySettings, database: OpenDatabase, log: Log): Promise<Words[]> {
  const { redisUrl, databaseUrl } = settings;
  let queues: Queues | undefined;
  try {
    queues = await createQueues({ redisUrl, databaseUrl, log, isReadOnly: true });
    const found = (await findings({ database, queues, settings })).map(toldBy);
    if (!found.some(isFault)) found.push(ok('The queues answer, and nothing is overdue, parked, failing or refused.'));
    return found;
  } catch (error) {
    const remedy = `Run ${toType('migrate')} and ${toType('doctor')} again.`;
    return [problem(`The health checks can’t run: ${messageOf(error)}.`, remedy)];
  } finally {
    await queues?.close();
  }
}

interface Server {
  number: number;
  version: string;
  commits: string;
  fsync: string;
  /** Standbys of the server that its commits do not wait for. */
  asynchronous: number;
  now: Date;
}

/**
 * Probes the server. `isUsable`: it has the schema, so the health checks can run. `aheadMs`: how far its clock is ahead
 * of this machine's.
 */
async function probePostgres(db: Database): Promise<{ found: Words[]; isUsable: boolean; aheadMs?: number }> {
  const began = Date.now();
  try {
    const [server] = await query<Server>(
      db,
      sql`select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
         current_setting('synchronous_commit') as commits, current_setting('fsync') as fsync,
         (select count(*) from pg_stat_replication r where current_setting('synchronous_standby_names') = ''
           and not exists (select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical'))::int as asynchronous,
         clock_timestamp() as now`,
    );
    if (!server) return { found: [], isUsable: false };
    const aheadMs = Number(server.now) - (began + Date.now()) / 2;
    // If it can't be read, the health checks say so.
    const isUsable = await isMigrated(db).catch(() => true);
    const schema = isUsable ? ok('The schema has all migrations of this release.') : toldBy(migrationsMissing);
    return { found: [...judgeServer(server, aheadMs), schema, ...(await probeWrites(db))], isUsable, aheadMs };
  } catch (error) {
    return { found: [refusedBy(error)], isUsable: false };
  }
}

function refusedBy(error: unknown): Words {
  const refusal = error instanceof SharedSessions ? { ...error, sentence: error.message } : describeRefusal(error);
  return problem(
    refusal?.sentence ?? `Postgres cannot be reached: ${messageOf(error)}.`,
    refusal?.remedy ?? 'Check that it runs, and that the host, user, password and database of DATABASE_URL are right.',
  );
}

const oldestVersion = 150_000;

/** What the settings of the server mean, and its clock, which is `aheadMs` ahead of this machine’s. */
export function judgeServer({ number, version, fsync, commits, asynchronous }: Server, aheadMs: number): Words[] {
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
              'Postgres has a standby and doesn’t wait for it: if it is promoted, the last commits are lost.',
              'Name it in synchronous_standby_names, unless it is only read. Trunkline notices such a loss, and reads again what it can.',
            )
          : ok(`Commits are durable (synchronous_commit is ${commits}).`),
    compareClocks('Postgres', aheadMs, 'this machine', maxSkewMs),
  ];
}

const maxSkewMs = 2_000;
/** Smaller differences can come from rounding and network latency. */
const maxServiceSkewMs = 5_000;

function compareClocks(one: string, aheadMs: number, other: string, maxMs: number): Words {
  if (Math.abs(aheadMs) <= maxMs) return ok(`The clocks of ${one} and of ${other} agree.`);
  const difference = `${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${other}`;
  return warning(
    `The clock of ${one} is ${difference}. Rules, coverage and later reads act too early or too late by as much.`,
    'Set the clocks by NTP, the Postgres server’s first. If the service’s is wrong, tell its operator.',
  );
}

/** Commits an empty write, which a missing standby would block. The health checks report a server that accepts none. */
async function probeWrites(db: Database): Promise<Words[]> {
  try {
    const [probed] = await query<{ takesWrites: boolean }>(db, writeProbe, []);
    return probed?.takesWrites ? [ok('Postgres accepts writes.')] : [];
  } catch (error) {
    const remedy = 'Check that its disk isn’t full, and that the standbys it waits for run.';
    return [problem(`Postgres accepts no writes: ${messageOf(error)}.`, remedy)];
  }
}

const probeTimeoutMs = 15_000;

/**
 * Sends one small read of each kind that the mirror needs. Changes nothing, marks nothing as read, and never rejects.
 * `subscriptions`: all of the account's, or undefined if they couldn't be listed.
 */
async function probeApi(service: Service, db: Database) {
  const found: Words[] = [];
  const call = () => ({ signal: AbortSignal.timeout(probeTimeoutMs) });
  const ofMirror = async <Row>(what: string) =>
    (await query<Row>(db, sql`select ${sql.raw(what)} and deleted_at is null limit 1`).catch(() => []))[0];
  const thread = await ofMirror<Pair>(`line, number from warehouse.sms_conversations where participants_key = ''`);
  let callId = (await ofMirror<{ id: string }>('call_id as id from warehouse.calls where true'))?.id;
  let subscriptions: readonly Subscription[] | undefined;
  const end = Math.ceil(Date.now() / 1_000);
  const lastMonth = { start: end - 30 * 86_400, end, limit: 1 };
  const { calls, webhooks, conversations } = operations;

  const readCalls = async () => {
    const { data } = await service.calls.search(lastMonth, call());
    callId = data.calls[0]?.id ?? callId;
    return data;
  };
  const listSubscriptions = async () => {
    subscriptions = (await service.webhooks.list({}, call())).data;
    return subscriptions;
  };
  const probes: readonly Probe[] = [
    ...Object.values(directory).map((list): Probe => [list.label, list, () => list.ask(service, call())]),
    ['Calls', calls.search, readCalls],
    ['Webhook subscriptions', webhooks.list, listSubscriptions],
    ['Recordings', calls.recordings, () => callId && service.calls.recordings(callId, call())],
    ['Transcripts', calls.transcripts, () => callId && service.calls.transcripts(callId, call())],
    ['Texts', conversations.read, () => thread && service.conversations.read(thread, { limit: 1 }, call())],
  ];
  for (const [what, { scope }, read] of probes) {
    try {
      const isRead = (await read()) !== undefined;
      found.push(
        isRead ? ok(`${what} can be read.`) : notice(`${what} weren’t read, because none is known yet.`, again),
      );
    } catch (error) {
      found.push(unreadable(what, error, scope));
      // All other probes would fail in the same way.
      if (found.length === 1 && !(error instanceof ServiceError && error.advice === 'scope')) return { found };
    }
  }
  const other = await compareAccount(db, accountReads(service)).catch(() => undefined);
  const { remedy } = meaningOf({ code: 'account_unrecognized' });
  if (other !== undefined) found.push(problem(`The account isn’t recognized: ${other}.`, remedy));
  return { found, subscriptions };
}

/** What is read, with what scope, and how. Undefined: there is nothing to read yet. */
type Probe = [what: string, needs: { scope: Scope }, read: () => unknown];

const again = `Run ${toType('doctor')} again when there is one.`;

function unreadable(what: string, error: unknown, scope: Scope): Words {
  if (!(error instanceof ServiceError)) {
    return problem(`${what} can’t be read: ${messageOf(error)}.`, 'Check that API_BASE_URL is right.');
  }
  const { code, advice } = error;
  const named = { code, scope: error.scope ?? scope, detail: advice === 'scope' ? undefined : error.detail };
  const { sentence, remedy } = meaningOf(named);
  if (advice === 'credential') return problem(sentence, remedy);
  const tell = advice === 'not_found' || advice === 'refused' ? warning : problem;
  return tell(`${what} can’t be read: ${maskNumbers(wordsOf(named))}.`, remedy);
}

/** Whether deliveries can arrive. `subscriptions`: all of the account's; undefined if they couldn't be listed. Never rejects. */
export async function probeReceiver(
  { receiver: { publicUrl, secret } }: Settings,
  subscriptions: readonly Subscription[] | undefined,
): Promise<Words[]> {
  if (secret === undefined || publicUrl === undefined) {
    const remedy = 'To check it, set both to those of `web` or `start`, which keeps its secret in the data folder.';
    return [notice('PUBLIC_URL or WEBHOOK_SECRET isn’t set here, so the receiver wasn’t asked.', remedy)];
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
  const remedy = `Check that ${toType('web')} runs behind PUBLIC_URL, with the same WEBHOOK_SECRET, and that a proxy in front of it passes on POST requests to /hooks.`;
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
      : problem(`PUBLIC_URL answers ${statusCode}, and not as our receiver does.`, remedy);
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
