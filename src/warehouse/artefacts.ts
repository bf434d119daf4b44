import { hotQuery, relation, sql, type Transaction, unseen } from '../db/database.ts';
import { isExpired } from './expiry.ts';
import { type Answered, extrasOf } from './extra.ts';
import { type ArtefactState, type HeldCalls, heldCallOf, holdCalls, type JsonRow, momentOf } from './held-calls.ts';
import type { LinkSealer } from './links.ts';
import { type Change, type Columns, type MirrorTable, markDeleted, type Provenance, upsert } from './upsert.ts';
import type { Follow, Following } from './what-follows.ts';

/** One read of a call's recordings or transcripts. */
export interface ArtefactRead {
  readonly callId: string;
  /** The answer listed everything, so missing artefacts are deleted. */
  readonly isComplete: boolean;
  readonly state: ArtefactState;
  readonly read: Provenance;
  /** Undefined: links aren't stored. */
  readonly sealer?: LinkSealer | undefined;
  /** For how many days after the start of the call its content is kept. Undefined: forever. */
  readonly retentionDays?: number | undefined;
}

/** A recording or transcript that a read listed. */
export interface Listed<Each> extends Pick<ArtefactRead, 'callId' | 'read' | 'sealer'> {
  readonly each: Each;
  /** It is older than its retention, so none of its content may be stored. */
  readonly isExpired: boolean;
}

/** The differences between recordings and transcripts. */
export interface ArtefactKind<Read extends ArtefactRead, Each extends Answered, C extends Columns> {
  readonly name: 'recordings' | 'transcripts';
  readonly table: MirrorTable<Listed<Each>, C>;
  /** The columns that `followingChange` compares. */
  readonly watched: readonly (keyof C & string)[];
  listedBy(read: Read): readonly Each[];
  withoutErased(tx: Transaction, reads: readonly Read[]): Promise<readonly Read[]>;
  /** Stores content that belongs in other tables. Resolves to the calls whose reports change. */
  storeContent(tx: Transaction, listed: readonly Listed<Each>[]): Promise<readonly string[]>;
  followingChange?(change: Change<JsonRow>, call: JsonRow | undefined): Following;
}

/**
 * Mirrors recordings or transcripts, and pairs them again. Drops reads that started before the newest one applied to
 * the artefacts of their call. The caller has locked the calls in `locked`, so writes for one call happen one after the
 * other.
 */
export async function writeArtefacts<Read extends ArtefactRead, Each extends Answered, C extends Columns>(
  tx: Transaction,
  follow: Follow,
  kind: ArtefactKind<Read, Each, C>,
  all: readonly Read[],
  locked?: HeldCalls,
): Promise<void> {
  if (all.length === 0) return;
  const idsOf = (some: readonly { readonly callId: string }[]) => some.map(({ callId }) => callId);
  const { calls } = locked ?? (await holdCalls(tx, idsOf(all)));
  const callOf = (callId: unknown) => calls.get(String(callId))?.call;
  const isCurrent = ({ callId, read }: Read) => {
    const fetchedAt = callOf(callId)?.[`${kind.name}_fetched_at`];
    return fetchedAt == null || Date.parse(String(fetchedAt)) <= Date.parse(read.fetchedAt);
  };
  const reads = await kind.withoutErased(tx, all.filter(isCurrent));
  if (reads.length === 0) return;
  const listed = reads.flatMap((found) => {
    const { callId, read, sealer, retentionDays } = found;
    const call = callOf(callId);
    const startedAt = call ? heldCallOf(call).startedAt : momentOf(callId);
    const ofRead = { callId, read, sealer, isExpired: isExpired(retentionDays, startedAt) };
    return kind.listedBy(found).map((each) => ({ ...ofRead, each }));
  });
  const extras = extrasOf(listed.map(({ each }) => each));
  const rows = listed.map((one, at) => {
    const extra = one.isExpired ? undefined : extras[at];
    return { row: kind.table.row(one), read: one.read, extra };
  });
  for (const change of await upsert(tx, kind.table, rows, kind.watched)) {
    if (kind.followingChange) follow(kind.followingChange(change, callOf(change.after.call_id)));
  }
  const reported = [
    ...(await kind.storeContent(tx, listed)),
    ...(await recordReads(tx, kind.name, reads)),
    ...(await pairTranscripts(tx, idsOf(listed))),
  ];
  follow({ calls: reported.map((callId) => callOf(callId)?.started_at) });
}

/**
 * Marks artefacts deleted that complete reads no longer list, and records their count, state and read time on the
 * calls. Resolves to the calls with deleted artefacts.
 */
