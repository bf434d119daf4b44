import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { statusJson } from '../../src/ops/health-checks.ts';
import { takeSnapshot } from '../../src/ops/snapshot.ts';
import { runInProcess } from '../cli/in-process.ts';
import { trunkline } from '../credentials/commands.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated, openReceiver, secret, settingsFor, type TestReceiver } from './receiver.ts';

const databaseUrl = await databaseForTest(migrated);
const database = new Client({ connectionString: databaseUrl });
let world: TestReceiver;
/** The pages share a snapshot for a second. */
const soon = { interval: 500 };

beforeAll(async () => {
  await database.connect();
  world = await openReceiver(settingsFor(databaseUrl));
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await database.end();
});
beforeEach(async () => {
  await database.query(
    `truncate ops.sends, ops.send_events, ops.send_budgets, ops.rule_runs, ops.rule_actions, ops.rule_tallies, ops.rules_loaded, ops.processes, ops.deliveries, ops.sync_targets, ops.coverage cascade`,
  );
  await database.query(`update ops.send_control set is_paused = false, pause_reason = null, paused_by = null`);
  // A mirror of which nothing is known to be wrong: a subscription delivers.
  await database.query(
    `insert into warehouse.webhook_subscriptions (subscription_id, event_type, is_enabled, is_ours, content_hash, source, fetch_seq, fetched_at)
     values (1, 'AccountSMS', true, true, 'h', 'test', 1, now()) on conflict do nothing`,
  );
});

interface Status {
  readonly verdict: { readonly level: string; readonly sentence: string };
  readonly concerns: readonly { readonly level: string; readonly sentence: string; readonly cure: string }[];
}

/** What the command and the page's JSON say, from the snapshot that both show. */
async function status(): Promise<{ isOk: boolean; told: Status; faults: Status['concerns'] }> {
  const json = JSON.stringify(statusJson(await takeSnapshot(world.context)));
  const told = JSON.parse(json) as Status;
  return { isOk: told.verdict.level === 'ok', told, faults: told.concerns.filter(({ level }) => level !== 'notice') };
}

/** The lines of the values, without their HELP and TYPE. */
async function metrics(): Promise<string[]> {
  const text = await (await world.get('/metrics')).text();
  return text.split('\n').filter((line) => !line.startsWith('#'));
}

let sends = 0;
function send(state: string, reason: string | null, more: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
  sends += 1;
  const { mode = 'live', line = '18005550100', ago = '1 minute' } = more;
  return database.query(
    `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, planned_at, expires_at,
       settled_at, unknown_at)
     values ('greet', $1, $2, 'message', $3, now(), $4, 'what was said', $5, $6, now() - $7::interval, now() + interval '1 hour',
       case when $5 not in ('PLANNED', 'HELD', 'UNKNOWN') then now() - $7::interval end, case when $5 = 'UNKNOWN' then now() end)`,
    [line, String(18_455_550_000 + sends), String(sends), mode, state, reason, ago],
  );
}

test.each([
  ['ends with 0 while nothing is wrong', async () => {}, 0, []],
  [
    'ends with 1 while something is',
    () => send('UNKNOWN', 'timeout'),
    1,
    [/^The outcome of 1 automatic text is unknown/],
  ],
] as const)('the command %s, and says the same', async (_, happen, code, sentences) => {
  await happen();
  const command = await runInProcess({ DATABASE_URL: databaseUrl }, 'status', '--json');
  expect(command.code).toBe(code);
  const { verdict, concerns } = JSON.parse(command.out) as Status;
  const { told, faults } = await status();
  expect({ verdict, concerns }).toEqual({ verdict: told.verdict, concerns: told.concerns });
  expect(faults.map(({ sentence }) => sentence)).toEqual(sentences.map((words) => expect.stringMatching(words)));
});

