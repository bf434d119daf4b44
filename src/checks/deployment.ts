import { query, sql } from '../db/database.ts';
import { readAllowedMode, readInForce } from '../ledger/rules-in-force.ts';
import { running } from '../processes/running.ts';
import { toType } from '../shared/command-name.ts';
import { countOf } from '../shared/format.ts';
import { checkSeconds, readAnnouncing } from '../sync/subscriptions/store.ts';
import { type Checks, rows } from './check.ts';

const ensures = `Run ${toType('subscriptions ensure')}: it creates or enables them, or prints what to create by hand.`;

/** Whether the processes of a deployment run and fit together. */
export const processChecks: Checks = {
  async queue_unreachable({ queues }) {
    const { isReachable, backend, reason: detail } = await queues;
    if (isReachable) return [];
    const isRedis = backend === 'redis';
    const sentence = 'The queue can’t be reached, so what arrives is read some seconds later.';
    const remedy = `Check that ${isRedis ? 'Redis runs and that REDIS_URL is right' : 'the queue’s schema in Postgres is there'}. Nothing is lost meanwhile.`;
    return [{ level: 'problem', sentence, remedy, detail }];
  },

  /** Without any process, this isn't a deployment yet. */
  web_missing: rows(
    sql<{ isAnnounced: boolean }>`
      select exists (select from ops.subscription_watch) or exists (select from ops.deliveries) as "isAnnounced"
      from ${running} p having count(*) > 0 and bool_and(role = 'worker')`,
    ({ isAnnounced }) => ({
      level: 'problem',
      sentence: isAnnounced
        ? 'No `web` process runs, so nobody receives the service’s webhooks.'
        : 'No `web` process runs, so there are no pages, and no receiver of webhooks. Polling goes on.',
      remedy: `Start one (${toType('web')}); if one runs, check that it uses this database.${isAnnounced ? ' Trunkline then searches what it missed.' : ''}`,
    }),
  ),

  worker_missing: rows(sql`select from ${running} p having count(*) > 0 and bool_and(role = 'web')`, () => ({
    level: 'problem',
    sentence: 'No worker runs, so nothing is read, proven or sent.',
    remedy: `Start one (${toType('worker')}); if one runs, check that it uses this database. Webhooks are stored meanwhile.`,
  })),

  /** Settings that decide what the processes do together, if they differ for longer than a rolling deploy takes. */
  settings_differ: rows(
    sql<{ names: string; since: Date; processes: string }>`
      with held as (
        select s.*, role, started_at, first_value(value) over (partition by names order by started_at desc) as newest
        from ${running} p cross join lateral (
          values ('RULES_MODE', rules_mode), ('WEBHOOK_SECRET or PUBLIC_URL', address_hash)) s (names, value)
        where value is not null
      )
      select names, min(started_at) filter (where started_at > other_at) as since,
        string_agg(role || ' of ' || to_char(started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), ', ' order by started_at) as processes
      from held join (select names, max(started_at) as other_at from held where value <> newest group by 1) o using (names)
      group by 1 having min(started_at) filter (where started_at > other_at) < now() - interval '1 minute' order by 1`,
    ({ names, since, processes }) => ({
      level: 'warning',
      sentence: `Processes have different values of ${names}.`,
      remedy: `Give them the same settings, and restart those that are out of date: ${processes}. Until then, each receiver registers webhooks of its own, and rules obey the highest RULES_MODE.`,
      since,
    }),
  ),
};

