import { expect } from 'vitest';
import { type Database, query, sql } from '../../src/db/database.ts';
import { adoptHours } from '../../src/reporting/hours.ts';
import { drainRollups } from '../../src/reporting/rollups.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { callFacts } from '../../src/warehouse/call-facts.ts';
import { callColumns, holdCalls, legColumns } from '../../src/warehouse/held-calls.ts';
import { optOutVerdict } from '../../src/warehouse/opt-out.ts';
import { creditCalls } from '../../src/warehouse/users.ts';
import { recordFollowing } from '../../src/warehouse/what-follows.ts';
import { refreshFacts } from '../../src/warehouse/write-calls.ts';
import { migratedDatabase, openDatabase, type TestDatabase } from '../world/database.ts';

type Values = Readonly<Record<string, unknown>>;

/** Facts of the warehouse as a test states them; what it does not state has a plain value or is not reported. */
export interface Facts extends TestDatabase {
  /** Rows as a table of text: their values in the order of the columns, `-` for NULL. */
  lines(text: string, ...parameters: readonly unknown[]): Promise<string[]>;
  /** Expects of {@link lines}: `await expectRows('select …').toEqual(['1 | -'])`. */
  expectRows(text: string, ...parameters: readonly unknown[]): ReturnType<typeof expect<Promise<string[]>>>['resolves'];
  /** Inserts rows; the columns that every mirrored row has are filled in. Moments may be written as {@link momentOf} reads them. */
  insert(table: string, ...rows: readonly Values[]): Promise<void>;
  /**
   * An inbound external call of two minutes that was answered after ten seconds, unless told otherwise. With legs, which
   * {@link legOf} reads, it was read whole, and what follows from them is computed.
   */
  call(values: Values, legs?: readonly string[]): Promise<void>;
  /** Calls as {@link rowsOf} reads them. */
  calls(table: string): Promise<void>;
  user(
    userId: number,
    extensions: readonly (string | { endpoint: string; from?: string; to?: string })[],
  ): Promise<void>;
  /** A conversation with its messages; each is `[time, direction, values]`. */
  thread(id: number, messages: readonly (readonly [string, 'in' | 'out', Values?])[], values?: Values): Promise<void>;
  params(values: Values): Promise<void>;
  /** Has the reports count business time by hours as a rules file writes them. */
  hours(written: string, timeZone?: string): Promise<'same' | 'adopted' | 'recounted'>;
  /** Computes what follows from calls and their legs, attributions included, as their writer does. */
  measure(...callIds: readonly string[]): Promise<void>;
  /** Credits calls to the user of an extension, who was learned after them. */
  credit(endpoint: string, from?: string): Promise<void>;
  /** Marks everything as changed, as the writers of facts mark what they change. */
  mark(): Promise<void>;
  drain(): Promise<void>;
}

const provenance = { content_hash: 'h', source: 'test', fetch_seq: 1, fetched_at: '2026-01-01T00:00:00Z' };
const mirrored = new Set(['users', 'sms_messages', 'calls', 'call_legs', 'recordings', 'transcripts']);

/** `15:00` is on Monday 2026-03-02, and `03-07T15:00` in 2026; in UTC. */
export function momentOf(text: string): string {
  const [, day = '03-02T', time] = /^(\d\d-\d\dT)?(\d\d:\d\d(?::\d\d)?)$/.exec(text) ?? [];
  return time === undefined ? text : `2026-${day}${time}Z`;
}

/** Rows as text: values under a line of names, parted by blanks, or by `|` where some have blanks. `-` is NULL. */
export function rowsOf(table: string): Values[] {
  const [names = [], ...rows] = table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(line.includes('|') ? /\s*\|\s*/ : /\s+/));
  return rows.map((row) => Object.fromEntries(row.map((value, at) => [names[at], value === '-' ? null : value])));
}

/**
 * `ivr>queue:601:Sales 12 30 0`: who called (`external` unless told), whom, the start in seconds from the call's, how
 * long it rang and how long it talked. `-` is not reported.
 */