describe('sends that do not go out', () => {
  test.each<[string, () => Promise<unknown>, RegExp, RegExp, string]>([
    [
      'the scope is missing',
      async () => {
        for (let at = 0; at < 5; at += 1) await send('REJECTED', 'insufficient_scope (403)');
      },
      /^5 automatic texts of the last day were not sent from …0100: insufficient_scope \(403\).*none has been sent since/,
      /Grant the scope sms:send/,
      'trunkline_send_troubles{kind="refused",reason="insufficient_scope (403)"} 5',
    ],
    [
      'the key is refused',
      () => send('REJECTED', 'unauthenticated (401)'),
      /^1 automatic text of the last day was not sent/,
      /API_KEY/,
      'trunkline_sends{state="REJECTED",mode="live"} 1',
    ],
    [
      'the line is not permitted',
      () => send('REJECTED', 'permission_denied (403)'),
      /permission_denied/,
      /The account does not own the line/,
      'trunkline_sends{state="REJECTED",mode="live"} 1',
    ],
    [
      'no rate applies',
      () => send('REJECTED', 'invalid_request (422)'),
      /invalid_request/,
      /The account has no rate/,
      'trunkline_sends{state="REJECTED",mode="live"} 1',
    ],
    [
      'the service was away',
      () => send('NOT_SENT', 'network'),
      /network/,
      /API_BASE_URL is reachable/,
      'trunkline_sends{state="NOT_SENT",mode="live"} 1',
    ],
    [
      'the answer was lost',
      () => send('UNKNOWN', 'timeout'),
      /^The outcome of 1 automatic text is unknown/,
      /sends nothing again/,
      'trunkline_sends{state="UNKNOWN",mode="live"} 1',
    ],
    [
      'manual review is needed',
      () => send('NEEDS_HUMAN', 'no message matches'),
      /^1 automatic text may or may not have gone out/,
      /sends settle/,
      'trunkline_sends{state="NEEDS_HUMAN",mode="live"} 1',
    ],
    [
      'the money is spent',
      async () => {
        await database.query(
          `insert into ops.send_budgets (scope, budget_date, spent_micros) values ('account', (now() at time zone 'UTC')::date, 5000000)`,
        );
        await send('DENIED', 'gate:budget_money', { ago: '0 seconds' });
      },
      /^1 automatic text was not sent today: the daily budget of money \(\$5\.00 spent, of \$5\.00\) is used up/,
      /midnight UTC.*rules file/,
      'trunkline_sends_spent_dollars 5',
    ],
    [
      'the operator paused',
      () =>
        database.query(
          `update ops.send_control set is_paused = true, pause_reason = 'maintenance', paused_by = 'operator', changed_at = now() - interval '5 minutes'`,
        ),
      /^All automatic texts are paused\.$/,
      /^Paused 5 min ago by the operator\. The reason: maintenance\..*sends resume/,
      'trunkline_sends_paused 1',
    ],
    [
      'nobody takes them',
      () => send('PLANNED', 'the thread could not be read', { ago: '5 minutes' }),
      /^1 automatic text has waited for more than a minute to be sent: the thread could not be read/,
      /worker/,
      'trunkline_send_troubles{kind="held_up",reason="the thread could not be read"} 1',
    ],
  ])('%s', async (_what, happen, sentence, cure, metric) => {
    await happen();
    const { isOk, faults } = await status();
    expect(isOk).toBe(false);
    expect(faults).toMatchObject([{ sentence: expect.stringMatching(sentence), cure: expect.stringMatching(cure) }]);
    const page = async () => ((await (await world.get('/api/status')).json()) as Status).concerns;
    await expect.poll(page, soon).toContainEqual(expect.objectContaining({ sentence: faults[0]?.sentence }));
    await expect.poll(metrics, soon).toContain(metric);
    expect(await (await world.get('/')).text()).toContain('<span class="dot');
  });

  test('is over for a line when another text went out from it, and not for a line from which none did', async () => {
    await send('REJECTED', 'permission_denied (403)', { ago: '10 minutes' });
    await send('SENT', null);
    expect(await status()).toMatchObject({ isOk: true, faults: [] });
    await send('REJECTED', 'permission_denied (403)', { line: '18005550199', ago: '10 minutes' });
    expect(await status()).toMatchObject({ isOk: false, faults: [{ sentence: expect.stringContaining('…0199') }] });
  });

  test('for want of budget is over when later texts were sent, as after the budget was raised', async () => {
    await send('DENIED', 'gate:budget_money', { ago: '1 second' });
    expect(await status()).toMatchObject({
      isOk: false,
      faults: [{ sentence: expect.stringContaining('is used up') }],
    });
    await send('SENT', null, { ago: '0 seconds' });
    const { isOk, told } = await status();
    expect(isOk).toBe(true);
    expect(told.concerns).toContainEqual(
      expect.objectContaining({ level: 'notice', sentence: expect.stringContaining('later ones were sent') }),
    );
  });

  test('for want of budget says of texts that wait for others that they wait', async () => {
    await send('HELD', 'gate:budget_money', { ago: '30 seconds' });
    expect(await status()).toMatchObject({ isOk: true, faults: [] });
    await send('HELD', 'gate:budget_money', { ago: '2 minutes' });
    expect(await status()).toMatchObject({
      faults: [
        { sentence: expect.stringMatching(/^1 automatic text has waited .* need the rest of the daily budget/) },
      ],
    });
  });

  test('does not count what is only simulated, nor what a gate or quiet hours keep back', async () => {
    await send('DENIED', 'gate:budget_money', { mode: 'dry-run' });
    await send('DENIED', 'dry_run');
    await send('DENIED', 'gate:opted_out');
    await send('DENIED', 'gate:budget_thread');
    await send('HELD', 'gate:quiet_hours', { ago: '5 hours' });
    expect(await status()).toMatchObject({ isOk: true, faults: [] });
    await expect.poll(metrics, soon).toContain('trunkline_sends{state="DENIED",mode="dry-run"} 2');
  });

  test('shows in what the doctor says', async () => {
    await send('REJECTED', 'insufficient_scope (403)');
    const { code, out } = await runInProcess({ DATABASE_URL: databaseUrl, WEBHOOK_SECRET: secret }, 'doctor');
    expect(code).toBe(1);
    expect(out).toContain('1 automatic text of the last day was not sent');
    expect(out).toContain('Grant the scope sms:send');
  });
});

