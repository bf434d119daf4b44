import type { RawBuilder } from 'kysely';
import type { Service } from '../api-client/client.ts';
import { type Database, query, sql } from '../db/database.ts';
import type { Log } from '../shared/log.ts';
import { type Loop, startLoop } from '../shared/loop.ts';
import { ourLines } from '../warehouse/lines.ts';
import { backfillCalls } from './coverage/backfill.ts';
import type { ListerDeps } from './coverage/listing.ts';
import { addCallers, addContacts, probingProgress } from './gaps/candidate-threads.ts';

/*
 * The history that a first start fills in by itself, once per database (rows of ops.backfills with is_automatic):
 *
 *   nothing ──▶ calls, with their artefacts ──▶ threads of their callers on every line ──▶ done
 *
 * One process at a time works on it, under a lease; after its end another one resumes there.
 */

export interface FirstBackfillDeps extends ListerDeps {
  readonly service: Service;
  readonly log: Log;
  /** BACKFILL_DAYS, at least 1. */
  readonly days: number;
}

interface Part {
  readonly id: string;
  readonly stream: 'calls' | 'threads';
  /** Unix seconds. */
  readonly from: number;
  readonly to: number;
}

/** Milliseconds between two rounds. */
const everyMs = 10_000;
const leaseMs = 60_000;
const renewEveryMs = 20_000;
/** Milliseconds after a failure: with a refused key, every round fails. */
const retryMs = 60_000;

export function startFirstBackfill(deps: FirstBackfillDeps): Loop {
  const { log } = deps;
  let isDone = false;
  return startLoop({
    name: 'Filling in history',
    everyMs,
    log,
    retryAfterMs: () => retryMs,
    async job(signal) {
      if (!isDone) isDone = await round(deps, signal);
    },
  });
}

/** Returns whether nothing is left. */
async function round({ log, days, ...deps }: FirstBackfillDeps, signal: AbortSignal): Promise<boolean> {
  const { db } = deps;
  const opened = await openNext(db, days);
  if (opened === 'calls') {
    log.info(
      `Filling in the history of the last ${days} days, behind live reads: calls with their artefacts, then the threads of their callers (BACKFILL_DAYS)`,
    );
  }
  const part = await claim(db);
  if (!part) return opened === 'done';
  const renewing = startLoop({
    name: 'Renewing a lease',
    everyMs: renewEveryMs,
    log,
    job: () => hold(db, part.id, leaseMs),
  });
  try {
    if (part.stream === 'calls') {
      await backfillCalls(deps, { range: part, withArtefacts: true }, () => undefined, signal);
    } else {
      const found = await followProbes(db, part);
      if (found !== undefined) log.info({ days, conversations: found }, 'The history of the first start is filled in');
    }
  } finally {
    await renewing.stop();
    await hold(db, part.id, 0);
  }
  return false;
}

/** Opens the part that comes next: calls, then threads. Returns the opened part, or `done` after both. */
async function openNext(db: Database, days: number): Promise<'calls' | 'threads' | 'done' | undefined> {
  const parts = await query<{ stream: string; from: Date; to: Date; isFinished: boolean }>(
    db,
    sql`select stream, asked_from as "from", asked_to as "to", finished_at is not null as "isFinished"
      from ops.backfills where is_automatic order by stream`,
  );
  const [calls, threads] = parts;
  if (!calls) {
    const isOpened = await open(
      db,
      'calls',
      sql`date_trunc('day', now(), 'UTC') - ${days} * interval '1 day'`,
      sql`date_trunc('hour', now(), 'UTC')`,
    );
    return isOpened ? 'calls' : undefined;
  }
  if (threads?.isFinished) return 'done';
  // Callers become candidates on our lines, so the lines must be read first. Another process adds no candidate twice.
  if (threads || !calls.isFinished || (await ourLines(db)).length === 0) return undefined;
  await addCallers(db, calls);
  await addContacts(db);
  return (await open(db, 'threads', calls.from, calls.to)) ? 'threads' : undefined;
}

type Moment = Date | RawBuilder<unknown>;

/** False when another process has opened it meanwhile. */
async function open(db: Database, stream: Part['stream'], from: Moment, to: Moment): Promise<boolean> {
  const rows = await query(
    db,
    sql`insert into ops.backfills (stream, asked_from, asked_to, has_artefacts, done_until, is_automatic)
      values (${stream}, ${from}, ${to}, ${stream === 'calls'}, ${from}, true)
      on conflict (stream) where is_automatic do nothing returning 1`,
  );
  return rows.length > 0;
}

async function claim(db: Database): Promise<Part | undefined> {
  const [part] = await query<Part>(
    db,
    sql`update ops.backfills set claimed_until = now() + ${leaseMs} * interval '1 millisecond'
      where is_automatic and finished_at is null and coalesce(claimed_until < now(), true)
      returning backfill_id as id, stream, extract(epoch from asked_from)::integer as "from", extract(epoch from asked_to)::integer as "to"`,
  );
  return part;
}

function hold(db: Database, id: string, ms: number): Promise<unknown> {
  return query(
    db,
    sql`update ops.backfills set claimed_until = now() + ${ms} * interval '1 millisecond' where backfill_id = ${id}`,
  );
}

/** Records how many probes gap detection has made. Returns the number of found conversations when none is left. */
async function followProbes(db: Database, { id }: Part): Promise<number | undefined> {
  const { open: unprobed, underWay, found, empty } = await probingProgress(db);
  const left = unprobed + underWay;
  const share = (found + empty) / Math.max(1, left + found + empty);
  await query(
    db,
    sql`update ops.backfills set mirrored_count = ${found},
        done_until = asked_from + (asked_to - asked_from) * ${left === 0 ? 1 : share}::float8,
        finished_at = case when ${left === 0} then now() end
      where backfill_id = ${id}`,
  );
  return left === 0 ? found : undefined;
}

/** What holds for each number while its history is being read. */
export const readFirst = 'before the first automatic text to a number, its threads on every line are read';
