import { bumpTargets, type Pauses } from '../inbox/bumps.ts';
import { priorities, type Ring } from '../inbox/target.ts';
import { isNotFound, type Service } from '../service/client.ts';
import type { SealLink } from '../warehouse/columns.ts';
import { type Database, inTransaction, query } from '../warehouse/database.ts';
import { type Thread, threadKey, writeThreads } from '../warehouse/entities/texts/conversations.ts';
import { heldThread } from '../warehouse/entities/texts/held-thread.ts';
import { beginRead } from '../warehouse/reads.ts';
import type { ReadingRoom } from './finding.ts';
import { noDoubts } from './looks/doubts.ts';
import { createThreadReader } from './readers/thread.ts';
import { createThreadPages } from './thread-pages.ts';

/**
 * Reads a thread now, whether or not anything is owed, and mirrors it before it resolves. True when the mirror then holds
 * the thread as the service has it: no answer hinted at more, and the read reached what was held; or there is none, neither
 * here nor there. Rejects with a ServiceError.
 */
export type ThreadLook = (thread: Thread, signal?: AbortSignal) => Promise<boolean>;

export function createThreadLook(
  parts: Pick<ReadingRoom, 'service' | 'db' | 'onAnswer'> & {
    readonly pauses: Pauses;
    readonly onRings: (rings: readonly Ring[]) => void;
    /** Without it no link is kept. */
    readonly sealLink?: SealLink | undefined;
  },
): ThreadLook {
  const { db, service, onAnswer, pauses, onRings, sealLink } = parts;
  // Whoever looks wants the thread, whatever else asked for it before.
  const readThread = createThreadReader(createThreadPages(), async () => false);

  return async (thread, signal = new AbortController().signal) => {
    let isWhole = true;
    const watched = watchReads(service, (isComplete) => {
      isWhole &&= isComplete;
    });
    const begun = await beginRead(db, 'conversations.read');
    const claim = {
      kind: 'thread' as const,
      key: threadKey(thread),
      version: '0',
      fetchSeq: begun.fetchSeq,
      claimedAt: new Date(begun.fetchedAt),
      attempts: 0,
      misses: 0,
      isNew: false,
      priority: priorities.live,
      isUnconfirmed: false,
      isBehind: false,
      lateMs: 0,
      isProbe: false,
    };
    const now = () => new Date();
    const room = { db, service: watched, onAnswer, doubts: noDoubts, now };
    const reading = await readThread(claim, room, signal).catch(async (error: unknown) => {
      // Whether a pair that never texted is an empty thread or not found is not specified (section 4.2).
      if (!isNotFound(error) || (await heldThread(db, thread).holdsAny())) throw error;
      return undefined;
    });
    if (!reading) return true;
    const { finding, followUps = [] } = reading;
    if (finding.kind !== 'thread') return false;
    const { read } = finding;
    const rings = await inTransaction(db, async (tx) => {
      const reads = [read, ...(finding.strayed ?? [])];
      await writeThreads(
        tx,
        reads.map((each) => ({ ...each, sealLink })),
      );
      return bumpTargets(tx, followUps, pauses);
    });
    onRings(rings);
    return isWhole && read.hasGap !== true && (read.isComplete || (await isHeldWhole(db, thread)));
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

function watchReads(service: Service, onRead: (isComplete: boolean) => void): Service {
  const { conversations } = service;
  return {
    ...service,
    conversations: {
      ...conversations,
      async read(...asked) {
        const answer = await conversations.read(...asked);
        onRead(answer.isComplete);
        return answer;
      },
    },
  };
}
