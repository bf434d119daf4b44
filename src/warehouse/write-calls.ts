import type { RawBuilder } from 'kysely';
import type { Call, CallSummary } from '../api-client/client.ts';
import { ChangedMeanwhile, hotQuery, relation, relationOf, sql, type Transaction } from '../db/database.ts';
import { storableJson } from '../shared/storable.ts';
import { type Attribution, type CallFacts, callFacts } from './call-facts.ts';
import { type CallRead, calls, endpointsOf, factNames, legsOf, ownNumbersOf } from './calls.ts';
import { eraseCalls, withoutErasedParties } from './erasure/erased-calls.ts';
import { extrasOf } from './extra.ts';
import {
  callColumns,
  type Directory,
  type HeldCalls,
  type HeldRow,
  holdCalls,
  type JsonRow,
  legColumns,
} from './held-calls.ts';
import { callLegs, keyedLegs } from './legs.ts';
import {
  contentHash,
  type Extra,
  hasContent,
  insertInto,
  type Mirrored,
  mergedWith,
  newestOfEach,
  type Provenance,
  type Row,
  rowsOf,
  sameValue,
} from './upsert.ts';
import { type CallWrite, type Follow, followingCall } from './what-follows.ts';

/**
 * Mirrors calls without erased parties, in one statement: the calls, their facts, the legs of those that were read
 * completely, and their attributions. Newer wins. Legs have their own number (`legs_fetch_seq`), because searches list
 * no legs but update the call's `fetch_seq`. `held` has the rows of the calls if the caller has locked them.
 */
export async function writeCalls(
  tx: Transaction,
  follow: Follow,
  all: readonly CallRead[],
  held?: HeldCalls,
): Promise<CallWrite[]> {
  if (all.length === 0) return [];
  const { reads, erased } = await withoutErasedParties(
    tx,
    newestOfEach(all, ({ call }) => call.id),
  );
  const { calls: rows, directory } =
    held ??
    (await holdCalls(
      tx,
      reads.map(({ call }) => call.id),
      reads.flatMap(({ call }) => endpointsOf(call)),
    ));
  const answers = reads.flatMap(({ call }) => (erased.has(call.id) ? [] : [call, ...(legsOf(call) ?? [])]));
  const extras = extrasOf(answers);
  const extraOf = new Map<object, Extra | undefined>(answers.map((answer, at) => [answer, extras[at]]));
  const plans = reads.map((each) => planOf(each, rows.get(each.call.id), directory, extraOf));
  await carryOut(tx, plans);
  if (erased.size > 0) await eraseCalls(tx, [...erased]);
  const writes = plans.map(({ write }) => ({ ...write, isErased: write.isErased || erased.has(write.callId) }));
  for (const write of writes) follow(followingCall(write));
  return writes;
}

/**
 * Of the calls that searches listed, those to write, and whether the mirror has a row of each. A call is written if the
 * mirror lacks it, marks it deleted or holds other content; also while a read of it runs that may be older; and if it
 * was read before the account was accepted, since only written calls vouch for the account. Other calls keep their
 * `fetch_seq`. Locks and writes nothing.
 */
export async function callsToWrite(
  tx: Transaction,
  all: readonly CallRead[],
  { withoutLegs }: { readonly withoutLegs: boolean },
): Promise<ReadonlyMap<string, boolean>> {
  const { reads, erased } = await withoutErasedParties(
    tx,
    newestOfEach(all, ({ call }) => call.id),
  );
  const { directory } = await holdCalls(
    tx,
    [],
    reads.flatMap(({ call }) => ownNumbersOf(call)),
  );
  const extras = extrasOf(reads.map(({ call }) => (erased.has(call.id) ? { raw: {}, unknownKeys: [] } : call)));
  const rows = reads.map(({ call, read }, at) => ({
    row: calls.row({ call, read, isOwn: directory.isOwn, held: undefined }),
    read,
    extra: extras[at],
  }));
  const differing = await hotQuery(
    tx,
    sql<{ call_id: string; isHeld: boolean }>`
      select call_id, t.content_hash is not null as "isHeld"
      from (select * from ${rowsOf(calls, rows)}) excluded left join warehouse.calls t using (call_id)
        left join ops.sync_targets s on s.kind = 'call' and s.key = call_id
      where t.content_hash is null or t.deleted_at is not null or s.claimed_version > s.clean_version
        or ${withoutLegs} and t.legs_fetched_at is null or t.fetched_at <= (select accepted_at from ops.account)
        or not (${hasContent(calls)} and t.extra is not distinct from excluded.extra)`,
  );
  return new Map(differing.map(({ call_id, isHeld }) => [call_id, isHeld]));
}

