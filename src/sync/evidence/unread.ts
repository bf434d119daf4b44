import { bumpTargets, type Pauses } from '../../inbox/bumps.ts';
import { priorities, type Ring } from '../../inbox/target.ts';
import type { Log } from '../../log.ts';
import { maskKey } from '../../masking.ts';
import { normalizeNumber } from '../../numbers.ts';
import { type Answer, type Service, ServiceError } from '../../service/client.ts';
import type { UnreadCounts } from '../../service/entities/unread.ts';
import { type Database, query, type Transaction } from '../../warehouse/database.ts';
import { ourLines } from '../../warehouse/entities/directory/lines.ts';
import { withheldUnread } from '../../warehouse/erasure/unread.ts';
import type { OnAnswer } from '../finding.ts';
import { addCallers, bumpsOf, probe, rereadNewest } from './candidates.ts';

/*
 * A lost SMS event leaves a trace: the line counts one more unread text than the mirror (section 4.3).
 *
 *   even ──▶ behind: its newest threads are read again, then its recent callers are probed ──▶ even | unexplained | older
 *
 * What stays unexplained is shown with its line and time, unless it is older than the mirror: then no webhook of ours was
 * lost, and a back-fill of threads may find it. A line that counts fewer was read elsewhere ("ahead").
 */

export interface UnreadParts {
  readonly db: Database;
  readonly service: Service;
  readonly log: Log;
  readonly pauses: Pauses;
  readonly onAnswer: OnAnswer;
  readonly onRings: (rings: readonly Ring[]) => void;
}

/** How a line's unread texts compare. */
export interface LineUnread {
  readonly line: string;
  readonly reported: number;
  readonly held: number;
  readonly state: 'even' | 'behind' | 'unexplained' | 'older' | 'ahead';
}

/** A text that is on its way makes a line count more for a moment; only what lasts so long is looked into. */
const graceSeconds = 60;
/** What could have explained it was read by then. */
const explainedSeconds = 900;
const callersOfDays = 7;
const mostThreads = 50;
const mostProbes = 200;

/**
 * Compares the unread texts of every line with the mirror, keeps what it saw, and looks for the texts that are missing.
 * Rejects with `ServiceError`.
 */
export async function compareUnread(parts: UnreadParts): Promise<LineUnread[]> {
  const { db, service, onAnswer, onRings, log } = parts;
  const answer = await service.unread.counts();
  onAnswer('unread.counts', answer);
  const reported = countsOf(answer, await ourLines(db));
  const held = await heldUnread(db, [...reported.keys()]);
  const missed = difference(reported, held);
  const withheld = await withheldUnread(db, missed);
  const unclear = await unclearUnread(db, missed);
  const looks: (LineUnread & { readonly behindFor: number })[] = [];
  for (const [line, count] of reported) {
    const accounted = (held.get(line) ?? 0) + (withheld.get(line) ?? 0);
    // A text of which the service does not say whether it is read may be one that the line counts.
    const missing = Math.min(count - accounted, Math.max(0, count - accounted - (unclear.get(line) ?? 0)));
    const past = missing > 0 ? await pastOf(db, line) : { behindFor: 0, givenUp: 0 };
    looks.push({ line, reported: count, held: accounted, state: stateOf(missing, past), behindFor: past.behindFor });
  }
  const ofOurTime = looks.some(isGivenUp) ? await missingOfOurTime(parts, reported.keys()) : undefined;
  const compared = looks.map((look) => {
    const lost = ofOurTime?.get(look.line);
    const isOlder = isGivenUp(look) && lost !== undefined && lost <= (withheld.get(look.line) ?? 0);
    return isOlder ? { ...look, state: 'older' as const } : look;
  });
  for (const look of compared) {
    if (isGivenUp(look)) {
      const facts = { line: maskKey('line', look.line), missing: look.reported - look.held };
      log.warn(facts, 'Unread texts of a line cannot be found: a possible gap');
    }
    onRings(await lookInto(parts, look));
  }
  await keep(db, compared);
  return compared;
}

/** How many unread texts each line counts. A line of ours that the answer leaves out counts none (sections 2.7, 4.3). */
function countsOf({ data }: Answer<UnreadCounts>, lines: Iterable<string>): Map<string, number> {
  const none = [...lines].map((line) => [line, 0] as const);
  return new Map([...none, ...data.lines.map(({ line, count = 0 }) => [normalizeNumber(line), count] as const)]);
}

/** How many more each line counts. */
function difference(counts: ReadonlyMap<string, number>, held: ReadonlyMap<string, number>): Map<string, number> {
  return new Map([...counts].map(([line, count]) => [line, count - (held.get(line) ?? 0)]));
}

function isGivenUp({ state }: LineUnread): boolean {
  return state === 'unexplained';
}

/**
 * How many more unread texts each line counts than are held, of those that came since the mirror was made. Undefined when
 * the service does not count from a moment.
 */
async function missingOfOurTime(
  { db, service, onAnswer }: UnreadParts,
  lines: Iterable<string>,
): Promise<Map<string, number> | undefined> {
  const [begin] = await query<{ at: Date }>(db, 'select min(timestamp)::timestamptz as at from ops.migrations', []);
  if (!begin) return undefined;
  try {
    const answer = await service.unread.counts({ since: begin.at });
    onAnswer('unread.counts', answer);
    const counts = countsOf(answer, lines);
    return difference(counts, await heldUnread(db, [...counts.keys()], begin.at));
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_request') return undefined;
    throw error;
  }
}

