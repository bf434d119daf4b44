import { isNotFound, type Message, ServiceError } from '../../api-client/client.ts';
import { type Database, query, relation, sql } from '../../db/database.ts';
import type { Claim } from '../../inbox/claims.ts';
import { type DirtyTarget, priorities } from '../../inbox/targets.ts';
import { normalizeNumber } from '../../shared/numbers.ts';
import { type Thread, threadKey, threadOf } from '../../shared/thread.ts';
import { heldThread } from '../../warehouse/conversations.ts';
import type { ThreadRead } from '../../warehouse/messages.ts';
import type { Provenance } from '../../warehouse/upsert.ts';
import { createAnnouncedMessages } from '../announced-messages.ts';
import { provenance, type ReadContext, type ReadResult } from '../read-result.ts';
import { isOnlyCandidate, soonest, untilMissingThreadRecheck } from '../rechecks.ts';
import { createThreadPages, readPages } from './thread-pages.ts';

/**
 * Seconds until a thread whose list kept shifting is read again: a quarter of its incomplete time, within these bounds.
 */
const unsettledWait = { min: 60, max: 3_600 };

/** How many groups of a party are read for one announced message, those with the newest texts first. */
const maxGroups = 5;

/** A {@link TargetReader} that needs only a part of the claim and of the context. */
type ThreadReader = (
  claim: Pick<Claim, 'key' | 'priority' | 'fetchSeq' | 'claimedAt' | 'deliveryId'>,
  context: Pick<ReadContext, 'service' | 'db' | 'now'>,
  signal: AbortSignal,
) => Promise<ReadResult>;

/**
 * Reads the messages of a thread (section 4.2): all of them, or the newest back to what the mirror holds. Rejects if
 * the thread isn't found, unless `isProbe` says that the read only checks whether it exists.
 */
export function createThreadReader(isProbe = isProbed): ThreadReader {
  const pages = createThreadPages();
  const announcedMessages = createAnnouncedMessages();
  return async (claim, { service, db, now }, signal) => {
    const thread = threadOf(claim.key);
    const held = heldThread(db, thread);
    const isLive = claim.priority === priorities.live;
    const announced = isLive ? await announcedMessages(db, claim.key) : undefined;
    const { messages, end } = await readPages(pages, {
      read: async (page) => {
        const call = { signal, requestId: claim.deliveryId };
        const { data } = await service.conversations.read(addressOf(thread), page, call);
        return data.messages;
      },
      ...held,
      wanted: announced?.wanted ?? new Set(),
    }).catch(async (error: unknown) => {
      if (!isNotFound(error) || !(await isProbe(db, claim)) || (await held.isHeld())) throw error;
      return { messages: [], end: 'partial' } as const;
    });
    // A failing backend can answer an empty list. Like a 404, an empty list must repeat in all spaced reads to prove a
    // deletion.
    if (messages.length === 0 && end === 'complete' && (await held.holdsAny())) {
      const what = { operation: 'conversations.read', effect: 'none' } as const;
      throw new ServiceError('not_found', 'the thread lists none of the messages that are held', what);
    }
    const isGone = messages.length === 0 && (await held.isHeld()) && !(await held.holdsAny());
    const { own, ofGroups } = splitGroups(thread, messages);
    const read = provenance(claim, 'conversations.read');
    return {
      entity: {
        kind: 'thread',
        read: { thread, messages: own, isComplete: end === 'complete', hasGap: end === 'unsettled', read },
        groups: groupReads(ofGroups, read),
      },
      followUps: [
        ...(await incompleteGroups(db, ofGroups)),
        ...(announced?.isMissed(messages) ? await groupsOfParty(db, claim.key) : []),
      ],
      recheckSeconds: soonest([
        end === 'unsettled' ? unsettledSeconds((await held.secondsIncomplete()) ?? 0) : undefined,
        isGone ? await untilMissingThreadRecheck(db, claim.key, now()) : undefined,
        announced?.recheckSeconds(messages, now()),
      ]),
    };
  };
}

