import { bumpTargets, type Pauses } from '../../inbox/bumps.ts';
import { priorities, type Ring } from '../../inbox/target.ts';
import type { Log } from '../../log.ts';
import { maskKey } from '../../masking.ts';
import { normalizeNumber } from '../../numbers.ts';
import type { Service } from '../../service/client.ts';
import { type Database, query, type Transaction } from '../../warehouse/database.ts';
import type { OnAnswer } from '../finding.ts';
import { addCallers, bumpsOf, probe, rereadNewest } from './candidates.ts';

/*
 * A lost SMS event leaves a trace: the line counts one more unread text than the mirror (section 4.3).
 *
 *   even ──▶ behind: its newest threads are read again, then its recent callers are probed ──▶ even | unexplained
 *
 * What stays unexplained is shown with its line and time. A line that counts fewer was read elsewhere ("ahead").
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
  readonly state: 'even' | 'behind' | 'unexplained' | 'ahead';
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
  const reported = new Map(answer.data.lines.map(({ line, count = 0 }) => [normalizeNumber(line), count]));
  const held = await heldUnread(db, [...reported.keys()]);
  const compared: LineUnread[] = [];
  for (const [line, count] of reported) {
    const missing = count - (held.get(line) ?? 0);
    const past = missing > 0 ? await pastOf(db, line) : { behindFor: 0, unexplained: 0 };
    const { behindFor } = past;
    const state = stateOf(missing, past);
    compared.push({ line, reported: count, held: held.get(line) ?? 0, state });
    if (state === 'unexplained') {
      log.warn(
        { line: maskKey('line', line), missing: count - (held.get(line) ?? 0) },
        'Unread texts of a line cannot be found: a possible gap',
      );
    }
    onRings(await lookInto(parts, line, state, behindFor));
  }
  await keep(db, compared);
  return compared;
}

/** What could not be explained stays so; one more text than that is looked for anew. */
function stateOf(missing: number, { behindFor, unexplained }: LinePast): LineUnread['state'] {
  if (missing === 0) return 'even';
  if (missing < 0) return 'ahead';
  return missing <= unexplained || behindFor > explainedSeconds ? 'unexplained' : 'behind';
}

async function lookInto(
  { db, pauses }: UnreadParts,
  line: string,
  state: LineUnread['state'],
  behindFor: number,
): Promise<Ring[]> {
  const how = { priority: priorities.live, pauses };
  if (state === 'ahead') return db.transaction().execute((tx) => rereadUnread(tx, line, pauses));
  if (state !== 'behind' || behindFor < graceSeconds) return [];
  const now = Date.now();
  const lately = { from: new Date(now - callersOfDays * 86_400_000), to: new Date(now) };
  await addCallers(db, lately, { evidence: 'unread', line });
  const rings = await db.transaction().execute((tx) => rereadNewest(tx, line, mostThreads, how));
  return [...rings, ...(await probe(db, mostProbes, how)).rings];
}

/** Threads whose texts the mirror takes for unread: somebody has read them since. */
async function rereadUnread(tx: Transaction, line: string, pauses: Pauses): Promise<Ring[]> {
  const rows = await query<{ line: string; number: string; participants_key: string }>(
    tx,
    `select c.line, c.number, c.participants_key from warehouse.sms_conversations c
     where c.line = $1 and c.deleted_at is null and exists (select from warehouse.sms_messages m
       where m.conversation_id = c.conversation_id and m.direction = 'in' and m.is_read = false and m.deleted_at is null)
     order by c.thread_fetched_at nulls first limit ${mostThreads}`,
    [line],
  );
  return bumpTargets(tx, bumpsOf(rows, priorities.history), pauses);
}

async function heldUnread(db: Database, lines: readonly string[]): Promise<Map<string, number>> {
  const rows = await query<{ line: string; unread: number }>(
    db,
    `select line, count(*)::integer as unread from warehouse.sms_messages
     where line = any($1) and direction = 'in' and is_read = false and deleted_at is null group by line`,
    [lines],
  );
  return new Map(rows.map(({ line, unread }) => [line, unread]));
}

/** What earlier looks know of a line that counts more than is held. */
interface LinePast {
  /** Seconds since it began to be behind, after it was last even, ahead or given up. */
  readonly behindFor: number;
  /** How many texts were given up. */
  readonly unexplained: number;
}

async function pastOf(db: Database, line: string): Promise<LinePast> {
  const [row] = await query<LinePast>(
    db,
    `with settled as (
       select observed_at, case when state = 'unexplained' then reported_count - held_count else 0 end as unexplained
       from warehouse.sms_unread_snapshots where line = $1 and state <> 'behind' order by observed_at desc limit 1
     )
     select coalesce((select unexplained from settled), 0) as unexplained,
       coalesce(extract(epoch from now() - min(observed_at)), 0)::float8 as "behindFor"
     from warehouse.sms_unread_snapshots
     where line = $1 and state = 'behind' and observed_at > coalesce((select observed_at from settled), '-infinity')`,
    [line],
  );
  return row ?? { behindFor: 0, unexplained: 0 };
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
