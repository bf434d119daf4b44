import { request } from 'undici';
import { isLoopbackUrl, type Settings, weaknessesOf } from '../../config/settings.ts';
import type { Subscription } from '../api-client/client.ts';
import {
  accountReads,
  createService,
  operations,
  type Scope,
  type Service,
  ServiceError,
} from '../api-client/client.ts';
import { adviceOf, type Finding, type Level } from '../checks/check.ts';
import { healthChecks } from '../checks/checks.ts';
import { known, type Snapshot, takeSnapshot } from '../checks/overview.ts';
import { schemaOld } from '../checks/postgres.ts';
import type { ReadySettings } from '../context.ts';
import { accountRemedy, compareAccount } from '../credentials/account.ts';
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
import type { Pair } from '../shared/thread.ts';
import { wantedTypes } from '../sync/subscriptions/ensure.ts';
import { deliversTo, hookUrl } from '../sync/subscriptions/matching.ts';
import { directory } from '../warehouse/directory.ts';

/** One sentence about a subject, with a remedy unless the level is `ok`. A notice isn't a fault. */
export type Diagnosis =
  | { readonly level: 'ok'; readonly subject: string; readonly sentence: string }
  | {
      readonly level: Level;
      readonly subject: string;
      readonly sentence: string;
      readonly remedy: string;
      /** The id of the health check that found it. */
      readonly check?: string;
    };

/** Creates diagnoses about one subject. */
export function diagnosesOf(subject: string) {
  return {
    ok: (sentence: string): Diagnosis => ({ level: 'ok', subject, sentence }),
    warning: (sentence: string, remedy: string): Diagnosis => ({ level: 'warning', subject, sentence, remedy }),
    problem: (sentence: string, remedy: string): Diagnosis => ({ level: 'problem', subject, sentence, remedy }),
    found: (finding: Finding): Diagnosis => ({ ...finding, subject, remedy: adviceOf(finding) }),
  };
}

const onSettings = diagnosesOf('Settings');
const onPostgres = diagnosesOf('Postgres');
const onQueue = diagnosesOf('Queue');
const onMirror = diagnosesOf('Mirror');
const onApi = diagnosesOf('API');
const onReceiver = diagnosesOf('Receiver');

/** Whether the operator has to act. */
export function isFault({ level }: Pick<Diagnosis, 'level'>): boolean {
  return level === 'warning' || level === 'problem';
}

/**
 * Runs the health checks, and probes what they can't see: whether Postgres, the service and the receiver answer, and
 * whether Postgres accepts writes. Changes nothing. A part that can't be checked yields a diagnosis too. Never rejects.
 */
export async function diagnose(settings: ReadySettings, log: Log): Promise<Diagnosis[]> {
  await using database = createDatabase({ url: settings.databaseUrl, log, maxConnections: 2, name: 'doctor' });
  const { db } = database;
  const postgres = await probePostgres(db);
  const found = [...(await diagnoseSettings(settings, db)), ...postgres.found];
  let serviceAheadMs: number | undefined;
  const onAnswer = ({ date }: { date: string | undefined }) => {
    const at = Date.parse(date ?? '');
    // The header has whole seconds: it is rounded down, by half a second on average.
    if (!Number.isNaN(at)) serviceAheadMs = at + 500 - Date.now();
  };
  const { baseUrl, key: apiKey } = settings.api;
  const service =
    baseUrl !== undefined && apiKey !== undefined
      ? createService({ baseUrl, apiKey, log, retry: { tries: 2 }, onAnswer })
      : undefined;
  try {
    const mirror = postgres.isUsable ? await checkHealth(settings, database, service, log) : undefined;
    found.push(...(mirror?.found ?? []));
    const api = service && (await probeApi(service, db));
    found.push(...(api?.found ?? [noApi]), ...(await diagnoseServiceClock(serviceAheadMs, db)));
    const held = mirror?.snapshot && known(mirror.snapshot.subscriptions);
    const isDelivered = (held?.ours.length ?? 0) > 0;
    found.push(...(await diagnoseReceiver(settings, api?.subscriptions, isDelivered)));
  } finally {
    await service?.close();
  }
  return found;
}

const noApi = onApi.warning(
  'API_BASE_URL or API_KEY is not set here, so the service was not asked.',
  'Set both to the values that the worker has.',
);