type CallRow = Row<typeof calls.columns>;

/** The changes by one read of a call. None if later reads wrote the call and its legs. */
interface Plan {
  readonly write: CallWrite;
  /** Undefined: a later read wrote the call. */
  readonly row?: Mirrored<typeof calls.columns> | undefined;
  /** The columns that the legs change, if a later read wrote the call. */
  readonly lateLegs?: JsonRow | undefined;
  readonly legs?: readonly Mirrored<typeof callLegs.columns>[];
  readonly goneLegs?: readonly GoneLeg[];
  readonly attributions?: AttributionChanges;
}

interface GoneLeg {
  readonly callId: string;
  readonly key: string;
  readonly fetchSeq: string;
}

function planOf(
  { call, read }: CallRead,
  held: HeldRow | undefined,
  directory: Directory,
  extraOf: ReadonlyMap<object, Extra | undefined>,
): Plan {
  const isNewer = held === undefined || BigInt(held.fetchSeq) <= BigInt(read.fetchSeq);
  const legs = legsIn(call, read, held, extraOf);
  const isErased = held?.call.is_erased === true;
  const ofRead = { callId: call.id, before: held?.call, isErased };
  if (!isNewer && !legs.areNewer) {
    return { write: { ...ofRead, after: held.call, isChanged: false, isReported: false } };
  }
  const given = calls.row({ call, read, isOwn: directory.isOwn, held: held?.call });
  const { leg_count, legs_fetched_at, legs_fetch_seq } = given;
  const mirrored: JsonRow = isNewer
    ? { ...mergedWith(calls, given, held?.call), deleted_at: null }
    : { ...held.call, leg_count, legs_fetched_at, legs_fetch_seq };
  const facts = callFacts(callColumns(mirrored), legs.now.map(legColumns), directory.userAt);
  const after: JsonRow = { ...mirrored, ...facts.columns };
  const attributions = attributionChanges(call.id, after, facts, held);

  const isListedAgain = held?.call.deleted_at != null && isNewer;
  const differs = (columns: readonly string[]) =>
    columns.some((column) => !sameValue(calls.columns, column, held?.call[column], after[column]));
  const isNewOrBack = held === undefined || isListedAgain;
  return {
    write: {
      ...ofRead,
      after,
      isChanged: isNewOrBack || differs(calls.content),
      isReported:
        isNewOrBack ||
        differs(reportedColumns) ||
        legs.changed.length + legs.gone.length > 0 ||
        attributions.written.length + attributions.gone.length > 0,
    },
    row: isNewer ? { row: after as CallRow, read, extra: extraOf.get(call) } : undefined,
    lateLegs: isNewer ? undefined : after,
    legs: legs.changed,
    goneLegs: legs.gone,
    attributions,
  };
}

/** Names and caller ids are only displayed. */
const reportedColumns = [
  ...calls.content.filter((column) => !/^(caller_name|dialled_number|caller_id_\w+)$/.test(column)),
  ...factNames,
  'leg_count',
];

interface LegsOfRead {
  /** The read listed the legs, and no later read did. */
  readonly areNewer: boolean;
  /** The rows of the legs that exist now. */
  readonly now: readonly JsonRow[];
  readonly changed: readonly Mirrored<typeof callLegs.columns>[];
  readonly gone: readonly GoneLeg[];
}

