import { type LedgerSummary, summarizeSends } from '../../ledger/operations.ts';
import { maskKey } from '../../masking.ts';
import { type Database, query } from '../../warehouse/database.ts';

/** The ledger, and what keeps automatic texts from going out. Sends that are only simulated are counted apart. */
export interface SendFacts extends LedgerSummary {
  /** Of the counts: those of dry-run, of which nothing is ever sent. */
  readonly simulated: LedgerSummary['counts'];
  /** Live sends of the last day that failed or wait, by state and reason, the most frequent first. */
  readonly troubles: readonly SendTrouble[];
}

export interface SendTrouble {
  readonly kind: /** The service refused it, or could not be reached: it is given up. */
    | 'refused'
    /** A budget of the day is used up. */
    | 'budget'
    /** It has been planned for a minute or more and has not left. */
    | 'held_up'
    /** Nobody sent it in time. */
    | 'too_old';
  readonly reason: string;
  readonly count: number;
  readonly lastAt: Date;
  /** Masked. */
  readonly lines: readonly string[];
  /** On none of these lines has a text gone out since the first of these sends. */
  readonly isTotal: boolean;
  /** On each of these lines a text has gone out since the last of these sends. */
  readonly isOver: boolean;
}

/** A send that is not to wait for anything leaves within seconds. */
const heldUpSeconds = 60;

/** A row that was never to be sent: its rule, or RULES_MODE of the worker that took it, is dry-run. */
export const isSimulated = `(s.mode = 'dry-run' or coalesce(s.reason, '') = 'dry_run')`;

export async function readSends(db: Database): Promise<SendFacts> {
  const counted = await query<{ state: keyof LedgerSummary['counts']; count: number }>(
    db,
    `select state, count(*)::integer as count from ops.sends s where s.planned_at > now() - interval '1 day' and ${isSimulated}
     group by state`,
    [],
  );
  const troubles = await query<SendTrouble>(
    db,
    `with recent as (
       select s.line, s.state, split_part(coalesce(s.reason, ''), E'\\n', 1) as reason, coalesce(s.settled_at, s.planned_at) as at,
         case when s.state in ('REJECTED', 'NOT_SENT') then 'refused'
           when s.reason ~ '^gate:budget_(account|line|money)' and s.settled_at > date_trunc('day', now(), 'UTC') then 'budget'
           when s.state in ('PLANNED', 'HELD') and s.reason ~ '^gate:budget_(account|line|money)' then 'budget'
           when s.state = 'PLANNED' and s.planned_at < now() - interval '${heldUpSeconds} seconds' and not k.is_paused then 'held_up'
           when s.state = 'EXPIRED' then 'too_old' end as kind
       from ops.sends s cross join ops.send_control k
       where s.planned_at > now() - interval '1 day' and not ${isSimulated}
     ), sent as (
       select line, max(settled_at) as at from ops.sends s
       where s.planned_at > now() - interval '1 day' and state = 'SENT' group by line
     ), by_line as (
       select r.kind, r.reason, r.line, count(*)::integer as count, max(r.at) as last_at,
         coalesce(max(sent.at) > min(r.at), false) as has_sent, coalesce(max(sent.at) > max(r.at), false) as is_over
       from recent r left join sent using (line) where r.kind is not null group by 1, 2, 3
     )
     select kind, reason, sum(count)::integer as count, max(last_at) as "lastAt",
       (array_agg(line order by count desc, line))[1:5] as lines, not bool_or(has_sent) as "isTotal", bool_and(is_over) as "isOver"
     from by_line group by 1, 2 order by count desc, kind, reason limit 20`,
    [],
  );
  return {
    ...(await summarizeSends(db)),
    simulated: Object.fromEntries(counted.map(({ state, count }) => [state, count])),
    troubles: troubles.map((each) => ({ ...each, lines: each.lines.map((line) => maskKey('line', line)) })),
  };
}
