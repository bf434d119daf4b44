import { meaningOf, operations } from '../api-client/client.ts';
import { sql } from '../db/database.ts';
import { kindNames, type TargetKind } from '../inbox/targets.ts';
import { running } from '../processes/running.ts';
import { toType } from '../shared/command-name.ts';
import { countOf, duration } from '../shared/format.ts';
import { maskNumbers } from '../shared/masking.ts';
import { isDirectory } from '../warehouse/directory.ts';
import { type Checks, rows } from './check.ts';
import { maxCounted } from './mirror.ts';

/** `Texts, calls and lines`. */
function namesOf(kinds: readonly TargetKind[]): string {
  const names = kinds.map((kind, at) => (at === 0 ? kindNames[kind] : kindNames[kind].toLowerCase()));
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** `the account’s users`, `3 calls`. */
function refusedNames(kind: TargetKind, count: number): string {
  return isDirectory(kind) ? `the account’s ${kind}` : countOf(count, kind === 'thread' ? 'conversation' : 'call');
}

const scopes = Object.values(operations).flatMap((rows) => Object.values(rows).map(({ scope }): string => scope));

interface Parked {
  readonly missingScope: string | null;
  readonly kinds: readonly TargetKind[];
  readonly reason: string;
  readonly since: Date;
}

/** Whether the service answers, and which account. */
export const serviceChecks: Checks = {
  /** Each process uses its own address and credential. */
  account_unrecognized: rows(
    sql<{ refused: number; all: number; reason: string }>`
      select count(account_problem)::int as refused, count(*)::int as all,
        (array_agg(account_problem order by started_at) filter (where account_problem is not null))[1] as reason
      from ${running} p having count(account_problem) > 0`,
    ({ refused, all, reason }) => ({
      level: 'problem',
      ...meaningOf({ code: 'account_unrecognized' }),
      ...(refused < all && {
        sentence: `The account of ${refused} of ${all} processes isn’t recognized, so they read, prove and send nothing.`,
      }),
      detail: `The reason: ${reason}.`,
    }),
  ),

  /** Streams that wait for another key or a scope, and reads that the account's role may not make. */
  reads_refused: [
    rows(
      sql<Parked>`
      select missing_scope as "missingScope", array_agg(kind order by parked_at, kind) as kinds,
        (array_agg(reason order by parked_at))[1] as reason, min(parked_at) as since
      from ops.parked_kinds group by 1 order by min(parked_at)`,
      ({ missingScope, kinds, reason, since }) => {
        // Alerts repeat no word of the service.
        const scope = scopes.find((each) => each === missingScope);
        const code = missingScope === null ? 'unauthenticated' : 'insufficient_scope';
        const { sentence, remedy } = meaningOf({ code, scope });
        return {
          level: 'problem',
          sentence: `${namesOf(kinds)} aren’t read. ${sentence}`,
          remedy: `${remedy} Then reading resumes, and nothing is lost.`,
          detail: scope === undefined ? `The service answered: ${maskNumbers(reason)}.` : undefined,
          since,
        };
      },
    ),
    rows(
      // Recordings may be forbidden on purpose. A forged delivery can name a thread of a line that isn't the account's.
      sql<{ kinds: readonly TargetKind[]; counts: readonly number[] }>`
      select array_agg(kind order by kind) as kinds, array_agg(count order by kind) as counts from (
        select kind, count(*)::int as count from (
          select kind from ops.sync_targets
          where last_error is not null and state = 'forbidden' and kind not in ('recordings', 'transcripts')
            and (kind <> 'thread' or split_part(key, '/', 1) in (select line from warehouse.sms_lines)
              or not exists (select from warehouse.sms_lines))
          limit ${maxCounted}) f group by 1) each having count(*) > 0`,
      ({ kinds, counts }) => ({
        level: 'warning',
        sentence: `The API key may not read ${kinds.map((kind, at) => refusedNames(kind, counts[at] ?? 0)).join(', ')}.`,
        remedy: `Give it the permission in the portal, or set API_KEY to one that has it. Trunkline reads again within a day; ${toType('resync')} does it now.`,
      }),
    ),
  ],

  service_failing: rows(
    sql<{ seconds: number; since: Date }>`
      select max(extract(epoch from seen_at - api_failing_from))::float8 as seconds, min(api_failing_from) as since
      from ${running} p having count(api_failing_from) > 0`,
    ({ seconds, since }) => ({
      level: 'problem',
      sentence: `The service fails: every request has failed for ${duration(seconds)}.`,
      remedy: `${toType('doctor')} asks the service and names the error. If this lasts, ask the service’s operator. Pending reads are kept, and tried again.`,
      since,
    }),
  ),
};
