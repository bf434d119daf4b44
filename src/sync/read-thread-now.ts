import { isNotFound } from '../api-client/client.ts';
import { type Database, inTransaction, query } from '../db/database.ts';
import { type DueTarget, markDirty, priorities } from '../inbox/targets.ts';
import { type Thread, threadKey } from '../shared/thread.ts';
import { heldThread, writeThreads } from '../warehouse/conversations.ts';
import type { LinkSealer } from '../warehouse/links.ts';
import { beginRead } from '../warehouse/upsert.ts';
import { following } from '../warehouse/what-follows.ts';
import type { ReadContext } from './read-result.ts';
import { createThreadReader } from './readers/read-thread.ts';

/**
 * Reads a thread now, dirty or not, and mirrors it before it resolves. True if the mirror and the service then hold the
 * same messages, or both none; false if the answer may be partial. Rejects with a ServiceError.
 */
export type RefreshThread = (thread: Thread, signal?: AbortSignal) => Promise<boolean>;

export function createThreadRefresh(
  deps: Pick<ReadContext, 'service' | 'db'> & {
    readonly notify: (due: readonly DueTarget[]) => void;
    /** Undefined: links aren't stored. */
    readonly sealer?: LinkSealer | undefined;
    /** Days for which the content of texts is stored; undefined: for good. */
    readonly retentionDays?: number | undefined;
  },
): RefreshThread {
  const { db, service, notify, sealer, retentionDays } = deps;
  const readThread = createThreadReader(async () => false);

  return async (thread, signal = new AbortController().signal) => {
    const key = threadKey(thread);
    const { fetchSeq, fetchedAt } = await beginRead(db, 'conversations.read');
    const claim = { key, priority: priorities.live, fetchSeq, claimedAt: new Date(fetchedAt) };
    const result = await readThread(claim, { db, service, now: () => new Date() }, signal).catch(
      async (error: unknown) => {
        // Section 4.2 doesn't say whether a pair without texts is an empty thread or not found.
        if (!isNotFound(error) || (await heldThread(db, thread).holdsAny())) throw error;
        return undefined;
      },
    );
    if (!result) return true;
    const { entity, followUps = [] } = result;
    if (entity?.kind !== 'thread') return false;
    const { read, groups = [] } = entity;
    const due = await inTransaction(db, async (tx) => {
      const threads = [read, ...groups].map((each) => ({ ...each, sealer, retentionDays }));
      await following(tx, (follow) => writeThreads(tx, follow, threads));
      return markDirty(tx, followUps);
    });
    notify(due);
    return read.hasGap !== true && (read.isComplete || (await isHeldWhole(db, thread)));
  };
}

async function isHeldWhole(db: Database, { line, number, participants }: Thread): Promise<boolean> {
  const rows = await query(
    db,
    `select from warehouse.sms_conversations
     where line = $1 and number = $2 and participants_key = $3 and is_thread_complete`,
    [line, number, participants.join(',')],
  );
  return rows.length > 0;
}