function legOf(text: string, startedAt: unknown) {
  const [parties = '', start = '-', ring = '-', talk = '-'] = text.split(' ');
  const [called, caller = 'external'] = parties.split('>').reverse();
  const end = (side: string, party = '') => {
    const [type, number = '', name = ''] = party.split(':');
    return {
      [`${side}_type`]: type === '-' ? null : type,
      [`${side}_number`]: number || null,
      [`${side}_name`]: name || null,
    };
  };
  const seconds = (word: string) => (word === '-' ? null : Number(word));
  const from = start === '-' ? null : new Date(momentOf(String(startedAt))).getTime() + Number(start) * 1_000;
  const length = ring === '-' ? null : Number(ring) + Number(talk);
  return {
    values: {
      ...{ ...end('caller', caller), ...end('called', called), talk_seconds: seconds(talk), duration_seconds: length },
      started_at: from === null ? null : new Date(from),
    },
    endedAt: from === null || length === null ? null : from + length * 1_000,
  };
}

function shown(value: unknown): string {
  return value instanceof Date ? value.toISOString().replace('.000Z', 'Z') : value === null ? '-' : String(value);
}

/** As `warehouse/messages.ts` judges an inbound text. */
function verdictOf(table: string, { direction, body }: Values): Values {
  const isJudged = table === 'warehouse.sms_messages' && direction === 'in' && typeof body === 'string';
  return isJudged ? { opt_out_verdict: optOutVerdict(body) } : {};
}

