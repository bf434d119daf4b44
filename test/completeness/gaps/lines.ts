import { afterAll, beforeEach } from 'vitest';
import { createService } from '../../../src/api-client/client.ts';
import { addNumbers, probe } from '../../../src/completeness/gaps/candidate-threads.ts';
import { createGapDetection } from '../../../src/completeness/gaps/gap-detection.ts';
import { compareUnread, type GapDetectionDeps } from '../../../src/completeness/gaps/unread.ts';
import { createLog } from '../../../src/shared/log.ts';
import { migratedDatabase } from '../../world/database.ts';
import { startOddService } from '../../world/service.ts';

export const [line, otherLine] = ['16465550100', '16465550101'] as const;

const provenance = `'h', 'test', 1, now() - interval '1 hour'`;
const columns = 'content_hash, source, fetch_seq, fetched_at';

/** A mirror of two lines, empty before each test, beside a service that counts their unread texts as the test says. */
export async function openLines() {
  const database = await migratedDatabase();
  const { db, query, value } = database;
  const odd = await startOddService();
  const service = createService({ baseUrl: odd.url, apiKey: 'key', log: createLog('silent'), retry: { tries: 1 } });
  afterAll(async () => {
    await service.close();
    await odd[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  const counting = {
    /** What it counts of each line; it lists no others. */
    counts: {} as Record<string, number>,
    /** The same of the texts since the mirror was made. */
    recent: undefined as Record<string, number> | undefined,
  };
  odd.answer = ({ query }) => {
    const counts = (query.has('since') && counting.recent) || counting.counts;
    return { data: { total: 0, lines: Object.entries(counts).map(([line, count]) => ({ line, count })) } };
  };
  const parts: GapDetectionDeps = {
    ...{ db, service, log: createLog('silent'), notify: () => undefined },
  };
  beforeEach(async () => {
    Object.assign(counting, { counts: {}, recent: undefined });
    await query(
      `truncate warehouse.sms_lines, warehouse.sms_conversations, warehouse.sms_messages, warehouse.sms_message_reads,
         warehouse.sms_unread_snapshots, warehouse.calls, ops.sync_targets, ops.thread_candidates, ops.gaps, ops.erasures,
         ops.backfills`,
    );
    for (const each of [line, otherLine])
      await query(`insert into warehouse.sms_lines (line, ${columns}) values ($1, ${provenance})`, each);
  });

  let sequence = 0;
  const next = () => String(++sequence).padStart(4, '0');
  const look = async () => (await compareUnread(parts)).find((each) => each.line === line);
  return {
    ...{ db, pool: database.pool, url: database.url, query, value, parts, counting, look },
    state: async () => (await look())?.state,
    round: () => createGapDetection(parts).round(),
    /** A number called so long ago. */
    async called(number: string, ago = '1 hour', called: string = line): Promise<void> {
      await query(
        `insert into warehouse.calls (call_id, started_at, external_number, account_number, ${columns})
         values ($1, now() - $2::interval, $3, $4, ${provenance})`,
        ...[`1.${next()}`, ago, number, called],
      );
    },
    /** Holds a thread of texts that the service does not call read, and that these users have read. Resolves to its number. */
    async hold(
      texts: number,
      { of = line as string, number = `1718555${next()}`, readers = [] as readonly number[] } = {},
    ): Promise<string> {
      await query(
        `with c as (
           insert into warehouse.sms_conversations (line, number, thread_fetched_at, last_message_at)
           values ($1, $2, now() - interval '1 hour', now()) returning conversation_id
         ), m as (
           insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, is_read, is_read_by_others, sent_at, ${columns})
           select conversation_id, i, $1, $2, 'in', false, cardinality($4::bigint[]) > 0, now(), ${provenance} from c, generate_series(1, $3) i
         )
         insert into warehouse.sms_message_reads (conversation_id, message_id, user_id)
         select conversation_id, i, u from c, generate_series(1, $3) i, unnest($4::bigint[]) u`,
        ...[of, number, texts, readers],
      );
      return number;
    },
    /** Webhooks of these streams were lost in the last hour; calls are searched later. */
    async gap(...streams: readonly string[]): Promise<void> {
      await query(
        `insert into ops.gaps (stream, from_at, to_at, reason, next_try_at)
         select s, now() - interval '1 hour', now(), 'a test', now() + case s when 'calls' then interval '1 hour' else '0' end
         from unnest($1::text[]) s`,
        streams,
      );
    },
    openGaps: (stream = 'texts') =>
      value('select count(*)::integer from ops.gaps where filled_at is null and stream = $1', stream),
    /** So many minutes pass for what is kept of looks, of reads and of probes. */
    async pass(minutes: number): Promise<void> {
      const earlier = (...columns: readonly string[]) =>
        columns.map((column) => `${column} = ${column} - interval '${minutes} minutes'`).join();
      await query(`update warehouse.sms_unread_snapshots set ${earlier('observed_at', 'unchanged_until')}`);
      await query(
        `update warehouse.sms_conversations set ${earlier('thread_fetched_at', 'complete_read_at', 'unread_reread_at')}`,
      );
      await query(`update warehouse.sms_messages set ${earlier('first_seen_at')}`);
      await query(`update ops.thread_candidates set ${earlier('evidence_at', 'probed_at')}`);
    },
    /** What is pending is read, and shows what is held. */
    async readOwed(): Promise<void> {
      await query(
        `update warehouse.sms_conversations set is_reread_owed = false, thread_fetched_at = clock_timestamp() where is_reread_owed`,
      );
    },
    /** Threads that are to be read to their end. */
    owed: () => value('select count(*)::integer from warehouse.sms_conversations where is_reread_owed'),
    /** The candidates that were asked for or are to be, as `line number`. */
    candidates: async (where = 'true') =>
      (
        await query<{ pair: string }>(
          `select line || ' ' || number as pair from ops.thread_candidates where ${where} order by 1`,
        )
      ).map(({ pair }) => pair),
    /** A back-fill asked for the number on the line, and found nothing. */
    async askedInVain(number: string): Promise<void> {
      await addNumbers(db, [{ number, line }]);
      await probe(db, 100);
    },
    /** How many minutes ago the number was asked for on the line; null while it is still to be. */
    askedAgo: (number: string) =>
      value(
        `select round(extract(epoch from now() - probed_at) / 60)::integer from ops.thread_candidates where line = $1 and number = $2`,
        ...[line, number],
      ),
  };
}