/** Compares the settings of this process with Postgres, as far as it can be asked. */
async function diagnoseSettings(settings: ReadySettings, db: Database): Promise<Diagnosis[]> {
  const found = [onSettings.ok('The settings are well-formed.')];
  if (!(await isSameZone(db, settings.timeZone).catch(() => true))) {
    found.push(onSettings.problem(`TIME_ZONE=${settings.timeZone} ${otherZone.fault}`, otherZone.remedy));
  }
  const remedy = `${toType('settings')} describes each variable.`;
  for (const weakness of weaknessesOf(settings)) found.push(onSettings.warning(weakness, remedy));
  return found;
}

/** Runs the health checks of the status page. No snapshot if the queues can't be opened. */
async function checkHealth(
  settings: ReadySettings,
  database: OpenDatabase,
  service: Service | undefined,
  log: Log,
): Promise<{ found: Diagnosis[]; snapshot?: Snapshot }> {
  let queues: Queues;
  try {
    const { redisUrl, databaseUrl } = settings;
    queues = await createQueues({ redisUrl, databaseUrl, log, isReadOnly: true });
  } catch (error) {
    const sentence = `The queues cannot be opened: ${messageOf(error)}.`;
    return { found: [onQueue.problem(sentence, `Run ${toType('migrate')}.`)] };
  }
  try {
    const snapshot = await takeSnapshot({ database, queues, service, settings });
    const found = healthChecks(snapshot).map(onMirror.found);
    const status = known(snapshot.queues);
    if (status?.isReachable)
      found.push(onQueue.ok(`The queues in ${status.backend === 'redis' ? 'Redis' : 'Postgres'} answer.`));
    if (!found.some(isFault)) found.push(onMirror.ok('Nothing is overdue, parked, failing or refused.'));
    return { found, snapshot };
  } catch (error) {
    return { found: [onMirror.problem(messageOf(error), `Run ${toType('doctor')} again when Postgres answers.`)] };
  } finally {
    await queues.close();
  }
}

/** Smaller differences can come from rounding and network latency. */
const maxServiceSkewSeconds = 5;

/** `aheadMs`: by how much this machine's clock is ahead. Undefined if no answer had a date. */
async function diagnoseServiceClock(aheadMs: number | undefined, db: Database): Promise<Diagnosis[]> {
  if (aheadMs === undefined) return [];
  const [row] = await query<{ now: Date }>(db, sql`select clock_timestamp() as now`).catch(() => []);
  if (!row) return [];
  const seconds = (aheadMs - (row.now.getTime() - Date.now())) / 1_000;
  if (Math.abs(seconds) <= maxServiceSkewSeconds) return [onApi.ok('The clocks of the service and of Postgres agree.')];
  return [
    onApi.warning(
      `The service’s clock is ${Math.abs(seconds).toFixed(0)} s ${seconds > 0 ? 'ahead of' : 'behind'} that of Postgres. The age of calls and texts is wrong by as much, so rules and coverage act too early or too late.`,
      'Set the clock of the Postgres server by NTP. If it is right, tell the service’s operator.',
    ),
  ];
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // If a host name has several addresses, the error of a refused connection has an empty message.
  return error.message || ('code' in error ? String(error.code) : error.name);
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
async function probePostgres(db: Database): Promise<{ found: Diagnosis[]; isUsable: boolean }> {
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
    return { found: [diagnoseConnection(error)], isUsable: false };
  }
  if (!server) return { found: [], isUsable: false };
  const skew = (server.now.getTime() - (began + Date.now()) / 2) / 1_000;
  // If it can't be read, the health checks say so.
  const isUsable = await isMigrated(db).catch(() => true);
  const found = [
    ...diagnoseServer(server, skew),
    isUsable
      ? onPostgres.ok('The schema has all migrations of this release.')
      : onPostgres.found(schemaOld.findingOf({ isMigrated: false, outdatedViews: [] })),
    ...(server.readOnly ? [] : [await probeWrites(db)]),
  ];
  return { found, isUsable };
}

function diagnoseConnection(error: unknown): Diagnosis {
  if (error instanceof SharedSessions) return onPostgres.problem(error.message, error.remedy ?? '');
  const refusal = describeRefusal(error);
  if (refusal) return onPostgres.problem(refusal.sentence, refusal.remedy);
  return onPostgres.problem(
    `Postgres cannot be reached: ${messageOf(error)}.`,
    'Check that it runs, and that the host, user, password and database of DATABASE_URL are right.',
  );
}

const lossySentence =
  'Postgres has a standby and does not wait for it: if that is promoted, the last commits are lost.';
const lossyRemedy =
  'Name it in synchronous_standby_names, unless it is only read. Trunkline notices such a loss, and reads again what it can.';

