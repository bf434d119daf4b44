import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { request } from 'undici';
import { atLeast, atMost, type Finding, quantity } from './report.ts';
import { hookOf, startWeb, startWorker } from './rig/daemon.ts';
import { startNode, urlIn } from './rig/processes.ts';
import type { Rig } from './rig/rig.ts';
import { type Backend, backends } from './rig/stores.ts';
import { costOf, type Usage, watching } from './rig/usage.ts';
import { ratiosOf, type Spread, spreadOf } from './spread.ts';

const defaultCalls = 4_000;
const defaultRounds = 5;
/** How long after the last round nothing may be left to do. */
const afterMs = 10_000;
const longestMs = 300_000;
/** Rows are looked for so many at a time, and only once every delivery was answered: looking must not cost what is measured. */
const lookedForAtOnce = 200;
const lookMs = 20;

const plainTable = `create table plain_calls (call_id text primary key, started_at timestamptz, ended_at timestamptz, direction text,
  status text, caller_number text, called_number text, dialled_number text, duration_seconds integer, talk_seconds integer, body jsonb)`;

/** Something that mirrors calls. */
interface Contender {
  readonly hook: string;
  readonly table: string;
  readonly pids: Readonly<Record<string, number>>;
}

/** What was measured, round by round. */
interface Way {
  /** Calls per second, from the first delivery sent to the last row visible. */
  readonly rates: readonly number[];
  readonly usages: readonly Usage[];
  /** WAL, in kB for each call, of all rounds and the ten seconds after. */
  readonly walKb: number;
  /** Cores busy, by name, in the ten seconds after. */
  readonly after: Usage;
  readonly ruleEventsLeft: number;
}

/**
 * The whole way of a call: delivered when it began 100 to 900 seconds ago, read through the API, visible as a row. Web and worker as
 * shipped, with the shipped rules in dry run, roll-ups and comparison, beside a plain program that reads each call and upserts one
 * row before it answers. Both do a quarter of a round first.
 */
export async function wholeWay(rig: Rig): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const backend of backends) {
    const plain = await plainWay(rig, backend);
    rig.progress(`${backend}: the plain program did ${listed(plain.rates)} calls/s`);
    const product = await productWay(rig, backend);
    rig.progress(`${backend}: the product did ${listed(product.rates)} calls/s`);
    findings.push(...findingsOf(backend, rig.calls ?? defaultCalls, product, plain));
  }
  return findings;
}

function findingsOf(backend: Backend, calls: number, product: Way, plain: Way): Finding[] {
  const ratio = ratiosOf(product.rates, plain.rates);
  const steady = single((product.rates.at(-1) ?? Number.NaN) / (product.rates[0] ?? Number.NaN));
  const cost = costOf(product.usages, product.rates);
  const plainCost = costOf(plain.usages, plain.rates);
  const inAll = spreadOf(product.usages.map((usage, round) => costOf([usage], [product.rates[round] ?? 1]).all));
  const left = single(product.ruleEventsLeft);
  const line = (what: string) => ({ bench: 'whole-way', what: `${what}, queue in ${backend}` });
  return [
    {
      ...line(`${product.rates.length} rounds of ${calls} calls`),
      baseline: quantity('plain program', 'calls/s', spreadOf(plain.rates)),
      subject: quantity('mirrored', 'calls/s', spreadOf(product.rates)),
      ratio,
      goal: atLeast(ratio, 0.33),
      limits: `by round: ${listed(product.rates)}; plain ${listed(plain.rates)}`,
    },
    { ...line('the last round'), subject: quantity('of the first', '', steady), goal: atLeast(steady, 0.9) },
    {
      ...line('processor time of a call'),
      baseline: quantity('plain program', 'ms', single(plainCost.all)),
      subject: quantity('in all', 'ms', inAll),
      goal: atMost(inAll, 1.2, ' ms'),
      limits: `${shown(cost.each)}; plain ${shown(plainCost.each)}. Cores in the ten seconds after: ${shown(product.after.cores)}`,
    },
    {
      ...line('rule events ten seconds after'),
      subject: quantity('not evaluated', 'events', left),
      goal: atMost(left, 0),
      limits: 'the shipped rules, in dry run',
    },
    {
      ...line('WAL of a call'),
      baseline: quantity('plain program', 'kB', single(plain.walKb)),
      subject: quantity('written', 'kB', single(product.walKb)),
    },
  ];
}

