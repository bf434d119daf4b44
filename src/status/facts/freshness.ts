import type { TargetKind } from '../../inbox/target.ts';
import { type Database, query } from '../../warehouse/database.ts';

/** How fresh the mirror of one stream is. Null where there is nothing yet. */
export interface Freshness {
  readonly kind: TargetKind;
  /** The moment of its newest row: a text's sending, a call's start, the last change of users and lines. */
  readonly newestAt: Date | null;
  /** When the newest read that was mirrored began. */
  readonly readAt: Date | null;
}

/** Where the daemon stands with the recordings and transcripts of the newest calls. */
export interface Artefacts {
  readonly calls: number;
  readonly recordings: Readonly<Record<string, number>>;
  readonly transcripts: Readonly<Record<string, number>>;
}

/** So many of the newest rows are looked at, through the index of their moments: the whole tables are too large. */
const newestRows = 500;

interface Stream {
  newest: Date | null;
  read: Date | null;
}

export async function readFreshness(db: Database): Promise<Freshness[]> {
  const [texts] = await query<Stream>(
    db,
    `select max(sent_at) as newest, max(fetched_at) as read from (
       select sent_at, fetched_at from warehouse.sms_messages where sent_at <= now() order by sent_at desc limit ${newestRows}
     ) m`,
    [],
  );
  const [calls] = await query<
    Record<'calls' | 'recordings' | 'transcripts', Date | null> & Record<string, Date | null>
  >(
    db,
    `select max(started_at) as calls, max(started_at) filter (where recording_count > 0) as recordings,
       max(started_at) filter (where transcript_count > 0) as transcripts, max(fetched_at) as calls_read,
       max(recordings_fetched_at) as recordings_read, max(transcripts_fetched_at) as transcripts_read
     from (${newestCalls}) c`,
    [],
  );
  const [users] = await query<Stream>(db, directoryOf('warehouse.users'), []);
  const [lines] = await query<Stream>(db, directoryOf('warehouse.sms_lines'), []);
  const of = (kind: TargetKind, newestAt: Date | null | undefined, readAt: Date | null | undefined): Freshness => ({
    kind,
    newestAt: newestAt ?? null,
    readAt: readAt ?? null,
  });
  return [
    of('thread', texts?.newest, texts?.read),
    of('call', calls?.calls, calls?.calls_read),
    of('recordings', calls?.recordings, calls?.recordings_read),
    of('transcripts', calls?.transcripts, calls?.transcripts_read),
    of('users', users?.newest, users?.read),
    of('lines', lines?.newest, lines?.read),
  ];
}

export async function readArtefacts(db: Database): Promise<Artefacts> {
  const rows = await query<{ what: 'recordings' | 'transcripts'; state: string; calls: number }>(
    db,
    `select what, state, count(*)::int as calls
     from (${newestCalls}) c
     cross join lateral (values ('recordings', recordings_state), ('transcripts', transcripts_state)) s (what, state)
     where state is not null group by what, state`,
    [],
  );
  const of = (what: string) =>
    Object.fromEntries(rows.flatMap((row) => (row.what === what ? [[row.state, row.calls]] : [])));
  const recordings = of('recordings');
  const transcripts = of('transcripts');
  return { calls: Math.max(total(recordings), total(transcripts)), recordings, transcripts };
}

const newestCalls = `select * from warehouse.calls where started_at <= now() order by started_at desc limit ${newestRows}`;

function directoryOf(table: string): string {
  return `select max(changed_at) as newest, max(fetched_at) as read from ${table}`;
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