/** What could not be explained stays so; one more text than that is looked for anew. */
function stateOf(missing: number, { behindFor, givenUp }: LinePast): LineUnread['state'] {
  if (missing === 0) return 'even';
  if (missing < 0) return 'ahead';
  return missing <= givenUp || behindFor > explainedSeconds ? 'unexplained' : 'behind';
}

async function lookInto(
  { db, pauses }: UnreadParts,
  { line, state, behindFor, held, reported }: LineUnread & { readonly behindFor: number },
): Promise<Ring[]> {
  const how = { priority: priorities.live, pauses };
  if (state === 'ahead') return db.transaction().execute((tx) => rereadUnread(tx, line, held - reported, pauses));
  if (state !== 'behind' || behindFor < graceSeconds) return [];
  const now = Date.now();
  const lately = { from: new Date(now - callersOfDays * 86_400_000), to: new Date(now) };
  await addCallers(db, lately, { evidence: 'unread', line });
  const rings = await db.transaction().execute((tx) => rereadNewest(tx, line, mostThreads, how));
  return [...rings, ...(await probe(db, mostProbes, how)).rings];
}

/**
 * Threads whose texts the mirror takes for unread: somebody has read them since. They are read to their end, and each ever
 * more seldom while the line goes on to be ahead by as much: a service may count in a way of its own.
 */
async function rereadUnread(tx: Transaction, line: string, ahead: number, pauses: Pauses): Promise<Ring[]> {
  const rows = await query<{ line: string; number: string; participants_key: string }>(
    tx,
    `with since as (
       select coalesce(min(observed_at), now()) as at from warehouse.sms_unread_snapshots
       where line = $1 and observed_at > coalesce((select max(observed_at) from warehouse.sms_unread_snapshots
         where line = $1 and held_count - reported_count <> $2), '-infinity')
     ), due as (
       select conversation_id from warehouse.sms_conversations c, since
       where c.line = $1 and c.deleted_at is null
         and coalesce(c.thread_fetched_at, '-infinity') < now() - greatest(interval '1 minute', (now() - since.at) / 2)
         and exists (select from warehouse.sms_messages m where m.conversation_id = c.conversation_id
           and m.direction = 'in' and m.is_read = false and m.deleted_at is null)
       order by c.thread_fetched_at nulls first limit ${mostThreads} for update of c skip locked
     )
     update warehouse.sms_conversations c set is_reread_owed = true from due
     where c.conversation_id = due.conversation_id
     returning c.line, c.number, c.participants_key`,
    [line, ahead],
  );
  return bumpTargets(tx, bumpsOf(rows, priorities.history), pauses);
}

async function heldUnread(db: Database, lines: readonly string[], since?: Date): Promise<Map<string, number>> {
  const rows = await query<{ line: string; unread: number }>(
    db,
    `select line, count(*)::integer as unread from warehouse.sms_messages
     where line = any($1) and direction = 'in' and is_read = false and deleted_at is null
       and ($2::timestamptz is null or sent_at > $2)
     group by line`,
    [lines, since],
  );
  return new Map(rows.map(({ line, unread }) => [line, unread]));
}

/** How many texts of each line, up to so many, the service did not call read or unread. */
async function unclearUnread(db: Database, most: ReadonlyMap<string, number>): Promise<Map<string, number>> {
  const behind = [...most].filter(([, count]) => count > 0);
  const rows = await query<{ line: string; count: number }>(
    db,
    `select l.line, count(m)::integer as count from unnest($1::text[], $2::integer[]) as l (line, most)
     cross join lateral (select from warehouse.sms_messages
       where line = l.line and direction = 'in' and is_read is null and deleted_at is null limit l.most) m
     group by l.line`,
    [behind.map(([line]) => line), behind.map(([, count]) => count)],
  );
  return new Map(rows.map(({ line, count }) => [line, count]));
}

/** What earlier looks know of a line that counts more than is held. */
interface LinePast {
  /** Seconds since it began to be behind, after it was last even, ahead or given up. */
  readonly behindFor: number;
  /** How many texts were given up. */
  readonly givenUp: number;
}

async function pastOf(db: Database, line: string): Promise<LinePast> {
  const [row] = await query<LinePast>(
    db,
    `with settled as (
       select observed_at, case when state in ('unexplained', 'older') then reported_count - held_count else 0 end as given_up
       from warehouse.sms_unread_snapshots where line = $1 and state <> 'behind' order by observed_at desc limit 1
     )
     select coalesce((select given_up from settled), 0) as "givenUp",
       coalesce(extract(epoch from now() - min(observed_at)), 0)::float8 as "behindFor"
     from warehouse.sms_unread_snapshots
     where line = $1 and state = 'behind' and observed_at > coalesce((select observed_at from settled), '-infinity')`,
    [line],
  );
  return row ?? { behindFor: 0, givenUp: 0 };
}

// One row says as much as many equal ones: only changes are kept, and the newest look.
async function keep(db: Database, compared: readonly LineUnread[]): Promise<void> {
  await query(
    db,
    `with seen as (
       select * from unnest($1::text[], $2::integer[], $3::integer[], $4::text[]) as s (line, reported_count, held_count, state)
     ), last as (
       select distinct on (line) u.* from warehouse.sms_unread_snapshots u join seen using (line) order by line, observed_at desc
     )
     insert into warehouse.sms_unread_snapshots (line, observed_at, reported_count, held_count, state)
     select s.line, now(), s.reported_count, s.held_count, s.state from seen s left join last l using (line)
     where (l.reported_count, l.held_count, l.state) is distinct from (s.reported_count, s.held_count, s.state)`,
    [
      compared.map(({ line }) => line),
      compared.map(({ reported }) => reported),
      compared.map(({ held }) => held),
      compared.map(({ state }) => state),
    ],
  );
}
