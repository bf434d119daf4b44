import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Agent, request } from 'undici';
import { draw } from '../draws.ts';
import { atMost, type Finding, quantity } from './report.ts';
import { hookOf, type SandboxAccess, startSandbox, startWeb, startWorker } from './rig/daemon.ts';
import type { Rig } from './rig/rig.ts';
import { watchRows } from './rig/sight.ts';
import { type Backend, backends } from './rig/stores.ts';
import { quantile, spreadOf } from './spread.ts';

const perSecond = 50;
/** So few that each world knows all of them when it is measured: a first text costs more, since rules read every line for it. */
const threads = 200;
const tripsAlone = 100;
const longestMs = 30_000;

/** Before it is measured, a world is at work for so many times the length of a round: two minutes, unless one asks for less. */
const roundsOfWarmUp = 12;
const warmUpSeconds = 2;

const limits = {
  redis: { p50: 20, p99: 80 },
  postgres: { p50: 30, p99: 110 },
} as const;

/** Milliseconds, round by round. */
interface Measured {
  readonly trips: number[];
  readonly questions: number[];
  readonly p50: number[];
  readonly p99: number[];
}

/** A daemon at work, web and worker as processes of their own, on a database of its own. */
interface Mirror {
  readonly backend: Backend;
  readonly client: Client;
  /** Address of its receiver. */
  readonly web: string;
  /** Asks the service of its account, which it shares with no other. */
  readonly ask: Ask;
}

/** Makes something happen at the service, which tells nobody; answers with what to deliver, and where and as what the row appears. */
interface Kind {
  readonly name: 'texts' | 'ended calls';
  readonly type: 'AccountSMS' | 'AccountEndedCalls';
  /** Answers with the awaited keys that are there. */
  readonly sight: string;
  happen(): Promise<{ body: object; key: string; path: string }>;
}

/**
 * From the send of a delivery until another connection sees the row, at 50 deliveries a second that come as they like
 * (exponential gaps). The row is looked for every three milliseconds, so each figure is at most that much too long; the
 * API's own round trip, measured alone before the round, is taken off. The worlds are minutes old: what their loops do then is in it.
 */
export async function lag(rig: Rig): Promise<Finding[]> {
  const { rounds = 3, seconds = 10 } = rig;
  await using stack = new AsyncDisposableStack();
  const agent = stack.adopt(new Agent({ connections: 64 }), (opened) => opened.close());
  const measured: (Measured & { mirror: Mirror; kind: Kind })[] = [];
  for (const backend of backends) {
    const mirror = await startMirror(rig, backend, agent, stack);
    for (const kind of [await textsOf(mirror.ask), callsOf(mirror.ask)]) {
      measured.push({ mirror, kind, trips: [], questions: [], p50: [], p99: [] });
    }
  }

  const until = performance.now() + roundsOfWarmUp * seconds * 1_000;
  do {
    for (const { mirror, kind } of measured) await oneRound(mirror, kind, warmUpSeconds);
  } while (performance.now() < until);
  rig.progress('the worlds are warm');
  for (let round = 1; round <= rounds; round += 1) {
    for (const { mirror, kind, trips, questions, p50, p99 } of measured) {
      const trip = await tripAlone(mirror.ask, kind);
      const found = await oneRound(mirror, kind, seconds);
      trips.push(trip);
      questions.push(quantile(found.questions, 0.5));
      p50.push(quantile(found.lags, 0.5) - trip);
      p99.push(quantile(found.lags, 0.99) - trip);
    }
    rig.progress(`round ${round} of ${rounds}`);
  }

  return measured.flatMap(({ mirror: { backend }, kind, trips, questions, ...found }) =>
    (['p50', 'p99'] as const).map((which): Finding => {
      const spread = spreadOf(found[which]);
      return {
        bench: 'lag',
        what: `${kind.name}, ${which}, queue in ${backend}`,
        baseline: quantity('API alone', 'ms', spreadOf(trips)),
        subject: quantity('sent to visible, less that', 'ms', spread),
        goal: atMost(spread, limits[backend][which], ' ms'),
        limits: `one query for the rows takes ${spreadOf(questions).median.toFixed(1)} ms`,
      };
    }),
  );
}

/** Resolves once the daemon knows the account's lines: the receiver reads them once, when it starts. */
async function startMirror(
  { stores, profileFolder }: Rig,
  backend: Backend,
  agent: Agent,
  stack: AsyncDisposableStack,
): Promise<Mirror> {
  const sandbox = stack.use(await startSandbox()).ready;
  const databaseUrl = await stores.database(`lag_${backend}`);
  const at = { databaseUrl, redisUrl: stores.redisUrl(backend) };
  const client = stack.adopt(new Client({ connectionString: databaseUrl }), (opened) => opened.end());
  await client.connect();
  stack.use(await startWorker(at, sandbox, profileFolder));
  await becomes(async () => (await client.query('select from warehouse.sms_lines')).rowCount !== 0);
  const web = stack.use(await startWeb(at, profileFolder)).ready;
  return { backend, client, web, ask: asking(sandbox, agent) };
}

