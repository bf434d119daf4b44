import { ServiceError } from '../../api-client/client.ts';
import { type Database, inTransaction, query, retryDeadlock, sql } from '../../db/database.ts';
import { type DueTarget, markDirty, priorities } from '../../inbox/targets.ts';
import type { Thread } from '../../shared/thread.ts';
import { dayMs } from '../../shared/time-range.ts';
import { ourLines } from '../../warehouse/lines.ts';
import { claimGaps, closeGap, failGap, hasOpenCallGap, type OpenGap } from '../coverage/reconcile.ts';
import {
  addCallers,
  probe,
  rereadActiveThreads,
  rereadNewestThreads,
  threadColumns,
  threadTargets,
} from './candidate-threads.ts';
import { compareUnread, type GapDetectionDeps } from './unread.ts';

/** A round a minute makes 6,000 an hour, with the lowest priority. */
const probesPerRound = 100;
/** The most recent threads of each line are read first after a gap. */
const newestPerLine = 50;
/** Then all other threads with a text in these days, with the lowest priority, `activePerRound` at a time. */
const activeDays = 90;
const activePerRound = 5_000;

export type GapDetection = ReturnType<typeof createGapDetection>;

/** Finds texts that no webhook announced. It can detect a missing text, but can't prove that none is missing. */
export function createGapDetection(deps: GapDetectionDeps) {
  const { db, log, notify, polledReads = () => Promise.resolve(undefined) } = deps;
  let isFailing = false;

  async function compare(signal: AbortSignal | undefined, reads: number | undefined): Promise<void> {
    try {
      await compareUnread(deps, signal, reads);
      isFailing = false;
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof ServiceError)) throw error;
      if (!isFailing) log.warn({ err: error }, 'Unread counts cannot be compared at present');
      isFailing = true;
      if (error.advice === 'scope' || error.advice === 'credential') notify(await rereadNewest(db));
    }
  }

  async function searchGaps(signal: AbortSignal | undefined): Promise<void> {
    for (const gap of await retryDeadlock(() => claimGaps(db, 'texts'))) {
      if (signal?.aborted) return;
      try {
        await searchGap(gap);
      } catch (error) {
        await failGap(db, gap, error);
        log.warn({ err: error }, 'A gap in the webhooks for texts is searched later');
      }
    }
  }

  async function searchGap(gap: OpenGap): Promise<void> {
    const period = { from: new Date(gap.range.from * 1_000 - dayMs), to: new Date(gap.range.to * 1_000) };
    const added = await addCallers(db, period, { evidence: 'gap', line: 'called', arrivedBy: period.to });
    const due: DueTarget[] = [];
    for (const line of await ourLines(db)) {
      due.push(...(await inTransaction(db, (tx) => rereadNewestThreads(tx, line, newestPerLine))));
    }
    const rest = await inTransaction(db, (tx) =>
      rereadActiveThreads(tx, gap.range, { activeDays, max: activePerRound }),
    );
    notify([...due, ...rest.due]);
    // Callers during the gap are candidates too: the gap stays open until its calls are known.
    if (rest.count === activePerRound || (await hasOpenCallGap(db, gap))) return;
    await closeGap(db, gap);
    log.info({ added, reread: rest.count }, 'A gap in the webhooks for texts was searched');
  }

  return {
    /** Searches gaps in the webhooks. Sends wait for it while the database recovers from having gone back in time. */
    searchGaps,
    /** Searches gaps in the webhooks, rereads threads that changed days ago, and probes open candidates. */
    async round(signal?: AbortSignal): Promise<void> {
      await searchGaps(signal);
      if (signal?.aborted) return;
      const [waiting] = await query(
        db,
        sql<{ settled: boolean; candidates: boolean }>`select exists (${settledThreads}) as settled,
          exists (select from ops.thread_candidates where probed_at is null) as candidates`,
      );
      if (waiting?.settled) {
        const max = (await polledReads()) ?? maxSettledRereads;
        notify(await retryDeadlock(() => rereadSettled(db, max)));
      }
      if (signal?.aborted || !waiting?.candidates) return;
      notify((await retryDeadlock(() => probe(db, probesPerRound))).due);
    },
    /** Compares the unread counts of all lines with the mirror, unless they are polled. */
    async compareUnread(signal?: AbortSignal): Promise<void> {
      if ((await polledReads()) === undefined) await compare(signal, undefined);
    },
    /** Compares unread counts where no webhook announces texts: missing texts are searched for at once. */
    pollUnread: async (signal?: AbortSignal) => compare(signal, await polledReads()),
  };
}

/**
 * A parked stream retries when a target is read (`inbox/parking.ts`). This read saves it from waiting for the next
 * text.
 */
async function rereadNewest(db: Database): Promise<DueTarget[]> {
  const newest = await query(
    db,
    sql<Thread>`select ${threadColumns} from warehouse.sms_conversations c
     where deleted_at is null order by last_message_at desc nulls last limit 1`,
  );
  return markDirty(db, threadTargets(newest, priorities.live));
}

/** Days after the last change of a thread at which it is read completely once more. */
const rereadAfterDays = [1, 7] as const;
const maxSettledRereads = 200;

/** The threads that {@link rereadSettled} schedules. */
const settledThreads = sql`select conversation_id from warehouse.sms_conversations
  where deleted_at is null and not is_reread_owed
    and changed_at > now() - ${Math.max(...rereadAfterDays) * 2}::integer * interval '1 day'
    and exists (select from unnest(${rereadAfterDays}::integer[]) d
      where changed_at + d * interval '1 day' <= now()
        and coalesce(complete_read_at, '-infinity') < changed_at + d * interval '1 day')`;

/**
 * Schedules complete reads of threads that changed a day or a week ago: a usual read lists only the newest messages, so
 * it misses late receipts and deletions of older ones.
 */
function rereadSettled(db: Database, max: number): Promise<DueTarget[]> {
  return db.transaction().execute(async (tx) => {
    const threads = await query(
      tx,
      sql<Thread>`update warehouse.sms_conversations c set is_reread_owed = true
       from (${settledThreads} order by changed_at limit ${max} for update skip locked) due
       where c.conversation_id = due.conversation_id
       returning ${threadColumns}`,
    );
    return markDirty(tx, threadTargets(threads, priorities.history));
  });
}