/** A migrated database of its own, or the one at a URL, with facts to state. */
export async function factsDatabase(url?: string): Promise<Facts> {
  const database = url === undefined ? await migratedDatabase() : openDatabase(url);

  async function insert(table: string, ...rows: readonly Values[]): Promise<void> {
    const isMirrored = mirrored.has(table.replace('warehouse.', ''));
    for (const row of rows) {
      const values: Values = isMirrored ? { ...provenance, ...verdictOf(table, row), ...row } : row;
      const names = Object.keys(values);
      const places = names.map((_, at) => `$${at + 1}`).join(', ');
      const given = Object.entries(values).map(([name, value]) =>
        name.endsWith('_at') && typeof value === 'string' ? momentOf(value) : value,
      );
      await database.query(`insert into ${table} (${names.join(', ')}) values (${places})`, ...given);
    }
  }

  async function call(values: Values, texts?: readonly string[]): Promise<void> {
    const legs = (texts ?? []).map((text) => legOf(text, values.started_at));
    const ends = legs.flatMap(({ endedAt }) => endedAt ?? []);
    const ended = Math.max(...ends);
    const isTimed = legs.length > 0 && ends.length === legs.length;
    const length = isTimed ? (ended - new Date(momentOf(String(values.started_at))).getTime()) / 1_000 : 120;
    await insert('warehouse.calls', {
      ...{ direction: 'inbound', status: 'answered', duration_seconds: length, talk_seconds: 110, is_abandoned: false },
      ...{ caller_type: 'external', called_type: 'user', is_internal: false, external_number: '15550000001' },
      ...{ account_number: '15559990000', ended_at: isTimed ? new Date(ended) : null },
      ...(texts && { leg_count: legs.length, legs_fetched_at: '2026-12-31T00:00:00Z' }),
      ...values,
    });
    for (const [at, leg] of legs.entries()) {
      const ordinal = at + 1;
      await insert('warehouse.call_legs', { call_id: values.call_id, leg_key: `#${ordinal}`, ordinal, ...leg.values });
    }
    if (texts) await measure(String(values.call_id));
  }

  async function measure(...callIds: readonly string[]): Promise<void> {
    await database.db.transaction().execute((tx) => refreshFacts(tx, callIds));
  }

  async function lines(text: string, ...parameters: readonly unknown[]): Promise<string[]> {
    const counted = `select (select count(*)::integer from json_each(row_to_json(t))) as column_count, t.* from (${text}) t`;
    const rows = await database.query(counted, ...parameters);
    return rows.map(({ column_count, ...row }) => {
      const values = Object.values(row);
      // Of two columns of one name, such as two sums, the driver gives one.
      if (values.length !== column_count) throw new Error(`Name the columns: ${text}`);
      return values.map(shown).join(' | ');
    });
  }

  return {
    ...database,
    insert,
    lines,
    expectRows: (text, ...parameters) => expect(lines(text, ...parameters)).resolves,
    call,
    async calls(table) {
      for (const row of rowsOf(table)) await call(row);
    },
    async user(userId, extensions) {
      await insert('warehouse.users', { user_id: userId, first_name: 'User', last_name: String(userId) });
      for (const each of extensions) {
        const { endpoint, from = '-infinity', to = 'infinity' } = typeof each === 'string' ? { endpoint: each } : each;
        const held = { user_id: userId, kind: 'extension', endpoint, valid_from: from, valid_to: to };
        await insert('warehouse.user_endpoints', held);
        await credit(endpoint, from);
      }
    },
    async thread(id, messages, values = {}) {
      const thread = { line: '15559990000', number: `1555100${String(id).padStart(4, '0')}`, ...values };
      const lastIn = messages.findLast(([, direction]) => direction === 'in')?.[0];
      await database.query(
        `insert into warehouse.sms_conversations (conversation_id, line, number, participants_key, last_direction, last_inbound_at)
         overriding system value values ($1, $2, $3, $4, $5, $6)`,
        id,
        thread.line,
        thread.number,
        values.participants_key ?? '',
        messages.at(-1)?.[1],
        lastIn && momentOf(lastIn),
      );
      for (const [at, [sentAt, direction, own]] of messages.entries()) {
        await insert('warehouse.sms_messages', {
          ...{ conversation_id: id, message_id: id * 1000 + at, line: thread.line, number: thread.number },
          ...{ direction, sent_at: sentAt, body: 'text', ...own },
        });
      }
    },
    hours: (written, timeZone = 'America/New_York') =>
      adoptHours(database.db, parseRules(`${written}\nrules: []\n`, { file: 'rules.yaml', timeZone }).hours),
    async params(values) {
      const sets = Object.keys(values).map((name, at) => `${name} = $${at + 1}`);
      await database.query(`update reporting.params set ${sets.join(', ')}`, ...Object.values(values));
    },
    credit,
    measure,
    mark,
    async drain() {
      await stateReached(database.db);
      await mark();
      await drainRollups(database.db);
    },
  };

  async function credit(endpoint: string, from = '-infinity'): Promise<void> {
    const validFrom = from === '-infinity' ? Number.NEGATIVE_INFINITY : new Date(from);
    const extension = { kind: 'extension', endpoint, valid_from: validFrom } as const;
    await database.db.transaction().execute((tx) => creditCalls(tx, [extension]));
  }

  async function mark(): Promise<void> {
    await database.db.transaction().execute(async (tx) => {
      const moments = async (statement: string) =>
        (await query<{ at: Date }>(tx, statement, [])).map(({ at }) => at.toISOString());
      const threads =
        'select conversation_id as id from warehouse.sms_conversations union select conversation_id from rollups.sms_turns';
      const replies = `select line, number, sent_at as at from warehouse.sms_messages where direction = 'in' and sent_at is not null`;
      await recordFollowing(tx, {
        calls: await moments('select started_at as at from warehouse.calls where started_at is not null'),
        texts: await moments('select sent_at as at from warehouse.sms_messages where sent_at is not null'),
        threads: (await query<{ id: string }>(tx, threads, [])).map(({ id }) => id),
        replies: await query(tx, replies, []),
      });
    });
  }
}

/** How far calls came, without the other facts: tests state waits, groups and users as columns. */
async function stateReached(db: Database): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const ids = await query<{ id: string }>(tx, 'select call_id as id from warehouse.calls', []);
    const callIds = ids.map(({ id }) => id);
    const { calls } = await holdCalls(tx, callIds);
    for (const [id, { call, legs }] of calls) {
      const existing = legs.filter(({ deleted_at }) => deleted_at === null);
      const { columns } = callFacts(callColumns(call), existing.map(legColumns), () => null);
      await query(
        tx,
        sql`update warehouse.calls set reached = ${columns.reached}, is_message_left = ${columns.is_message_left},
           message_seconds = ${columns.message_seconds}, abandoned_in = ${columns.abandoned_in}
         where call_id = ${id} and (reached, is_message_left, message_seconds, abandoned_in) is distinct from
           (${columns.reached}, ${columns.is_message_left}::boolean, ${columns.message_seconds}::integer, ${columns.abandoned_in})`,
      );
    }
  });
}