async function recordReads(
  tx: Transaction,
  kind: 'recordings' | 'transcripts',
  reads: readonly ArtefactRead[],
): Promise<string[]> {
  const table = sql.table(`warehouse.${kind}`);
  const count = sql.ref(kind === 'recordings' ? 'recording_count' : 'transcript_count');
  const complete = reads.filter(({ isComplete }) => isComplete);
  const deleted = await markDeleted(tx, `warehouse.${kind}`, 'call_id', 'the call no longer lists it', complete);
  await hotQuery(
    tx,
    sql`
      update warehouse.calls c set
        ${sql.ref(`${kind}_fetched_at`)} = r.fetched_at, ${sql.ref(`${kind}_state`)} = r.state,
        ${count} = case when r.state = 'forbidden' then c.${count} else
          (select count(*) from ${table} x where x.call_id = c.call_id and x.deleted_at is null) end
      from ${relation('r', reads, {
        call_id: ['text', (each) => each.callId],
        fetched_at: ['timestamptz', (each) => each.read.fetchedAt],
        state: 'text',
      })}
      where c.call_id = any(${unseen(reads.map(({ callId }) => callId))}) and c.call_id = r.call_id`,
  );
  return deleted.map(({ call_id }) => String(call_id));
}

type Pairing = 'exact' | 'substring' | 'single_leg' | 'ambiguous' | 'none';

/** The leg of a transcript, and how it was found. */
interface Paired {
  readonly pairing: Pairing;
  readonly uniqueId: string | null;
}

/**
 * Finds the recorded leg of a transcript (section 2.11): its file name contains the leg's uniqueId without the dot.
 *
 * - `exact`: no digit stands before or after the match. `substring`: only digits before it. A match followed by a digit
 *   belongs to another leg.
 * - `single_leg`: no match, but the call has one recording and one transcript. Wrong if another recording is missing.
 */
export function pairTranscript(file: string | null, uniqueIds: readonly string[], transcriptCount: number): Paired {
  const legs = uniqueIds.map((id) => ({ id, digits: id.replace('.', '') })).filter(({ digits }) => digits !== '');
  for (const [pairing, before] of [['exact', '(?<!\\d)'] as const, ['substring', ''] as const]) {
    const found = legs.filter(({ digits }) => new RegExp(`${before}${RegExp.escape(digits)}(?!\\d)`).test(file ?? ''));
    if (found.length > 1) return { pairing: 'ambiguous', uniqueId: null };
    if (found[0]) return { pairing, uniqueId: found[0].id };
  }
  const [only] = legs;
  if (only && legs.length === 1 && transcriptCount === 1 && !file?.includes(only.digits)) {
    return { pairing: 'single_leg', uniqueId: only.id };
  }
  return { pairing: legs.length > 0 && transcriptCount > 1 ? 'ambiguous' : 'none', uniqueId: null };
}

/**
 * Pairs all transcripts of these calls with the mirrored recordings. Call it after each change of either. Resolves to
 * the calls whose transcripts got another leg.
 */
export async function pairTranscripts(tx: Transaction, callIds: readonly string[]): Promise<string[]> {
  if (callIds.length === 0) return [];
  const ids = [...new Set(callIds)];
  const rows = await hotQuery(
    tx,
    sql<{ transcript_id: string; recording_file: string | null; unique_ids: string[]; siblings: number }>`
     select t.transcript_id, t.recording_file,
       array(select r.unique_id from warehouse.recordings r where r.call_id = t.call_id order by 1) as unique_ids,
       (select count(*) from warehouse.transcripts s where s.call_id = t.call_id and s.deleted_at is null)::integer as siblings
     from warehouse.transcripts t where t.call_id = any(${ids})
     order by t.transcript_id for update of t`,
  );
  if (rows.length === 0) return [];
  const paired = rows.map(({ transcript_id, recording_file, unique_ids, siblings }) => ({
    transcript_id,
    ...pairTranscript(recording_file, unique_ids, siblings),
  }));
  const changed = await hotQuery(
    tx,
    sql<{ call_id: string }>`
      update warehouse.transcripts t set leg_unique_id = p.unique_id, leg_pairing = p.pairing
      from ${relation('p', paired, {
        transcript_id: 'bigint',
        unique_id: ['text', (each) => each.uniqueId],
        pairing: 'text',
      })}
      where t.transcript_id = p.transcript_id and (t.leg_unique_id, t.leg_pairing) is distinct from (p.unique_id, p.pairing)
      returning t.call_id`,
  );
  return changed.map(({ call_id }) => call_id);
}
