import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findingsOf } from '../../src/alerts/watch.ts';
import { adviceOf, levels, rows } from '../../src/checks/check.ts';
import { type Asked, allChecks, findings } from '../../src/checks/checks.ts';
import { statusJson, takeOverview, verdictOf } from '../../src/checks/overview.ts';
import { renderTable } from '../../src/cli/status.ts';
import { sql } from '../../src/db/database.ts';
import { renderStatus } from '../../src/server/status.ts';
import { runInProcess } from '../cli/in-process.ts';
import { allIsWell, migrated, openReceiver, secret, settingsFor, type TestReceiver } from '../server/receiver.ts';
import { databaseForTest } from '../stores/databases.ts';
import { openDatabase } from '../world/database.ts';

const databaseUrl = await databaseForTest(migrated);
const database = openDatabase(databaseUrl);
let world: TestReceiver;

beforeAll(async () => {
  const api = { API_KEY: 'of-nobody', API_BASE_URL: 'http://127.0.0.1:1' };
  world = await openReceiver(settingsFor(databaseUrl, { ...api, BACKFILL_DAYS: '0' }));
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const provenance = `content_hash, source, fetch_seq, fetched_at`;
const given = `'h', 'test', 1, now()`;

const reset = () => allIsWell(world.context);

const target = (columns: string, values: string) =>
  `insert into ops.sync_targets (kind, key, dirty_version, clean_version, ${columns}) values ${values}`;
const send = (state: string, reason: string, ago = '1 minute', count = 1) =>
  `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, planned_at, expires_at, settled_at, unknown_at)
   select 'greet', '18005550100', (18455550000 + n)::text, 'message', n::text, now(), 'live', 'hello', '${state}', '${reason}',
     now() - interval '${ago}', now() + interval '1 hour',
     case when '${state}' not in ('PLANNED', 'HELD', 'AWAITING_APPROVAL', 'UNKNOWN') then now() - interval '${ago}' end,
     case when '${state}' in ('UNKNOWN', 'NEEDS_HUMAN') then now() end
   from generate_series(1, ${count}) n`;
const charged = (micros: number, ago: string) =>
  `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, state, planned_at, expires_at, settled_at, settled_micros, units)
   values ('greet', '18005550100', '18455550199', 'message', '${micros}', now(), 'live', 'SENT', now() - interval '${ago}', now(), now() - interval '${ago}', ${micros}, 1)`;
const process = (columns: string, values: string, minutes = 5) =>
  `insert into ops.processes (process_id, role, started_at, seen_at, ${columns})
   values (gen_random_uuid(), 'worker', now() - interval '${minutes} minutes', now(), ${values})`;
const rules = (columns: string, values: string, body = 'rules: []') =>
  `insert into ops.rule_versions (version, body, applied_by, ${columns})
   select coalesce(max(version), 0) + 1, '${body}', 'a test', ${values} from ops.rule_versions`;
const action = (state: string, reason: string) =>
  `${rules('rules', `'[]'`)};
   with run as (
     insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, mode, is_matched, reason)
     values ('close', 'v1', 'message_in', '1/1', now(), 'live', true, 'matched') returning run_id
   )
   insert into ops.rule_actions (run_id, ordinal, kind, state, reason, settled_at)
   select run_id, 1, 'resolve', '${state}', '${reason}', now() from run`;
const differing = (difference: object) =>
  `insert into ops.attribution_days (local_date, claimed_until, finished_at, differences)
   values (current_date - 1, now(), now(), '${JSON.stringify([difference])}')`;
const spent = (micros: number) =>
  `insert into ops.send_budgets (scope, budget_date, spent_micros) values ('account', (now() at time zone 'UTC')::date, ${micros})`;

/**
 * Its level and check, and how it comes about: it is put into the database, or whoever asks has it, such as a queue that is away.
 * The snapshot beside this file has what is told, `sentence → advice`.
 */
type Fault = readonly [name: string, comes: string | Partial<Asked>];

/** What is put into the database, after the level and the name of the check that finds it. */
const inDatabase = `
problem database_takes_no_writes: ${process('disk_full_at', 'now()')}
problem database_takes_no_writes: ${process('read_only_at', 'now()')}
warning connections_short: ${process('connections', '100000')}
problem database_takes_no_writes: ${process('is_refusing', 'true')}
problem schema_old: update ops.migrations set name = '!' || name where name = (select max(name) from ops.migrations)
warning schema_old: update ops.views set text_hash = '!' || text_hash where view_name = (select min(view_name) from ops.views)
problem account_unrecognized: ${process('account_problem', `'another account answers'`)}
problem reads_refused: insert into ops.parked_kinds (kind, parked_until, reason)
      values ('call', now(), '401: revoked'), ('lines', now(), '401: revoked')
problem reads_refused: insert into ops.parked_kinds (kind, parked_until, reason, missing_scope)
      values ('transcripts', now(), 'no', 'recordings:read')
problem service_failing: ${process('api_failing_from', `now() - interval '45 seconds'`)}
warning reads_refused: ${target('state, last_error', `('call', '1783385492.057900', 1, 1, 'forbidden', 'not yours')`)}
warning mirror_behind: ${target('due_at', `('call', '1783385492.057900', 2, 1, now() - interval '2 minutes')`)}
problem mirror_behind: truncate ops.processes;
      ${target('due_at', `('call', '1783385492.057900', 2, 1, now() - interval '2 minutes')`)}
warning reads_failing: ${target('due_at, read_at, last_error', `('users', 'all', 2, 1, now() + interval '50 seconds', now() - interval '10 seconds', 'given a rest')`)}
warning reads_failing: ${target('due_at, read_at, attempts, last_error', `('call', '1783385492.057900', 2, 1, now() + interval '1 second', now(), 3, 'out of order')`)}
warning reads_failing: ${target('due_at, attempts, last_error', `('call', '1783385492.057900', 2, 1, now() + interval '1 second', 3, 'throttled'), ('users', 'all', 2, 1, now() + interval '1 second', 3, 'throttled')`)}
warning reads_refused: ${target('state, last_error', `('call', '1783385492.057900', 1, 1, 'forbidden', 'no'), ('lines', 'all', 1, 1, 'forbidden', 'no'), ('users', 'all', 1, 1, 'forbidden', 'no')`)}
problem writes_lost: update ops.last_report set lost_from = '2026-01-02 03:04:05Z', noticed_at = '2026-01-02 03:05:05Z';
      update ops.send_control set is_paused = true, paused_by = 'recovery'
warning writes_lost: update ops.last_report set lost_from = now(), noticed_at = now()
warning gap_open: insert into ops.gaps (stream, from_at, to_at, reason) values ('texts', now(), now(), 'r')
warning calls_unproven: update ops.coverage set state = 'differs', last_error = 'the service counts 3 and lists 2'
      where from_at = (select min(from_at) from ops.coverage)
warning calls_unproven: update ops.coverage set state = 'waiting' where from_at > now() - interval '5 hours'
warning texts_missing: insert into warehouse.sms_unread_snapshots (line, observed_at, reported_count, held_count, state)
      values ('18005550100', now(), 1, 0, 'unexplained')
notice calls_unproven: delete from ops.coverage where from_at < now() - interval '2 days'
notice calls_unproven: delete from ops.backfills
notice deliveries_unrecognized: insert into ops.deliveries (body, targets, is_recognized) values ('odd', '{}', false)
warning settings_differ: ${process('rules_mode', `'dry-run'`)}
problem rules_unusable: truncate ops.rule_versions
problem rules_unusable: ${rules('rules', `'[]'`, `rules:\n  - { name: later, on: call_ended, do: [reopen: true],\n      someday: 5m }\n`)}
warning time_zone: ${rules('rules', `'[{ "name": "hours", "mode": "live", "usesHours": true }]'`)};
      insert into warehouse.users (user_id, time_zone, ${provenance}) values (1, 'America/Denver', ${given})
notice time_zone: ${rules('rules', `'[{ "name": "off", "mode": "off", "usesHours": true }]'`)};
      insert into warehouse.users (user_id, time_zone, ${provenance}) values (1, 'America/Denver', ${given})
warning holidays_end: ${rules('rules', `'[]'`, 'business_hours: { holidays: [12-25, 2026-01-01] }\nrules: []\n')}
warning rules_failed: ${action('failed', 'insufficient_scope: conversations.resolve')}
warning rules_failed: ${action('waiting', 'it answered 404')};
      update ops.rule_actions set kind = 'webhook', target = 'crm', tries = 5, due_at = now() + interval '1 minute'
warning rules_failed: ${action('unclear', 'timeout')}
warning rules_failed: ${rules('rules', `'[]'`)};
      insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, mode, is_matched, reason)
      values ('broken', 'v1', 'message_in', '1/2', now(), 'live', false, 'error: no such key')
warning sends_paused: update ops.send_control set is_paused = true, pause_reason = 'maintenance', paused_by = 'operator',
      changed_at = now() - interval '5 minutes'
problem sends_paused: update ops.send_control set is_paused = true, pause_reason = 'lost answers', paused_by = 'ledger',
      changed_at = now()
notice sends_for_people: insert into ops.opt_outs (number, line, decision, source, decided_at)
      values ('18455550123', '18005550100', 'unsure', 'text', now())
problem sends_for_people: ${send('NEEDS_HUMAN', 'no message matches')}
warning sends_unknown: ${send('UNKNOWN', 'timeout')}
warning sends_budget: ${spent(4_200_000)}
problem sends_refused: ${send('REJECTED', 'insufficient_scope (403)', '1 minute', 5)}
warning sends_refused: ${send('REJECTED', 'unauthenticated (401)')}
warning sends_refused: ${send('REJECTED', 'permission_denied (403)')}
warning sends_refused: ${send('REJECTED', 'invalid_request (422)')}
warning sends_refused: ${send('REJECTED', 'network')}
warning sends_refused: ${send('REJECTED', 'something new')}
notice sends_refused: ${send('REJECTED', 'network', '10 minutes')}; ${send('SENT', '').replaceAll('n::text', '(n + 50)::text')}
warning sends_budget: ${charged(7_900, '2 hours')}; ${charged(11_000_000, '1 hour')}
warning sends_budget: ${spent(5_000_000)}; ${send('DENIED', 'gate:budget_money', '0 seconds')}
notice sends_budget: ${send('DENIED', 'gate:budget_account', '1 second')}; ${send('SENT', '', '0 seconds').replaceAll('n::text', '(n + 50)::text')}
warning sends_waiting: ${send('PLANNED', 'the thread could not be read', '5 minutes')}
warning sends_waiting: ${send('HELD', 'gate:budget_money', '2 minutes')}; update ops.sends set settled_at = now()
notice sends_for_people: ${send('AWAITING_APPROVAL', '', '5 minutes')}
warning sends_for_people: ${send('AWAITING_APPROVAL', '', '2 hours', 2)}
warning reports_behind: insert into ops.rollup_markers (kind, bucket_at, marked_at)
      values ('calls', now(), now() - interval '10 minutes')
problem reports_behind: insert into ops.rollup_markers (kind, bucket_at, marked_at)
      values ('calls', now(), now() - interval '2 hours')
warning reports_behind: insert into ops.rollup_troubles (kind, bucket_at, error)
      values ('calls', '2026-03-03T00:00:00Z', 'out of range')
warning reports_behind: insert into warehouse.calls (call_id, ${provenance}) values ('undated', ${given})
warning reports_differ: update ops.rollup_state set meaning = 'another'
warning reports_differ: ${differing({ kind: 'status', name: 'inbound missed', theirs: 3, ours: 2, callIds: ['1700000000.1'] })}
notice reports_differ: ${differing({ kind: 'user', name: '12', theirs: 3, ours: 2, callIds: ['1700000000.1'] })}
problem web_missing: update ops.processes set role = 'worker'
problem web_missing: update ops.processes set role = 'worker', address_hash = null; truncate ops.subscription_watch
problem worker_missing: update ops.processes set role = 'web';
      ${target('due_at', `('call', '1783385492.057900', 2, 1, now() - interval '2 minutes')`)}
warning settings_differ: ${process('address_hash', `'one'`, 9)}; ${process('address_hash', `'other'`, 2)};
      update ops.processes set role = 'web' where role = 'worker'
warning subscription_broken: delete from ops.subscription_watch
warning deliveries_missing: insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at, changed_at)
      select type, true, 'in_place', now(), now() - interval '50 minutes' from unnest(array['AccountSMS', 'AccountEndedCalls']) type;
      insert into warehouse.calls (call_id, external_number, started_at, ended_at, ${provenance})
      select '1.' || n, '12125550142', now() - interval '9 minutes', now() - interval '8 minutes', ${given} from generate_series(1, 3) n
notice polling: update ops.processes set address_hash = null; delete from ops.subscription_watch
warning subscription_broken: insert into ops.subscription_watch (event_type, is_created_here, state)
      values ('AccountEndedCalls', true, 'broken')
warning subscription_broken: insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at, last_fault)
      values ('AccountSMS', true, 'in_place', now(), 'deleted')
warning account_shared: update ops.subscription_watch set other_receivers = '{https://other.example/hooks}'
notice account_shared: update ops.processes set rules_mode = 'dry-run';
      update ops.subscription_watch set other_receivers = '{https://other.example/hooks}'
warning alerts_undelivered: insert into ops.alerts (check_name, target, level, sentence, remedy, known_at, news_at, due_at, tries, last_error)
      values ('c', 'slack', 'problem', 's', 'r', now(), now(), now(), 3, 'it answered 404')
warning status_unknown: revoke select on ops.gaps from current_user
`;

const stranger = 'Karen 12125550123 at 10.1.2.3';
const away = { backend: 'redis', isReachable: false, reason: `connect ECONNREFUSED ${stranger}.` } as const;

const elsewhere: readonly Fault[] = [
  ['problem database_takes_no_writes', { metrics: { isRefusing: () => true } }],
  ['problem queue_unreachable', { queues: { health: () => Promise.resolve(away) } as Asked['queues'] }],
];

const faults: readonly Fault[] = [
  ...inDatabase
    .trim()
    .split(/\n(?=(?:problem|warning|notice) \w+: )/)
    .map((row): Fault => [row.slice(0, row.indexOf(': ')), row.slice(row.indexOf(': ') + 2)]),
  ...elsewhere,
];

/** Each with its number among those of its name, so that the snapshot of one stays where it is while others fail. */
function numbered(all: readonly Fault[]): (readonly [name: string, nth: number, comes: Fault[1]])[] {
  return all.map(([name, comes], at) => [name, all.slice(0, at).filter((each) => each[0] === name).length + 1, comes]);
}

/** What is told, with what the clock puts into it masked. */
const withoutClock = (text: string) =>
  text
    .replaceAll(/\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?/g, (moment) =>
      /^2026-0[13]-0[1-3]/.test(moment) ? moment : 'MOMENT',
    )
    .replace(/ allows \d+, of which others hold \d+/, ' allows N, of which others hold N')
    .replace(/ up to \d h ago/, ' up to N h ago')
    .replace(/ of 1\d of the last/, ' of 1N of the last')
    .replace(/ failed for \d+ s\./, ' failed for N s.')
    .replace('Lines and calls', 'Calls and lines');

/** What answers say in words of ours or of checked settings; any other text may be a stranger's. */
const areOurs = [
  ...['settings_differ: names', 'settings_differ: processes', 'reports_behind: what', 'alerts_undelivered: target'],
  ...['subscription_broken: types', 'subscription_broken: faults', 'schema_old: name', 'deliveries_missing: stream'],
];

/** The same value with what a stranger wrote behind the text that `write` accepts by its path. */
function written(value: unknown, path: string, write: (path: string) => boolean): unknown {
  if (typeof value === 'string') return write(path) ? `${value} ${stranger}` : value;
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((each) => written(each, path, write));
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, written(each, path === '' ? key : `${path}.${key}`, write)]),
  );
}

