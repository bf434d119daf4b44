import { bumpTargets, type Pauses } from '../../inbox/bumps.ts';
import { priorities } from '../../inbox/target.ts';
import type { Service } from '../../service/client.ts';
import { type Database, inTransaction, query, type Transaction } from '../../warehouse/database.ts';
import { recordHours } from './coverage.ts';
import { createCallLister, type ListerParts, type Listing, type OnPage } from './listing.ts';
import { mirrorPage } from './mirroring.ts';
import { createPatience, type OnWait } from './patience.ts';
import { hour, hourOf, hoursOf, type Span } from './spans.ts';

export interface CallBackfill {
  /** Unix seconds; widened to whole hours, and cut at the last hour that is over. */
  readonly span: Span;
  /** Reads legs, recordings and transcripts too, through the queues and behind everything that happens now. */
  readonly withArtefacts: boolean;
}

export interface BackfillProgress {
  /** Share of the asked range that is done, from 0 to 1. */
  readonly share: number;
  readonly mirrored: number;
  /** Unix seconds: everything before it is done. */
  readonly doneUntil: number;
}

export interface BackfillOutcome extends BackfillProgress {
  /** Where it went on from, when an earlier run of the same range was cut off. */
  readonly resumedFrom: number | undefined;
  /** Spans in which the service contradicted itself; they are compared again on the reconcile schedule. */
  readonly doubts: readonly string[];
  readonly isFinished: boolean;
}

/** About so many calls are listed between two savings of the cursor. */
const callsOfOneSpan = 5_000;
const longestSpanHours = 31 * 24;

/**
 * Fills in call history, oldest first, span by span; each span is compared like any other closed hour, and the cursor is
 * saved with it, so that a run that is cut off goes on at its last span. Stops between two pages when `signal` fires.
 * Waits while the service fails or asks for a pause. Rejects with `ServiceError` when it refuses, or fails for half an
 * hour; asking again goes on.
 */
export async function backfillCalls(
  parts: ListerParts & { readonly pauses: Pauses; readonly onWait?: OnWait },
  { span, withArtefacts }: CallBackfill,
  onProgress: (progress: BackfillProgress) => void,
  signal: AbortSignal,
): Promise<BackfillOutcome> {
  const { db, pauses, service, onWait = () => undefined } = parts;
  const asked = wholeHours(span);
  const { id, doneUntil, isResumed } = await openBackfill(db, asked, withArtefacts);
  const patience = createPatience(onWait);
  // Page by page: a listing that began anew after each throttle might never end.
  const search: Service['calls']['search'] = (...asked) =>
    patience.outlast(() => service.calls.search(...asked), signal);
  const lister = createCallLister({ ...parts, service: { ...service, calls: { ...service.calls, search } } });
  const consequences = {
    readWith: withArtefacts ? priorities.history : undefined,
    readsUnread: withArtefacts,
    isWatched: false,
    pauses,
  };
  const doubts: string[] = [];
  let compared = 0;
  /** Of the part that is listed now: a page can come again. */
  let ids = new Set<string>();
  let hours = 24;
  let at = doneUntil;
  const progress = (): BackfillProgress => ({
    share: asked.to === asked.from ? 1 : (at - asked.from) / (asked.to - asked.from),
    mirrored: compared + ids.size,
    doneUntil: at,
  });

  /** Undefined when it was told to stop meanwhile. */
  async function list(part: Span): Promise<Listing | undefined> {
    const onPage: OnPage = async (page, read) => {
      await mirrorPage(db, page, read, consequences);
      for (const call of page) ids.add(call.id);
      onProgress(progress());
    };
    try {
      return await lister.list(part, onPage, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  while (at < asked.to) {
    const part = { from: at, to: Math.min(at + hours * hour, asked.to) };
    const listing = signal.aborted ? undefined : await list(part);
    if (!listing) break;
    const { calls, doubt } = listing;
    await inTransaction(db, async (tx) => {
      const unlisted = await recordHours(tx, { hours: hoursOf(part), calls, doubt });
      await bumpTargets(
        tx,
        unlisted.map((key) => ({ kind: 'call', key, priority: priorities.history })),
        pauses,
      );
      await saveCursor(tx, id, part.to, calls.size);
    });
    if (doubt !== undefined) doubts.push(`${new Date(part.from * 1_000).toISOString()}: ${doubt}`);
    at = part.to;
    compared += calls.size;
    ids = new Set();
    onProgress(progress());
    hours = nextHours(hours, calls.size);
  }
  const isFinished = at >= asked.to;
  if (isFinished) await query(db, 'update ops.backfills set finished_at = now() where backfill_id = $1', [id]);
  return { ...progress(), resumedFrom: isResumed ? doneUntil : undefined, doubts, isFinished };
}

/** Aims at a span that holds about as many calls as one saving of the cursor is worth. */
function nextHours(hours: number, calls: number): number {
  const wanted = calls === 0 ? hours * 4 : Math.round((hours * callsOfOneSpan) / calls);
  return Math.max(1, Math.min(wanted, hours * 4, longestSpanHours));
}

/** The hours of a span that are over. */
function wholeHours({ from, to }: Span): Span {
  const begin = hourOf(from);
  const lastEnd = hourOf(Date.now() / 1_000);
  return { from: begin, to: Math.max(begin, Math.min(Math.ceil(to / hour) * hour, lastEnd)) };
}

/** Goes on with an unfinished run of the same begin: asked for again without an end, it ends later than it did. */
async function openBackfill(
  db: Database,
  { from, to }: Span,
  withArtefacts: boolean,
): Promise<{ id: string; doneUntil: number; isResumed: boolean }> {
  const returned = `backfill_id, extract(epoch from done_until)::integer as done_until, done_until > asked_from as is_resumed`;
  const ask = (text: string) =>
    query<{ backfill_id: string; done_until: number; is_resumed: boolean }>(db, text, [from, to, withArtefacts]);
  const unfinished = await ask(
    `update ops.backfills set asked_to = to_timestamp($2) where backfill_id = (
       select backfill_id from ops.backfills
       where stream = 'calls' and asked_from = to_timestamp($1) and asked_to <= to_timestamp($2) and has_artefacts = $3
         and finished_at is null
       order by asked_to desc limit 1)
     returning ${returned}`,
  );
  const [opened] =
    unfinished.length > 0
      ? unfinished
      : await ask(
          `insert into ops.backfills as b (stream, asked_from, asked_to, has_artefacts, done_until)
           values ('calls', to_timestamp($1), to_timestamp($2), $3, to_timestamp($1))
           on conflict (stream, asked_from, asked_to, has_artefacts) where finished_at is null
             do update set done_until = b.done_until
           returning ${returned}`,
        );
  if (!opened) throw new Error('an upsert gave no row');
  return { id: opened.backfill_id, doneUntil: opened.done_until, isResumed: opened.is_resumed };
}

async function saveCursor(tx: Transaction, id: string, doneUntil: number, calls: number): Promise<void> {
  await query(
    tx,
    `update ops.backfills set done_until = greatest(done_until, to_timestamp($2)), mirrored_count = mirrored_count + $3
     where backfill_id = $1`,
    [id, doneUntil, calls],
  );
}