function legsIn(
  call: CallSummary | Call,
  read: Provenance,
  held: HeldRow | undefined,
  extraOf: ReadonlyMap<object, Extra | undefined>,
): LegsOfRead {
  const listed = legsOf(call);
  const existing = (held?.legs ?? []).filter(({ deleted_at }) => deleted_at === null);
  if (listed === undefined || BigInt(held?.legsFetchSeq ?? 0) > BigInt(read.fetchSeq)) {
    return { areNewer: false, now: existing, changed: [], gone: [] };
  }
  const rows = keyedLegs(call.id, listed).map((each) => {
    const [row, extra] = [callLegs.row(each), extraOf.get(each.leg)];
    return { row, read, extra, hash: contentHash(callLegs.hashed, row, extra) };
  });
  const hashes = new Map(existing.map(({ leg_key, content_hash }) => [leg_key, content_hash]));
  const keys = new Set<unknown>(rows.map(({ row }) => row.leg_key));
  return {
    areNewer: true,
    now: rows.map(({ row }) => mergedWith(callLegs, row, undefined)),
    changed: rows.filter(({ row, hash }) => hashes.get(row.leg_key) !== hash),
    gone: existing.flatMap(({ leg_key }) =>
      keys.has(leg_key) ? [] : [{ callId: call.id, key: String(leg_key), fetchSeq: read.fetchSeq }],
    ),
  };
}

interface AttributedCall extends Attribution {
  readonly callId: string;
  readonly startedAt: unknown;
}

interface AttributionChanges {
  readonly written: readonly AttributedCall[];
  readonly gone: readonly Pick<AttributedCall, 'callId' | 'kind' | 'endpoint' | 'role'>[];
}

/** Keeps attributions by a search filter, unless the legs say the same or show how the user took part. */
function attributionChanges(
  callId: string,
  { started_at: startedAt }: JsonRow,
  { attributions }: CallFacts,
  held: HeldRow | undefined,
): AttributionChanges {
  const keyOf = ({ kind, endpoint, role }: { kind?: unknown; endpoint?: unknown; role?: unknown }) =>
    JSON.stringify([kind, endpoint, role]);
  const before = new Map(held?.attributions.map((each) => [keyOf(each), each]));
  const fresh = new Set(attributions.map(keyOf));
  return {
    written: attributions
      .map((each) => ({ ...each, callId, startedAt }))
      .filter((each) => {
        const known = before.get(keyOf(each));
        return !(
          known &&
          Date.parse(String(known.started_at)) === Date.parse(String(startedAt)) &&
          known.user_id === (each.userId ?? known.user_id) &&
          known.talk_seconds === each.talkSeconds &&
          known.source === each.source
        );
      }),
    gone: (held?.attributions ?? [])
      .filter((each) =>
        each.source === 'search_filter'
          ? each.role === 'touched' && attributions.some(({ userId }) => userId === each.user_id)
          : !fresh.has(keyOf(each)),
      )
      .map(({ kind, endpoint, role }) => ({ callId, kind, endpoint, role }) as AttributionChanges['gone'][number]),
  };
}

/** Writes everything in one statement: no table's rows depend on another table's. */
async function carryOut(tx: Transaction, plans: readonly Plan[]): Promise<void> {
  const rows = plans.flatMap(({ row }) => row ?? []);
  const legs = plans.flatMap((each) => each.legs ?? []);
  const goneLegs = plans.flatMap((each) => each.goneLegs ?? []);
  const lateLegs = plans.flatMap((each): JsonRow[] => (each.lateLegs ? [each.lateLegs] : []));
  const ctes: RawBuilder<unknown>[] = [];
  if (lateLegs.length > 0) ctes.push(sql`late_legs as (${updateColumns([...factNames, ...legsColumns], lateLegs)})`);
  if (legs.length > 0) ctes.push(sql`legs as (${insertInto(callLegs, rowsOf(callLegs, legs))})`);
  if (goneLegs.length > 0) {
    ctes.push(sql`gone_legs as (
      update warehouse.call_legs t set deleted_at = now(), deleted_reason = 'the call no longer lists it', changed_at = now(),
        fetch_seq = g.fetch_seq
      from ${relation('g', goneLegs, { call_id: ['text', (each) => each.callId], leg_key: ['text', ({ key }) => key], fetch_seq: ['bigint', (each) => each.fetchSeq] })}
      where t.call_id = g.call_id and t.leg_key = g.leg_key)`);
  }
  ctes.push(...attributionCtes(plans.flatMap((each) => each.attributions ?? [])));
  if (rows.length === 0 && ctes.length === 0) return;
  const written = await hotQuery<{ call_id: string; is_new: boolean }>(
    tx,
    sql`with ${sql.join([sql`calls as (${insertInto(calls, rowsOf(calls, rows))} returning t.call_id, t.xmax = 0 as is_new)`, ...ctes])}
      select call_id, is_new from calls`,
  );
  const known = new Map(plans.map(({ write }) => [write.callId, write.before !== undefined]));
  if (written.some(({ call_id, is_new }) => !is_new && !known.get(call_id))) throw new ChangedMeanwhile();
}

