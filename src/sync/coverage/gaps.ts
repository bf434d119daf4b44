import { priorities } from '../../inbox/target.ts';
import { ServiceError } from '../../service/client.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { askForHours } from './coverage.ts';
import type { CallLister } from './listing.ts';
import { mirrorSpan } from './mirroring.ts';
import type { ReconcileParts } from './reconcile.ts';
import type { Span } from './spans.ts';

/** A time in which webhooks may have been lost. */
export interface OpenGap {
  readonly id: string;
  readonly span: Span;
}

/** Takes the open gaps of a stream; nobody else gets them for some minutes. */
export async function claimGaps(db: Database, stream: 'calls' | 'texts'): Promise<OpenGap[]> {
  const rows = await query<{ gap_id: string; from: number; to: number }>(
    db,
    `update ops.gaps set next_try_at = now() + interval '5 minutes'
     where filled_at is null and stream = $1 and next_try_at <= now()
     returning gap_id, floor(extract(epoch from from_at))::integer as from, ceil(extract(epoch from to_at))::integer as to`,
    [stream],
  );
  return rows.map(({ gap_id, from, to }) => ({ id: gap_id, span: { from, to } }));
}

export async function closeGap(db: Database, { id }: OpenGap): Promise<void> {
  await query(db, 'update ops.gaps set filled_at = now(), last_error = null where gap_id = $1', [id]);
}

/** Whether calls of a time are still looked for. */
export async function hasOpenCallGap(db: Database, { span }: OpenGap): Promise<boolean> {
  const rows = await query(
    db,
    `select from ops.gaps where stream = 'calls' and filled_at is null and from_at < to_timestamp($2) and to_at > to_timestamp($1)`,
    [span.from, span.to],
  );
  return rows.length > 0;
}

/** Looks into the gap again a minute from now. */
export async function failGap(db: Database, { id }: OpenGap, reason: string): Promise<void> {
  await query(db, `update ops.gaps set next_try_at = now() + interval '1 minute', last_error = $2 where gap_id = $1`, [
    id,
    reason,
  ]);
}

/**
 * Mirrors what call history shows of each open gap at once, its unfinished hour included, and has its closed hours
 * compared. Answers with how many gaps it closed.
 */
export async function fillCallGaps(
  parts: ReconcileParts,
  lister: CallLister,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { db, log } = parts;
  const consequences = { readWith: priorities.live, isWatched: true };
  let closed = 0;
  for (const gap of await claimGaps(db, 'calls')) {
    try {
      const { mended } = await mirrorSpan(parts, lister, gap.span, consequences, signal);
      await askForHours(db, gap.span);
      await closeGap(db, gap);
      closed += 1;
      log.info({ from: new Date(gap.span.from * 1_000), mended }, 'A gap in the announced calls was filled');
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      await failGap(db, gap, error.message);
    }
  }
  return closed;
}
