import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { query as ask, inTransaction, sql } from '../../src/db/database.ts';
import { grantBiRole, selectReportsRole } from '../../src/reporting/bi-role.ts';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { dropRole } from '../stores/databases.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query, insert } = facts;
const role = `bi_${process.pid}_${process.env.VITEST_POOL_ID ?? 0}`;
const reader = new Client({ connectionString: urlOf(role) });

/** Stands in every value that nobody who reads reports may see, unless told. */
const secret = 'PLANTEDSECRET';
const written = 'PLANTEDWORDS';

beforeAll(async () => {
  const at = '2026-03-02T15:00:00Z';
  const id = '1700000001.1';
  const counts = { transferred_count: 1, transcript_count: 1 };
  await facts.call({ call_id: id, started_at: at, status: 'voicemail', called_number: '201', ...counts });
  await facts.user(1, ['201']);
  await query(`update warehouse.users set email = $1, mobile = $2`, `${secret}@example.com`, `1555${secret}`);
  await insert('warehouse.user_endpoints', { user_id: 1, kind: 'voicemail', endpoint: '201' });
  await facts.thread(1, [
    [at, 'in', { body: written }],
    ['15:01', 'out', { body: 'STOP', sent_by: 1, delivery_status: 'failed' }],
    ['15:02', 'in', { body: `${written} again`, media_count: 1 }],
  ]);
  const scores = { is_action_required: true, csat_score: 4, call_sentiment: 'calm' };
  await insert('warehouse.transcripts', {
    transcript_id: 1,
    call_id: id,
    ...scores,
    ...(await planted('transcripts')),
  });
  const body = { segments: JSON.stringify([{ text: written }]), full_text: written, fetch_seq: 1 };
  await insert('warehouse.transcript_bodies', { transcript_id: 1, ...body });
  const kpi = { ordinal: 1, kpi_name: 'Greeting', kpi_value: 5 };
  await insert('warehouse.transcript_kpis', { transcript_id: 1, ...kpi, ...(await planted('transcript_kpis')) });
  await insert('warehouse.recordings', { call_id: id, unique_id: id });
  await insert('secrets.links', { kind: 'recording', owner: id, part: id, link: secret });
  await insert('secrets.links', { kind: 'file', owner: '1/1000', part: '1', link: secret });
  await insert('secrets.bodies', { delivery_id: 1, bytes: Buffer.from(secret) });
  await insert('ops.deliveries', { body: secret, targets: [secret], is_recognized: true });
  await insert('ops.sync_targets', { kind: 'thread', key: secret, last_error: secret });
  const rule = { rule: 'night', trigger_at: at, mode: 'live' };
  await insert('ops.rule_runs', {
    ...{ ...rule, version: 'v1', trigger_kind: 'message_received', trigger_key: secret, is_matched: false },
    ...{ reason: `error: ${secret}`, facts: JSON.stringify({ text: secret }), number: secret },
  });
  const tally = JSON.stringify([{ rule: 'night', mode: 'live', word: 'error', count: 1 }]);
  await insert('ops.rule_tallies', { happened_at: at, version: 'v1', counts: tally });
  await insert('ops.rule_actions', {
    ...{ run_id: await facts.value('select max(run_id) from ops.rule_runs'), ordinal: 1, kind: 'comment' },
    ...{ state: 'failed', argument: JSON.stringify({ text: secret }), reason: secret },
  });
  const text = { ...rule, trigger_kind: 'message', expires_at: at, planned_at: at, reserved_at: at, body: secret };
  const skipped = { state: 'SKIPPED', reason: `opted_out, ${secret}`, dispatched_at: at };
  const to = { line: '15559990000', number: '15551000002' };
  await insert(
    'ops.sends',
    { ...text, ...to, trigger_id: secret, ...skipped },
    { ...text, ...to, trigger_id: '2', number: `1555${secret}`, state: 'SENT' },
  );
  await insert('ops.opt_outs', { line: '15559990000', number: '15551000002' });
  await insert('ops.attribution_days', { local_date: at, claimed_until: at, problem: secret });
  await facts.drain();
  await drainOutcomes(facts.db);
  expect(await grantBiRole(facts.db, role)).toEqual({ name: role, isCreated: true });
  await query(`alter role ${role} password 'reader'`);
  await reader.connect();
});

afterAll(async () => {
  await reader.end();
  await dropRole(facts.url, role);
  await facts[Symbol.asyncDispose]();
});

function urlOf(user: string): string {
  return Object.assign(new URL(facts.url), { username: user, password: 'reader' }).href;
}