/** The settings of the server. `skewSeconds`: by how much its clock is ahead of this machine’s. */
export function diagnoseServer(
  { number, version, fsync, commits, asynchronous }: Server,
  skewSeconds: number,
): Diagnosis[] {
  const { ok, warning, problem } = onPostgres;
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
          ? { level: 'notice', subject: 'Postgres', sentence: lossySentence, remedy: lossyRemedy }
          : ok(`Commits are durable (synchronous_commit is ${commits}).`),
    skew > maxSkewSeconds
      ? warning(
          `The clock of Postgres is ${skew.toFixed(1)} s ${skewSeconds > 0 ? 'ahead of' : 'behind'} this machine’s.`,
          'Set both clocks by NTP: rechecks for late recordings shift by the difference.',
        )
      : ok('The clocks of Postgres and of this machine agree.'),
  ];
}

/** Commits an empty write, which a missing standby would block. */
async function probeWrites(db: Database): Promise<Diagnosis> {
  const refusal = await query(db, writeProbe, []).then(() => undefined, messageOf);
  if (refusal === undefined) return onPostgres.ok('Postgres accepts writes.');
  const remedy = 'Check that its disk is not full, and that the standbys it waits for run.';
  return onPostgres.problem(`Postgres accepts no writes: ${refusal}.`, remedy);
}

const probeTimeoutMs = 15_000;

/**
 * Sends one small read of each kind that the mirror needs. Changes nothing, marks nothing as read, and never rejects.
 * `subscriptions`: all of the account's, or undefined if they couldn't be listed.
 */
async function probeApi(service: Service, db: Database) {
  const found: Diagnosis[] = [];
  const call = () => ({ signal: AbortSignal.timeout(probeTimeoutMs) });
  let failure: unknown;

  /** The answer of one probe. Undefined after a failure, which becomes a diagnosis. */
  async function probe<T>(what: string, { scope }: { scope: Scope }, read: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await read();
      found.push(onApi.ok(`${what} can be read.`));
      return answer;
    } catch (error) {
      failure = error;
      found.push(diagnoseRefusal(error, what, scope));
      return undefined;
    }
  }

  await probe('Lines', operations.lines.list, () => service.lines.list(call()));
  const lacksScope = failure instanceof ServiceError && failure.advice === 'scope';
  // All other probes would fail in the same way.
  if (found[0]?.level === 'problem' && !lacksScope) return { found, subscriptions: undefined };
  for (const [kind, list] of Object.entries(directory)) {
    if (kind !== 'lines') await probe(list.label, list, () => list.ask(service, call()));
  }
  const otherAccount = await compareAccount(db, accountReads(service)).catch(() => undefined);
  if (otherAccount !== undefined)
    found.push(onApi.problem(`The account is not recognized: ${otherAccount}.`, accountRemedy));
  const end = Math.ceil(Date.now() / 1_000);
  const search = { start: end - 3_600, end, limit: 1 };
  const recent = await probe('Calls', operations.calls.search, () => service.calls.search(search, call()));
  const subscriptions = await probe('Webhook subscriptions', operations.webhooks.list, () =>
    service.webhooks.list({}, call()),
  );

  const [held] = await query(
    db,
    sql<{
      id: string;
    }>`select call_id as id from warehouse.calls where deleted_at is null order by started_at desc nulls last limit 1`,
  ).catch(() => []);
  const month = { start: end - 30 * 86_400, end, limit: 1 };
  const callId =
    recent &&
    (recent.data.calls[0]?.id ??
      held?.id ??
      (await service.calls.search(month, call()).catch(() => undefined))?.data.calls[0]?.id);
  if (callId === undefined) found.push(onApi.ok('Recordings and transcripts were not checked: there was no call.'));
  else {
    await probe('Recordings', operations.calls.recordings, () => service.calls.recordings(callId, call()));
    await probe('Transcripts', operations.calls.transcripts, () => service.calls.transcripts(callId, call()));
  }
  const [thread] = await query(
    db,
    sql<Pair>`select line, number from warehouse.sms_conversations where participants_key = '' and deleted_at is null limit 1`,
  ).catch(() => []);
  if (thread === undefined) found.push(onApi.ok('Texts were not checked: no conversation is known yet.'));
  else
    await probe('Texts', operations.conversations.read, () => service.conversations.read(thread, { limit: 1 }, call()));
  return { found, subscriptions: subscriptions?.data };
}

