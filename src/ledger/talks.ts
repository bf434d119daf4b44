import type { RawBuilder } from 'kysely';
import { sql } from '../db/database.ts';

/** SQL expressions. */
interface Talked {
  /** Whether a column holds a form of the number. */
  readonly isNumber: (column: string) => RawBuilder<unknown>;
  /** A call to leave out; NULL for none. */
  readonly callId: RawBuilder<unknown>;
  readonly since: RawBuilder<unknown>;
  /** Leaves out whatever ended later. NULL means now: everything mirrored counts. */
  readonly until: RawBuilder<unknown>;
}

/**
 * SQL: since a given moment, a person of the account has talked with a number by phone or texted it, on any line. A
 * talk that began earlier counts if it continued after that moment.
 */
export function hasTalkedSince({ isNumber, callId, since, until }: Talked) {
  return sql`(exists (
      select from warehouse.calls k
      where ${isNumber('k.external_number')} and k.started_at > ${since} - interval '1 day' and k.call_id is distinct from ${callId}
        and k.deleted_at is null and k.status = 'answered' and coalesce(k.talk_seconds, 1) > 0
        and coalesce(k.ended_at, 'infinity') > ${since}
        and (${until} is null or coalesce(k.ended_at, k.started_at) <= ${until}))
    or exists (
      select from warehouse.sms_messages m
      where ${isNumber('m.number')} and m.sent_at > ${since} and (${until} is null or m.sent_at <= ${until})
        and m.direction = 'out' and m.sent_by is not null and m.send_id is null and m.deleted_at is null and m.is_scheduled is not true
        and not exists (select from ops.sends o where o.line = m.line and o.message_id = m.message_id)))`;
}
