import { ChangedMeanwhile, type Database, hotQuery, sql, type Transaction, unseen } from '../db/database.ts';
import type { CallColumns, LegColumns, UserAt } from './call-facts.ts';

/** A row of a table by column name, as in JSON: times are strings. */
export type JsonRow = Readonly<Record<string, unknown>>;

/** A mirrored call with its legs (including deleted ones) and its attributions. */
export interface HeldRow {
  readonly call: JsonRow;
  /** Numbers of the reads that wrote the call and its legs. 0: none. */
  readonly fetchSeq: string;
  readonly legsFetchSeq: string;
  readonly legs: readonly JsonRow[];
  readonly attributions: readonly JsonRow[];
}

/** Mirrored calls, locked, and the owners of the endpoints they mention. */
export interface HeldCalls {
  readonly calls: ReadonlyMap<string, HeldRow>;
  readonly directory: Directory;
}

/** Who has or had extensions and numbers. */
export interface Directory {
  /** Whether a number belongs to the account: to a user, or as a line. */
  isOwn(number: string): boolean;
  userAt: UserAt;
}

interface Endpoint {
  readonly endpoint: string;
  readonly kind: string;
  readonly user_id: string;
  readonly valid_from: string;
  readonly valid_to: string;
}

/**
 * Locks the mirrored ones among these calls, and reads the directory entries for `endpoints` and for the mirrored legs,
 * in one statement. Rejects with `ChangedMeanwhile` if another transaction wrote one of the calls while this one waited
 * for it: the transaction is then repeated.
 */
export async function holdCalls(
  tx: Transaction,
  callIds: readonly string[],
  endpoints: readonly string[] = [],
): Promise<HeldCalls> {
  if (callIds.length + endpoints.length === 0) return { calls: new Map(), directory: directoryOf([], []) };
  const [row] = await hotQuery(
    tx,
    sql<{ held: (HeldRow & { isSeen: boolean | null })[]; endpoints: Endpoint[]; lines: string[] }>`
      with named as materialized (
        select unnest(${unseen(endpoints)}) as endpoint
        union
        select unnest(array[caller_number, called_number]) from warehouse.calls where call_id = any(${unseen(callIds)})
        union
        -- Each call by itself: before the first ANALYZE, the legs of many calls are taken for most of the table.
        select unnest(array[caller_number, called_number]) from unnest(${unseen(callIds)}) id cross join lateral
          (select caller_number, called_number from warehouse.call_legs l where l.call_id = id offset 0) l
      )
      select
        (select coalesce(json_agg(json_build_object('call', c,
            'fetchSeq', c.fetch_seq::text, 'legsFetchSeq', coalesce(c.legs_fetch_seq, 0)::text,
            -- The lock may have waited for another transaction, whose legs this statement does not see.
            'isSeen', (select x.xmin = c.version from warehouse.calls x where x.call_id = c.call_id),
            'legs', (select coalesce(json_agg(l order by l.ordinal), '[]') from warehouse.call_legs l where l.call_id = c.call_id),
            'attributions', (select coalesce(json_agg(json_build_object('kind', a.kind, 'endpoint', a.endpoint, 'role', a.role,
                'source', a.source, 'started_at', a.started_at, 'user_id', a.user_id::text, 'talk_seconds', a.talk_seconds)), '[]')
              from warehouse.call_attributions a where a.call_id = c.call_id))), '[]')
          from (select *, xmin as version from warehouse.calls where call_id = any(${unseen(callIds)}) order by call_id for update) c) as held,
        (select coalesce(json_agg(json_build_object('endpoint', e.endpoint, 'kind', e.kind, 'user_id', e.user_id::text,
            'valid_from', e.valid_from, 'valid_to', e.valid_to)), '[]')
          from named join warehouse.user_endpoints e using (endpoint)) as endpoints,
        array(select line from named join warehouse.sms_lines l on l.line = named.endpoint) as lines`,
  );
  const { held = [], endpoints: owned = [], lines = [] } = row ?? {};
  if (held.some(({ isSeen }) => !isSeen)) throw new ChangedMeanwhile();
  return {
    calls: new Map(held.map((each) => [String(each.call.call_id), each])),
    directory: directoryOf(owned, lines),
  };
}

/** The kinds of endpoint through which a user takes part in calls. */
const extensionKinds: ReadonlySet<string> = new Set(['extension', 'dial_extension', 'sip_line']);

function directoryOf(endpoints: readonly Endpoint[], lines: readonly string[]): Directory {
  const own = new Set([
    ...lines,
    ...endpoints.flatMap(({ kind, endpoint }) => (kind === 'voicemail' ? [] : [endpoint])),
  ]);
  const periods = Map.groupBy(
    endpoints
      .filter(({ kind }) => extensionKinds.has(kind))
      .map((each) => ({ ...each, from: instantOf(each.valid_from), to: instantOf(each.valid_to) })),
    ({ endpoint }) => endpoint,
  );
  return {
    isOwn: (number) => own.has(number),
    userAt(extension, moment) {
      const users = new Set(
        periods.get(extension)?.flatMap(({ user_id, from, to }) => (from <= moment && moment < to ? [user_id] : [])),
      );
      const [user = null] = users;
      return users.size === 1 ? user : null;
    },
  };
}

