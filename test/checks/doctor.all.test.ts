import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createService } from '../../src/api-client/client.ts';
import type { Diagnosis } from '../../src/checks/doctor.ts';
import { diagnose, judgeServer, probeReceiver } from '../../src/checks/doctor.ts';
import { query } from '../../src/db/database.ts';
import { startPostgres } from '../../src/local/postgres.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import type { EventType } from '../../src/shared/event-types.ts';
import { createLog } from '../../src/shared/log.ts';
import { ensureSubscriptions, wantedTypes } from '../../src/sync/subscriptions/ensure.ts';
import { temporaryFolder } from '../at-end.ts';
import { runInProcess } from '../cli/in-process.ts';
import { migrated, openReceiver, secret, settingsFor } from '../server/receiver.ts';

const log = createLog('silent');
// That of the run does not wait for its disk, which the doctor would find.
const postgres = await startPostgres({ dataDir: await temporaryFolder(), log });
const databaseUrl = postgres.url;
await migrated(databaseUrl);
const sandbox = await createSandbox({ calls: 20, threads: 3 });
const world = await openReceiver(settingsFor(databaseUrl));
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await sandbox.close();
  await postgres.stop();
});
const { db } = world.context.database;
const { line, number } = await sandbox.emit.sms();
await query(db, `insert into warehouse.sms_conversations (line, number) values ($1, $2)`, [line, number]);
const service = createService({ baseUrl: sandbox.url, apiKey: sandbox.apiKey, log });
await ensureSubscriptions({ service, db, log, publicUrl: world.receiver.url, secret });
await service.close();

function environment(more: Readonly<Record<string, string>> = {}) {
  return { API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey, PUBLIC_URL: world.receiver.url, ...more };
}

const diagnosed = (more: Readonly<Record<string, string>> = {}, url = databaseUrl) =>
  diagnose(settingsFor(url, environment(more)), log);
const faults = (findings: readonly Pick<Diagnosis, 'level' | 'sentence'>[]) =>
  findings.flatMap((each) => (each.level === 'ok' || each.level === 'notice' ? [] : [each.sentence]));

test('finds nothing wrong where nothing is', async () => {
  const findings = await diagnosed();
  expect(faults(findings)).toEqual([]);
  const subjects = ['Settings', 'Postgres', 'Mirror', 'API', 'Receiver'];
  expect(new Set(findings.map(({ subject }) => subject))).toEqual(new Set(subjects));
});

test('warns of a connection to Postgres that is not encrypted', async () => {
  const findings = await diagnosed({}, 'postgres://app:hunter2@nosuch.invalid/app');
  const sentence = expect.stringMatching(/at nosuch\.invalid is not encrypted.*sslmode=verify-full/);
  expect(findings).toContainEqual({ subject: 'Settings', level: 'warning', sentence, remedy: expect.any(String) });
  expect(JSON.stringify(findings)).not.toContain('hunter2');
});

test('asks without leaving a trace', async () => {
  const asked = sandbox.requests().length;
  await diagnosed();
  const requests = sandbox.requests().slice(asked);
  const changing = requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/calls/search'));
  expect(changing).toEqual([]);
  expect(requests.length).toBeGreaterThan(6);
  expect(requests.some(({ path }) => path.includes('markRead'))).toBe(false);
});

test('says once that the service cannot be reached', async () => {
  expect(faults(await diagnosed({ API_BASE_URL: 'http://127.0.0.1:1' }))).toEqual([
    'Users can’t be read: the service can’t be reached (ECONNREFUSED).',
  ]);
});

