import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renderTable } from '../../src/cli/status.ts';
import { findingsOf } from '../../src/ops/alerts/watch.ts';
import { adviceOf, levels } from '../../src/ops/health-checks/check.ts';
import { allChecks, healthChecks, statusJson, verdictOf } from '../../src/ops/health-checks.ts';
import type { PostgresStatus } from '../../src/ops/snapshot/deployment.ts';
import { known, type Snapshot, takeSnapshot } from '../../src/ops/snapshot.ts';
import { renderPage } from '../../src/server/status-page.ts';
import { runInProcess } from '../cli/in-process.ts';
import { databaseForTest } from '../stores/databases.ts';
import { openDatabase } from '../world/database.ts';
import { migrated, openReceiver, secret, settingsFor, type TestReceiver } from './receiver.ts';

const databaseUrl = await databaseForTest(migrated);
const database = openDatabase(databaseUrl);
let world: TestReceiver;

beforeAll(async () => {
  world = await openReceiver(settingsFor(databaseUrl, { API_KEY: 'of-nobody', API_BASE_URL: 'http://127.0.0.1:1' }));
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const provenance = `content_hash, source, fetch_seq, fetched_at`;
const given = `'h', 'test', 1, now()`;

/** A deployment of which nothing is known to be wrong: it runs, a subscription delivers, and all history is compared. */
async function allIsWell(): Promise<void> {
  await database.query(`
    truncate ops.attribution_days, ops.sends, ops.send_events, ops.send_budgets, ops.rule_runs, ops.rule_actions, ops.rule_versions, ops.processes,
      ops.deliveries, ops.sync_targets, ops.streams, ops.coverage, ops.backfills, ops.gaps, ops.alerts,
      ops.alert_messages, ops.rollup_markers, ops.rollup_troubles, ops.subscription_watch, ops.opt_outs, rollups.audits,
      warehouse.sms_unread_snapshots, warehouse.users, warehouse.calls cascade;
    update ops.send_control set is_paused = false, pause_reason = null, paused_by = null;
    update ops.last_report set noticed_at = null;
    update ops.rollup_state set wanted_time_zone = null;
    update ops.views set text_hash = substr(text_hash, 2) where text_hash like '!%';
    update ops.migrations set name = substr(name, 2) where name like '!%';
    insert into ops.processes (process_id, role, started_at, seen_at, rules_mode, address_hash)
    values ('s', 'start', now() - interval '1 hour', now(), 'live', 'one');
    insert into ops.rule_versions (version, body, applied_by) values (1, 'rules: []', 'a test');
    insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at) values ('AccountAITranscription', true, 'in_place', now());
    insert into ops.coverage (stream, from_at, to_at, state, is_watched, due_at, checked_at)
    select 'calls', hour, hour + interval '1 hour', 'proven', false, 'infinity', now()
    from generate_series(date_trunc('hour', now()) - interval '15 days', date_trunc('hour', now()) - interval '1 hour', interval '1 hour') hour;
    insert into ops.backfills (stream, asked_from, asked_to, has_artefacts, done_until, finished_at)
    values ('threads', now(), now(), false, now(), now())`);
  world.context.metrics.deliveryAccepted('AccountSMS', true);
}

const target = (columns: string, values: string) =>
  `insert into ops.sync_targets (kind, key, dirty_version, clean_version, ${columns}) values ${values}`;
const send = (state: string, reason: string, ago = '1 minute', count = 1) =>
  `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, planned_at, expires_at, settled_at, unknown_at)
   select 'greet', '18005550100', (18455550000 + n)::text, 'message', n::text, now(), 'live', 'hello', '${state}', '${reason}',
     now() - interval '${ago}', now() + interval '1 hour',
     case when '${state}' not in ('PLANNED', 'HELD', 'AWAITING_APPROVAL', 'UNKNOWN') then now() - interval '${ago}' end,
     case when '${state}' = 'UNKNOWN' then now() end
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
 * Its level and check, how it comes about, and `sentence → advice`. It is put into the database, or done where only this process
 * sees it, or shown where a test cannot bring it about: a disk that is nearly full, a queue that is away.
 */
type Fault = readonly [name: string, comes: string | (() => void) | Partial<Snapshot>, tells: RegExp];

const queueStatus = { backend: 'redis', isReachable: true, waiting: {} as never } as const;
const knownAs = <T>(value: T) => ({ state: 'known', value }) as const;

const faults: readonly Fault[] = [
  ['problem database_takes_no_writes', process('disk_full_at', 'now()'), /disk of Postgres is full.* → .*Free space/],
  // A session of another process; our own take writes.
  ['problem database_takes_no_writes', process('read_only_at', 'now()'), /accepts no writes.* → .*names the primary/],
  [
    'warning connections_short',
    process('connections', '100000'),
    /more connections than Postgres allows\. → .*100000 connections.*DATABASE_POOL_SIZE/,
  ],
  ['problem database_takes_no_writes', process('is_refusing', 'true'), /accepts no writes.* → .*log of `web`/],
  [
    'problem database_takes_no_writes',
    () => world.context.metrics.deliveryRefused('unavailable'),
    /accepts no writes.* → .*log of `web`/,
  ],
  [
    'problem schema_old',
    `update ops.migrations set name = '!' || name where name = (select max(name) from ops.migrations)`,
    /^The database lacks migrations of this release\. → .*trunkline migrate/,
  ],
  [
    'warning schema_old',
    `update ops.views set text_hash = '!' || text_hash where view_name = (select min(view_name) from ops.views)`,
    /^The reports are not all those of this release\. → The views are \w+.*trunkline migrate/,
  ],
  [
    'problem account_unrecognized',
    process('account_problem', `'another account answers'`),
    /^The account of 1 of 2 processes is not recognized, so nothing is read, proven or sent\. → .*another account answers\. .*API_BASE_URL and API_KEY/,
  ],
  [
    'problem credential_refused',
    `insert into ops.streams (kind, parked_until, reason)
      values ('call', now(), 'calls.search: revoked (401)'), ('lines', now(), 'lines.list: revoked (401)')`,
    /^(Calls and lines|Lines and calls) are not read: the service refuses the API key\. → .*revoked \(401\)\. Set API_KEY to a valid key in every process\. /,
  ],
  [
    'problem scope_missing',
    `insert into ops.streams (kind, parked_until, reason, missing_scope)
      values ('transcripts', now(), 'no', 'recordings:read')`,
    /^Transcripts are not read: the API key lacks the scope recordings:read\. → Grant it to the key\./,
  ],
  [
    'problem service_failing',
    process('api_failing_from', `now() - interval '45 seconds'`),
    /^The service fails: every request has failed for 45 s\. → .*trunkline doctor/,
  ],
  [
    'problem service_failing',
    { circuit: { state: 'open', retryAfterMs: 5_000 } },
    /^The service fails repeatedly.* → .*The next retry is in 5 s/,
  ],
  [
    'warning reads_forbidden',
    target('state, last_error', `('call', '1783385492.057900', 1, 1, 'forbidden', 'not yours')`),
    /^The API key may not read 1 call\. → .*portal.*trunkline resync/,
  ],
  [
    'warning mirror_behind',
    target('due_at', `('call', '1783385492.057900', 2, 1, now() - interval '2 minutes')`),
    /^The mirror is 2 min behind, with 1 overdue read\. → .*trunkline worker/,
  ],
  [
    'problem mirror_behind',
    `update ops.processes set role = 'web'; ${target('due_at', `('call', '1783385492.057900', 2, 1, now() - interval '2 minutes')`)}`,
    /behind, with 1 overdue read, and no worker runs\. → Start a worker/,
  ],
  [
    'warning reads_failing',
    target(
      'due_at, read_at, last_error',
      `('users', 'all', 2, 1, now() + interval '50 seconds', now() - interval '10 seconds', 'given a rest')`,
    ),
    /^1 read of .* failed\. → .*given a rest/,
  ],
  [
    'warning reads_failing',
    target(
      'due_at, read_at, attempts, last_error',
      `('call', '1783385492.057900', 2, 1, now() + interval '1 second', now(), 3, 'out of order')`,
    ),
    /^1 read of calls failed\. → .*out of order/,
  ],
  [
    'problem writes_lost',
    `update ops.last_report set lost_from = '2026-01-02 03:04:05Z', noticed_at = '2026-01-02 03:05:05Z';
      update ops.send_control set is_paused = true, paused_by = 'recovery'`,
    /^The database went back in time: what was written from 2026-01-02T03:04:05Z to .* is lost\. All automatic texts.* → .*Repeat what people did.*sends resume/,
  ],
  [
    'warning writes_lost',
    `update ops.last_report set lost_from = now(), noticed_at = now()`,
    /is lost\. → .*This ends a day later/,
  ],
  [
    'warning gap_open',
    `insert into ops.gaps (stream, from_at, to_at, reason) values ('texts', now(), now(), 'r')`,
    /^Webhooks may have been lost in 1 period.* → .*searched automatically/,
  ],
  [
    'warning calls_unproven',
    `update ops.coverage set state = 'differs', last_error = 'the service counts 3 and lists 2'
      where from_at = (select min(from_at) from ops.coverage)`,
    /^Hours of call history that are not proven complete: 1\. → .*counts 3 and lists 2/,
  ],
  [
    'warning calls_unproven',
    `update ops.coverage set state = 'waiting' where from_at > now() - interval '5 hours'`,
    /^Call history is proven complete only up to \d h ago.* → .*trunkline doctor/,
  ],
  [
    'warning texts_missing',
    `insert into warehouse.sms_unread_snapshots (line, observed_at, reported_count, held_count, state)
      values ('18005550100', now(), 1, 0, 'unexplained')`,
    /^Unread texts of 1 line cannot be found: a possible gap\. → They came to …0100\. .*resync thread LINE\/NUMBER/,
  ],
  [
    'notice calls_unproven',
    `delete from ops.coverage where from_at < now() - interval '2 days'`,
    /^Call history of 1\d of the last 14 days was never compared.* → .*backfill calls/,
  ],
  [
    'notice calls_unproven',
    'delete from ops.backfills',
    /^Texts from before the first start were never searched for\. → .*backfill threads/,
  ],
  [
    'notice deliveries_unrecognized',
    `insert into ops.deliveries (body, targets, is_recognized) values ('odd', '{}', false)`,
    /^1 delivery of the last day could not be parsed\. → .*events list --unrecognized/,
  ],
  [
    'warning settings_differ',
    process('rules_mode', `'dry-run'`),
    /^Processes have different values of RULES_MODE\. → .*same settings.*: start of 20.*, worker of 20/,
  ],
  [
    'problem rules_unusable',
    'truncate ops.rule_versions',
    /^No rules are in force: the rules file cannot be used\..* → .*rules check.*rules apply/,
  ],
  [
    'problem rules_unusable',
    rules('rules', `'[]'`, `rules:\n  - { name: later, on: call_ended, do: [reopen: true],\n      someday: 5m }\n`),
    /^This release does not understand line 3 of version 2 of the rules, so rules do nothing\. Mirroring goes on\. → .*someday.*\/rules\/edit.*rules apply/,
  ],
  [
    'warning time_zone',
    `${rules('rules', `'[{ "name": "hours", "mode": "live", "usesHours": true }]'`)};
      insert into warehouse.users (user_id, time_zone, ${provenance}) values (1, 'America/Denver', ${given})`,
    /^TIME_ZONE is not set, so rules that speak of hours do not act\. → Most users .* in America\/Denver: TIME_ZONE=America\/Denver\. Set TIME_ZONE=/,
  ],
  [
    'notice time_zone',
    `${rules('rules', `'[{ "name": "off", "mode": "off", "usesHours": true }]'`)};
      insert into warehouse.users (user_id, time_zone, ${provenance}) values (1, 'America/Denver', ${given})`,
    /^TIME_ZONE is not set, so the days of the reports are those of UTC\..* → .*TIME_ZONE=America\/Denver\. Set TIME_ZONE=/,
  ],
  [
    'warning holidays_end',
    rules('rules', `'[]'`, 'business_hours: { holidays: [12-25, 2026-01-01] }\nrules: []\n'),
    /^The dated holidays of the rules ended on 2026-01-01\. → Add those of the next year/,
  ],
  [
    'warning rules_failed',
    action('failed', 'insufficient_scope: conversations.resolve'),
    /^Actions of rules that failed in the last day: 1\. → The rule is close, the action resolve: insufficient_scope.*Grant the scopes .*sms:write to the API key\.$/,
  ],
  [
    'warning rules_failed',
    `${action('waiting', 'it answered 404')};
      update ops.rule_actions set kind = 'webhook', target = 'crm', tries = 5, due_at = now() + interval '1 minute'`,
    /^A target does not accept what rules tell it\. .* wait for it: 1\. → The target is crm: it answered 404\. .*notify test/,
  ],
  [
    'warning rules_failed',
    action('unclear', 'timeout'),
    /may have been performed: 1\. → The rule is close, the action resolve: timeout\. .*not retried/,
  ],
  [
    'warning rules_failed',
    `${rules('rules', `'[]'`)};
      insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, mode, is_matched, reason)
      values ('broken', 'v1', 'message_in', '1/2', now(), 'live', false, 'error: no such key')`,
    /could not be evaluated 1 times in the last day\. → The rules are broken\. .*ops\.rule_runs/,
  ],
  [
    'warning sends_paused',
    `update ops.send_control set is_paused = true, pause_reason = 'maintenance', paused_by = 'operator', changed_at = now() - interval '5 minutes'`,
    /^All automatic texts are paused\. → The reason: maintenance\. Paused 5 min ago by the operator\. .*sends resume/,
  ],
  [
    'problem sends_paused',
    `update ops.send_control set is_paused = true, pause_reason = 'lost answers', paused_by = 'ledger', changed_at = now()`,
    /^All automatic texts are paused\. → .*by the daemon itself/,
  ],
  [
    'notice sends_for_people',
    `insert into ops.opt_outs (number, line, decision, source, decided_at) values ('18455550123', '18005550100', 'unsure', 'text', now())`,
    /^Numbers that may have opted out by a text: 1\. .* → .*opt-outs confirm/,
  ],
  [
    'problem sends_for_people',
    send('NEEDS_HUMAN', 'no message matches'),
    /^Automatic texts that may or may not have gone out: 1\. → .*sends settle/,
  ],
  [
    'warning sends_unknown',
    send('UNKNOWN', 'timeout'),
    /^The outcome of 1 automatic text is unknown.* → .*sends nothing again/,
  ],
  [
    'warning sends_budget',
    spent(4_200_000),
    /^84% of the daily budget of automatic texts are used \(\$4\.20 of \$5\.00\)\. → .*sends pause/,
  ],
  [
    'problem sends_refused',
    send('REJECTED', 'insufficient_scope (403)', '1 minute', 5),
    /^5 automatic texts of the last day not sent, .*none has been sent since\. → From …0100: insufficient_scope \(403\)\. Grant the scopes sms:send and sms:write to the API key\.$/,
  ],
  ...[
    ['unauthenticated (401)', 'API_KEY'],
    ['permission_denied (403)', '\\. The account does not own the line'],
    ['invalid_request (422)', 'rate for the destination'],
    ['network', 'API_BASE_URL is reachable'],
    ['something new', 'page of sends'],
  ].map(([reason = '', remedy]): Fault => {
    const tells = new RegExp(`^1 automatic text of the last day not sent, .* → .*${remedy}`);
    return ['warning sends_refused', send('REJECTED', reason), tells];
  }),
  [
    'notice sends_refused',
    `${send('REJECTED', 'network', '10 minutes')}; ${send('SENT', '').replaceAll('n::text', '(n + 50)::text')}`,
    /later ones were sent.* → .*API_BASE_URL/,
  ],
  [
    'warning sends_budget',
    `${charged(7_900, '2 hours')}; ${charged(11_000_000, '1 hour')}`,
    /^A segment of an automatic text was charged \$11\.00, where \$0\.007900 was usual\. → .*ten times that price.*daily_dollars/,
  ],
  [
    'warning sends_budget',
    `${spent(5_000_000)}; ${send('DENIED', 'gate:budget_money', '0 seconds')}`,
    /^1 automatic text of today not sent: the daily budget of money is used up\. → .*midnight UTC.*rules file/,
  ],
  [
    'notice sends_budget',
    `${send('DENIED', 'gate:budget_account', '1 second')}; ${send('SENT', '', '0 seconds').replaceAll('n::text', '(n + 50)::text')}`,
    /the daily budget of texts was used up; later ones were sent\. → .*midnight UTC/,
  ],
  [
    'warning sends_waiting',
    send('PLANNED', 'the thread could not be read', '5 minutes'),
    /^1 automatic text waited for more than a minute to be sent\. → .*the thread could not be read\. .*worker/,
  ],
  [
    'warning sends_waiting',
    `${send('HELD', 'gate:budget_money', '2 minutes')}; update ops.sends set settled_at = now()`,
    /^1 automatic text waited for more than a minute.* → .*rest of a daily budget/,
  ],
  [
    'notice sends_for_people',
    send('AWAITING_APPROVAL', '', '5 minutes'),
    /^Automatic texts that wait for approval: 1, the oldest planned 5 min ago\. → .*sends approve/,
  ],
  [
    'warning sends_for_people',
    send('AWAITING_APPROVAL', '', '2 hours', 2),
    /^Automatic texts that wait for approval: 2, the oldest planned 2 h ago\. → .*page of sends/,
  ],
  [
    'warning reports_behind',
    `insert into ops.rollup_markers (kind, bucket_at, marked_at) values ('calls', now(), now() - interval '10 minutes')`,
    /^The reports are 10 min behind.* → .*worker runs/,
  ],
  [
    'problem reports_behind',
    `insert into ops.rollup_markers (kind, bucket_at, marked_at) values ('calls', now(), now() - interval '2 hours')`,
    /^The reports are 2 h behind.* → .*worker runs/,
  ],
  [
    'warning reports_behind',
    `insert into ops.rollup_troubles (kind, bucket_at, error) values ('calls', '2026-03-03T00:00:00Z', 'out of range')`,
    /^The reports lack 1 change that could not be counted\. → The first are calls from 2026-03-03 00:00 UTC \(out of range\)\. .*ops\.rollup_troubles/,
  ],
  [
    'warning reports_behind',
    `insert into rollups.audits (check_name, found_count) values ('calls without a start', 1)`,
    /^Calls without a start that was understood, .*: 1\. → .*warehouse\.calls/,
  ],
  [
    'warning reports_differ',
    `update ops.rollup_state set wanted_time_zone = 'America/New_York'`,
    /^TIME_ZONE is America\/New_York, but .* still those of UTC\. → .*reporting rebuild/,
  ],
  [
    'warning reports_differ',
    differing({ kind: 'status', name: 'inbound missed', theirs: 3, ours: 2, callIds: ['1700000000.1'] }),
    /^Figures of calls by direction and status .*: 1 on 1 day\. → .*inbound missed: the service lists 3, 2 are held \(calls 1700000000\.1\)\. .*resync call/,
  ],
  [
    'notice reports_differ',
    differing({ kind: 'user', name: '12', theirs: 3, ours: 2, callIds: ['1700000000.1'] }),
    /by queue or user .*: 1 on 1 day.* → .*attribution_days/,
  ],
  [
    'problem queue_unreachable',
    { queues: knownAs({ ...queueStatus, isReachable: false, reason: 'It is away.' }) },
    /^The queue cannot be reached.* → It is away\. Check that Redis runs/,
  ],
  ['problem web_missing', `update ops.processes set role = 'worker'`, /^No `web` process runs.* → .*trunkline web/],
  [
    'warning settings_differ',
    `${process('address_hash', `'one'`, 9)}; ${process('address_hash', `'other'`, 2)};
      update ops.processes set role = 'web' where address_hash is not null`,
    /different values of WEBHOOK_SECRET or PUBLIC_URL.* → .*: .*web of 20.*webhooks of its own/,
  ],
  [
    'warning subscription_broken',
    'delete from ops.subscription_watch',
    /^No webhook subscription delivers to this receiver.* → .*PUBLIC_URL.*subscriptions ensure/,
  ],
  [
    'warning deliveries_missing',
    `insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at, changed_at)
      select type, true, 'in_place', now(), now() - interval '50 minutes' from unnest(array['AccountSMS', 'AccountEndedCalls']) type;
      insert into warehouse.calls (call_id, external_number, started_at, ended_at, ${provenance})
      select '1.' || n, '12125550142', now() - interval '9 minutes', now() - interval '8 minutes', ${given} from generate_series(1, 3) n`,
    /^The webhook subscriptions are in place, but nothing arrives: no webhook announced the last 3 calls\. → .*trunkline doctor.*POST.*polled meanwhile/,
  ],
  [
    'notice polling',
    `update ops.processes set address_hash = null; delete from ops.subscription_watch`,
    /^Without webhooks, calls and texts are polled every 15 seconds\..*sent elsewhere.* → Set PUBLIC_URL/,
  ],
  [
    'warning subscription_broken',
    `insert into ops.subscription_watch (event_type, is_created_here, state) values ('AccountEndedCalls', true, 'broken')`,
    /^The subscription of AccountEndedCalls is disabled or missing\. → .*subscriptions ensure/,
  ],
  [
    'warning subscription_broken',
    `insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at, last_fault)
      values ('AccountSMS', true, 'in_place', now(), 'deleted')`,
    /changed at the service \(that of AccountSMS was deleted\); they are repaired\. → Nothing has to be done/,
  ],
  ...['', `update ops.processes set rules_mode = 'dry-run';`].map(
    (before): Fault => [
      before === '' ? 'warning account_shared' : 'notice account_shared',
      `${before} update ops.subscription_watch set other_receivers = '{https://other.example/hooks}'`,
      /^Another receiver of Trunkline gets the webhooks of this account too\. → They go to https:\/\/other\.example\/hooks\. .*subscriptions remove/,
    ],
  ),
  [
    'warning status_unknown',
    { inbox: { state: 'unknown', reason: 'canceling statement' } },
    /^Parts of this status could not be read: inbox\. → .*canceling statement/,
  ],
  [
    'warning alerts_undelivered',
    `with a as (insert into ops.alerts (check_name, level, sentence, remedy, known_at) values ('c', 'problem', 's', 'r', now()) returning alert_id)
      insert into ops.alert_messages (alert_id, target, kind, attempts, last_error) select alert_id, 'slack', 'began', 3, 'it answered 404' from a`,
    /^1 alert could not be sent by slack\. → .*it answered 404\. .*notify test/,
  ],
];

const findingsIn = async (seen: Partial<Snapshot> = {}) =>
  healthChecks({ ...(await takeSnapshot(world.context)), ...seen });

/** Parts of a snapshot that hold words of ours or checked settings; what any other part says may be a stranger's. */
const isOurs = new RegExp(
  `^(?:${[
    'processes\\.(?:role|rulesMode)|schema\\.outdatedViews',
    'subscriptions\\.(?:broken|repaired\\.type|repaired\\.fault)|alerts\\.undelivered\\.target',
    'rules\\.lastHoliday|reporting\\.(?:timeZone|wantedTimeZone)',
  ].join('|')})$`,
);
const stranger = 'Karen 12125550123 at 10.1.2.3';

/** Each text in a snapshot: where it stands, and a copy of the snapshot in which a stranger has written there. */
function* asStrangersWrite(part: unknown, path: readonly string[] = []): Generator<readonly [string, unknown]> {
  if (typeof part === 'string') yield [path.join('.'), `${part} ${stranger}`];
  if (typeof part !== 'object' || part === null || part instanceof Date) return;
  for (const [key, value] of Object.entries(part)) {
    const names = Array.isArray(part) || key === 'value' ? path : [...path, key];
    for (const [at, changed] of asStrangersWrite(value, names))
      yield [at, Array.isArray(part) ? part.with(Number(key), changed) : { ...part, [key]: changed }];
  }
}

/** The parts of a snapshot whose words an alert would repeat. */
function repeatedBy(snapshot: Snapshot): string[] {
  return [...asStrangersWrite(snapshot)].flatMap(([path, changed]) => {
    let told: readonly object[] = [];
    try {
      told = findingsOf(healthChecks(changed as Snapshot));
    } catch {
      // An unknown kind or level of ours.
    }
    return JSON.stringify(told).includes(stranger) && !isOurs.test(path) ? [path] : [];
  });
}

describe('a fault is found while it lasts', () => {
  // Whatever came before is over in each: nothing but the one fault is found.
  test.each(faults)('%s', async (name, comes, tells) => {
    await allIsWell();
    if (typeof comes === 'string') await database.query(comes);
    if (typeof comes === 'function') comes();
    const snapshot = { ...(await takeSnapshot(world.context)), ...(typeof comes === 'object' ? comes : {}) };
    const found = healthChecks(snapshot);
    expect(found.map(({ level, check }) => `${level} ${check}`)).toEqual([name]);
    expect(found.map((each) => `${each.sentence} → ${adviceOf(each)}`)).toEqual([expect.stringMatching(tells)]);
    expect(repeatedBy(snapshot)).toEqual([]);
  });

  test('what a limit of Postgres is called is not repeated by an alert', async () => {
    await allIsWell();
    const { postgres, ...others } = await takeSnapshot(world.context);
    const connections = { sentence: 'The role bi allows 3.', remedy: 'Raise it.', isTooMuch: true };
    const snapshot: Snapshot = {
      ...others,
      postgres: knownAs({ ...(known(postgres) as PostgresStatus), connections }),
    };
    expect(healthChecks(snapshot).map(({ check }) => check)).toEqual(['connections_short']);
    expect(repeatedBy(snapshot)).toEqual([]);
  });

  test('so is every check, but for those that need a Postgres of their own', () => {
    const shown = new Set(faults.map(([name]) => name.split(' ')[1]));
    expect(allChecks.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual(['database_unavailable']);
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
      'a subscription was repaired an hour ago',
      [
        `insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at, changed_at, last_fault)
       values ('AccountSMS', true, 'in_place', now(), now() - interval '1 hour', 'deleted')`,
      ],
    ],
  ])('where %s', async (_, statements) => {
    for (const statement of statements) {
      await allIsWell();
      await database.query(statement);
      expect(await findingsIn()).toEqual([]);
    }
  });

  test('but for a line from which no text left since, though texts left from another', async () => {
    await allIsWell();
    await database.query(`${send('REJECTED', 'network', '10 minutes')}; update ops.sends set line = '18005550199';
      ${send('SENT', '').replaceAll('n::text', '(n + 50)::text')}`);
    expect(await findingsIn()).toMatchObject([{ check: 'sends_refused', level: 'warning' }]);
  });
});

describe('of what is found', () => {
  const shown = ['sends_unknown', 'account_unrecognized', 'deliveries_unrecognized', 'gap_open'];
  const given = { DATABASE_URL: databaseUrl, WEBHOOK_SECRET: secret };
  const commands = ['status', 'doctor'] as const;

  beforeAll(async () => {
    await allIsWell();
    for (const check of shown) await database.query(String(faults.find(([name]) => name.endsWith(check))?.[1]));
  });

  test('the most severe is the headline, and all stand on the page, in a terminal and in the JSON with their remedies', async () => {
    const snapshot = await takeSnapshot(world.context);
    const found = healthChecks(snapshot);
    expect(new Set(found.map(({ check }) => check))).toEqual(new Set(shown));
    expect(found.map(({ level }) => level)).toEqual(['problem', 'warning', 'warning', 'notice']);
    expect(verdictOf(snapshot)).toEqual({ level: 'problem', sentence: found[0]?.sentence });
    expect(statusJson(snapshot)).toMatchObject({ verdict: verdictOf(snapshot), concerns: found });
    const page = renderPage(snapshot, { timeZone: 'UTC' }).replace(/<[^>]*>/g, '');
    const terminal = renderTable(snapshot).replace(/\s+/g, ' ');
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
    expect(values.map(([, check]) => check).sort()).toEqual(allChecks.map(({ id }) => id).sort());
    const nonzero = values.filter(([, , value]) => value !== '0').map(([, check, value]) => `${check} ${value}`);
    const expected = ['account_unrecognized 3', 'deliveries_unrecognized 1', 'gap_open 2', 'sends_unknown 2'];
    expect(nonzero.sort()).toEqual(expected);
    for (const [at, level] of levels.entries()) {
      expect(metrics).toContain(`trunkline_health_checks{level="${level}"} ${[1, 2, 1][at]}`);
    }
  });

  test('nothing is left when it is over, and `status` ends with 0', async () => {
    await allIsWell();
    const { code, out } = await runInProcess(given, 'status', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ verdict: { level: 'ok' }, concerns: [] });
  });
});
