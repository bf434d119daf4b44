import { once } from 'node:events';
import { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { CallSummary } from '../../src/api-client/client.ts';
import { createDatabase, type Database } from '../../src/db/database.ts';
import { createLog } from '../../src/shared/log.ts';
import { type CallRead, calls } from '../../src/warehouse/calls.ts';
import { following } from '../../src/warehouse/what-follows.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { atLeast, type Finding, quantity } from './report.ts';
import type { Rig } from './rig/rig.ts';
import { ratiosOf, spreadOf } from './spread.ts';

const batch = 500;
const batches = 40;
const columns = [...Object.keys(calls.columns), 'content_hash', 'source', 'fetch_seq', 'fetched_at'];

/** How the rows of one pass differ from those that are held. */
type Change = 'none' | 'talk time';

/**
 * Batches of 500 calls through the warehouse's own writer, each a transaction, against one COPY of the same rows into a
 * table of the same columns that has its primary key alone. That limit encodes nothing: its text is made beforehand.
 */
export async function write(rig: Rig): Promise<Finding[]> {
  const rounds = rig.rounds ?? 5;
  const url = await rig.stores.database('write');
  await using stack = new AsyncDisposableStack();
  const database = stack.use(createDatabase({ url, log: createLog('warn'), maxConnections: 2, name: 'bench' }));
  const client = new Client({ connectionString: url });
  await client.connect();
  stack.defer(() => client.end());
  await client.query(`
    create table bare_calls as select ${columns.join(', ')} from warehouse.calls;
    alter table bare_calls add primary key (call_id);
    create table indexed_calls (like warehouse.calls including all)`);

  const summaries = Array.from({ length: batch * batches }, (_, at) => invented(at));
  const text = copyText(readsOf(summaries, 1, 'none'));
  const passes: readonly (readonly [string, () => Promise<number>])[] = [
    ['bare', () => copy(client, 'bare_calls', text)],
    ['inserts', () => upserts(database.db, readsOf(summaries, 1, 'none'), 1)],
    ['updates', () => upserts(database.db, readsOf(summaries, 2, 'talk time'), 1)],
    ['repeats', () => upserts(database.db, readsOf(summaries, 3, 'talk time'), 1)],
    ['indexed', () => copy(client, 'indexed_calls', text)],
  ];
  const twoInFlight: typeof passes = [
    ['inserts of two', () => upserts(database.db, readsOf(summaries, 1, 'none'), 2)],
    ['updates of two', () => upserts(database.db, readsOf(summaries, 2, 'talk time'), 2)],
  ];
  const rates: Record<string, number[]> = {};
  for (let round = 0; round <= rounds; round += 1) {
    for (const group of [passes, twoInFlight]) {
      await client.query('truncate warehouse.calls, warehouse.field_changes, bare_calls, indexed_calls');
      for (const [name, pass] of group) {
        await client.query('checkpoint');
        const seconds = await pass();
        await client.query('vacuum analyze warehouse.calls');
        // The first round warms up.
        if (round > 0) rates[name] = [...(rates[name] ?? []), summaries.length / seconds];
      }
    }
    if (round > 0) rig.progress(`round ${round} of ${rounds}`);
  }
  return findingsOf(rates);
}

function findingsOf(rates: Readonly<Record<string, readonly number[]>>): Finding[] {
  const line = (what: string, name: string, baselineName: string, limits: string, isGoal: boolean): Finding => {
    const subject = rates[name] ?? [];
    const baseline = rates[baselineName] ?? [];
    const ratio = ratiosOf(subject, baseline);
    return {
      bench: 'write',
      what,
      baseline: quantity('COPY', 'rows/s', spreadOf(baseline)),
      subject: quantity('upsert', 'rows/s', spreadOf(subject)),
      ratio,
      ...(isGoal && { goal: atLeast(ratio, 0.35) }),
      limits,
    };
  };
  return [
    line('500-row upsert, inserts', 'inserts', 'bare', 'one batch after the other', true),
    line('500-row upsert, updates', 'updates', 'bare', 'each changes one watched field, so a change is noted', true),
    line('500-row upsert, unchanged rows', 'repeats', 'bare', 'read again and found equal', false),
    line('inserts, two in flight', 'inserts of two', 'bare', 'as the writer runs them', false),
    line('updates, two in flight', 'updates of two', 'bare', 'as the writer runs them', false),
    line('inserts, against the same indexes', 'inserts', 'indexed', 'COPY into a copy of warehouse.calls', false),
  ];
}

async function upserts(db: Database, reads: readonly CallRead[], inFlight: number): Promise<number> {
  const began = performance.now();
  let next = 0;
  async function lane(): Promise<void> {
    while (next < reads.length) {
      const some = reads.slice(next, next + batch);
      next += batch;
      await db
        .transaction()
        .execute((tx) => following(tx, (follow) => writeCalls(tx, follow, some), { isHistory: true }));
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane));
  return (performance.now() - began) / 1_000;
}

async function copy(client: Client, table: string, text: Buffer): Promise<number> {
  const began = performance.now();
  const stream = client.query(copyFrom(`copy ${table} (${columns.join(', ')}) from stdin`));
  const done = once(stream, 'finish');
  for (let at = 0; at < text.length; at += 65_536) {
    if (!stream.write(text.subarray(at, at + 65_536))) await once(stream, 'drain');
  }
  stream.end();
  await done;
  return (performance.now() - began) / 1_000;
}

function readsOf(summaries: readonly CallSummary[], fetchSeq: number, change: Change): CallRead[] {
  const read = { fetchSeq: String(fetchSeq), fetchedAt: new Date().toISOString(), source: 'calls.search' };
  return summaries.map((call) => ({
    call: change === 'none' ? call : { ...call, talkTimeSeconds: (call.talkTimeSeconds ?? 0) + 1 },
    read,
  }));
}

/** The rows as COPY wants them; none of these values needs escaping. */
function copyText(reads: readonly CallRead[]): Buffer {
  const names = Object.keys(calls.columns) as (keyof typeof calls.columns)[];
  const lines = reads.map((each) => {
    const row = calls.row({ ...each, isOwn: () => false, held: undefined });
    const { read } = each;
    const values = [...names.map((name) => row[name] ?? '\\N'), 'a-hash-of-the-usual-len', read.source, read.fetchSeq];
    return `${[...values, read.fetchedAt].join('\t')}\n`;
  });
  return Buffer.from(lines.join(''));
}

function invented(at: number): CallSummary {
  const second = 1_780_000_000 + at * 7;
  const isInbound = at % 3 !== 0;
  const isAnswered = at % 4 !== 0;
  const outside = `1718${5_000_000 + ((at * 7_919) % 4_000_000)}`;
  const ours = `1845555${9_000 + (at % 40)}`;
  return {
    id: `${second}.${100_000 + at}`,
    direction: isInbound ? 'inbound' : 'outbound',
    status: isAnswered ? 'answered' : 'missed',
    statusCode: isAnswered ? 1 : -1,
    callerType: isInbound ? 'external' : 'user',
    callerName: isInbound ? 'WIRELESS CALLER' : 'Front Desk',
    callerNumber: isInbound ? outside : String(100 + (at % 300)),
    calledType: isInbound ? 'user' : 'external',
    calledName: isInbound ? 'Front Desk' : 'WIRELESS CALLER',
    calledNumber: isInbound ? String(100 + (at % 300)) : outside,
    dialledNumber: isInbound ? ours : outside,
    callerIdInternal: String(100 + (at % 300)),
    callerIdExternal: isInbound ? outside : ours,
    startTime: new Date(second * 1_000).toISOString(),
    endTime: new Date((second + 90) * 1_000).toISOString(),
    durationSeconds: 90,
    talkTimeSeconds: isAnswered ? 71 : 0,
    transferred: at % 9 === 0 ? 1 : 0,
    abandoned: !isAnswered && isInbound,
    recorded: isAnswered,
    calledBack: undefined,
    repeated: at % 5,
    raw: {},
    unknownKeys: [],
  };
}
