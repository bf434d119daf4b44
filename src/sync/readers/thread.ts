import type { Bump } from '../../inbox/bumps.ts';
import type { Claim } from '../../inbox/claims.ts';
import { priorities } from '../../inbox/target.ts';
import { normalizeNumber } from '../../numbers.ts';
import { isNotFound, ServiceError } from '../../service/client.ts';
import { isLacking, type Message } from '../../service/entities/message.ts';
import type { Provenance } from '../../warehouse/columns.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { type Thread, type ThreadRead, threadKey, threadOf } from '../../warehouse/entities/texts/conversations.ts';
import { type HeldThread, heldThread } from '../../warehouse/entities/texts/held-thread.ts';
import { provenance, type Reading, type ReadingRoom, type TargetReader } from '../finding.ts';
import { isOnlyGuessedAt, untilGoneAgain } from '../looks/gone-threads.ts';
import { createLackingMessages } from '../looks/lacking-messages.ts';
import { groupsOfParty } from '../looks/named-groups.ts';
import { createNamedMessages } from '../looks/named-messages.ts';
import { soonest } from '../looks/schedule.ts';
import { createUsualFlags } from '../looks/usual-flags.ts';
import { readPages, type ThreadPages } from '../thread-pages.ts';

/**
 * A thread that could not be listed whole is tried again after a quarter of the time that it has been so, within these
 * seconds: some services may never list it in one order.
 */
const retryUnsettled = { least: 60, most: 3_600 };

/** So many pages show the newest messages, and that what comes before them is held. */
const usualPages = 2;

/** A {@link TargetReader} that needs less than the others do. */
type ThreadReader = (
  claim: Claim,
  room: Pick<ReadingRoom, 'service' | 'db' | 'now' | 'doubts' | 'onAnswer'>,
  signal: AbortSignal,
) => Promise<Reading>;

/**
 * Reads a thread's messages (section 4.2): all of them, or the newest down to what the mirror holds. Rejects where it is
 * not found, but for what only asks whether there is one (`asksWhether`).
 */
export function createThreadReader(pages: ThreadPages, asksWhether = isProbed): ThreadReader {
  const named = createNamedMessages();
  const lackingMessages = createLackingMessages();
  const usualFlags = createUsualFlags();
  const isShort = (message: Message) => isLacking(message) || usualFlags.isMissing(message);
  return async (claim, room, signal) => {
    const thread = threadOf(claim.key);
    const began = room.now();
    const sought = lackingMessages.dueOf(claim.key, began);
    const held = heldThread(room.db, thread);
    const isLive = claim.priority === priorities.live;
    const news = isLive ? await named.of(room.db, claim.key) : undefined;
    let isUnusual = false;
    let pageCount = 0;
    const { messages, end } = await readPages(pages, {
      read: async (page) => {
        const answer = await room.service.conversations.read(addressOf(thread), page, { signal });
        room.onAnswer('conversations.read', answer);
        // What no message ever has is not looked for: a settled thread is read to its end once more in any case.
        if (room.doubts.weigh('conversations.read', answer.lacking) === 'unusual') isUnusual = true;
        usualFlags.weigh(answer.data.messages);
        if (answer.data.messages.some(usualFlags.isMissing)) isUnusual = true;
        pageCount += 1;
        return { messages: answer.data.messages, isComplete: answer.isComplete };
      },
      ...held,
      wanted: (news?.wanted ?? new Set()).union(sought),
    }).catch(async (error: unknown) => {
      // Whoever asks whether there is a thread is answered by that there is none, unless one is held.
      if (!isNotFound(error) || !(await asksWhether(room.db, claim)) || (await held.isHeld())) throw error;
      return { messages: [], end: 'partial' } as const;
    });
    // One empty answer is no proof that all was deleted: like a thread that is not found, it takes three.
    if (messages.length === 0 && end === 'complete' && (await held.holdsAny())) {
      const what = { operation: 'conversations.read', effect: 'none' } as const;
      throw new ServiceError('not_found', 'the thread lists none of the messages that are held', what);
    }
    const isGone = messages.length === 0 && (await held.isHeld()) && !(await held.holdsAny());
    const { own, others } = splitGroups(thread, messages);
    const read = provenance(claim, 'conversations.read');
    const lacking = isUnusual ? await lackingSince(held, messages.filter(isShort), room.now()) : undefined;
    const lookForLacking = lacking && room.doubts.lookAgain('unusual', lacking.since);
    lackingMessages.looked(claim.key, new Set(messages.map(({ id }) => String(id))), began);
    // What its look did not find either is hardly worth another so deep.
    const unsought = lacking?.ids.filter((id) => !sought.has(id)) ?? [];
    if (unsought.length > 0 && lookForLacking !== undefined) {
      lackingMessages.add(claim.key, unsought, lookForLacking, room.now());
    }
    return {
      finding: {
        kind: 'thread',
        read: {
          thread,
          messages: own,
          isComplete: end === 'complete',
          hasGap: end === 'unsettled',
          // What is lacking may stand behind the newest messages that a usual read looks at.
          owesReread: lacking?.isNews === true && pageCount > usualPages,
          read,
        },
        strayed: groupReads(others, read),
      },
      followUps: [
        ...(await groupsBehind(room.db, others)),
        ...(news?.isMissed(messages) ? await groupsOfParty(room.db, claim.key) : []),
      ],
      lookAgainSeconds: soonest([
        end === 'unsettled' ? retryIn((await held.secondsIncomplete()) ?? 0) : undefined,
        isGone ? await untilGoneAgain(claim.key, room) : undefined,
        lookForLacking,
        // A read that an event asked for takes the place of the look, and shows the newest alone.
        lackingMessages.waitsFor(claim.key, room.now()),
        news?.lookAgain(messages, room.now()),
      ]),
    };
  };
}