test('names each scope that is missing', async () => {
  const answer = await fetch(`${sandbox.url}/_sandbox/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'few', scopes: ['sms:read', 'reports:read', 'webhooks:read'] }),
  });
  const { data } = (await answer.json()) as { data: { key: string } };
  expect(faults(await diagnosed({ API_KEY: data.key }))).toEqual([
    'Users can’t be read: the API key lacks the scope users:read.',
    'Recordings can’t be read: the API key lacks the scope recordings:read.',
    'Transcripts can’t be read: the API key lacks the scope recordings:read.',
    'Texts can’t be read: the API key lacks the scope messages:read.',
  ]);
});

test('tells a zone that Postgres reads in another way', async () => {
  const findings = await diagnose({ ...settingsFor(databaseUrl, environment()), timeZone: 'CET' }, log);
  const told = { subject: 'Settings', level: 'problem', sentence: expect.stringMatching(/^TIME_ZONE=CET /) };
  expect(findings).toContainEqual({ ...told, remedy: expect.stringMatching(/^Set TIME_ZONE to the name of a place/) });
});

test.each<[string, Record<string, string>, unknown[]]>([
  [
    'a wrong key, a weak secret and a receiver with another one',
    { API_KEY: 'no-such-key', WEBHOOK_SECRET: 'short123' },
    [
      expect.stringMatching(/^WEBHOOK_SECRET has 8 characters/),
      'The service refuses the API key.',
      'PUBLIC_URL answers 404, and not as our receiver does.',
    ],
  ],
  [
    'subscriptions that are missing at this address, and that nothing listens there',
    { PUBLIC_URL: 'http://127.0.0.1:1' },
    [
      expect.stringContaining('Nothing answers at PUBLIC_URL'),
      ...wantedTypes.map((type) => `There is no subscription of ${type}.`),
    ],
  ],
])('tells %s', async (_, more, told) => {
  expect(faults(await diagnosed(more))).toEqual(told);
});

/** What is said of a PUBLIC_URL where another server listens. */
async function answeredBy(listener: RequestListener): Promise<string[]> {
  await using other = createServer(listener).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const settings = settingsFor(databaseUrl, environment({ PUBLIC_URL: `http://127.0.0.1:${port}` }));
  return faults(await probeReceiver(settings, undefined));
}

test.each(['<p>Welcome</p>', '{"ready":false}', ''])(
  'takes no program that answers 200 with %j for the receiver',
  async (page) => {
    const told = await answeredBy((_request, response) => response.end(page));
    expect(told).toEqual(['PUBLIC_URL answers 200, and not as our receiver does.']);
  },
);

test.each([403, 301])('tells a proxy that answers POST with %i and lets GET through', async (status) => {
  const told = await answeredBy(async ({ method, url }, response) => {
    if (method !== 'POST') return response.end(await (await fetch(`${world.receiver.url}${url}`)).text());
    response.writeHead(status, { location: 'https://example.com/' }).end('<p>No</p>');
  });
  expect(told).toEqual([`PUBLIC_URL answers ${status}, and not as our receiver does.`]);
});

test('posts to the receiver without leaving a delivery', async () => {
  await query(db, 'truncate ops.deliveries', []);
  const found = await probeReceiver(settingsFor(databaseUrl, environment()), undefined);
  expect(found.map(({ sentence }) => sentence)).toContain('The receiver answers at PUBLIC_URL.');
  expect(await query(db, 'select from ops.deliveries', [])).toEqual([]);
});

test('takes for subscribed what `subscriptions ensure` leaves in place, however it is written', async () => {
  const at = world.receiver.url.replace('127.0.0.1', 'LOCALHOST');
  const settings = settingsFor(databaseUrl, environment({ PUBLIC_URL: at }));
  const hooks = `${at.toLowerCase()}/hooks/${secret}`;
  const subscriptions = [
    { id: 1, url: `${hooks}/AccountSMS/`, type: 'Account-SMS' },
    { id: 2, url: `${hooks}/AccountEndedCalls`, type: 'accountendedcalls' },
    { id: 3, url: `${hooks}/AccountAITranscription`, type: 'AccountSMS' },
    ...wantedTypes.slice(3).map((type, at) => ({ id: 4 + at, url: `${hooks}/${type}`, type })),
  ].map((each) => ({ ...each, type: each.type as EventType, enabled: true, raw: {}, unknownKeys: [] }));
  const findings = await probeReceiver(settings, subscriptions);
  expect(faults(findings).filter((each) => each.includes('subscription'))).toEqual([
    'The subscription is disabled or not of the type AccountAITranscription.',
  ]);
});

test.each([
  [{ number: 140_020 }, 0, 'Postgres 14 is too old.'],
  [{ fsync: 'off' }, 0, 'A crash of the machine can corrupt the database (fsync is off).'],
  [{ commits: 'off' }, 0, 'A crash can lose deliveries that were answered 202 (synchronous_commit is off).'],
  [{}, -90, expect.stringMatching(/^The clock of Postgres is 90 s behind that of this machine\. /)],
  [{}, 1, undefined],
])('tells a server with %j whose clock is %i s ahead', (setting, skewSeconds, sentence) => {
  const sound = { version: '14', commits: 'on', fsync: 'on', asynchronous: 0 };
  const server = { ...sound, number: 180_004, now: new Date() };
  expect(faults(judgeServer({ ...server, ...setting }, skewSeconds * 1_000))).toEqual(sentence ? [sentence] : []);
});

test.each([
  [-90, /^The clock of the service is (89|90|91) s behind that of Postgres/],
  [90, /^The clock of the service is (89|90|91) s ahead of that of Postgres/],
  [0, undefined],
])('compares the Date of the service with the clock of Postgres: %i s', async (seconds, sentence) => {
  await using service = createServer((_request, response) => {
    response.setHeader('date', new Date(Date.now() + seconds * 1_000).toUTCString());
    response.setHeader('content-type', 'application/json');
    response.end('{"data":[]}');
  }).listen(0, '127.0.0.1');
  await once(service, 'listening');
  const { port } = service.address() as AddressInfo;
  const found = await diagnosed({ API_BASE_URL: `http://127.0.0.1:${port}` });
  const told = { subject: 'API', level: 'warning', remedy: expect.any(String) };
  expect(found.filter((each) => each.sentence.startsWith('The clock of the service'))).toEqual(
    sentence === undefined ? [] : [{ ...told, sentence: expect.stringMatching(sentence) }],
  );
});

test('tells a Postgres that is away, and goes on to the service', async () => {
  const findings = await diagnosed({}, 'postgres://nobody@127.0.0.1:1/none');
  expect(findings.find(({ level }) => level === 'problem')?.sentence).toMatch(/^Postgres cannot be reached/);
  expect(findings.map(({ sentence }) => sentence)).toContain('Lines can be read.');
});

test('tells a database without the schema', async () => {
  const url = new URL(databaseUrl);
  url.pathname = '/template1';
  const sentences = faults(await diagnosed({}, url.href));
  expect(sentences[0]).toBe('The database lacks migrations of this release.');
});

test.each(['the schema of this release', 'no schema at all'])(
  'doctor and status change nothing in a database with %s',
  async (what) => {
    const url = new URL(databaseUrl);
    if (what === 'no schema at all') url.pathname = '/template1';
    const client = new Client({ connectionString: url.href });
    await client.connect();
    onTestFinished(() => client.end());
    const catalogue = async () => {
      const { rows } = await client.query(
        `select 'schema ' || nspname as it from pg_namespace where nspname !~ '^pg_(toast_)?temp'
       union all select 'class ' || oid::regclass || ' ' || coalesce(pg_relation_filenode(oid), 0) from pg_class where relpersistence <> 't'
       union all select 'function ' || oid::regprocedure || ' ' || xmin from pg_proc
       union all select 'rows ' || relid::regclass || query_to_xml(format('select md5(string_agg(xmin::text, '','' order by xmin::text)) from %s', relid::regclass), false, true, '')
         from pg_stat_user_tables
       order by 1`,
      );
      return rows.map(({ it }) => it);
    };
    const before = await catalogue();
    const variables = { ...environment(), DATABASE_URL: url.href, WEBHOOK_SECRET: secret };
    for (const command of ['doctor', 'status']) await runInProcess(variables, command);
    expect(await catalogue()).toEqual(before);
  },
);

test('every fault comes with a remedy', async () => {
  const bad = { API_KEY: 'no-such-key', WEBHOOK_SECRET: 'short123', REDIS_URL: 'redis://127.0.0.1:1' };
  for (const finding of await diagnosed(bad))
    if (finding.level !== 'ok') expect(finding.remedy, finding.sentence).toMatch(/^\S.{10,}\.$/);
});

test('the commands print JSON, and end with 1 when something is wrong', async () => {
  const given = { ...environment(), DATABASE_URL: databaseUrl, WEBHOOK_SECRET: secret };
  const sound = await runInProcess(given, 'doctor', '--json');
  expect(sound.code).toBe(0);
  expect(JSON.parse(sound.out)).toContainEqual(expect.objectContaining({ level: 'ok' }));
  const unset = await runInProcess({ PORT: 'none' }, 'doctor', '--json');
  expect(unset.code).toBe(1);
  expect(JSON.parse(unset.out)).toMatchObject([
    { level: 'problem', sentence: expect.stringContaining('PORT must be a whole number') },
    { level: 'problem', sentence: expect.stringMatching(/^DATABASE_URL is missing.*`npm start`.*[^.]\.$/) },
  ]);
  const status = await runInProcess({ DATABASE_URL: databaseUrl }, 'status', '--json');
  expect(status.code).toBe(0);
  expect(JSON.parse(status.out)).toMatchObject({ verdict: { level: expect.any(String) } });
});