describe('rules', () => {
  test('that fail are told, with the reason and the remedy', async () => {
    await database.query(
      `insert into ops.rules_loaded (process_id, version, mode, rules, loaded_at) values ('a worker', 'v', 'live', '[]', now())`,
    );
    const { rows } = await database.query(
      `insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, mode, is_matched, reason)
       values ('close', 'v', 'message_in', '1/1', now(), 'live', true, 'matched'), ('broken', 'v', 'message_in', '1/2', now(), 'live', false, 'error: no such key')
       returning run_id`,
    );
    await database.query(
      `insert into ops.rule_tallies (happened_at, version, counts)
       values (now(), 'v', '[{"rule": "broken", "mode": "live", "word": "error", "count": 1}]')`,
    );
    await database.query(
      `insert into ops.rule_actions (run_id, ordinal, kind, state, reason, settled_at)
       values ($1, 1, 'resolve', 'failed', 'insufficient_scope: conversations.resolve', now())`,
      [rows[0].run_id],
    );
    const { isOk, faults } = await status();
    expect(isOk).toBe(false);
    expect(faults).toMatchObject([
      {
        sentence: expect.stringContaining('The rule close failed to resolve'),
        cure: 'Grant the scope sms:write to the credential.',
      },
      { sentence: expect.stringContaining('could not be evaluated 1 times in the last day: broken') },
    ]);
    await expect.poll(metrics, soon).toContain('trunkline_rule_actions{kind="resolve",state="failed"} 1');
    expect(await metrics()).toContain('trunkline_rule_runs{rule="broken",outcome="failed"} 1');
  });
});

describe('processes', () => {
  const worker = { API_KEY: 'of-nobody', DATABASE_URL: databaseUrl, RULES_FILE: 'config/rules.yaml' };

  test('of which two have another RULES_MODE than the rest are told, and no more once they are alike', async () => {
    const api = { API_BASE_URL: 'http://127.0.0.1:1' };
    const [live] = ['live', 'dry-run'].map((mode) =>
      trunkline({ ...worker, ...api, RULES_MODE: mode }, 'worker', '--queues', 'sends'),
    );
    const differ = expect.stringContaining('differ in RULES_MODE (1 with dry-run, 1 with live)');
    await expect
      .poll(async () => (await status()).told.concerns, soon)
      .toContainEqual(expect.objectContaining({ level: 'problem', sentence: differ }));
    live?.process.kill('SIGTERM');
    await live?.ended;
    await expect
      .poll(async () => (await status()).told.concerns, soon)
      .not.toContainEqual(expect.objectContaining({ sentence: differ }));
  });

  test.each([
    // Of the keys, only the process that differs from most is named.
    ['key_name', 'keys_differ', 'ENCRYPTION_KEY', /: web of 20[^,]+\.$/],
    ['address_hash', 'receivers_differ', 'WEBHOOK_SECRET or PUBLIC_URL', /: web of 20/],
  ])('whose %s differs for longer than a deploy are told', async (column, check, setting, named) => {
    const differs = { check, sentence: expect.stringContaining(setting), cure: expect.stringMatching(named) };
    for (const [id, value, minutes] of [
      ['a', 'one', 9],
      ['b', 'one', 8],
      ['c', null, 7],
    ] as const) {
      await database.query(
        `insert into ops.processes (process_id, role, started_at, seen_at, ${column})
         values ($1, 'web', now() - $2 * interval '1 minute', now(), $3)`,
        [id, minutes, value],
      );
    }
    expect((await status()).faults).not.toContainEqual(expect.objectContaining({ check }));
    await database.query(
      `insert into ops.processes (process_id, role, started_at, seen_at, ${column}) values ('d', 'web', now(), now(), 'other')`,
    );
    expect((await status()).faults).not.toContainEqual(expect.objectContaining({ check }));
    await database.query(`update ops.processes set started_at = now() - interval '2 minutes' where process_id = 'd'`);
    expect((await status()).faults).toContainEqual(expect.objectContaining(differs));
  });

  test('whose circuit breaker is open are told by every other process', async () => {
    await database.query(
      `insert into ops.processes (process_id, role, started_at, seen_at, rules_mode, api_failing_from) values ('w', 'start', now(), now(), 'live', now() - interval '45 seconds')`,
    );
    const { isOk, faults } = await status();
    expect(isOk).toBe(false);
    const failing = { check: 'service_failing', sentence: expect.stringContaining('every request has failed for ') };
    expect(faults).toContainEqual(expect.objectContaining(failing));
    await expect.poll(metrics, soon).toContain('trunkline_health_check{check="service_failing"} 3');
  });

  test('that ended while they waited for an answer say nothing of the service', async () => {
    await database.query(
      `insert into ops.processes (process_id, role, started_at, seen_at, rules_mode, api_answered_at, api_waiting_from, api_waiting_operation)
       select 'w', 'worker', at, at, 'live', at - interval '1 second', at - interval '200 ms', 'calls.transcripts'
       from (select now() - interval '12 seconds' as at) last`,
    );
    expect((await status()).faults).not.toContainEqual(expect.objectContaining({ check: 'service_silent' }));
  });

  test('whose service accepts and does not answer are told within seconds, from another process', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const { port } = await new Promise<AddressInfo>((resolve) =>
      silent.once('listening', () => resolve(silent.address() as AddressInfo)),
    );
    const asked = once(silent, 'request');
    trunkline({ ...worker, API_BASE_URL: `http://127.0.0.1:${port}` }, 'worker');
    await asked;
    const silence = expect.objectContaining({
      level: 'problem',
      sentence: expect.stringMatching(/^The service does not answer: a request \(\S+\) has been waiting for \d+ s\.$/),
    });
    const read = async () => ((await (await world.get('/api/status')).json()) as Status).concerns;
    await expect.poll(read, { interval: 250 }).toContainEqual(silence);
    expect((await status()).told.verdict.level).toBe('problem');
    await expect
      .poll(metrics, soon)
      .toContainEqual(expect.stringMatching(/^trunkline_api_waiting_seconds (?:[5-9]|\d\d)/));
  });
});