async function relations(where: string): Promise<string[]> {
  return facts.lines(`
    select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'v', 'm', 'p', 'f', 'S') and ${where} order by 1`);
}

/** Columns of text that say who, what kind and in which state, in the account's own vocabulary; all others hold words. */
const notWords = new Set([
  ...['call_id', 'leg_unique_id', 'leg_pairing', 'agent_name', 'call_purpose', 'call_sentiment', 'kpi_name'],
  ...['content_hash', 'source', 'deleted_reason'],
]);

/** Words in each column of a table of the warehouse that can hold some. */
async function planted(table: string): Promise<Record<string, unknown>> {
  const columns = await query<{ name: string; type: string }>(
    `select attname as name, atttypid::regtype::text as type from pg_attribute
     where attrelid = ('warehouse.' || $1)::regclass and attnum > 0 and not attisdropped and attgenerated = ''
       and atttypid in ('text'::regtype, 'text[]'::regtype)`,
    table,
  );
  const words = columns.filter(({ name }) => !notWords.has(name));
  expect(words.length).toBeGreaterThan(0);
  return Object.fromEntries(words.map(({ name, type }) => [name, type === 'text' ? written : [written]]));
}

const ofOurs = `n.nspname not in ('pg_catalog', 'information_schema', 'reporting') and n.nspname not like 'pg_toast%'`;

test('reads every table and view of reporting', async () => {
  const names = await relations(`n.nspname = 'reporting' and c.relkind <> 'S'`);
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) await expect(reader.query(`select * from ${name} limit 1`)).resolves.toBeDefined();
});

test('reads no other table, view or sequence of the database', async () => {
  const names = await relations(ofOurs);
  expect(names.length).toBeGreaterThan(25);
  await expectRefusals(names.map((name) => `select * from ${name}`));
});

test('has no right on any column outside reporting', () =>
  facts
    .expectRows(
      `select c.oid::regclass || '.' || a.attname as name
       from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
       where ${ofOurs} and a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'v', 'm', 'p', 'f')
         and has_schema_privilege($1, n.oid, 'usage') and has_column_privilege($1, c.oid, a.attnum, 'select')`,
      role,
    )
    .toEqual([]));

/** That Postgres refuses each statement to the reader. */
async function expectRefusals(statements: readonly string[]): Promise<void> {
  for (const statement of statements)
    await expect(reader.query(statement), statement).rejects.toMatchObject({ code: '42501' });
}

test('calls no function outside reporting', async () => {
  const calls = await facts.lines(`
    select format('select %I.%I(%s)', n.nspname, p.proname, (select string_agg('null::' || format_type(t, null), ', ') from unnest(p.proargtypes) t))
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('warehouse', 'ops', 'secrets') and p.prokind = 'f' and p.prorettype <> 'trigger'::regtype`);
  expect(calls.length).toBeGreaterThan(5);
  await expectRefusals(calls);
});

test('writes nothing', async () => {
  await reader.query('set default_transaction_read_only = off');
  await expectRefusals([
    ...['update reporting.params set is_text_shown = true', 'delete from reporting.open_hours'],
    ...['delete from rollups.sms_turns', 'create table reporting.mine (x integer)'],
  ]);
});

async function namesThatShow(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await relations(`n.nspname = 'reporting' and c.relkind <> 'S'`)) {
    const { rowCount } = await reader.query(`select from ${name} t where t::text like $1`, [`%${text}%`]);
    if (rowCount) found.push(name);
  }
  const hits = 'select from reporting.search($1) t where t::text like $2';
  const { rowCount } = await reader.query(hits, [written, `%${text}%`]);
  return rowCount ? [...found, 'search'] : found;
}