/** What an alert tells where a stranger wrote into the answers of Postgres. */
async function toldWith(check: string, asked: Asked, write: (path: string) => boolean): Promise<string> {
  const db = asked.database.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: ({ result }) =>
      Promise.resolve({ ...result, rows: result.rows.map((row) => written(row, '', write) as typeof row) }),
  });
  const checks = { [check]: allChecks[check] ?? [] };
  // What is no word of ours, such as an unknown kind, is no finding.
  return JSON.stringify(findingsOf(await findings({ ...asked, database: { db } }, checks)));
}

/** The texts among the answers to a check that its alert would repeat. */
async function repeatedBy(check: string, asked: Asked): Promise<string[]> {
  const paths = new Set<string>();
  await toldWith(check, asked, (path) => Boolean(paths.add(path)) && false);
  const repeated: string[] = [];
  for (const path of paths) {
    const told = await toldWith(check, asked, (each) => each === path);
    if (told.includes(stranger)) repeated.push(`${check}: ${path}`);
  }
  return repeated.filter((each) => !areOurs.includes(each));
}

describe('a fault is found while it lasts', () => {
  // Whatever came before is over in each: nothing but the one fault is found.
  test.each(numbered(faults))('%s %i', async (name, _nth, comes) => {
    await reset();
    if (typeof comes === 'string') await database.query(comes);
    const asked = { ...world.context, ...(typeof comes === 'object' ? comes : {}) };
    const found = await findings(asked);
    expect(found.map(({ level, check }) => `${level} ${check}`)).toEqual([name]);
    expect(withoutClock(found.map((each) => `${each.sentence} → ${adviceOf(each)}`).join('\n'))).toMatchSnapshot();
    expect(JSON.stringify(findingsOf(found))).not.toContain(stranger);
    expect(await repeatedBy(name.replace(/^\w+ /, ''), asked)).toEqual([]);
  });

  test('a check is one entry, and one that fails or is slow keeps no other from being asked', async () => {
    const told = { level: 'notice', sentence: 'It is so.', remedy: 'Nothing.' } as const;
    const none = sql`select from generate_series(1, 2)`;
    const found = await findings(world.context, {
      ...{ failing: rows(sql`select 1 / 0`, () => told), slow: rows(sql`select pg_sleep(60)`, () => told) },
      ...{ mine: [rows(none, () => told), async () => [told]], status_unknown: allChecks.status_unknown ?? [] },
    });
    expect(found.map(({ check, sentence }) => `${check}: ${sentence}`)).toEqual([
      'status_unknown: Parts of this status couldn’t be read: failing, slow.',
      ...Array.from({ length: 3 }, () => 'mine: It is so.'),
    ]);
  });

  test('so is every check, but for those that need a Postgres of their own', () => {
    const shown = new Set(faults.map(([name]) => name.split(' ')[1]));
    expect(Object.keys(allChecks).filter((id) => !shown.has(id))).toEqual(['database_unavailable']);
  });
});