/** Unix milliseconds of a Postgres timestamp in JSON; it can be infinite. */
export function instantOf(text: string): number {
  if (text === 'infinity') return Number.POSITIVE_INFINITY;
  return text === '-infinity' ? Number.NEGATIVE_INFINITY : Date.parse(text);
}

const textIn = (row: JsonRow, column: string) => (row[column] ?? null) as string | null;
const numberIn = (row: JsonRow, column: string) => (row[column] ?? null) as number | null;
const flagIn = (row: JsonRow, column: string) => (row[column] ?? null) as boolean | null;
const instantIn = (row: JsonRow, column: string) => {
  const text = textIn(row, column);
  return text === null ? null : Date.parse(text);
};

function partiesIn(row: JsonRow) {
  return {
    callerType: textIn(row, 'caller_type'),
    callerNumber: textIn(row, 'caller_number'),
    calledType: textIn(row, 'called_type'),
    calledName: textIn(row, 'called_name'),
    calledNumber: textIn(row, 'called_number'),
    status: textIn(row, 'status'),
    startedAt: instantIn(row, 'started_at'),
    endedAt: instantIn(row, 'ended_at'),
    talkSeconds: numberIn(row, 'talk_seconds'),
    isRecorded: flagIn(row, 'is_recorded'),
  };
}

/** The columns of `warehouse.calls` that a call's facts depend on. */
export function callColumns(row: JsonRow): CallColumns {
  return {
    ...partiesIn(row),
    direction: textIn(row, 'direction'),
    statusCode: numberIn(row, 'status_code'),
    isAbandoned: flagIn(row, 'is_abandoned'),
    accountNumber: textIn(row, 'account_number'),
    hasLegs: row.legs_fetched_at != null,
  };
}

/** Reads the row of a leg from `warehouse.call_legs`. */
export function legColumns(row: JsonRow): LegColumns {
  return {
    ...partiesIn(row),
    ordinal: Number(row.ordinal),
    durationSeconds: numberIn(row, 'duration_seconds'),
  };
}

/** Progress of reading the recordings or transcripts of a call. */
export type ArtefactState = 'pending' | 'complete' | 'none' | 'gone' | 'forbidden';

/** The columns of a mirrored call that decide what else is read. */
export interface HeldCall {
  readonly isRecorded: boolean | null;
  readonly isDeleted: boolean;
  /** The start, or else the second in the call id. */
  readonly startedAt: Date;
  /** The end, or else `startedAt` plus the duration, if known. */
  readonly endedAt: Date;
  /** When the call was first mirrored. */
  readonly firstSeenAt: Date;
  readonly transferredCount: number | null;
  /** Null until its legs were read. */
  readonly legCount: number | null;
  readonly recordingsState: ArtefactState | null;
  readonly recordingCount: number;
  readonly transcriptsState: ArtefactState | null;
  readonly transcriptCount: number;
}

/** The mirrored call in a row of `warehouse.calls`. */
export function heldCallOf(row: JsonRow): HeldCall {
  const startedAt = instantIn(row, 'started_at') ?? momentOf(String(row.call_id)).getTime();
  return {
    isRecorded: flagIn(row, 'is_recorded'),
    isDeleted: row.deleted_at != null,
    startedAt: new Date(startedAt),
    endedAt: new Date(instantIn(row, 'ended_at') ?? startedAt + (numberIn(row, 'duration_seconds') ?? 0) * 1000),
    firstSeenAt: new Date(textIn(row, 'first_seen_at') ?? 0),
    transferredCount: numberIn(row, 'transferred_count'),
    legCount: numberIn(row, 'leg_count'),
    recordingsState: textIn(row, 'recordings_state') as ArtefactState | null,
    recordingCount: numberIn(row, 'recording_count') ?? 0,
    transcriptsState: textIn(row, 'transcripts_state') as ArtefactState | null,
    transcriptCount: numberIn(row, 'transcript_count') ?? 0,
  };
}

/** The mirrored call with this id. Undefined if the mirror has no row for it. */
export async function heldCall(db: Database, callId: string): Promise<HeldCall | undefined> {
  const [row] = await hotQuery<{ call: JsonRow }>(
    db,
    sql`select row_to_json(c) as call from warehouse.calls c where call_id = ${callId}`,
  );
  return row && heldCallOf(row.call);
}

/**
 * Maximum recordings of a call: one for each leg, or for each party if transfers result in more. Assumes two legs if
 * neither legs nor transfers are known, or if a read listed no legs.
 */
export function recordingsToExpect({
  legCount,
  transferredCount,
}: Pick<HeldCall, 'legCount' | 'transferredCount'>): number {
  const parties = 1 + (transferredCount ?? 0);
  return legCount === null && transferredCount !== null ? parties : Math.max(legCount || 2, parties);
}

/** The time in a call id: the Unix seconds before its dot (section 2.9). */
export function momentOf(callId: string): Date {
  return new Date(Number(callId.split('.')[0]) * 1000);
}