/** The stand-in service in which calls end when it is told so; ready is its address. */
const startLiveService = () => startNode(['test/bench/rig/live-service.ts'], {}, urlIn);

async function plainWay(rig: Rig, backend: Backend): Promise<Way> {
  const databaseUrl = await rig.stores.database(`whole_way_plain_${backend}`);
  await using service = await startLiveService();
  await using client = await connect(databaseUrl);
  await client.query(plainTable);
  await using plain = await startNode(
    ['test/bench/rig/plain.ts'],
    { DATABASE_URL: databaseUrl, API_BASE_URL: service.ready, API_KEY: 'bench-key' },
    urlIn,
  );
  const { postgresPid: Postgres } = rig.stores;
  const pids = { plain: plain.pid, 'load and API': service.pid, Postgres };
  return await measure(rig, service.ready, client, { hook: `${plain.ready}/calls`, table: 'plain_calls', pids });
}

async function productWay(rig: Rig, backend: Backend): Promise<Way> {
  const databaseUrl = await rig.stores.database(`whole_way_${backend}`);
  const stores = { databaseUrl, redisUrl: rig.stores.redisUrl(backend) };
  await using service = await startLiveService();
  await using client = await connect(databaseUrl);
  await using worker = await startWorker(stores, { url: service.ready, apiKey: 'bench-key' }, rig.profileFolder);
  await using web = await startWeb(stores, rig.profileFolder);
  const { postgresPid: Postgres, redisPid: Redis } = rig.stores;
  const pids = { web: web.pid, worker: worker.pid, 'load and API': service.pid, Postgres, Redis };
  const hook = hookOf(web.ready, 'AccountEndedCalls');
  return await measure(rig, service.ready, client, { hook, table: 'warehouse.calls', pids });
}

async function measure(rig: Rig, service: string, client: Client, contender: Contender): Promise<Way> {
  const { calls = defaultCalls, rounds = defaultRounds } = rig;
  const { hook, table, pids } = contender;
  await oneRound(service, client, { hook, table, calls: Math.ceil(calls / 4) });
  const wal = await walBytes(client);
  const rates: number[] = [];
  const usages: Usage[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { result, usage } = await watching(pids, () => oneRound(service, client, { hook, table, calls }));
    rates.push(result);
    usages.push(usage);
  }
  const { usage: after } = await watching(pids, () => sleep(afterMs));
  const walKb = ((await walBytes(client)) - wal) / 1_024 / (rounds * calls);
  const { rows } = await client.query<{ count: string }>(
    'select count(*) from ops.rule_events where after_seconds is null',
  );
  return { rates, usages, walKb, after, ruleEventsLeft: Number(rows[0]?.count) };
}

/** Calls per second. */
async function oneRound(
  service: string,
  client: Client,
  { hook, table, calls }: Pick<Contender, 'hook' | 'table'> & { readonly calls: number },
): Promise<number> {
  const began = performance.now();
  const answer = await request(`${service}/end-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ hook, count: calls }),
  });
  if (answer.statusCode !== 200) throw new Error(await answer.body.text());
  let awaited = (await answer.body.json()) as string[];
  while (awaited.length > 0) {
    const looked = awaited.slice(0, lookedForAtOnce);
    const { rows } = await client.query<{ call_id: string }>(`select call_id from ${table} where call_id = any($1)`, [
      looked,
    ]);
    const seen = new Set(rows.map(({ call_id }) => call_id));
    awaited = awaited.filter((id) => !seen.has(id));
    if (seen.size === looked.length) continue;
    if (performance.now() - began > longestMs) throw new Error(`${awaited.length} calls were not mirrored`);
    await sleep(lookMs);
  }
  return (1_000 * calls) / (performance.now() - began);
}

async function walBytes(client: Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(`select pg_current_wal_lsn() - '0/0' as bytes`);
  return Number(rows[0]?.bytes);
}

async function connect(databaseUrl: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

function single(value: number): Spread {
  return { median: value, lowest: value, highest: value };
}

function listed(rates: readonly number[]): string {
  return rates.map((rate) => Math.round(rate)).join(' / ');
}

function shown(byName: Readonly<Record<string, number>>): string {
  return Object.entries(byName)
    .map(([name, value]) => `${name} ${value.toFixed(2)}`)
    .join(', ');
}