describe('nothing is wrong', () => {
  test.each([
    [
      'texts are only simulated, or kept back by a gate or by quiet hours',
      [
        `${send('DENIED', 'gate:budget_money')}; update ops.sends set mode = 'dry-run'`,
        send('DENIED', 'dry_run'),
        send('DENIED', 'gate:opted_out'),
        send('DENIED', 'gate:budget_thread'),
        send('HELD', 'gate:budget_money', '30 seconds'),
        send('HELD', 'gate:quiet_hours', '5 hours'),
      ],
    ],
    [
      'processes differ for less than a rolling deploy takes',
      [`${process('address_hash', `'one'`)}; ${process('address_hash', `'other'`, 0)}`],
    ],
    [
      'TIME_ZONE is unknown, because no worker has started',
      [`truncate ops.processes; ${rules('rules', `'[{ "name": "hours", "mode": "live", "usesHours": true }]'`)}`],
    ],
    [
      'a subscription was repaired an hour ago',
      [
        `insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at, changed_at, last_fault)
       values ('AccountSMS', true, 'in_place', now(), now() - interval '1 hour', 'deleted')`,
      ],
    ],
  ])('where %s', async (_, statements) => {
    for (const statement of statements) {
      await reset();
      await database.query(statement);
      expect(await findings(world.context)).toEqual([]);
    }
  });

  test('while the history of the first start is to come or under way', async () => {
    await reset();
    await database.query(
      `delete from ops.backfills; delete from ops.coverage where from_at < now() - interval '2 days'`,
    );
    const asked = { ...world.context, settings: { ...world.context.settings, backfillDays: 30 } };
    const part = (stream: string, end: string) =>
      database.query(`insert into ops.backfills (stream, asked_from, asked_to, has_artefacts, done_until, is_automatic, finished_at)
        values ('${stream}', now(), now(), false, now(), true, ${end})`);
    expect(await findings(asked)).toEqual([]);
    await part('calls', 'null');
    expect(await findings(asked)).toEqual([]);
    await database.query('update ops.backfills set finished_at = now()');
    expect(await findings(asked)).toEqual([]);
    await part('threads', 'now()');
    expect(await findings(asked)).toMatchObject([{ check: 'calls_unproven', level: 'notice' }]);
  });

  test('but for a line from which no text left since, though texts left from another', async () => {
    await reset();
    await database.query(`${send('REJECTED', 'network', '10 minutes')}; update ops.sends set line = '18005550199';
      ${send('SENT', '').replaceAll('n::text', '(n + 50)::text')}`);
    expect(await findings(world.context)).toMatchObject([{ check: 'sends_refused', level: 'warning' }]);
  });
});

