import { readSettings } from '../../config/settings.ts';
import { type Context, createContext, type ReadySettings } from '../../src/context.ts';
import { type Database, query } from '../../src/db/database.ts';
import { migrateAll } from '../../src/migrations.ts';
import { registerPages } from '../../src/server/pages.ts';
import { createReceiver, type Receiver } from '../../src/server/receiver.ts';
import { createLog } from '../../src/shared/log.ts';

export const adminToken = 'let-me-see-it-all';
export const secret = 'a-secret-of-thirty-two-letters-0';

/** Prepares an empty database with both schemas. */
export async function migrated(url: string): Promise<void> {
  await migrateAll(url, createLog('silent'));
}

export function settingsFor(databaseUrl: string, more: Readonly<Record<string, string>> = {}): ReadySettings {
  const environment = { ADMIN_TOKEN: adminToken, WEBHOOK_SECRET: secret, PORT: '0', BACKFILL_DAYS: '0', ...more };
  return { ...readSettings(environment), databaseUrl };
}

/** A receiver with its pages, on a free port. */
export interface TestReceiver extends AsyncDisposable {
  readonly context: Context;
  readonly receiver: Receiver;
  /** Asks for a path with the admin's token. */
  get(path: string, init?: RequestInit): Promise<Response>;
}

export async function openReceiver(settings: ReadySettings): Promise<TestReceiver> {
  const context = await createContext(settings, { log: createLog('silent'), name: 'test', maxConnections: 3 });
  const receiver = await createReceiver(context, (app) => registerPages(app, context));
  return {
    context,
    receiver,
    get: (path, init = {}) =>
      fetch(`${receiver.url}${path}`, { ...init, headers: { ...init.headers, authorization: `Bearer ${adminToken}` } }),
    async [Symbol.asyncDispose]() {
      await receiver.close();
      await context[Symbol.asyncDispose]();
    },
  };
}

/** Fills a migrated database with one row or more of everything that the page tells of. */
export async function fill(db: Database): Promise<void> {
  await query(db, 'truncate ops.deliveries, secrets.bodies, ops.sync_targets, ops.parked_kinds restart identity', []);
  await query(db, 'truncate warehouse.sms_messages, warehouse.calls, ops.subscription_watch', []);
  const provenance = `'h', 'test', 1, now() - interval '1 minute'`;
  for (const text of [
    `insert into warehouse.sms_messages (conversation_id, message_id, line, number, sent_at, content_hash, source, fetch_seq, fetched_at)
     values (1, 1, '18005550100', '18455550123', now() - interval '90 seconds', ${provenance}),
       (1, 2, '18005550100', '18455550123', now() + interval '1 day', ${provenance})`,
    `insert into warehouse.calls (call_id, started_at, recording_count, recordings_fetched_at, recordings_state, transcripts_state, content_hash, source, fetch_seq, fetched_at)
     values ('1783385492.057900', now() - interval '10 minutes', 1, now(), 'complete', 'pending', ${provenance}),
       ('1783385493.057901', now() - interval '5 minutes', 0, null, 'forbidden', null, ${provenance})`,
    `insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at, other_receivers)
     values ('AccountSMS', true, 'in_place', now(), '{https://other.example/hooks}')`,
    `insert into ops.sync_targets (kind, key, dirty_version, clean_version, due_at, attempts, last_error, read_at, state)
     values ('thread', '18005550100/18455550123', 2, 1, now() + interval '1 hour', 3, 'refused for 18455550123', now(), 'active'),
       ('call', '1783385492.057900', 2, 1, now() - interval '20 seconds', 0, null, null, 'active'),
       ('call', '1783385493.057901', 2, 1, now() + interval '1 hour', 0, null, null, 'active'),
       ('recordings', '1783385493.057901', 1, 1, now(), 0, 'recordings: not yours', now() - interval '1 hour', 'forbidden')`,
    `insert into ops.parked_kinds (kind, parked_until, reason, missing_scope)
     values ('transcripts', now() + interval '1 minute', 'calls.transcripts: no', 'recordings:read')`,
    `insert into ops.deliveries (event_type, body, targets, is_recognized, received_at)
     values ('AccountSMS', 'what was said', '{"thread 18005550100/18455550123"}', true, now() - interval '3 hours'),
       ('AccountSMS', 'what was said', '{"thread 18005550100/18455550123"}', true, now() - interval '90 seconds'),
       ('AccountEndedCalls', '<script>alert(1)</script>', '{}', false, now())`,
  ]) {
    await query(db, text, []);
  }
}

/** A deployment of which nothing is known to be wrong: it runs, a subscription delivers, and all history is compared. */
export async function allIsWell({ database, metrics }: Context): Promise<void> {
  await database.pool.query(`
    truncate ops.attribution_days, ops.sends, ops.send_events, ops.send_budgets, ops.rule_runs, ops.rule_actions, ops.rule_versions, ops.processes,
      ops.deliveries, ops.sync_targets, ops.parked_kinds, ops.coverage, ops.backfills, ops.gaps, ops.alerts,
      ops.rollup_markers, ops.rollup_troubles, ops.subscription_watch, ops.opt_outs,
      warehouse.sms_unread_snapshots, warehouse.users, warehouse.calls cascade;
    grant select on ops.gaps to current_user;
    update ops.send_control set is_paused = false, pause_reason = null, paused_by = null;
    update ops.last_report set noticed_at = null;
    update ops.rollup_state set time_zone = null, meaning = ops.rollup_meaning();
    update ops.views set text_hash = substr(text_hash, 2) where text_hash like '!%';
    update ops.migrations set name = substr(name, 2) where name like '!%';
    insert into ops.processes (process_id, role, started_at, seen_at, rules_mode, address_hash)
    values ('s', 'start', now() - interval '1 hour', now(), 'live', 'one');
    insert into ops.rule_versions (version, body, applied_by) values (1, 'rules: []', 'a test');
    insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at) values ('AccountAITranscription', true, 'in_place', now());
    insert into ops.coverage (stream, from_at, to_at, state, is_watched, due_at, checked_at)
    select 'calls', hour, hour + interval '1 hour', 'proven', false, 'infinity', now()
    from generate_series(date_trunc('hour', now()) - interval '15 days', date_trunc('hour', now()) - interval '1 hour', interval '1 hour') hour;
    insert into ops.backfills (stream, asked_from, asked_to, has_artefacts, done_until, finished_at, is_automatic)
    values ('threads', now(), now(), false, now(), now(), true)`);
  metrics.deliveryAccepted('AccountSMS', true);
}