describe('webhooks that may have been lost', () => {
  test('are told while the time of a gap is not searched', async () => {
    onTestFinished(async () => {
      await database.query('delete from ops.gaps');
    });
    await database.query(`insert into ops.gaps (stream, from_at, to_at, reason) values ('texts', now(), now(), 'r')`);
    const { isOk, faults } = await status();
    expect(isOk).toBe(false);
    expect(faults).toMatchObject([{ check: 'gap_open', level: 'warning', since: expect.any(String) }]);
    await database.query('update ops.gaps set filled_at = now()');
    expect(await status()).toMatchObject({ isOk: true, faults: [] });
  });

  test('are told for minutes after a subscription was changed at the service and repaired', async () => {
    onTestFinished(async () => {
      await database.query('delete from ops.subscription_watch');
    });
    await database.query(
      `insert into ops.subscription_watch (event_type, is_created_here, state, in_place_at, last_fault) values ('AccountSMS', true, 'in_place', now(), 'deleted')`,
    );
    expect((await status()).faults).toMatchObject([
      { check: 'subscription_broken', sentence: expect.stringContaining('AccountSMS was deleted') },
    ]);
    await database.query(`update ops.subscription_watch set changed_at = now() - interval '1 hour'`);
    expect(await status()).toMatchObject({ isOk: true, faults: [] });
  });
});

describe('reports that wait for a rebuild', () => {
  const warning = async () => {
    const { isOk, faults } = await status();
    const doctor = await runInProcess({ DATABASE_URL: databaseUrl }, 'doctor', '--json');
    return { isOk, found: faults.map(({ sentence, cure }) => `${sentence} ${cure}`), doctor: doctor.out };
  };

  test('for their days, after a change of TIME_ZONE', async () => {
    await database.query(`update ops.rollup_state set wanted_time_zone = 'America/New_York'`);
    onTestFinished(async () => {
      await database.query('update ops.rollup_state set wanted_time_zone = null');
    });
    const { isOk, found, doctor } = await warning();
    expect(isOk).toBe(false);
    expect(found).toEqual([
      'TIME_ZONE is America/New_York, but the days and hours of the reports are still those of UTC. Run `npx trunkline reporting rebuild`; workers may keep running. Or set TIME_ZONE back to UTC.',
    ]);
    expect(doctor).toContain('TIME_ZONE is America/New_York, but');
  });

  test('for another definition', async () => {
    await database.query('update reporting.params set short_abandon_seconds = 9');
    onTestFinished(async () => {
      await database.query('update reporting.params set short_abandon_seconds = 5');
    });
    const { isOk, found, doctor } = await warning();
    expect(isOk).toBe(false);
    expect(found).toEqual([
      expect.stringMatching(/^Not all reports follow the definitions of now: .*reporting rebuild/),
    ]);
    expect(doctor).toContain('Not all reports follow the definitions of now');
  });
});