async function isProbed(db: Database, { key, priority }: Pick<Claim, 'key' | 'priority'>): Promise<boolean> {
  return priority !== priorities.live || isOnlyCandidate(db, key);
}

function unsettledSeconds(secondsIncomplete: number): number {
  return Math.min(Math.max(unsettledWait.min, secondsIncomplete / 4), unsettledWait.max);
}

function addressOf({ line, number, participants }: Thread) {
  return participants.length > 0 ? { line, number, groupParticipants: participants } : { line, number };
}

/** A message of a group that the service listed in the thread of two parties. */
interface GroupMessage {
  readonly group: Thread;
  readonly message: Message;
}

/** Assigns group messages to the thread of their group, even if the service lists them in a thread of two parties. */
function splitGroups(thread: Thread, messages: readonly Message[]): { own: Message[]; ofGroups: GroupMessage[] } {
  if (thread.participants.length > 0) return { own: [...messages], ofGroups: [] };
  const ofGroups: GroupMessage[] = [];
  const own = messages.filter((message) => {
    const group = groupOf(thread, message);
    if (group) ofGroups.push({ group, message });
    return group === undefined;
  });
  return { own, ofGroups };
}

/** Section 2.6 doesn't say whether `groupParticipants` includes the line, the sender or the number of the thread. */
function groupOf({ line, number }: Thread, { direction, from, groupParticipants }: Message): Thread | undefined {
  const others = (numbers: readonly string[] = []) =>
    numbers.map(normalizeNumber).filter((each) => each !== '' && each !== line);
  const listed = others(groupParticipants);
  const sender = direction === 'in' && from !== undefined ? others([from]) : [];
  const participants = [...new Set(listed.length > 0 ? [...listed, ...sender, number] : [])].sort();
  const [first] = participants;
  return first === undefined || participants.length < 2 ? undefined : { line, number: first, participants };
}

function groupReads(ofGroups: readonly GroupMessage[], read: Provenance): ThreadRead[] {
  return [...Map.groupBy(ofGroups, ({ group }) => threadKey(group)).values()].flatMap((listed) => {
    const [{ group: thread } = { group: undefined }] = listed;
    const messages = listed.map(({ message }) => message);
    return thread ? [{ thread, messages, isComplete: false, read }] : [];
  });
}

/** Groups with a listed message that the mirror lacks: its event may have named the thread of two parties. */
async function incompleteGroups(db: Database, ofGroups: readonly GroupMessage[]): Promise<DirtyTarget[]> {
  if (ofGroups.length === 0) return [];
  const groups = await query<Thread>(
    db,
    sql`
      select distinct listed.line, listed.number, string_to_array(listed.participants_key, ',') as participants
      from ${relation('listed', ofGroups, {
        line: ['text', ({ group }) => group.line],
        number: ['text', ({ group }) => group.number],
        participants_key: ['text', ({ group }) => group.participants.join(',')],
        message_id: ['bigint', ({ message }) => message.id],
      })}
      left join warehouse.sms_conversations c using (line, number, participants_key)
      left join warehouse.sms_messages m on m.conversation_id = c.conversation_id and m.message_id = listed.message_id
      where m.message_id is null`,
  );
  return groups.map((group) => ({ kind: 'thread', key: threadKey(group) }));
}

/**
 * The held groups of a line to which the other party of a thread belongs; none for a group thread. The event of a group
 * text can name only sender and line (section 6), so these groups are read if the thread doesn't list the message.
 */
export async function groupsOfParty(db: Database, key: string): Promise<DirtyTarget[]> {
  const { line, number, participants } = threadOf(key);
  if (participants.length > 0) return [];
  const groups = await query(
    db,
    sql<Thread>`select line, number, participants from warehouse.sms_conversations
     where line = ${line} and participants_key <> '' and ${number} = any(participants) and deleted_at is null
     order by last_message_at desc nulls last limit ${maxGroups}`,
  );
  return groups.map((group) => ({ kind: 'thread', key: threadKey(group) }));
}