/** Subscriptions, alerts and whatever else depends on settings or on other people. */
export const settingChecks: Checks = {
  /**
   * Subscriptions that a receiver found lacking, or repaired in the last minutes. Without PUBLIC_URL, no receiver looks for
   * them, and those created by hand can't be recognized as ours, but they deliver.
   */
  subscription_broken: [
    rows(
      sql`select from ops.subscription_watch having count(*) filter (where state = 'in_place') = 0 and (count(*) > 0
      or exists (select from ${running} p where address_hash is not null)
        and coalesce((select received_at from ops.deliveries order by delivery_id desc limit 1) < now() - interval '1 day', true))`,
      () => ({
        level: 'warning',
        sentence: 'No webhook subscription delivers to this receiver, so new texts and calls aren’t announced.',
        remedy: `A receiver with PUBLIC_URL registers them when it starts. ${ensures}`,
      }),
    ),
    rows(
      sql<{ types: string }>`
      select string_agg(event_type, ', ' order by event_type) filter (where state <> 'in_place') as types
      from ops.subscription_watch having bool_or(state = 'in_place') and bool_or(state <> 'in_place')`,
      ({ types }) => ({
        level: 'warning',
        sentence: `The subscription of ${types} is disabled or missing.`,
        remedy: ensures,
      }),
    ),
    rows(
      // The check before the repair still found it in place.
      sql<{ faults: string; since: Date }>`
      select string_agg('that of ' || event_type || ' was ' || last_fault, ', ' order by event_type) as faults,
        min(changed_at) - ${checkSeconds} * interval '1 second' as since
      from ops.subscription_watch
      where state = 'in_place' and last_fault is not null and changed_at > now() - interval '5 minutes' having count(*) > 0`,
      ({ faults, since }) => ({
        level: 'warning',
        sentence: `Webhook subscriptions were changed at the service (${faults}). Trunkline has repaired them.`,
        remedy:
          'Trunkline searches what was lost meanwhile. Find out who changed them, unless you stopped a receiver with other settings then.',
        since,
      }),
    ),
  ],

  deliveries_missing: async ({ db }) =>
    (await readAnnouncing(db))
      .filter(({ lost }) => lost > 0)
      .map(({ stream, lost, since }) => ({
        level: 'warning',
        sentence: `The webhook subscriptions are in place, but no webhook announced the last ${countOf(lost, stream.slice(0, -1))}.`,
        remedy: `Run ${toType('doctor')}, which posts to PUBLIC_URL as the service does. A proxy in front of the receiver must pass on POST requests to /hooks, without a redirect. Until then, Trunkline polls calls and texts.`,
        since,
      })),

  async polling({ db }) {
    const streams = (await readAnnouncing(db)).filter(({ isInPlace }) => !isInPlace).map(({ stream }) => stream);
    if (streams.length === 0) return [];
    const isPolling = sql`select from ${running} p having bool_or(role <> 'web') and count(address_hash) = 0`;
    const sentence = `Without webhooks, Trunkline polls ${streams.join(' and ')} every 15 seconds. Polling misses texts sent elsewhere, texts that somebody read before, and texts of numbers that never texted or called.`;
    const remedy =
      'Set PUBLIC_URL to an address at which the service reaches this receiver: events then arrive within about a second. What polling misses comes with the next read of its thread.';
    return (await query(db, isPolling)).map(() => ({ level: 'notice', sentence, remedy }));
  },

  /** Each deployment answers texts by its own rules, and doesn't know about the other one. */
  async account_shared(seen) {
    const mode = (await readInForce(seen.db)) && ((await readAllowedMode(seen.db)) ?? 'live');
    const find = rows(
      sql<{ addresses: string }>`
      select string_agg(distinct address, ', ') as addresses from ops.subscription_watch, unnest(other_receivers) address
      having count(*) > 0`,
      ({ addresses }) => ({
        level: mode === 'live' ? 'warning' : 'notice',
        sentence: 'Another receiver of Trunkline gets the webhooks of this account too.',
        remedy: `If both have RULES_MODE=live, a text may be answered twice: let one of them send. If it doesn’t run any more, remove its subscriptions (${toType('subscriptions list')}, ${toType('subscriptions remove')}).`,
        detail: `They go to ${addresses}.`,
      }),
    );
    return find(seen);
  },

  alerts_undelivered: rows(
    sql<{ target: string; count: number; error: string }>`
      select target, count(*)::int as count, max(last_error) as error from ops.alerts
      where due_at is not null and tries >= 3 and last_error is not null
        and news_at > now() - interval '1 day' group by target order by target`,
    ({ target, count, error }) => ({
      level: 'warning',
      sentence: `${countOf(count, 'alert')} couldn’t be sent by ${target}.`,
      detail: `The last error was: ${error}.`,
      remedy: `Try this target of NOTIFY_TARGETS with ${toType('notify test')}. Alerts are tried again for a day.`,
    }),
  ),

  /** Comes last: what a lock or a missing table keeps from being asked is unknown, and its checks may miss something. */
  status_unknown: async ({ unknown }) =>
    [...unknown.values()].slice(0, 1).map(({ message }) => ({
      level: 'warning',
      sentence: `Parts of this status couldn’t be read: ${[...unknown.keys()].join(', ')}.`,
      remedy: 'If this lasts, something in Postgres holds a lock or answers slowly.',
      detail: `The error was: ${message}.`,
    })),
};