/** Waits for something to become true; throws when it takes more than half a minute. */
async function becomes(isSo: () => Promise<boolean>): Promise<void> {
  const began = performance.now();
  while (!(await isSo())) {
    if (performance.now() - began > longestMs) throw new Error(`This never became true: ${isSo}`);
    await sleep(20);
  }
}

type Ask = <T>(address: string, body?: object) => Promise<T>;

/** Asks the sandbox, or another address, for what a GET or a POST of JSON answers; throws where that is an error. */
function asking({ url, apiKey }: SandboxAccess, dispatcher: Agent): Ask {
  return async <T>(address: string, body?: object) => {
    const { statusCode, body: answer } = await request(new URL(address, url), {
      dispatcher,
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${apiKey}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (statusCode >= 300) throw new Error(`${address}: ${statusCode} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
}

/**
 * Delivers at a rate, and tells how long each took to be visible, in the order in which they were sent. Resolves when nothing is owed
 * a read that is due.
 */
async function oneRound({ client, web, ask }: Mirror, kind: Kind, seconds: number) {
  const sight = watchRows(client, kind.sight);
  const lags: Promise<number>[] = [];
  const hook = hookOf(web, kind.type);
  const deliver = async (body: object, sent: number, seen: Promise<number>) => {
    const { received } = await ask<{ received: number }>(hook, body);
    if (received === 0) throw new Error('The receiver recognized nothing in a delivery');
    return (await seen) - sent;
  };
  const began = performance.now();
  let at = began;
  while (at < began + seconds * 1_000) {
    at += (-Math.log(1 - draw()) * 1_000) / perSecond;
    const { body, key } = await kind.happen();
    await sleep(Math.max(0, at - performance.now()));
    lags.push(deliver(body, performance.now(), sight.of(key)));
  }
  const measured = { lags: await Promise.all(lags), questions: sight.questions };
  const due = 'select from ops.sync_targets where dirty_version > clean_version and due_at < now() limit 1';
  await becomes(async () => (await client.query(due)).rowCount === 0);
  return measured;
}

async function tripAlone(ask: Ask, kind: Kind): Promise<number> {
  const trips: number[] = [];
  const { path } = await kind.happen();
  for (let trip = 0; trip < tripsAlone; trip += 1) {
    const began = performance.now();
    await ask(`/api/public/v1${path}`);
    trips.push(performance.now() - began);
    await sleep(5);
  }
  return quantile(trips, 0.5);
}

async function textsOf(ask: Ask): Promise<Kind> {
  const { data: lines } = await ask<{ data: { number: string }[] }>('/api/public/v1/sms/lines');
  let made = 0;
  return {
    name: 'texts',
    type: 'AccountSMS',
    sight: `select key from unnest($1::text[]) as a (key)
      join warehouse.sms_conversations c on c.line = split_part(key, '/', 1) and c.number = split_part(key, '/', 2)
        and c.participants_key = ''
      join warehouse.sms_messages m on m.conversation_id = c.conversation_id
        and m.message_id = split_part(key, '/', 3)::bigint`,
    async happen() {
      made += 1;
      const line = lines[made % lines.length]?.number ?? '';
      const number = `1718${5_550_000 + (made % threads)}`;
      const { data } = await ask<{ data: { id: number } }>('/_sandbox/events/sms', { line, number, announce: false });
      const told = { id: data.id, direction: 'received', startTime: '2026-04-21T18:47:50-04:00', fromNumber: number };
      return {
        body: { ...told, toNumber: line, message: 'On my way', media: null, webhookType: 'AccountSMS' },
        key: `${line}/${number}/${data.id}`,
        path: `/sms/conversations/${line}/${number}?limit=100&offset=0`,
      };
    },
  };
}

function callsOf(ask: Ask): Kind {
  return {
    name: 'ended calls',
    type: 'AccountEndedCalls',
    sight: 'select call_id as key from warehouse.calls where call_id = any($1)',
    async happen() {
      const { data } = await ask<{ data: { id: string } }>('/_sandbox/events/call', { announce: false });
      const told = { callId: data.id, direction: 'incoming', status: 'answered', webhookType: 'AccountEndedCalls' };
      return { body: { ...told, cdrs: [] }, key: data.id, path: `/calls/${data.id}` };
    },
  };
}
