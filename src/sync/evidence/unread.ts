import type { Pauses } from '../../inbox/bumps.ts';
import { isPutOff } from '../../inbox/claims.ts';
import { priorities, type Ring } from '../../inbox/target.ts';
import type { Log } from '../../log.ts';
import { maskKey } from '../../masking.ts';
import { normalizeNumber } from '../../numbers.ts';
import { type Answer, type Service, ServiceError } from '../../service/client.ts';
import type { UnreadCounts } from '../../service/entities/unread.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { ourLines } from '../../warehouse/entities/directory/lines.ts';
import { withheldUnread } from '../../warehouse/erasure/unread.ts';
import type { OnAnswer } from '../finding.ts';
import { addCallers, askAgain, type Period, probe, rereadNewest } from './candidates.ts';
import { agreement, type Counts, heldUnread, learnKind, type UnreadKind } from './counted.ts';
import {
  givenUpAt,
  keepLooks,
  type LastLook,
  type LinePast,
  type LineUnread,
  lastLooks,
  missingOf,
  pastOf,
} from './snapshots.ts';
import { uncountedOf } from './uncounted.ts';
import { rereadUnread } from './unread-rereads.ts';

/*
 * A lost SMS event leaves a trace: the line counts one more unread text than the mirror (section 4.3).
 *
 *   even ──▶ behind: its newest threads are read again, then its recent callers are probed ──▶ even | unexplained | older
 *
 * What stays unexplained is shown with its line and time, and looked for once an hour, unless it is older than the mirror:
 * then no webhook of ours was lost, and a back-fill of threads may find it. A line that counts fewer was read elsewhere ("ahead"), or counts in a way of
 * its own.
 */

export interface UnreadParts {
  readonly db: Database;
  readonly service: Service;
  readonly log: Log;
  readonly pauses: Pauses;
  readonly onAnswer: OnAnswer;
  readonly onRings: (rings: readonly Ring[]) => void;
}

/** A look at a line, and what earlier ones know of it. */
type Look = LineUnread & { readonly past: LinePast };

const noPast: LinePast = { behindSince: undefined, givenUp: 0, isOlder: false };

/** A text that is on its way makes a line count more for a moment; only what lasts so long is looked into. */
const graceSeconds = 60;
/** A read that is owed for longer waits for its turn. */
const lateSeconds = 5;
/** What could have explained it was read by then. */
const explainedSeconds = 900;
/** What is given up is looked for so often: whoever wrote may call later, or be known from elsewhere. */
const hourMs = 3_600_000;
const callersOfDays = 7;
const mostThreads = 50;
const mostProbes = 200;

/**
 * Compares the unread texts of every line with the mirror, keeps what it saw, and looks for the texts that are missing.
 * Rejects with `ServiceError`.
 */
export async function compareUnread(parts: UnreadParts): Promise<LineUnread[]> {
  const { db, service, onAnswer, onRings, log, pauses } = parts;
  const answer = await service.unread.counts();
  onAnswer('unread.counts', answer);
  const reported = countsOf(answer, await ourLines(db));
  const lines = [...reported.keys()];
  const last = await lastLooks(db, lines);
  const at = await databaseTime(db);
  const counts = await heldUnread(db, lines);
  const agreements = new Map([...counts].map(([line, held]) => [line, agreement(reported.get(line) ?? 0, held)]));
  const learnt = await learnKind(db, [...agreements.values()]);
  const kind = learnt ?? 'line';
  const lacking = difference(reported, counts, kind);
  const missed = new Map([...lacking].map(([line, count]) => [line, count + (last.get(line)?.uncounted ?? 0)]));
  const withheld = await withheldUnread(db, missed);
  const unclear = await unclearUnread(db, missed);
  const looks: Look[] = [];
  for (const [line, count] of reported) {
    const held = (counts.get(line)?.[kind] ?? 0) + (withheld.get(line) ?? 0);
    const uncounted = await uncountedOf(db, { line, reported: count, held }, kind, last.get(line));
    const seen = { line, reported: count, held, uncounted, agreesWith: agreements.get(line) };
    // A text of which the service does not say whether it is read may be one that the line counts.
    const missing = Math.min(missingOf(seen), Math.max(0, missingOf(seen) - (unclear.get(line) ?? 0)));
    const past = missing > 0 ? await pastOf(db, line) : noPast;
    looks.push({ ...seen, state: stateOf(missing, past, at), past });
  }
  const ofOurTime = looks.some(isGivenUp) ? await missingOfOurTime(parts, lines, kind) : undefined;
  const compared = looks.map((look) => {
    const lost = ofOurTime?.get(look.line);
    if (!isGivenUp(look) || lost === undefined) return look;
    // Any of the uncounted ones may be of our time.
    if (lost + look.uncounted <= (withheld.get(look.line) ?? 0)) return { ...look, state: 'older' as const };
    // What was given up came before the mirror was made: what is missing since can be on its way.
    const isNews = look.past.isOlder && secondsBehind(look.past, at) <= explainedSeconds;
    return isNews ? { ...look, state: 'behind' as const } : look;
  });
  // What is asked for now is asked because of this look.
  await keepLooks(db, compared, at);
  for (const look of compared) {
    const { line } = look;
    tell(log, look, last.get(line)?.uncounted ?? 0);
    onRings(await lookInto(parts, look, at));
    if (isGivenUp(look)) await lookAgain(db, look, { at, last: last.get(line) });
    // Where nothing tells yet what the line counts, its texts may be unread to others alone.
    const isUntold = learnt === undefined && (counts.get(line)?.personal ?? 0) > look.reported;
    // A text that was read while its thread was read again is among the uncounted ones.
    if (look.state !== 'ahead' && look.uncounted === 0 && !isUntold) continue;
    const what = { line, kind: learnt ?? 'personal' };
    onRings(await db.transaction().execute((tx) => rereadUnread(tx, what, pauses)));
  }
  return compared;
}

