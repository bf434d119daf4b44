import { type Database, hotQuery, sql } from '../src/db/database.ts';
import { isDueSend } from '../src/ledger/dispatcher.ts';
import { isInForce } from '../src/ledger/rules-in-force.ts';
import type { Log } from '../src/shared/log.ts';
import { type Loop, startLoop } from '../src/shared/loop.ts';

const everyMs = 1_000;

/** What to call when reads, steps of rules or sends are due, and when events wait or other rules came into force. */
export type Wake = Readonly<Record<'reads' | 'events' | 'steps' | 'sends', () => void>>;

/**
 * Asks Postgres once a second what is due, and wakes the loops for it. An idle worker then makes one query instead of
 * one for each loop; the loops themselves poll rarely.
 */
export function startDueWork(db: Database, log: Log, wake: Wake): Loop {
  let inForce: string | null = null;
  return startLoop({
    name: 'Looking for due work',
    everyMs,
    log,
    async job() {
      const [due] = await hotQuery<Readonly<Record<keyof Wake, boolean>> & { readonly version: string | null }>(
        db,
        sql`select
          exists (select from ops.sync_targets where dirty_version > clean_version and due_at <= now() and claimed_until <= now()) as reads,
          exists (select from ops.rule_events where due_at <= now()) as events,
          exists (select from ops.rule_actions where state = 'waiting' and kind <> 'reply' and due_at <= now()) as steps,
          exists (select from ops.sends where ${isDueSend}) as sends,
          (select version from ops.rule_versions v where ${isInForce})`,
      );
      if (!due) return;
      for (const [what, begin] of Object.entries(wake)) if (due[what as keyof Wake]) begin();
      if (due.version !== inForce) wake.events();
      inForce = due.version;
    },
  });
}
