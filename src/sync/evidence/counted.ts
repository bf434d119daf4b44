import { type Database, query } from '../../warehouse/database.ts';

/**
 * What a service counts as unread: texts that the calling user has not read, or, for an API key, which has no unread state
 * of its own, texts of the line that nobody has read (sections 2.6, 4.3).
 */
export type UnreadKind = 'personal' | 'line';

export type Counts = Readonly<Record<UnreadKind, number>>;

const isUnread = `m.direction = 'in' and m.is_read = false and m.deleted_at is null`;

/** The messages `m` that are unread, by kind. */
export const countedAs: Readonly<Record<UnreadKind, string>> = {
  personal: isUnread,
  line: `${isUnread} and not m.is_read_by_others`,
};

const none: Counts = { personal: 0, line: 0 };

/** The unread texts that are held of each line, or of them those sent after a moment. */
export async function heldUnread(
  db: Database,
  lines: readonly string[],
  since?: Date,
): Promise<ReadonlyMap<string, Counts>> {
  const rows = await query<Counts & { of: string }>(
    db,
    `select m.line as of, count(*)::integer as personal, (count(*) filter (where not m.is_read_by_others))::integer as line
     from warehouse.sms_messages m
     where m.line = any($1) and ${isUnread} and ($2::timestamptz is null or m.sent_at > $2) group by m.line`,
    [lines, since],
  );
  const held = new Map(rows.map(({ of, personal, line }) => [of, { personal, line }]));
  return new Map(lines.map((line) => [line, held.get(line) ?? none]));
}

/** The kind that a line's count shows it to be; undefined where both are as many, and where it is neither. */
export function agreement(reported: number, held: Counts): UnreadKind | undefined {
  if (held.personal === held.line) return undefined;
  if (reported === held.personal) return 'personal';
  return reported === held.line ? 'line' : undefined;
}

/** A few texts more or less agree with the wrong kind now and then: of so many looks, most do not. */
const lookedAt = 100;

/**
 * What this service counts, by the newest looks that could tell, on whichever line; before there are any, by those of
 * `now`. Undefined while nothing tells.
 */
export async function learnKind(
  db: Database,
  now: readonly (UnreadKind | undefined)[],
): Promise<UnreadKind | undefined> {
  const seen = await query<{ kind: UnreadKind }>(
    db,
    `select agrees_with as kind from warehouse.sms_unread_snapshots where agrees_with is not null
     order by observed_at desc limit ${lookedAt}`,
    [],
  );
  const votes = seen.length > 0 ? seen.map(({ kind }) => kind) : now.filter((kind) => kind !== undefined);
  if (votes.length === 0) return undefined;
  return votes.filter((kind) => kind === 'personal').length > votes.length / 2 ? 'personal' : 'line';
}