describe('of what is found', () => {
  const shown = ['sends_unknown', 'account_unrecognized', 'deliveries_unrecognized', 'gap_open'];
  const given = { DATABASE_URL: databaseUrl, WEBHOOK_SECRET: secret };
  const commands = ['status', 'doctor'] as const;

  beforeAll(async () => {
    await reset();
    for (const check of shown) await database.query(String(faults.find(([name]) => name.endsWith(check))?.[1]));
  });

  test('the most severe is the headline, and all stand on the page, in a terminal and in the JSON with their remedies', async () => {
    const overview = await takeOverview(world.context);
    const found = overview.findings;
    expect(new Set(found.map(({ check }) => check))).toEqual(new Set(shown));
    expect(found.map(({ level }) => level)).toEqual(['problem', 'warning', 'warning', 'notice']);
    expect(verdictOf(overview)).toEqual({ level: 'problem', sentence: found[0]?.sentence });
    expect(statusJson(overview)).toMatchObject({ verdict: verdictOf(overview), concerns: found });
    const page = renderStatus(overview, 'UTC').replace(/<[^>]*>/g, '');
    const terminal = renderTable(overview).replace(/\s+/g, ' ');
    for (const each of found) {
      for (const text of [each.sentence, adviceOf(each)]) {
        expect(page).toContain(text.replaceAll('`', '').replaceAll('"', '&quot;'));
        expect(terminal).toContain(text);
      }
    }
  });

  test.each(commands)('`%s` prints JSON with all, and ends with 1', async (command) => {
    const { code, out } = await runInProcess(given, command, '--json');
    expect(code).toBe(1);
    const json = JSON.parse(out);
    const told = command === 'status' ? json.concerns : json;
    for (const check of shown)
      expect(told).toContainEqual(expect.objectContaining({ check, remedy: expect.any(String) }));
  });

  test('a scrape has the level of each check, and 0 for all others', async () => {
    const metrics = await (await world.get('/metrics')).text();
    const values = [...metrics.matchAll(/^trunkline_health_check\{check="(\w+)"\} (\d)$/gm)];
    expect(values.map(([, check]) => check).sort()).toEqual(Object.keys(allChecks).sort());
    const nonzero = values.filter(([, , value]) => value !== '0').map(([, check, value]) => `${check} ${value}`);
    const expected = ['account_unrecognized 3', 'deliveries_unrecognized 1', 'gap_open 2', 'sends_unknown 2'];
    expect(nonzero.sort()).toEqual(expected);
    for (const [at, level] of levels.entries()) {
      expect(metrics).toContain(`trunkline_health_checks{level="${level}"} ${[1, 2, 1][at]}`);
    }
  });

  test('nothing is left when it is over, and `status` ends with 0', async () => {
    await reset();
    const { code, out } = await runInProcess(given, 'status', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ verdict: { level: 'ok' }, concerns: [] });
  });
});
