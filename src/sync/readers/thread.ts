import type { Bump } from '../../inbox/bumps.ts';
import { priorities } from '../../inbox/target.ts';
import { normalizeNumber } from '../../numbers.ts';
import { ServiceError } from '../../service/client.ts';
import type { Message } from '../../service/entities/message.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { type Thread, threadKey, threadOf } from '../../warehouse/entities/texts/conversations.ts';
import { heldThread } from '../../warehouse/entities/texts/held-thread.ts';
import { provenance, type TargetReader } from '../finding.ts';
import { readPages, type ThreadPages } from '../thread-pages.ts';

/** A thread that could not be listed whole is tried again after so many seconds. */
const retryPartialSeconds = 60;

/** Reads a thread's messages (section 4.2): all of them, or the newest down to what the mirror holds. */
export function createThreadReader(pages: ThreadPages): TargetReader {
  return async (claim, room, signal) => {
    const thread = threadOf(claim.key);
    const held = heldThread(room.db, thread);
    const { messages, end } = await readPages(pages, {
      read: async (page) => {
        const answer = await room.service.conversations.read(addressOf(thread), page, { signal });
        room.onAnswer('conversations.read', answer);
        return { messages: answer.data.messages, isComplete: answer.isComplete };
      },
      holdsAll: held.holdsAll,
      holdsOnly: held.holdsOnly,
    }).catch(async (error: unknown) => {
      // A probe asks whether there is a thread: not found is its answer, unless one is held.
      const isAnswer = error instanceof ServiceError && error.code === 'not_found';
      if (!isAnswer || claim.priority === priorities.live || (await held.isHeld())) throw error;
      return { messages: [], end: 'partial' } as const;
    });
    const { own, others } = splitGroups(thread, messages);
    return {
      finding: {
        kind: 'thread',
        read: {
          thread,
          messages: own,
          isComplete: end === 'complete',
          hasGap: end === 'unsettled',
          read: provenance(claim, 'conversations.read'),
        },
      },
      followUps: await newGroups(room.db, others),
      lookAgainSeconds: end === 'unsettled' ? retryPartialSeconds : undefined,
    };
  };
}

function addressOf({ line, number, participants }: Thread) {
  return participants.length > 0 ? { line, number, groupParticipants: participants } : { line, number };
}

/** Messages of a group belong to the group's thread, also where the thread of two parties lists them. */
function splitGroups(thread: Thread, messages: readonly Message[]): { own: Message[]; others: Thread[] } {
  if (thread.participants.length > 0) return { own: [...messages], others: [] };
  const others = new Map<string, Thread>();
  const own = messages.filter((message) => {
    const group = groupOf(thread.line, message);
    if (group) others.set(threadKey(group), group);
    return group === undefined;
  });
  return { own, others: [...others.values()] };
}

function groupOf(line: string, message: Message): Thread | undefined {
  const parties = (message.groupParticipants ?? []).map(normalizeNumber).filter((each) => each !== '' && each !== line);
  const participants = [...new Set(parties)].sort();
  const [first] = participants;
  return first === undefined || participants.length < 2 ? undefined : { line, number: first, participants };
}

/** Groups that the mirror does not hold yet; for those that it holds, their own hints come. */
async function newGroups(db: Database, groups: readonly Thread[]): Promise<Bump[]> {
  if (groups.length === 0) return [];
  const held = await query<{ line: string; number: string; participants: string[] }>(
    db,
    `select c.line, c.number, c.participants from warehouse.sms_conversations c
     join unnest($1::text[], $2::text[], $3::text[]) as g (line, number, participants_key) using (line, number, participants_key)`,
    [
      groups.map((group) => group.line),
      groups.map((group) => group.number),
      groups.map((group) => group.participants.join(',')),
    ],
  );
  const known = new Set(held.map(threadKey));
  return groups.map(threadKey).flatMap((key) => (known.has(key) ? [] : [{ kind: 'thread' as const, key }]));
}
