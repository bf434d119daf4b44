import { createService } from '../../../src/api-client/client.ts';
import { compareUnread, type GapDetectionDeps } from '../../../src/completeness/gaps/unread.ts';
import type { LineUnread } from '../../../src/completeness/gaps/unread-comparisons.ts';
import { createLog } from '../../../src/shared/log.ts';
import type { TestDatabase } from '../../world/database.ts';
import { startOddService } from '../../world/service.ts';

export const [line, otherLine] = ['16465550100', '16465550101'] as const;

/** A service that counts unread texts as the test says, beside a mirror of two lines. */
export interface CountingService extends AsyncDisposable {
  /** What looks at it need. */
  readonly parts: GapDetectionDeps;
  /** What it counts of each line; it lists no others. */
  counts: Record<string, number>;
  /** Empties the mirror, but for its lines. */
  begin(): Promise<void>;
  /** Holds a thread of texts that the service does not call read, and that these users have read. Answers with its number. */
  hold(texts: number, more?: { readonly of?: string; readonly readers?: readonly number[] }): Promise<string>;
  /** Looks at the first line. */
  look(): Promise<LineUnread | undefined>;
  state(): Promise<LineUnread['state'] | undefined>;
  /** What is pending is read, and shows what is held. */
  readOwed(): Promise<void>;
}

const provenance = `'h', 'test', 1, now() - interval '1 hour'`;

export async function startCountingService({ db, query }: TestDatabase): Promise<CountingService> {
  const odd = await startOddService();
  const service = createService({
    baseUrl: odd.url,
    apiKey: 'key',
    log: createLog('silent'),
    retry: { tries: 1 },
  });
  let held = 0;
  odd.answer = () => ({
    data: { total: 0, lines: Object.entries(counting.counts).map(([line, count]) => ({ line, count })) },
  });

  const parts: GapDetectionDeps = {
    ...{ db, service, log: createLog('silent'), notify: () => undefined },
    pauses: { activeMs: 0, refusedMs: 0 },
  };
  const counting: CountingService = {
    parts,
    counts: {},
    async begin() {
      counting.counts = {};
      await query(
        `truncate warehouse.sms_lines, warehouse.sms_conversations, warehouse.sms_messages, warehouse.sms_message_reads,
           warehouse.sms_unread_snapshots, warehouse.calls, ops.sync_targets, ops.thread_candidates, ops.gaps, ops.erasures`,
      );
      for (const each of [line, otherLine]) {
        await query(
          `insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at) values ($1, ${provenance})`,
          each,
        );
      }
    },
    async hold(texts, { of = line, readers = [] } = {}) {
      const number = `1718555${String(++held).padStart(4, '0')}`;
      await query(
        `with c as (
           insert into warehouse.sms_conversations (line, number, thread_fetched_at)
           values ($1, $2, now() - interval '1 hour') returning conversation_id
         ), m as (
           insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, is_read, is_read_by_others, sent_at,
             content_hash, source, fetch_seq, fetched_at)
           select conversation_id, i, $1, $2, 'in', false, cardinality($4::bigint[]) > 0, now(), ${provenance} from c, generate_series(1, $3) i
         )
         insert into warehouse.sms_message_reads (conversation_id, message_id, user_id)
         select conversation_id, i, u from c, generate_series(1, $3) i, unnest($4::bigint[]) u`,
        of,
        number,
        texts,
        readers,
      );
      return number;
    },
    async look() {
      const looks = await compareUnread(parts);
      return looks.find((each) => each.line === line);
    },
    state: async () => (await counting.look())?.state,
    async readOwed() {
      await query(
        `update warehouse.sms_conversations set is_reread_owed = false, thread_fetched_at = clock_timestamp() where is_reread_owed`,
      );
    },
    async [Symbol.asyncDispose]() {
      await service.close();
      await odd[Symbol.asyncDispose]();
    },
  };
  return counting;
}

/** So many minutes pass for what is kept of looks, of reads and of probes. */
export async function passMinutes({ query }: TestDatabase, minutes: number): Promise<void> {
  const earlier = (columns: readonly string[]) =>
    columns.map((column) => `${column} = ${column} - $1 * interval '1 minute'`).join(', ');
  await query(`update warehouse.sms_unread_snapshots set ${earlier(['observed_at', 'unchanged_until'])}`, minutes);
  const ofThreads = ['thread_fetched_at', 'complete_read_at', 'unread_reread_at'];
  await query(`update warehouse.sms_conversations set ${earlier(ofThreads)}`, minutes);
  await query(`update warehouse.sms_messages set ${earlier(['first_seen_at'])}`, minutes);
  await query(`update ops.thread_candidates set ${earlier(['evidence_at', 'probed_at'])}`, minutes);
}