describe('what nobody was told to show', () => {
  test('the views hold the rows whose secrets were planted', async () => {
    const views = ['fct_call', 'fct_transcript', 'missed_calls', 'fct_sms_message', 'fct_action'];
    for (const name of [...views, 'dim_user', 'rule_outcomes', 'sms_daily', 'sms_opt_status']) {
      expect(await facts.value(`select count(*)::integer from reporting.${name}`), name).toBeGreaterThan(0);
    }
  });

  test('no secret, document, e-mail address or private number stands in any view', async () => {
    expect(await namesThatShow(secret)).toEqual([]);
  });

  test('what people wrote and said, and what was made of it, stands in no column and is not found', async () => {
    expect(await namesThatShow(written)).toEqual([]);
    for (const words of [written, `"${written} again"`, `nothing OR ${written}`, '-nothing', '']) {
      expect((await reader.query('select from reporting.search($1)', [words])).rowCount, words).toBe(0);
    }
  });

  test('no function of the reader is given a hidden word', async () => {
    const { rows: columns } = await reader.query<{ relation: string; column: string; type: string }>(
      `select c.oid::regclass::text as relation, quote_ident(a.attname) as column, a.atttypid::regtype::text as type
       from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'reporting'::regnamespace and c.relkind in ('r', 'v') and a.attnum > 0 and not a.attisdropped
         and a.atttypid in ('text'::regtype, 'text[]'::regtype, 'jsonb'::regtype)`,
    );
    expect(columns.length).toBeGreaterThan(100);
    for (const { relation, column, type } of columns) {
      const text = type === 'text' ? column : `${column}::text`;
      // A cast fails with the value that it was given.
      const error = await reader
        .query(`select from ${relation} where ${text}::xid8 = '1'`)
        .catch(({ message }) => message);
      expect(String(error), `${relation}.${column}`).not.toContain(written);
      const found = await reader.query(`select from ${relation} where ${text} ~ $1 order by ${text} limit 1`, [
        written,
      ]);
      expect(found.rowCount, `${relation}.${column}`).toBe(0);
    }
  });

  test('nothing of the texts stands in the statistics that the reader sees', async () => {
    await query('analyze');
    const { rows } = await reader.query(
      `select tablename from pg_stats where schemaname not in ('pg_catalog', 'information_schema', 'reporting')`,
    );
    expect(rows).toEqual([]);
    const planted = `select tablename from pg_stats s where s::text like '%${written}%'`;
    const { rows: shown } = await reader.query(planted);
    expect(shown).toEqual([]);
  });

  test('once told, what people wrote and said is shown, and no secret', async () => {
    await facts.params({ is_text_shown: true });
    const shown = ['fct_action', 'fct_sms_message', 'fct_transcript'].map((name) => `reporting.${name}`);
    expect(await namesThatShow(written)).toEqual([...shown, 'search']);
    expect(await namesThatShow(secret)).toEqual([]);
    await facts.params({ is_text_shown: false });
  });
});

test('reads what a later release adds', async () => {
  await query('create view reporting.of_tomorrow as select 1 as one');
  await expect(reader.query('select * from reporting.of_tomorrow')).resolves.toMatchObject({ rowCount: 1 });
  await query('drop view reporting.of_tomorrow');
});

describe('what it may use is limited', () => {
  const shown = async (setting: string) => (await reader.query(`show ${setting}`)).rows[0]?.[setting];
  const limit = () => facts.value('select rolconnlimit from pg_roles where rolname = $1', role);

  test('in time and connections', async () => {
    expect(await shown('statement_timeout')).toBe('1min');
    expect(await shown('idle_in_transaction_session_timeout')).toBe('1min');
    expect(await limit()).toBe(10);
  });

  test('and what somebody set otherwise stays', async () => {
    const database = String(await facts.value('select quote_ident(current_database())'));
    await query(`alter role ${role} in database ${database} set statement_timeout = '5min'`);
    await query(`alter role ${role} connection limit 3`);
    expect(await grantBiRole(facts.db, role)).toEqual({ name: role, isCreated: false });
    const again = new Client({ connectionString: urlOf(role) });
    await again.connect();
    expect((await again.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '5min' }]);
    await again.end();
    expect(await limit()).toBe(3);
  });
});

test('reports run as a role that cannot log in and reads reporting alone, which every release makes', async () => {
  const role = String(await facts.value(selectReportsRole));
  const asReports = (text: string) =>
    inTransaction(facts.db, async (tx) => {
      await ask(tx, sql`set local role ${sql.id(role)}`);
      return ask(tx, text, []);
    });
  await expect(asReports('select from reporting.fct_call limit 1')).resolves.toHaveLength(1);
  await expect(asReports('select from warehouse.calls')).rejects.toMatchObject({ code: '42501' });
  expect(await facts.value(`select rolcanlogin from pg_roles where rolname = $1`, role)).toBe(false);
});

describe('a name is refused', () => {
  test('that is none', async () => {
    for (const name of ['', 'Bad', 'a b', 'x"; drop', 'pg_reader', '1a']) {
      await expect(grantBiRole(facts.db, name), name).rejects.toMatchObject({ code: 'no_bi_role' });
    }
  });

  test('of a role that may read more, which is left as it is', async () => {
    await query(`create role ${role}_rich login`);
    await query(`grant usage on schema warehouse to ${role}_rich`);
    await expect(grantBiRole(facts.db, `${role}_rich`)).rejects.toThrow('may look into the schemas warehouse');
    expect(await facts.value(`select has_schema_privilege('${role}_rich', 'reporting', 'usage')`)).toBe(false);
    await dropRole(facts.url, `${role}_rich`);
  });
});
