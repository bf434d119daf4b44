import { hotQuery, type Transaction } from '../../database.ts';

export type Pairing = 'exact' | 'substring' | 'single_leg' | 'ambiguous' | 'none';

/** How a transcript belongs to a leg, and to which. */
export interface Paired {
  readonly pairing: Pairing;
  readonly uniqueId: string | null;
}

/**
 * Finds the recorded leg of a transcript (section 2.11): its file name holds the leg's uniqueId without the dot. One
 * match between other characters than digits is exact; one that only follows digits is a substring, while one that goes
 * on with digits is another leg's. A name that holds none of them belongs to the only recording of the only transcript,
 * which `single_leg` says: where a recording is missing, that may be another leg's.
 */
export function pairTranscript(file: string | null, uniqueIds: readonly string[], transcriptCount: number): Paired {
  const places = uniqueIds.map((id) => ({ id, place: placeOf(file ?? '', id.replace('.', '')) }));
  for (const [pairing, place] of [
    ['exact', 'alone'],
    ['substring', 'after_digits'],
  ] as const) {
    const found = places.filter((each) => each.place === place);
    if (found.length === 1) return { pairing, uniqueId: found[0]?.id ?? null };
    if (found.length > 1) return { pairing: 'ambiguous', uniqueId: null };
  }
  const [only] = places;
  if (places.length === 1 && transcriptCount === 1 && only?.place === 'absent') {
    return { pairing: 'single_leg', uniqueId: only.id };
  }
  return { pairing: places.length > 0 && transcriptCount > 1 ? 'ambiguous' : 'none', uniqueId: null };
}

/** The best place at which a name holds an id's digits. */
function placeOf(name: string, digits: string): 'alone' | 'after_digits' | 'before_digits' | 'absent' {
  let best: 'after_digits' | 'before_digits' | 'absent' = 'absent';
  for (let at = name.indexOf(digits); at >= 0 && digits !== ''; at = name.indexOf(digits, at + 1)) {
    const isBeforeDigit = isDigit(name[at + digits.length]);
    if (!isBeforeDigit && !isDigit(name[at - 1])) return 'alone';
    if (!isBeforeDigit) best = 'after_digits';
    else if (best === 'absent') best = 'before_digits';
  }
  return best;
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9';
}

/** Pairs all transcripts of these calls with what recordings are held now; a leg that arrives later pairs them again. */
export async function pairTranscripts(tx: Transaction, callIds: readonly string[]): Promise<void> {
  if (callIds.length === 0) return;
  const rows = await hotQuery<{
    transcript_id: string;
    recording_file: string | null;
    unique_ids: string[];
    siblings: number;
  }>(
    tx,
    `select t.transcript_id, t.recording_file,
       array(select r.unique_id from warehouse.recordings r where r.call_id = t.call_id order by 1) as unique_ids,
       (select count(*) from warehouse.transcripts s where s.call_id = t.call_id and s.deleted_at is null)::integer as siblings
     from warehouse.transcripts t where t.call_id = any($1)
     order by t.transcript_id for update of t`,
    [[...new Set(callIds)]],
  );
  if (rows.length === 0) return;
  const paired = rows.map((row) => pairTranscript(row.recording_file, row.unique_ids, row.siblings));
  await hotQuery(
    tx,
    `update warehouse.transcripts t set leg_unique_id = p.unique_id, leg_pairing = p.pairing
     from unnest($1::bigint[], $2::text[], $3::text[]) as p (transcript_id, unique_id, pairing)
     where t.transcript_id = p.transcript_id and (t.leg_unique_id, t.leg_pairing) is distinct from (p.unique_id, p.pairing)`,
    [rows.map((row) => row.transcript_id), paired.map((each) => each.uniqueId), paired.map((each) => each.pairing)],
  );
}