function attributionCtes(changes: readonly AttributionChanges[]): RawBuilder<unknown>[] {
  const gone = changes.flatMap((each) => each.gone);
  const written = changes.flatMap((each) => each.written);
  const key = {
    call_id: ['text', (each: { callId: string }) => each.callId],
    kind: 'text',
    endpoint: 'text',
    role: 'text',
  } as const;
  const ctes: RawBuilder<unknown>[] = [];
  if (gone.length > 0) {
    ctes.push(sql`gone_attributions as (
      delete from warehouse.call_attributions a using ${relation('g', gone, key)}
      where (a.call_id, a.kind, a.endpoint, a.role) = (g.call_id, g.kind, g.endpoint, g.role))`);
  }
  if (written.length > 0) {
    ctes.push(sql`attributions as (
      insert into warehouse.call_attributions as a (call_id, kind, endpoint, role, started_at, user_id, talk_seconds, source)
      select call_id, kind, endpoint, role, started_at, user_id, talk_seconds, source
      from ${relation('w', written, {
        ...key,
        started_at: ['timestamptz', (each) => each.startedAt],
        user_id: ['bigint', (each) => each.userId],
        talk_seconds: ['integer', (each) => each.talkSeconds],
        source: 'text',
      })}
      on conflict (call_id, kind, endpoint, role) do update set started_at = excluded.started_at,
        user_id = coalesce(excluded.user_id, a.user_id), talk_seconds = excluded.talk_seconds, source = excluded.source)`);
  }
  return ctes;
}

const legsColumns = ['leg_count', 'legs_fetched_at', 'legs_fetch_seq'] as const;

function updateColumns(
  columns: readonly (keyof typeof calls.columns)[],
  rows: readonly JsonRow[],
): RawBuilder<unknown> {
  const types = Object.fromEntries(['call_id' as const, ...columns].map((name) => [name, calls.columns[name]]));
  return sql`
    update warehouse.calls c set ${sql.raw(columns.map((name) => `${name} = f.${name}`).join(', '))}
    from ${relationOf(sql`${storableJson(rows.map((row) => Object.fromEntries(Object.keys(types).map((name) => [name, row[name]]))))}`, 'f', types)}
    where c.call_id = f.call_id`;
}

const atOnce = 500;

/**
 * Computes the facts and attributions of mirrored calls again, for example after a change of the directory or of the
 * definitions. Resolves to the starts of the calls that changed.
 */
export async function refreshFacts(tx: Transaction, callIds: readonly string[]): Promise<Date[]> {
  const moved: Date[] = [];
  for (let at = 0; at < callIds.length; at += atOnce) {
    const { calls: rows, directory } = await holdCalls(tx, callIds.slice(at, at + atOnce));
    const fresh = [...rows].map(([callId, held]) => {
      const { call } = held;
      const existing = held.legs.filter(({ deleted_at }) => deleted_at === null);
      const facts = callFacts(callColumns(call), existing.map(legColumns), directory.userAt);
      const row = { call_id: callId, ...facts.columns };
      const attributions = attributionChanges(callId, call, facts, held);
      const differs = factNames.some((column) => !sameValue(calls.columns, column, call[column], row[column]));
      return { row, call, attributions, differs };
    });
    const changed = fresh.filter(({ differs }) => differs).map(({ row }) => row);
    const ctes = attributionCtes(fresh.map(({ attributions }) => attributions));
    if (changed.length > 0) ctes.push(sql`facts as (${updateColumns(factNames, changed)})`);
    if (ctes.length > 0) await hotQuery(tx, sql`with ${sql.join(ctes)} select`);
    moved.push(
      ...fresh
        .filter(({ differs, attributions: { written, gone } }) => differs || written.length + gone.length > 0)
        .flatMap(({ call }) => (call.started_at === null ? [] : [new Date(String(call.started_at))])),
    );
  }
  return moved;
}