async function isProbed(db: Database, { key, priority }: Claim): Promise<boolean> {
  return priority !== priorities.live || isOnlyGuessedAt(db, key);
}

/** Of messages that came without what others have: since when, and whether one was never seen before; undefined of none. */
async function lackingSince(
  held: HeldThread,
  messages: readonly Message[],
  now: Date,
): Promise<{ readonly ids: readonly string[]; readonly since: Date; readonly isNews: boolean } | undefined> {
  const ids = messages.map(({ id }) => String(id));
  if (ids.length === 0) return undefined;
  const seen = await held.firstSeen(ids);
  const since = ids.map((id) => seen.get(id) ?? now).reduce((a, b) => (a > b ? a : b));
  return { ids, since, isNews: seen.size < ids.length };
}

function retryIn(secondsIncomplete: number): number {
  return Math.min(Math.max(retryUnsettled.least, secondsIncomplete / 4), retryUnsettled.most);
}

function addressOf({ line, number, participants }: Thread) {
  return participants.length > 0 ? { line, number, groupParticipants: participants } : { line, number };
}

/** A message of a group, found in the thread of two. */
interface Strayed {
  readonly group: Thread;
  readonly message: Message;
}

/** Messages of a group belong to the group's thread, also where the thread of two parties lists them. */
function splitGroups(thread: Thread, messages: readonly Message[]): { own: Message[]; others: Strayed[] } {
  if (thread.participants.length > 0) return { own: [...messages], others: [] };
  const others: Strayed[] = [];
  const own = messages.filter((message) => {
    const group = groupOf(thread, message);
    if (group) others.push({ group, message });
    return group === undefined;
  });
  return { own, others };
}

/**
 * Whether the participants include the line, who sent the message, or the number that the thread was asked for by, is not
 * specified (section 2.6).
 */
function groupOf({ line, number }: Thread, { direction, from, groupParticipants }: Message): Thread | undefined {
  const others = (numbers: readonly string[] = []) =>
    numbers.map(normalizeNumber).filter((each) => each !== '' && each !== line);
  const named = others(groupParticipants);
  const sender = direction === 'in' && from !== undefined ? others([from]) : [];
  const participants = [...new Set(named.length > 0 ? [...named, ...sender, number] : [])].sort();
  const [first] = participants;
  return first === undefined || participants.length < 2 ? undefined : { line, number: first, participants };
}

/** What the thread of two shows of groups: how a group is to be addressed is not specified, so its own thread may show less. */
function groupReads(others: readonly Strayed[], read: Provenance): ThreadRead[] {
  return [...Map.groupBy(others, ({ group }) => threadKey(group)).values()].flatMap((strayed) => {
    const [{ group: thread } = { group: undefined }] = strayed;
    const messages = strayed.map(({ message }) => message);
    return thread ? [{ thread, messages, isComplete: false, read }] : [];
  });
}

/** Groups of which the mirror lacks a message: an event may name the sender and the line alone, and so the thread of two. */
async function groupsBehind(db: Database, strayed: readonly Strayed[]): Promise<Bump[]> {
  if (strayed.length === 0) return [];
  const behind = await query<{ line: string; number: string; participants: string[] }>(
    db,
    `select distinct s.line, s.number, string_to_array(s.participants_key, ',') as participants
     from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as s (line, number, participants_key, message_id)
     left join warehouse.sms_conversations c using (line, number, participants_key)
     left join warehouse.sms_messages m on m.conversation_id = c.conversation_id and m.message_id = s.message_id
     where m.message_id is null`,
    [
      strayed.map(({ group }) => group.line),
      strayed.map(({ group }) => group.number),
      strayed.map(({ group }) => group.participants.join(',')),
      strayed.map(({ message }) => message.id),
    ],
  );
  return behind.map((group) => ({ kind: 'thread', key: threadKey(group) }));
}
