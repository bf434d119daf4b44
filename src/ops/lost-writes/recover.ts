import { unproveSpan } from '../../completeness/coverage/coverage.ts';
import { type Database, inTransaction, query, relation, sql, type Transaction } from '../../db/database.ts';
import { takeLock } from '../../db/locks.ts';
import { lockControl, pauseSends, readControl, resume } from '../../ledger/control.ts';
import { doubtLostSends, type LostSpan, lostReason } from '../../ledger/lost-sends.ts';
import { writesLost } from '../../ledger/reconcile.ts';
import { doubtLostActions } from '../../rules/actions/action-states.ts';
import { recordGaps } from '../../sync/subscriptions/store.ts';
import type { ErasureRow } from './kept-outside.ts';

/** What else is known of the lost time. */
export interface Remembered {
  readonly erasures: readonly ErasureRow[];
  /** Why sends stay paused until an operator resumes them; null to resume them after the recovery. */
  readonly pauseReason: string | null;
  /** The incarnation of before, of which the database may know nothing. */
  readonly incarnationId?: string | undefined;
}

/** How far a read that began before the loss may be ahead in its number. */
const skippedReads = 1_000_000;

/**
 * Begins to recover from lost writes, in one transaction: from its commit on nothing is sent, and nothing that may have been done
 * in the lost time is done again. Reading it again takes its time; {@link endRecovery} then resumes the sends. The caller has locked
 * the row of ops.incarnation.
 */
export async function recoverLostSpan(tx: Transaction, span: LostSpan, known: Remembered): Promise<void> {
  // 1. Sends stop, and so does the evaluation of rules until this commits: what it plans afterwards is doubted.
  await takeLock(tx, 'rule_events');
  await lockControl(tx);
  const { by } = await readControl(tx);
  if (known.pauseReason !== null && by !== 'operator') await pauseSends(tx, known.pauseReason, 'operator');
  else if (by !== 'operator') await pauseSends(tx, lostReason, 'recovery');
  // 2. What may have been sent, posted or changed is looked for, or left to a person.
  await doubtLostSends(tx, span.until);
  await doubtLostActions(tx, span.until, lostReason);
  // 3. Erased people stay erased.
  await restoreErasures(tx, known.erasures);
  // 4. What the service had in that time is read again.
  await unproveSpan(tx, span, lostReason);
  await recordGaps(tx, span.from, lostReason);
  // A read that began before the loss must not count as newer than those that begin now.
  await query(tx, sql`select setval('ops.fetch_seq', nextval('ops.fetch_seq') + ${skippedReads}::integer)`);
  // 5. The other processes notice, and contribute what they remember.
  await query(
    tx,
    sql`update ops.incarnation set incarnation_id = gen_random_uuid(),
        former_ids = former_ids || array_remove(array[${known.incarnationId ?? null}::uuid, incarnation_id], null),
        lost_from = case when recovered_at is null then least(lost_from, ${span.from}) else ${span.from} end,
        lost_until = greatest(lost_until, ${span.until}), noticed_at = clock_timestamp(), recovered_at = null`,
  );
}

/** Inserts the erasures that are missing, and returns how many. Their rows are erased by {@link eraseAgain}. */
export async function restoreErasures(tx: Transaction, erasures: readonly ErasureRow[]): Promise<number> {
  if (erasures.length === 0) return 0;
  await query(tx, sql`lock table ops.erasures in share row exclusive mode`);
  const restored = await query(
    tx,
    sql`insert into ops.erasures (number_hash, spelling_hashes)
      select hash, array(select jsonb_array_elements_text(spellings)) from ${relation('e', erasures, {
        hash: ['text', ({ numberHash }) => numberHash],
        spellings: ['jsonb', ({ spellingHashes }) => spellingHashes],
      })}
      on conflict do nothing returning 1`,
  );
  return restored.length;
}

/** The numbers in the database of people who are erased. */
export async function erasedNumbers(db: Database): Promise<string[]> {
  const rows = await query(
    db,
    sql<{ number: string }>`
      select n.number from (
        select number from warehouse.sms_conversations union select unnest(participants) from warehouse.sms_conversations
        union select external_number from warehouse.calls union select number from warehouse.contacts
        union select number from ops.thread_candidates union select number from ops.sends union select number from ops.rule_runs
        union select unnest(regexp_split_to_array(key, '[/,]')) from ops.sync_targets where kind = 'thread'
        union select unnest(regexp_split_to_array(t, '[ /,]')) from ops.deliveries d, unnest(d.targets) t where t like 'thread %'
      ) n where n.number ~ '^[0-9]+$'
        and exists (select from ops.erased_among(array[n.number]))`,
  );
  return rows.map(({ number }) => number);
}

/**
 * Ends the recovery once every thread that was marked for it has been read, the rules were evaluated on what that found, and lost
 * sends were looked for. Does not wait for events that were put off until such a send is settled, which takes minutes: what they
 * plan is doubted whenever it is. Returns whether it ended now.
 */
export function endRecovery(db: Database): Promise<boolean> {
  const isLostGap = sql`from_at <= i.lost_until and to_at >= i.lost_from`;
  return inTransaction(db, async (tx) => {
    const ended = await query(
      tx,
      sql`update ops.incarnation i set recovered_at = clock_timestamp()
        where recovered_at is null and noticed_at is not null
          and not exists (select from ops.gaps where ${isLostGap} and filled_at is null)
          and not exists (select from ops.sync_targets t where t.kind = 'thread' and t.dirty_version > t.clean_version
            and t.state = 'active' and t.attempts = 0
            and t.due_at <= (select max(filled_at) from ops.gaps where ${isLostGap}))
          and not exists (select from ops.rule_events where happened_at <= i.lost_until and tries = 0 and due_at <= noted_at
            and exists (select from ops.rule_versions))
          and not exists (select from ops.sends where state = 'UNKNOWN' and reason = ${writesLost} and searched_at is null)
        returning 1`,
    );
    if (ended.length === 0) return false;
    await lockControl(tx);
    if ((await readControl(tx)).by === 'recovery') await resume(tx, null);
    return true;
  });
}
