import { query, sql, type Transaction } from '../../db/database.ts';
import { storableJson } from '../../shared/storable.ts';
import { callColumns, type JsonRow, legColumns } from '../../warehouse/held-calls.ts';
import { type Group, type Outcome, queueVisits } from '../../warehouse/queue-visits.ts';
import { knownDirection, replaceRows } from './parts.ts';
import type { Day, Span } from './steps.ts';

/** The columns of `fct_call` that a visit copies from its call, and its own columns. */
const ofCall = {
  ...{ started_at: 'timestamptz', local_date: 'date', local_hour: 'integer', is_business_hours: 'boolean' },
  ...{ direction: 'text', account_number: 'text' },
};
const ofVisit = {
  ...{
    kind: 'text',
    endpoint: 'text',
    outcome: 'text',
    wait_seconds: 'integer',
    wait_basis: 'text',
    next_queue: 'text',
  },
};
const given = { call_id: 'text', visit_number: 'integer', ...ofCall, ...ofVisit, entered_ms: 'double precision' };

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
  const types = Object.entries(given).map((column) => column.join(' '));
  await replaceRows(
    tx,
    {
      table: 'queue_visits',
      keys: ['call_id', 'visit_number'],
      values: [...Object.keys(ofCall), ...Object.keys(ofVisit), 'entered_at'],
      scope: 't.started_at >= $1 and t.started_at < $2',
      fresh: `select v.*, to_timestamp(v.entered_ms / 1000) as entered_at from json_to_recordset($3::json) v (${types.join(', ')})`,
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
    ...{ ...call, visit_number: at + 1, kind: visit.kind, endpoint: visit.endpoint, entered_ms: visit.enteredAt },
    ...{
      outcome: visit.outcome,
      wait_seconds: visit.waitSeconds,
      wait_basis: visit.waitBasis,
      next_queue: visit.nextQueue,
    },
  }));
}