function diagnoseRefusal(error: unknown, what: string, scope: string): Diagnosis {
  if (!(error instanceof ServiceError)) {
    return onApi.problem(`${what} cannot be read: ${messageOf(error)}.`, 'Check that API_BASE_URL is right.');
  }
  const reply = maskNumbers(error.message);
  switch (error.advice) {
    case 'credential':
      return onApi.problem('The service refuses the API key.', 'Set API_KEY to a key that is valid and not revoked.');
    case 'scope':
      return onApi.problem(
        `${what} cannot be read: the API key lacks the scope ${error.scope ?? scope}.`,
        `Grant ${error.scope ?? scope} to the API key.`,
      );
    case 'permission':
      return onApi.problem(
        `${what} cannot be read (${reply}).`,
        `Give the API key permission to read ${what.toLowerCase()}.`,
      );
    case 'not_found':
    case 'refused':
      return onApi.warning(
        `${what} could not be checked (${reply}).`,
        'Check that API_BASE_URL is the service itself.',
      );
    case 'retry':
    case 'reconcile':
      return onApi.problem(
        `The service does not answer as specified (${reply}).`,
        'Check that API_BASE_URL is right and reachable from here. If it is, wait, or ask the service’s operator.',
      );
  }
}

const reachTimeoutMs = 5_000;

/**
 * Checks whether deliveries can arrive: the secret, the address, and the subscriptions with that address.
 * `subscriptions` is undefined if they couldn't be listed. `isDelivered`: the mirror has enabled subscriptions of ours.
 * Never rejects.
 */
export async function diagnoseReceiver(
  { receiver, api }: Settings,
  subscriptions: readonly Subscription[] | undefined,
  isDelivered: boolean,
): Promise<Diagnosis[]> {
  const { publicUrl, secret } = receiver;
  if (isDelivered && (secret === undefined || publicUrl === undefined)) {
    return [
      onReceiver.ok(
        'Subscriptions of a running receiver are enabled; its PUBLIC_URL and WEBHOOK_SECRET are not set here.',
      ),
    ];
  }
  if (secret === undefined) {
    return [
      onReceiver.warning(
        'WEBHOOK_SECRET is not set, so the addresses of the receiver are unknown here.',
        'Set it to the receiver’s value; `start` keeps its own in the data folder.',
      ),
    ];
  }
  const found: Diagnosis[] = [];
  if (publicUrl === undefined) {
    const unset =
      'PUBLIC_URL is not set here, and no webhook of ours is known to be registered: workers poll the service.';
    return [...found, onReceiver.ok(unset)];
  }
  found.push(await diagnoseReachability(publicUrl, secret));
  if (api.baseUrl !== undefined && isLoopbackUrl(publicUrl) && !isLoopbackUrl(api.baseUrl)) {
    found.push(
      onReceiver.problem(
        'PUBLIC_URL is a loopback address, which the service cannot reach.',
        'Set PUBLIC_URL to an address that is reachable from the internet, through a tunnel if need be.',
      ),
    );
  }
  for (const type of subscriptions ? wantedTypes : []) {
    const ours = subscriptions?.filter((each) => deliversTo(each, hookUrl(publicUrl, secret, type))) ?? [];
    found.push(diagnoseSubscription(type, ours));
  }
  return found;
}

async function diagnoseReachability(publicUrl: string, secret: string): Promise<Diagnosis> {
  const remedy = `Check that ${toType('web')} runs behind PUBLIC_URL, with the same WEBHOOK_SECRET, and that what stands in front of it passes POST requests to /hooks on.`;
  try {
    const signal = AbortSignal.timeout(reachTimeoutMs);
    // As the service delivers: a proxy may refuse POST alone.
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' } as const;
    const answer = await request(`${hookUrl(publicUrl, secret, 'AccountSMS')}?probe`, { ...post, signal });
    const reply = await answer.body.text();
    // Other programs may answer 200 to everything.
    const isReceiver = answer.statusCode === 200 && reply === '{"ready":true}';
    if (isReceiver) return onReceiver.ok('The receiver answers at PUBLIC_URL.');
    return onReceiver.problem(`PUBLIC_URL answers ${answer.statusCode}, not as our receiver does.`, remedy);
  } catch (error) {
    return onReceiver.problem(`Nothing answers at PUBLIC_URL: ${messageOf(error)}.`, remedy);
  }
}

function diagnoseSubscription(type: (typeof wantedTypes)[number], ours: readonly Subscription[]): Diagnosis {
  if (ours.some((each) => each.enabled !== false && eventTypeOf(each.type ?? '') === type)) {
    return onReceiver.ok(`The subscription of ${type} is enabled.`);
  }
  const what = ours.length === 0 ? 'There is no subscription of' : 'The subscription is disabled or not of the type';
  return onReceiver.problem(`${what} ${type}.`, `Run ${toType('subscriptions ensure')}.`);
}
