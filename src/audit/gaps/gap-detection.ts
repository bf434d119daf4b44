import { ServiceError } from '../../api-client/client.ts';
import { type Database, inTransaction, query, retryDeadlock } from '../../db/database.ts';
import { type DueTarget, markDirty, priorities, type ReadPauses } from '../../inbox/targets.ts';
import { ourLines } from '../../warehouse/lines.ts';
import { claimGaps, closeGap, hasOpenCallGap } from '../coverage/reconcile.ts';
import { addCallers, probe, rereadAlive, rereadNewest, threadTargets } from './candidates.ts';
import { compareUnread, type GapDetectionDeps } from './unread.ts';

/** Finds texts that no webhook announced. It can show that one is missing, but hardly ever that none is. */
export interface GapDetection {
  /** Searches gaps in the webhooks, rereads threads that have settled, and probes open candidates. */
  round(signal?: AbortSignal): Promise<void>;
  /** Compares the unread counts of all lines with the mirror. */
  compareUnread(signal?: AbortSignal): Promise<void>;
}

/** At one round a minute, some thousands an hour, behind everything else. */
const probesOfRound = 100;
/** The newest threads of each line are read first after a gap. */
const threadsOfGap = 50;
/** Then all others with a text in these days, `restOfGap` a round, behind everything else. */
const aliveDays = 90;
const restOfGap = 5_000;

export function createGapDetection(deps: GapDetectionDeps): GapDetection {
  const { db, log, pauses, notify } = deps;
  let isFailing = false;

  async function searchGaps(signal: AbortSignal | undefined): Promise<void> {
    for (const gap of await retryDeadlock(() => claimGaps(db, 'texts'))) {
      if (signal?.aborted) return;
      const period = { from: new Date(gap.span.from * 1_000 - 86_400_000), to: new Date(gap.span.to * 1_000) };
      const added = await addCallers(db, period, { evidence: 'gap', cameBy: period.to });
      const due: DueTarget[] = [];
      for (const line of await ourLines(db)) {
        const options = { priority: priorities.live, pauses };
        due.push(...(await inTransaction(db, (tx) => rereadNewest(tx, line, threadsOfGap, options))));
      }
      const rest = await inTransaction(db, (tx) => rereadAlive(tx, gap.span, { aliveDays, max: restOfGap, pauses }));
      notify([...due, ...rest.due]);
      // Callers of the gap are candidates too: they are known once its calls are.
      if (rest.count === restOfGap || (await hasOpenCallGap(db, gap))) continue;
      await closeGap(db, gap);
      log.info({ added, reread: rest.count }, 'A gap in the webhooks for texts was searched');
    }
  }

  return {
    async round(signal) {
      await searchGaps(signal);
      if (signal?.aborted) return;
      notify(await retryDeadlock(() => rereadSettled(db, pauses)));
      if (signal?.aborted) return;
      notify((await retryDeadlock(() => probe(db, probesOfRound, { pauses }))).due);
    },
    async compareUnread(signal) {
      try {
        await compareUnread(deps, signal);
        isFailing = false;
      } catch (error) {
        if (signal?.aborted) return;
        if (!(error instanceof ServiceError)) throw error;
        if (!isFailing) log.warn({ err: error }, 'Unread counts cannot be compared at present');
        isFailing = true;
      }
    },
  };
}

/** Days after the last change of a thread at which it is read to its end once more. */
const rereadAfterDays = [1, 7] as const;
const maxSettledRereads = 200;

/**
 * Schedules complete reads of threads that changed a day or a week ago. A usual read lists only the newest messages, and
 * misses late receipts and deletions of older ones.
 */
function rereadSettled(db: Database, pauses: ReadPauses): Promise<DueTarget[]> {
  return db.transaction().execute(async (tx) => {
    const rows = await query<{ line: string; number: string; participants_key: string }>(
      tx,
      `update warehouse.sms_conversations c set is_reread_owed = true
       from (
         select conversation_id from warehouse.sms_conversations
         where deleted_at is null and not is_reread_owed and changed_at > now() - $3 * interval '1 day'
           and exists (select from unnest($1::integer[]) d
             where changed_at + d * interval '1 day' <= now()
               and coalesce(complete_read_at, '-infinity') < changed_at + d * interval '1 day')
         order by changed_at limit $2 for update skip locked
       ) due
       where c.conversation_id = due.conversation_id
       returning c.line, c.number, c.participants_key`,
      [rereadAfterDays, maxSettledRereads, Math.max(...rereadAfterDays) * 2],
    );
    return markDirty(tx, threadTargets(rows, priorities.history), pauses);
  });
}
