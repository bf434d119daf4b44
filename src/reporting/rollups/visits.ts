import { query, sql, type Transaction } from '../../db/database.ts';
import { storableJson } from '../../shared/storable.ts';
import { callColumns, type JsonRow, legColumns } from '../../warehouse/held-calls.ts';
import { type Group, type Outcome, queueVisits } from '../../warehouse/queue-visits.ts';
import { knownDirection, replaceRows } from './parts.ts';
import type { Day, Span } from './steps.ts';

/** Computes the visits to queues and huntgroups again, for external calls that began in a span. */
export async function rebuildVisits(tx: Transaction, _: Day, { from, to }: Span): Promise<void> {
  const calls = await query<VisitingCall>(
    tx,
    sql`
      select to_json(c) as call, (
          select coalesce(json_agg(l order by l.ordinal), '[]') from (
            select ordinal, started_at, ended_at, status, caller_type, called_type, called_name, called_number, duration_seconds, talk_seconds
            from warehouse.call_legs where call_id = c.call_id and deleted_at is null
          ) l) as legs, (
          select coalesce(json_agg(json_build_object('kind', a.kind, 'endpoint', a.endpoint)), '[]') from warehouse.call_attributions a
          where a.call_id = c.call_id and a.kind in ('queue', 'huntgroup') and a.role = 'entered') as entered
      from (
        select c.call_id, c.started_at, c.ended_at, c.local_date, c.local_hour, c.is_business_hours, ${sql.raw(knownDirection)} as direction,
          c.account_number, c.called_type, c.called_name, c.called_number, c.outcome, c.wait_seconds, c.wait_basis
        from reporting.fct_call c where c.started_at >= ${from} and c.started_at < ${to} and not c.is_internal
      ) c`,
  );
  await replaceRows(
    tx,
    {
      table: 'queue_visits',
      scope: 't.started_at >= $1 and t.started_at < $2',
      fresh: 'select v.* from json_populate_recordset(null::rollups.queue_visits, $3::json) v',
    },
    [from, to, storableJson(calls.flatMap(visitsOf))],
  );
}

interface VisitingCall {
  readonly call: JsonRow;
  readonly legs: readonly JsonRow[];
  readonly entered: readonly Group[];
}

function visitsOf({ call, legs, entered }: VisitingCall) {
  const ended = { outcome: call.outcome, waitSeconds: call.wait_seconds, waitBasis: call.wait_basis } as Outcome;
  return queueVisits({ ...callColumns(call), ...ended }, legs.map(legColumns), entered).map((visit, at) => ({
    ...call,
    visit_number: at + 1,
    kind: visit.kind,
    endpoint: visit.endpoint,
    entered_at: visit.enteredAt === null ? null : new Date(visit.enteredAt),
    outcome: visit.outcome,
    wait_seconds: visit.waitSeconds,
    wait_basis: visit.waitBasis,
    next_queue: visit.nextQueue,
  }));
}