function tell(log: Log, look: LineUnread, uncountedBefore: number): void {
  const line = maskKey('line', look.line);
  const { uncounted } = look;
  if (isGivenUp(look)) {
    log.warn({ line, missing: missingOf(look) }, 'Unread texts of a line cannot be found: a possible gap');
  }
  if (uncounted > uncountedBefore) {
    log.info(
      { line, uncounted },
      'A line counts fewer unread texts than its threads show, and is expected to from now on',
    );
  }
}

async function databaseTime(db: Database): Promise<Date> {
  const [row] = await query<{ at: Date }>(db, 'select now() as at', []);
  return row?.at ?? new Date();
}

/** How many unread texts each line counts. A line of ours that the answer leaves out counts none (sections 2.7, 4.3). */
function countsOf({ data }: Answer<UnreadCounts>, lines: Iterable<string>): Map<string, number> {
  const none = [...lines].map((line) => [line, 0] as const);
  return new Map([...none, ...data.lines.map(({ line, count = 0 }) => [normalizeNumber(line), count] as const)]);
}

/** How many more each line counts than are held. */
function difference(
  reported: ReadonlyMap<string, number>,
  counts: ReadonlyMap<string, Counts>,
  kind: UnreadKind,
): Map<string, number> {
  return new Map([...reported].map(([line, count]) => [line, count - (counts.get(line)?.[kind] ?? 0)]));
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
  kind: UnreadKind,
): Promise<Map<string, number> | undefined> {
  const [begin] = await query<{ at: Date }>(db, 'select min(timestamp)::timestamptz as at from ops.migrations', []);
  if (!begin) return undefined;
  try {
    const answer = await service.unread.counts({ since: begin.at });
    onAnswer('unread.counts', answer);
    const reported = countsOf(answer, lines);
    return difference(reported, await heldUnread(db, [...reported.keys()], begin.at), kind);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_request') return undefined;
    throw error;
  }
}

/** What could not be explained stays so; one more text than that is looked for anew. */
function stateOf(missing: number, past: LinePast, at: Date): LineUnread['state'] {
  if (missing === 0) return 'even';
  if (missing < 0) return 'ahead';
  return missing <= past.givenUp || secondsBehind(past, at) > explainedSeconds ? 'unexplained' : 'behind';
}

function secondsBehind({ behindSince }: LinePast, at: Date): number {
  return behindSince === undefined ? 0 : (at.getTime() - behindSince.getTime()) / 1_000;
}

async function lookInto({ db, pauses }: UnreadParts, look: Look, at: Date): Promise<Ring[]> {
  if (look.state !== 'behind' || secondsBehind(look.past, at) < graceSeconds) return [];
  const { line, past } = look;
  if (await isWaitedFor(db, line)) return [];
  const how = { priority: priorities.live, pauses };
  await addCallers(db, lately(at), { evidence: 'unread', line, cameBy: past.behindSince });
  const rings = await db.transaction().execute((tx) => rereadNewest(tx, line, mostThreads, how));
  return [...rings, ...(await probe(db, mostProbes, how)).rings];
}

/**
 * Whether a thread of the line is late, or was put off once or twice: then the text is hardly lost, and to ask for all who
 * may have written it would take from a service that throttles what it still gives.
 */
async function isWaitedFor(db: Database, line: string): Promise<boolean> {
  const late = await query(
    db,
    `select from ops.sync_targets
     where dirty_version > clean_version and priority = ${priorities.live} and kind = 'thread' and state = 'active'
       and (due_at < now() - $2 * interval '1 second' or ${isPutOff})
       and split_part(key, '/', 1) = $1 limit 1`,
    [line, lateSeconds],
  );
  return late.length > 0;
}

/**
 * Once an hour after a line was given up, makes candidates of its callers and of everybody else there ever was evidence
 * for, but for those who were asked for since. The rounds ask for them: nobody waits for it.
 */
async function lookAgain(
  db: Database,
  look: LineUnread,
  { at, last }: { at: Date; last: LastLook | undefined },
): Promise<void> {
  const { line } = look;
  const cameBy = await givenUpAt(db, line, missingOf(look));
  if (cameBy === undefined || last === undefined) return;
  const hoursUntil = (moment: Date) => Math.max(0, Math.floor((moment.getTime() - cameBy.getTime()) / hourMs));
  if (hoursUntil(at) === hoursUntil(last.at)) return;
  await addCallers(db, lately(at), { evidence: 'unread', line, cameBy });
  await askAgain(db, line, { cameBy, most: mostProbes });
}

function lately(at: Date): Period {
  return { from: new Date(at.getTime() - callersOfDays * 86_400_000), to: at };
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
