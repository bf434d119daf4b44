import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createOutages, type Outages } from '../../src/alerts/outages.ts';
import { claimAlert, recordFindings, recordTold } from '../../src/alerts/store.ts';
import { findingsOf, startAlerts } from '../../src/alerts/watch.ts';
import type { Finding } from '../../src/checks/check.ts';
import { waitForPostgres } from '../../src/cli/lifecycle.ts';
import { createContext } from '../../src/context.ts';
import { reportProcess } from '../../src/processes/running.ts';
import { awayFrom } from '../cli/away.ts';
import { runInProcess } from '../cli/in-process.ts';
import { hurry } from '../hurried.ts';
import { type HttpReceiver, startHttpReceiver, startMailReceiver } from '../notify/receivers.ts';
import { settingsFor } from '../server/receiver.ts';
import { superuserUrlOf } from '../stores/databases.ts';
import { migratedDatabase } from '../world/database.ts';
import { captureLog } from '../world/log.ts';

hurry(50);
const database = await migratedDatabase();
const { db, query, value } = database;
const secretKey = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const [webhook, slack, mail] = await Promise.all([startHttpReceiver(), startHttpReceiver(), startMailReceiver()]);
afterAll(async () => {
  await Promise.all([webhook, slack, mail].map((each) => each[Symbol.asyncDispose]()));
  await database[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await query('truncate ops.alerts, ops.processes, ops.sync_targets');
  await resume();
  for (const each of [webhook, slack, mail]) each.received.length = 0;
  webhook.status = slack.status = 200;
  // A mirror of which nothing is known to be wrong: rules are in force, and a subscription delivers.
  await query(
    `insert into ops.rule_versions (version, body, applied_by) values (1, 'rules: []', 'a test') on conflict do nothing`,
  );
  await query(
    `insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at)
     values ('AccountSMS', true, 'in_place', now()) on conflict do nothing`,
  );
});

const pause = (by: 'operator' | 'ledger', reason = 'Karen called from 18455550123') =>
  query(
    `update ops.send_control set is_paused = true, pause_reason = $1, paused_by = $2, changed_at = now()`,
    reason,
    by,
  );
const resume = () => query(`update ops.send_control set is_paused = false, pause_reason = null, paused_by = null`);

const targets = (mailUrl = mail.url) => ({
  NOTIFY_TARGETS: `webhook=${webhook.url}#whsec_${secretKey} slack=slack:${slack.url} email=${mailUrl}?to=one@example.com,two@example.com`,
  NOTIFY_ALERTS: 'webhook,slack,email',
});

/** A process that watches and tells, and its log. */
async function watching(
  environment: Readonly<Record<string, string>> = {},
  role: 'start' | 'web' | 'worker' = 'start',
  outages?: Outages,
) {
  const { log, text } = captureLog();
  const settings = settingsFor(database.url, {
    PUBLIC_URL: 'https://hooks.example.com',
    API_BASE_URL: 'http://127.0.0.1:1',
    API_KEY: 'of-nobody',
    ...targets(),
    ...environment,
  });
  const context = await createContext(settings, { log, name: 'test', maxConnections: 4 });
  const reporting = reportProcess(context, role);
  const alerts = startAlerts(context, outages ?? createOutages(context));
  let isStopped = false;
  async function stop() {
    if (isStopped) return;
    isStopped = true;
    await alerts.stop();
    await reporting.stop();
    await context[Symbol.asyncDispose]();
  }
  onTestFinished(stop);
  return { stop, logged: text, context };
}

const types = () => webhook.received.map(({ body }) => JSON.parse(body).type as string);
const dataOf = (at = 0) => JSON.parse(webhook.received[at]?.body ?? '{}').data;
const textOf = (at = 0) => JSON.parse(slack.received[at]?.body ?? '{}').text as string;
const bothTold = ['alert.began', 'alert.ended'];
/** So many messages have come to each target. */
const told = (count: number) =>
  expect.poll(() => [webhook, slack, mail].map(({ received }) => received.length)).toEqual([count, count, count]);
/** A process has taken over the watch. */
const isWatched = () =>
  expect.poll(() => value('select count(*)::integer from ops.processes where watches_until > now()')).toBe(1);

describe('a webhook', () => {
  // The algorithm as it is published at standardwebhooks.com, by another implementation of HMAC.
  async function isSigned({ headers, body }: HttpReceiver['received'][number], secret: string): Promise<boolean> {
    const bytes = Uint8Array.from(atob(secret), (letter) => letter.charCodeAt(0));
    const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    const signed = new TextEncoder().encode(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
    const [version, signature = ''] = String(headers['webhook-signature']).split(',');
    const mac = Uint8Array.from(atob(signature), (letter) => letter.charCodeAt(0));
    return version === 'v1' && crypto.subtle.verify('HMAC', key, mac, signed);
  }

  test('is signed, names check and deployment, and says what to do without the words of others', async () => {
    await watching();
    await pause('ledger');
    await expect.poll(types).toEqual(['alert.began']);
    const [began] = webhook.received;
    if (!began) throw new Error('nothing came');
    expect(await isSigned(began, secretKey)).toBe(true);
    expect(await isSigned({ ...began, body: `${began.body} ` }, secretKey)).toBe(false);
    expect(Math.abs(Number(began.headers['webhook-timestamp']) - Date.now() / 1_000)).toBeLessThan(300);
    expect(dataOf()).toMatchObject({
      deployment: 'hooks.example.com',
      check: 'sends_paused',
      level: 'problem',
      sentence: 'All automatic texts are paused.',
      remedy: expect.stringContaining('`npx trunkline sends resume`'),
      endedAt: null,
    });
    await resume();
    await expect.poll(types).toEqual(bothTold);
    expect(dataOf(1).id).toBe(dataOf().id);
    expect(Date.parse(dataOf(1).endedAt)).toBeGreaterThanOrEqual(Date.parse(dataOf().since));
    const everything = [...webhook.received, ...slack.received].map(({ body }) => body).join();
    expect(everything).not.toMatch(/Karen|0123|a-secret-path/);
  });

  test('for Slack that answers 202, as Teams does with what it drops, does not count as told', async () => {
    slack.status = 202;
    await watching();
    await pause('operator');
    await expect
      .poll(() => value(`select max(last_error) from ops.alerts where target = 'slack'`))
      .toContain('Microsoft Teams');
    await resume();
  });

  test('that is refused comes again with the same id, and delays no other target', async () => {
    webhook.status = 500;
    const { logged } = await watching();
    await pause('operator');
    await expect.poll(() => slack.received.length).toBe(1);
    await expect.poll(() => webhook.received.length).toBe(1);
    await resume();
    await expect.poll(() => slack.received.length).toBe(2);
    webhook.status = 200;
    await query(`update ops.alerts set due_at = now() where due_at is not null`);
    await expect.poll(types).toEqual(['alert.began', ...bothTold]);
    expect(webhook.received[1]?.headers['webhook-id']).toBe(webhook.received[0]?.headers['webhook-id']);
    expect(logged()).toContain('it answered 500');
    expect(logged()).not.toMatch(/a-secret-path|hunter2|MfKQ/);
  });

  test('that is never answered delays no other target', async () => {
    webhook.status = 0;
    await watching();
    await pause('operator');
    await expect.poll(() => [slack.received.length, mail.received.length]).toEqual([1, 1]);
    await resume();
    await expect.poll(() => [slack.received.length, mail.received.length]).toEqual([2, 2]);
    expect(webhook.received).toHaveLength(1);
  });
});

test('each alert is told once when it begins and once when it ends, by however many processes', async () => {
  await Promise.all([watching(), watching(), watching()]);
  await pause('operator');
  await told(1);
  await resume();
  await told(2);
  await pause('operator');
  await expect.poll(types).toEqual([...bothTold, 'alert.began']);
  expect(new Set(webhook.received.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
});

test('an alert that is open is not told again by a process that starts later, which tells its end', async () => {
  const first = await watching();
  await pause('operator');
  await expect.poll(types).toEqual(['alert.began']);
  await first.stop();
  await watching();
  await isWatched();
  await resume();
  await expect.poll(types).toEqual(bothTold);
});

test('Slack and e-mail get sentences', async () => {
  await watching();
  await query(
    `insert into ops.sync_targets (kind, key, dirty_version, due_at) values ('call', '1783385492.057900', 1, now() - interval '90 seconds')`,
  );
  await expect.poll(() => [slack.received.length, mail.received.length]).toEqual([1, 1]);
  expect(textOf()).toMatch(/^\*Warning at hooks\.example\.com: The mirror is 1 min behind, with 1 overdue read\.\*\n/);
  expect(textOf()).toMatch(
    /\nWhat to do: Read the log of the workers \(1 running\).*\nSince .* UTC \(mirror_behind\)\.$/,
  );
  expect(mail.received[0]?.to).toEqual(['one@example.com', 'two@example.com']);
  expect(mail.received[0]?.text).toMatch(/^From: one@example\.com\r\n/m);
  expect(mail.received[0]?.text.replace(/=?\r\n ?/g, ' ')).toContain(
    'Subject: Warning at hooks.example.com: The mirror is',
  );
  await query('truncate ops.sync_targets');
  await expect.poll(() => slack.received.length).toBe(2);
  expect(textOf(1)).toMatch(/^\*Resolved at hooks\.example\.com: The mirror/);
});

test('a worker tells that no web process runs, and that one runs again', async () => {
  await watching({}, 'worker');
  await expect.poll(types).toEqual(['alert.began']);
  const remedy = expect.stringContaining('`npx trunkline web`');
  expect(dataOf()).toMatchObject({ check: 'web_missing', level: 'problem', remedy });
  await watching();
  await expect.poll(types).toEqual(bothTold);
});

test('deliveries that `web` refuses are told by the worker that watches', async () => {
  await watching({}, 'worker');
  await isWatched();
  const { context } = await watching();
  context.metrics.deliveryRefused('unavailable');
  const refusals = () => webhook.received.filter(({ body }) => body.includes('database_takes_no_writes')).length;
  await expect.poll(refusals).toBe(1);
  context.metrics.deliveryAccepted('AccountSMS', true);
  await expect.poll(refusals).toBe(2);
});

test('what killed processes reported goes after a day, without a receiver too', async () => {
  await query(
    `insert into ops.processes (process_id, role, seen_at) values
       ('killed', 'web', now() - interval '25 hours'), ('of this morning', 'web', now() - interval '5 hours')`,
  );
  await watching({}, 'worker');
  const others = () => query(`select process_id from ops.processes where seen_at < now() - interval '1 hour'`);
  await expect.poll(others).toEqual([{ process_id: 'of this morning' }]);
});

test('a warning that becomes a problem is told again as one, and its end once', async () => {
  await watching();
  await pause('operator');
  await told(1);
  await pause('ledger');
  await told(2);
  expect(textOf(1)).toMatch(/^\*Problem at .*\nIt began as a warning\. Since /s);
  await resume();
  await expect.poll(types).toEqual(['alert.began', 'alert.escalated', 'alert.ended']);
  expect([0, 1, 2].map((at) => dataOf(at).level)).toEqual(['warning', 'problem', 'problem']);
  expect(new Set([0, 1, 2].map((at) => dataOf(at).id)).size).toBe(1);
  await expect.poll(() => [slack, mail].map(({ received }) => received.length)).toEqual([3, 3]);
});

describe('what is told', () => {
  const finding: Finding = { check: 'mirror_behind', level: 'warning', sentence: 's', remedy: 'r', since: undefined };
  const record = (found: readonly Finding[], isWhole = true, holdMs = 0) =>
    recordFindings(db, found, { targets: ['slack'], holdMs, isWhole });
  /** The kinds of what Slack is told now, which it accepts. */
  async function accepted(): Promise<string[]> {
    const kinds: string[] = [];
    for (let alert = await claimAlert(db, 'slack'); alert; alert = await claimAlert(db, 'slack')) {
      await recordTold(db, 'slack', alert);
      kinds.push(`${alert.kind} ${alert.level}`);
    }
    return kinds;
  }

  test('was found in two evaluations in a row, and its end is two without it', async () => {
    const rounds = [[finding], [], [finding], [finding], [], [finding], [], []];
    const told = [];
    for (const found of rounds) {
      await record(found);
      told.push(await accepted());
    }
    expect(told).toEqual([[], [], [], ['began warning'], [], [], [], ['ended warning']]);
  });

  test('is told again, once, when a warning becomes a problem', async () => {
    const problem: Finding = { ...finding, level: 'problem', sentence: 'worse' };
    for (const found of [[finding], [finding]]) await record(found);
    expect(await accepted()).toEqual(['began warning']);
    await record([problem]);
    const alert = await claimAlert(db, 'slack');
    expect(alert).toMatchObject({ kind: 'escalated', sentence: 'worse' });
    if (alert) await recordTold(db, 'slack', alert);
    for (const found of [[problem], [finding], [problem]]) await record(found);
    expect(await accepted()).toEqual([]);
    for (const found of [[], []]) await record(found);
    expect(await accepted()).toEqual(['ended problem']);
  });

  test('is told as a problem at once to a target that has not accepted the warning', async () => {
    for (const found of [[finding], [finding]]) await record(found);
    const refused = await claimAlert(db, 'slack');
    if (refused) await recordTold(db, 'slack', refused, 'it answered 500');
    await record([{ ...finding, level: 'problem' }]);
    expect(await accepted()).toEqual(['began problem']);
  });

  test('is not told any more when it ended before a target was tried, and told late when it was', async () => {
    const other: Finding = { ...finding, check: 'web_missing' };
    for (const found of [[finding], [finding], [], []]) await record(found);
    expect(await accepted()).toEqual([]);
    for (const found of [[other], [other]]) await record(found);
    const refused = await claimAlert(db, 'slack');
    if (refused) await recordTold(db, 'slack', refused, 'it answered 500');
    expect(await accepted()).toEqual([]);
    for (const found of [[], []]) await record(found);
    await query('update ops.alerts set due_at = now() where due_at is not null');
    expect(await accepted()).toEqual(['began warning', 'ended warning']);
  });

  test('is tried again at growing intervals, for a day', async () => {
    for (const found of [[finding], [finding]]) await record(found);
    const waits: unknown[] = [];
    for (let time = 0; time < 8; time += 1) {
      expect(await claimAlert(db, 'slack')).toMatchObject({ kind: 'began', tries: time + 1 });
      waits.push(await value('select round(extract(epoch from due_at - now()))::int from ops.alerts'));
      await query('update ops.alerts set due_at = now()');
    }
    expect(waits).toEqual([15, 30, 60, 120, 240, 480, 600, 600]);
    await query(`update ops.alerts set news_at = now() - interval '25 hours'`);
    expect(await accepted()).toEqual([]);
  });

  test('has lasted', async () => {
    await record([finding], true, 3_600_000);
    await record([finding], true, 3_600_000);
    expect(await accepted()).toEqual([]);
    const since = new Date(Date.now() - 2 * 3_600_000);
    await record([{ ...finding, since }], true, 3_600_000);
    expect(await accepted()).toEqual(['began warning']);
  });

  test('does not end while not everything can be checked', async () => {
    for (const found of [[finding], [finding]]) await record(found);
    await accepted();
    for (const isWhole of [false, false, true]) {
      await record([], isWhole);
      expect(await accepted()).toEqual([]);
    }
    await record([]);
    expect(await accepted()).toEqual(['ended warning']);
  });

  test('is one finding of each check that is more than a notice', () => {
    const refused = { check: 'credential_refused', level: 'problem', remedy: 'r', since: undefined } as const;
    const checks = [
      ...['a', 'b', 'b', 'c', 'd'].map((sentence) => ({ ...refused, sentence: `${sentence}.` })),
      { ...refused, check: 'texts_missing', level: 'warning', sentence: 'a line', detail: '…0100' },
      { ...refused, check: 'calls_unproven', level: 'notice', sentence: 'n' },
    ] as const;
    expect(findingsOf(checks)).toMatchObject([
      { check: 'credential_refused', level: 'problem', sentence: 'a. b. c. And 1 more.' },
      { check: 'texts_missing', level: 'warning', sentence: 'a line', remedy: 'r `npx trunkline status` shows more.' },
    ]);
    expect(JSON.stringify(findingsOf(checks))).not.toContain('0100');
  });
});

describe('an outage', () => {
  const name = new URL(database.url).pathname.slice(1);
  const cutOff = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`;
  const superuser = new Client({ connectionString: superuserUrlOf(database.url) });
  beforeAll(() => superuser.connect());
  afterAll(() => superuser.end());
  /** Changes the database for whoever connects from now on. */
  async function change(how: string): Promise<void> {
    await superuser.query(`begin; set transaction read write; alter database ${name} ${how}; commit`);
    await superuser.query(cutOff);
  }

  test.each([
    [
      'takes no writes',
      'database_takes_no_writes',
      'set default_transaction_read_only = on',
      'reset default_transaction_read_only',
    ],
    ['takes no more connections', 'connections_short', 'connection limit 0', 'connection limit -1'],
  ])(
    'of a database that %s is told once by the process that watched, and so is its end',
    async (_, check, breaks, mends) => {
      const worlds = await Promise.all([watching(), watching()]);
      await isWatched();
      // The other one has found out by now that it doesn't watch: one that starts in the outage tells it too.
      await sleep(1_000);
      onTestFinished(() => change(mends));
      await change(breaks);
      await expect.poll(types).toEqual(['alert.began']);
      expect(dataOf()).toMatchObject({ check, level: 'problem' });
      await change(mends);
      await expect.poll(types).toEqual(bothTold);
      expect(dataOf(1).id).toBe(dataOf().id);
      for (const { stop } of worlds) await stop();
    },
  );

  test('is told by a process that starts in it, and its end too', async () => {
    onTestFinished(() => change('reset default_transaction_read_only'));
    await change('set default_transaction_read_only = on');
    const { stop } = await watching();
    await expect.poll(types).toEqual(['alert.began']);
    expect(dataOf()).toMatchObject({ check: 'database_takes_no_writes' });
    await change('reset default_transaction_read_only');
    await expect.poll(types).toEqual(bothTold);
    await stop();
  });

  test('is told once by a process that waits for Postgres, and its end when it has started', async () => {
    const { url, letIn } = await awayFrom(database.url);
    const { log } = captureLog();
    const outages = createOutages({ settings: settingsFor(url, targets()), log });
    const waiting = waitForPostgres(url, log, { onFailure: outages.failed });
    await expect.poll(types).toEqual(['alert.began']);
    expect(dataOf()).toMatchObject({ check: 'database_unavailable' });
    await letIn();
    await waiting;
    await watching({}, 'start', outages);
    await expect.poll(types).toEqual(bothTold);
  });

  test('is not told of a fault of our own code, however often', async () => {
    const outages = createOutages({ settings: settingsFor(database.url, targets()), log: captureLog().log });
    await outages.failed(new TypeError('undefined is not a function'));
    await sleep(700);
    await outages.failed(new TypeError('undefined is not a function'));
    expect(types()).toEqual([]);
    await outages.failed(new Error('Connection terminated unexpectedly'));
    await sleep(700);
    await outages.failed(new Error('Connection terminated unexpectedly'));
    expect(types()).toEqual(['alert.began']);
  });
});

describe('trunkline notify', () => {
  test('test sends to each target and says what became of it', async () => {
    slack.status = 404;
    expect(await runInProcess(targets(), 'notify', 'test')).toMatchObject({
      code: 1,
      out: 'webhook: accepted\nslack: not sent: it answered 404\nemail: accepted\n',
    });
    expect(types()).toEqual(['alert.test']);
    expect(mail.received).toHaveLength(1);
    slack.status = 200;
    const again = await runInProcess(targets(), 'notify', 'test', '--json');
    expect(again.code).toBe(0);
    expect(JSON.parse(again.out)).toEqual(['webhook', 'slack', 'email'].map((target) => ({ target, isSent: true })));
  });

  test('test sends to the targets of rules too', async () => {
    const environment = {
      NOTIFY_TARGETS: `support=slack:${slack.url} office=${mail.url}?to=one@example.com crm=${webhook.url}#whsec_${secretKey}`,
      NOTIFY_ALERTS: 'support',
    };
    expect(await runInProcess(environment, 'notify', 'test')).toMatchObject({
      code: 0,
      out: 'support: accepted\noffice: accepted\ncrm: accepted\n',
    });
    expect(types()).toEqual(['rule.test']);
  });

  test('test says why a mail server refuses, without its password', async () => {
    const wrong = targets(mail.url.replace('hunter2', 'hunter3'));
    const { code, out, err } = await runInProcess(wrong, 'notify', 'test');
    expect(code).toBe(1);
    expect(out).toContain('email: not sent: the mail server refuses the user or the password (535)');
    expect(out + err).not.toContain('hunter');
  });

  test('test without a target names the variables', async () => {
    const { code, err } = await runInProcess({}, 'notify', 'test');
    expect(code).toBe(1);
    expect(err).toContain('NOTIFY_TARGETS');
  });
});
