import { sql } from '../db/database.ts';
import { toType } from '../shared/command-name.ts';
import { countOf, duration } from '../shared/format.ts';
import { maskNumbers } from '../shared/masking.ts';
import { type Checks, counted, rows } from './check.ts';

/** Reports may lack a change for this many seconds. A drain runs every ten, or every 900 while reads are late. */
const lateSeconds = 300;
const veryLateSeconds = 3_600;

/** SQL: the roll-ups whose update fails. */
const failing = sql`(
  select 'calls and texts' as what, failing_since_at as since, last_error as error from ops.rollup_state where failing_since_at is not null
  union all select 'rules and their texts', failing_since_at, last_error from ops.outcome_state where failing_since_at is not null)`;

/** Whether the reports show what is mirrored. */
export const reportChecks: Checks = {
  /** What the reports lack: all recent changes, single days or conversations, or calls without a day. */
  reports_behind: [
    rows(
      sql<{ what: string; since: Date; seconds: number; error: string }>`
      select *, extract(epoch from now() - since)::float8 as seconds from ${failing} f`,
      ({ what, since, seconds, error }) => ({
        level: seconds > veryLateSeconds ? 'problem' : 'warning',
        sentence: `The reports of ${what} stand still: the update has failed for ${duration(seconds)}.`,
        remedy: `Give the role of DATABASE_URL every right in the schemas rollups, reporting, ops and warehouse; ${toType('migrate')} restores views and functions. The update is tried again, and nothing is lost.`,
        detail: `The error was: ${maskNumbers(error)}.`,
        since,
      }),
    ),
    rows(
      // Ids follow the order of marking, so the primary keys find the oldest.
      sql<{ since: Date; seconds: number }>`
      select since, extract(epoch from now() - since)::float8 as seconds from (select least(
        (select marked_at from ops.rollup_markers order by marker_id limit 1),
        (select marked_at from ops.rule_tallies order by tally_id limit 1),
        (select marked_at from ops.send_markers order by marker_id limit 1)) as since) oldest
      where since < now() - ${lateSeconds} * interval '1 second' and not exists (select from ${failing} f)`,
      ({ since, seconds }) => ({
        level: seconds > veryLateSeconds ? 'problem' : 'warning',
        sentence: `The reports are ${duration(seconds)} behind.`,
        remedy:
          'Check that a worker runs, and look for "Updating the rollups" in its log. While reads are more than a minute late, reports are updated every 15 minutes only.',
        since,
      }),
    ),
    rows(
      sql<{ count: number; since: Date; first: readonly string[] }>`
      select count(*)::int as count, min(first_failed_at) as since, (array_agg(
          case kind when 'thread' then 'turns of conversation ' || conversation_id
            else kind || ' from ' || to_char(bucket_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC' end || ' (' || error || ')'
          order by first_failed_at, trouble_id))[1:3] as first
      from ops.rollup_troubles having count(*) > 0`,
      ({ count, since, first }) => ({
        level: 'warning',
        sentence: `The reports lack ${countOf(count, 'change')} that couldn’t be counted: a value is out of range.`,
        remedy:
          'ops.rollup_troubles lists them with their errors: correct the row in the schema warehouse, or report it. They are tried again within a quarter of an hour.',
        detail: `The first are ${first.map(maskNumbers).join('; ')}.`,
        since,
      }),
    ),
    counted(sql`from warehouse.calls where started_at is null and deleted_at is null`, (count) => ({
      level: 'warning',
      sentence: `The reports lack ${countOf(count, 'call')} whose start couldn’t be read.`,
      remedy:
        '`select call_id from warehouse.calls where started_at is null and deleted_at is null` names them: report the form of the time that the service sends.',
    })),
  ],

  /** Reports by old definitions, and figures that differ from the service's. */
  reports_differ: [
    rows(sql`select from ops.rollup_state where meaning is distinct from ops.rollup_meaning()`, () => ({
      level: 'warning',
      sentence:
        'Some reports follow older definitions: delivery words or reporting.params changed, or a rebuild hasn’t ended.',
      remedy: `Run ${toType('reporting rebuild')}, unless it runs. Workers may keep running.`,
    })),
    rows(
      sql<{ isOfStatus: boolean; count: number; days: number; newest: string }>`
      select is_of_status as "isOfStatus", count(*)::int as count, count(distinct local_date)::int as days, (array_agg(
          concat(local_date, ', ', figure, ': the service lists ', d ->> 'theirs', ', ', d ->> 'ours', ' are held', ' (calls ' || calls || ')')
          order by local_date desc, figure))[1] as newest
      from ops.attribution_days cross join jsonb_array_elements(differences) d cross join lateral (
        select d ->> 'kind' = 'status' as is_of_status, concat_ws(' ', nullif(d ->> 'kind', 'status'), d ->> 'name') as figure,
          (select string_agg(id, ', ') from jsonb_array_elements_text(jsonb_path_query_array(d, '$.callIds[0 to 2]')) id) as calls) f
      where finished_at is not null and local_date > reporting.local_day(now()) - 8
      group by 1 order by 1 desc`,
      ({ isOfStatus, count, days, newest }) => ({
        // Direction and status are specified. Whether a search by user or queue finds what the legs show isn't.
        level: isOfStatus ? 'warning' : 'notice',
        sentence: `On ${countOf(days, 'day')}, ${countOf(count, 'figure')} of calls by ${isOfStatus ? 'direction and status' : 'queue or user'} couldn’t be matched with the service’s own, although the calls were read again.`,
        remedy: `Compare one of the calls with the portal, or run ${toType('resync call')} with its id. \`ops.attribution_days.differences\` names up to 100 calls of each figure. A week after its day, a figure isn’t told any more.`,
        detail: `${newest}.`,
      }),
    ),
  ],
};
